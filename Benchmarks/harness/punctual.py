# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""One job each second: how long after it was due its process begins, on an idle machine and on a busy one.

All schedulers run at once, each at a point of the second of its own, so that what disturbs one disturbs
all."""

import contextlib
import os
import subprocess
import time

from . import daemon, places

# Where in the second each has its job, in milliseconds.
PHASES = {"bare timerfd": 500, "timerd": 0, "APScheduler": 250, "cronstable": 0}


def late(file, phase):
    """Milliseconds from when it was due to its start, without the first, which may find cold caches."""
    return sorted(
        ((real - phase * 1_000_000) % 1_000_000_000) / 1e6 for real, _ in daemon.stamps(file)[1:])


def figure(who, load, file):
    found = late(file, PHASES[who])
    return {
        "case": "punctual", "who": who, "load": load, "firings": len(found),
        "median_ms": daemon.reached(found, 0.5), "p99_ms": daemon.reached(found, 0.99), "max_ms": found[-1]}


@contextlib.contextmanager
def bare(path, seconds, file):
    with daemon.Process(
        [places.BARE, "tick", str(seconds), str(PHASES["bare timerfd"]), places.STAMP, file],
        path / "log") as process:
        yield process


@contextlib.contextmanager
def timerd(path, _seconds, file):
    text = daemon.job("tick", 'calendar = "*:*:*"', [places.STAMP, file])
    with daemon.Timerd(path, {"timerd.toml": text}) as process:
        process.wait_until_ready()
        yield process


@contextlib.contextmanager
def apscheduler(path, _seconds, file):
    phase = PHASES["APScheduler"] / 1000
    with daemon.apscheduler(path, "tick", phase, "-", places.STAMP, file) as process:
        yield process


@contextlib.contextmanager
def cronstable(path, _seconds, file):
    with daemon.cronstable(path, [("tick", "* * * * * * *", [places.STAMP, file])]) as process:
        yield process


def together(whos, load, seconds):
    """Runs these schedulers at once for so long."""
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(daemon.folder())
        files = {}
        for who, start in whos.items():
            folder = path / start.__name__
            folder.mkdir()
            files[who] = daemon.stamp_file(folder / "stamps")
            stack.enter_context(start(folder, seconds, files[who]))
        time.sleep(seconds)
        for who in whos:
            yield figure(who, load, files[who])


def run(long):
    # Longer than the two minutes until the write-ahead log restarts. The goal is not about the peers.
    seconds = 600 if long else 240
    ours = {"bare timerfd": bare, "timerd": timerd}
    others = {"APScheduler": apscheduler, "cronstable": cronstable}
    daemon.quiet()
    yield from together(ours, "idle", seconds)
    yield from together(others, "idle", 60)
    cores = str(os.cpu_count())
    stress = subprocess.Popen(
        ["stress-ng", "--cpu", cores, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield from together(ours, "busy", seconds)
        yield from together(others, "busy", 60)
    finally:
        stress.terminate()
        stress.wait()
