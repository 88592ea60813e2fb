# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""How many firings a second can be kept up with every one of them recorded, and what the disk has to do
for each."""

import json
import sqlite3
import struct
import subprocess
import time

from . import daemon, places

# Short, so that both sides of a round have the same minute of the machine.
SECONDS, LONG_SECONDS = 6, 20
ROUNDS, LONG_ROUNDS = 9, 15
STEADY_SECONDS = 15
# The default of max-concurrent.
LIVE = 64
# So many that a job's run has ended long before its next firing.
JOBS = 1000


def bare(seconds):
    daemon.quiet()
    with daemon.folder() as path:
        file = daemon.stamp_file(path / "stamps")
        done = subprocess.run(
            [places.BARE, "rate", str(seconds), str(LIVE), places.STAMP, file], check=True,
            stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)
        return {"case": "durable", "who": "bare posix_spawn", "per_s": found["ended"] / found["seconds"]}


def text(file, jobs, every):
    return "".join(
        daemon.job(f"job-{index}", f'every = "{every}"', [places.STAMP, file]) for index in range(jobs))


def ended(path):
    """How many runs the account knows the end of."""
    with sqlite3.connect(f"file:{path}/state/timerd.db?mode=ro", uri=True) as store:
        return store.execute("SELECT count(*) FROM run WHERE outcome IS NOT NULL").fetchone()[0]


def timerd(limit, seconds, live=None):
    """As many firings due a second as the bare loop made processes: what it cannot start is skipped. With the default
    of 64 runs at once, or with another limit."""
    daemon.quiet()
    with daemon.folder() as path:
        file = daemon.stamp_file(path / "stamps")
        who, head = daemon.with_limit(live)
        jobs = head + text(file, JOBS, f"{round(JOBS / limit * 1e6)}us")
        with daemon.Timerd(path, {"timerd.toml": jobs}) as process:
            process.wait_until_ready()
            time.sleep(2)
            before = ended(path), file.stat().st_size // 16, process.written(), time.monotonic()
            cpu = process.processor_seconds()
            time.sleep(seconds)
            after = ended(path), file.stat().st_size // 16, process.written(), time.monotonic()
            cpu = process.processor_seconds() - cpu
            resident = process.memory("Rss")
        passed = after[3] - before[3]
        recorded = after[0] - before[0]
        return {
            "case": "durable", "who": who, "per_s": recorded / passed, "limit_per_s": limit,
            "begun_per_s": (after[1] - before[1]) / passed,
            "bytes_per_firing": (after[2] - before[2]) / max(1, recorded),
            "cpu_us_per_firing": cpu / max(1, recorded) * 1e6, "resident_bytes": resident}


def steady(rate):
    """At a rate it keeps up with: bytes and fsyncs for each firing."""
    daemon.quiet()
    jobs = max(1, rate // 10)
    with daemon.folder() as path:
        file = daemon.stamp_file(path / "stamps")
        counter = path / "syncs"
        counter.write_bytes(bytes(8))
        syncs = lambda: struct.unpack("=Q", counter.read_bytes())[0]
        with daemon.Timerd(
            path, {"timerd.toml": text(file, jobs, "100ms")}, LD_PRELOAD=str(places.COUNT_SYNCS),
            COUNT_SYNCS=str(counter)) as process:
            process.wait_until_ready()
            time.sleep(2)
            before = ended(path), process.written(), syncs()
            time.sleep(STEADY_SECONDS)
            recorded, written = ended(path) - before[0], process.written() - before[1]
            synced = syncs() - before[2]
        return {
            "case": "durable", "who": "timerd", "offered_per_s": jobs * 10,
            "steady_per_s": recorded / STEADY_SECONDS, "bytes_per_firing": written / max(1, recorded),
            "fsyncs_per_s": synced / STEADY_SECONDS}


def run(long):
    seconds = LONG_SECONDS if long else SECONDS
    for _ in range(LONG_ROUNDS if long else ROUNDS):
        limit = bare(seconds)
        yield limit
        yield timerd(limit["per_s"], seconds)
        yield timerd(limit["per_s"], seconds, live=JOBS)
    for rate in (10, 100, 1000):
        yield steady(rate)
