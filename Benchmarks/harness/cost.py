# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""What one firing costs while many jobs are armed, beside bare DispatchSourceTimers that start the same process. Both
fire in the same seconds: the processors of some machines are a third faster in one minute than in the next."""

import contextlib
import time

from . import daemon, places, scale

ARMED = [1000, 10_000, 100_000]
ROUNDS = 5
SECONDS, LONG_SECONDS = 10, 30


@contextlib.contextmanager
def bare(armed):
    with daemon.folder() as path:
        file = daemon.stamp_file(path / "stamps")
        command = [places.BARE_TIMERS, str(armed), str(daemon.FIRING), str(daemon.PERIOD_MS), places.STAMP, file]
        with daemon.Process(command, path / "log") as process:
            yield "bare DispatchSourceTimers", process, file


@contextlib.contextmanager
def timerd(armed):
    with daemon.folder() as path:
        file = daemon.stamp_file(path / "stamps")
        files = scale.files(armed - daemon.FIRING)
        files["timerd.toml"] += "".join(daemon.firing_job(index, file) for index in range(daemon.FIRING))
        with daemon.Timerd(path, files) as process:
            process.wait_until_ready()
            yield "timerd", process, file


def look(process, file):
    return file.stat().st_size // 16, process.processor_seconds(), process.children_seconds()


def together(armed, seconds):
    """The processor time of a firing of each: of the scheduler's own processes, and of the process it starts."""
    daemon.quiet()
    with timerd(armed) as ours, bare(armed) as theirs:
        both = theirs, ours
        for _, _, file in both:
            daemon.wait_for(lambda: file.stat().st_size > 0, 60)
        time.sleep(2)
        before = [look(process, file) for _, process, file in both]
        time.sleep(seconds)
        after = [look(process, file) for _, process, file in both]
        for (who, _, _), early, late in zip(both, before, after):
            firings, own, children = (end - begin for end, begin in zip(late, early))
            yield {
                "case": "cost", "who": who, "jobs": armed, "per_s": firings / seconds,
                "own_us": own / firings * 1e6, "job_us": children / firings * 1e6}


def run(long):
    for _ in range(ROUNDS):
        for armed in ARMED:
            yield from together(armed, LONG_SECONDS if long else SECONDS)
