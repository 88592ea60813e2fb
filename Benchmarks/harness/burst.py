# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Many jobs due at one instant: how long after it the processes begin."""

import math
import os
import shutil
import subprocess
import sys
import time

from . import daemon, places

COUNTS = [1, 10, 100, 1000]
# The median of so many is compared.
ROUNDS = 20
# The peers that the goals do not name.
PEER_ROUNDS = 4
# How long the slowest may take, in seconds.
PATIENCE = 60


def figure(who, count, at, file, round, before=None):
    """What is reported of one burst: milliseconds after the instant it was due; and the time of all processors
    that were busy since `before`, with what they do when nothing is due."""
    late = [(real - at * 1_000_000_000) / 1e6 for real, _ in daemon.stamps(file)]
    if len(late) < count:
        print(f"burst: {who} began {len(late)} of {count}", file=sys.stderr)
        return None
    found = {
        "case": "burst", "who": who, "jobs": count, "round": round, "first_ms": late[0],
        "median_ms": late[len(late) // 2], "p99_ms": daemon.reached(late, 0.99),
        "last_ms": late[-1]}
    if before is not None:
        found["busy_us"] = (daemon.busy()[0] - before) / os.sysconf("SC_CLK_TCK") / count * 1e6
    return found


def settle(file, count, at):
    """Waits for the burst to be over."""
    time.sleep(max(0, at - time.time()))
    size = 16 * count
    daemon.wait_for(lambda: file.stat().st_size >= size, PATIENCE)


def bare(count, round):
    daemon.quiet()
    with daemon.folder() as path:
        file = daemon.stamp_file(path / "stamps")
        at = math.ceil(time.time() + 0.5)
        before = daemon.busy()[0]
        subprocess.run([places.BARE, "burst", str(count), str(at), places.STAMP, file], check=True)
        return figure("bare posix_spawn", count, at, file, round, before)


def timerd(count, round, live=None, user=None):
    """With the default of 64 runs at once, or with another limit; of the runner's own user, or of another."""
    daemon.quiet()
    with daemon.folder() as path:
        file = daemon.stamp_file(path / "stamps")
        at = math.ceil(time.time() + 2)
        who, head = daemon.with_limit(live)
        schedule = f'at = "{daemon.rfc3339(at)}"'
        if user is not None:
            who += f", of user {user}"
            schedule += f'\nuser = "{user}"\nworking-directory = "/"'
            path.chmod(0o711)
            file.chmod(0o666)
        text = head + "".join(
            daemon.job(f"job-{index}", schedule, [places.STAMP, file]) for index in range(count))
        with daemon.Timerd(path, {"timerd.toml": text}) as process:
            process.wait_until_ready()
            if time.time() > at - 0.5:
                raise RuntimeError("timerd was not ready in time")
            before = daemon.busy()[0]
            settle(file, count, at)
            return figure(who, count, at, file, round, before)


def apscheduler(count, round):
    daemon.quiet()
    with daemon.folder() as path:
        file = daemon.stamp_file(path / "stamps")
        at = math.ceil(time.time() + 4)
        with daemon.apscheduler(path, "burst", count, at, places.STAMP, file):
            settle(file, count, at)
        return figure("APScheduler", count, at, file, round)


def cronstable(count, round):
    daemon.quiet()
    with daemon.folder() as path:
        file = daemon.stamp_file(path / "stamps")
        at = math.ceil(time.time() + 5 + count / 100)
        due = time.gmtime(at)
        schedule = f"{due.tm_sec} {due.tm_min} {due.tm_hour} {due.tm_mday} {due.tm_mon} * *"
        jobs = [(f"job-{index}", schedule, [places.STAMP, file]) for index in range(count)]
        with daemon.cronstable(path, jobs):
            settle(file, count, at)
        return figure("cronstable", count, at, file, round)


def cron(who, start, rounds, user):
    """One daemon, a minute for each burst: a crontab knows of nothing shorter."""
    with daemon.folder() as path:
        bursts = []
        lines = ["PATH=/usr/bin:/bin", "TZ=UTC"]
        minute = (int(time.time()) + 10) // 60 * 60 + 60
        for round in range(rounds):
            for count in COUNTS:
                file = daemon.stamp_file(path / f"stamps-{round}-{count}")
                due = time.localtime(minute)
                line = f"{due.tm_min} {due.tm_hour} * * * {user}{places.STAMP} {file}"
                lines += [line] * count
                bursts.append((count, minute, file, round))
                minute += 60
        with start(path, lines):
            for count, at, file, round in bursts:
                settle(file, count, at)
                yield figure(who, count, at, file, round)


def systemd(round):
    """One boot of a container for all bursts, ten seconds apart."""
    with daemon.folder() as path:
        at = math.ceil(time.time()) + 25
        bursts = []
        for count in COUNTS:
            file = daemon.stamp_file(path / f"stamps-{count}")
            bursts.append((count, at, file))
            at += 10
        with daemon.systemd(path, [(count, at, file.name) for count, at, file in bursts]):
            for count, at, file in bursts:
                settle(file, count, at)
                yield figure("systemd timers", count, at, file, round)


def run(long):
    # All of them in each round, so that a noisy minute of the machine affects all of them.
    for round in range(ROUNDS):
        for count in COUNTS:
            yield bare(count, round)
            yield timerd(count, round)
            if count <= 10 or round < PEER_ROUNDS:
                yield apscheduler(count, round)
            if round >= PEER_ROUNDS:
                continue
            yield timerd(count, round, live=1000)
            if count == max(COUNTS) and os.geteuid() == 0:
                yield timerd(count, round, user="nobody")
            yield cronstable(count, round)
    if os.geteuid() != 0:
        print("burst: cron, bcron and systemd need root; they are left out", file=sys.stderr)
        return
    rounds = PEER_ROUNDS if long else 1
    yield from cron("Debian cron", daemon.cron, rounds, "root ")
    yield from cron("bcron", daemon.bcron, rounds, "")
    if not shutil.which("systemd-nspawn"):
        print("burst: no systemd-nspawn; systemd's timers are left out", file=sys.stderr)
        return
    for round in range(rounds):
        yield from systemd(round)
