# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""What one firing costs while many jobs are armed, beside bare DispatchSourceTimers that start the same process."""

import time

from . import daemon, places, scale

ARMED = [1000, 10_000, 100_000]
ROUNDS = 3
SECONDS, LONG_SECONDS = 10, 30


def measure(who, armed, process, file, seconds):
    """The processor time of a firing: of the scheduler's own processes, and of the process it starts."""
    daemon.wait_for(lambda: file.stat().st_size > 0, 60)
    time.sleep(2)
    look = lambda: (file.stat().st_size // 16, process.processor_seconds(), process.children_seconds())
    before = look()
    time.sleep(seconds)
    firings, own, children = (after - earlier for after, earlier in zip(look(), before))
    return {
        "case": "cost", "who": who, "jobs": armed, "per_s": firings / seconds,
        "own_us": own / firings * 1e6, "job_us": children / firings * 1e6}


def bare(armed, seconds):
    daemon.quiet()
    with daemon.folder() as path:
        file = daemon.stamp_file(path / "stamps")
        command = [places.BARE_TIMERS, str(armed), str(daemon.FIRING), str(daemon.PERIOD_MS), places.STAMP, file]
        with daemon.Process(command, path / "log") as process:
            return measure("bare DispatchSourceTimers", armed, process, file, seconds)


def timerd(armed, seconds):
    daemon.quiet()
    with daemon.folder() as path:
        file = daemon.stamp_file(path / "stamps")
        files = scale.files(armed - daemon.FIRING)
        files["timerd.toml"] += "".join(daemon.firing_job(index, file) for index in range(daemon.FIRING))
        with daemon.Timerd(path, files) as process:
            process.wait_until_ready()
            return measure("timerd", armed, process, file, seconds)


def run(long):
    for _ in range(ROUNDS):
        for armed in ARMED:
            yield bare(armed, LONG_SECONDS if long else SECONDS)
            yield timerd(armed, LONG_SECONDS if long else SECONDS)
