# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A machine that is suspended to memory: time counts by each base as it should, and what was due meanwhile runs once."""

import os

from machine import Failure, microseconds

TOLERANCE = 50_000  # µs
# How much time passes by each base while the machine sleeps, as a part of it.
BASES = {"active": 0, "uptime": 0, "boottime": 1, "wall": 1}
CONFIGURATION = (
    """
[defaults]
concurrency = "allow"
"""
    + "".join(f"""
[job.{count}]
command = ["true"]
every = "10h"
count = "{count}"
[job.grid-{count}]
command = ["stamp", "grid-{count}"]
every = "2s"
count = "{count}"
""" for count in BASES)
    + """
[job.calendar]
command = ["stamp", "calendar"]
calendar = "*:*:0/2"
[job.boot]
command = ["stamp", "boot"]
on-boot = "45s"
[job.held]
command = ["true"]
every = "10h"
count = "wall"
[job.rests]
command = ["true"]
every = "10h"
[job.limited]
command = ["stamp", "limited", "sleep", "1000"]
every = "10h"
first = "0s"
timeout = "8s"
[job.fails]
command = ["stamp", "fails", "false"]
every = "10h"
retries = 1
retry-delay = "4s"
"""
)
PERIOD = 2_000_000  # µs, of the jobs named grid-… and calendar


def LIMIT(is_long):
    return 300 + repetitions(is_long) * (seconds(is_long) + 60)


def repetitions(is_long):
    return int(os.environ.get("SUSPENDS") or (20 if is_long else 3))


def seconds(is_long):
    # A busy host takes seconds until the machine sleeps, and the alarm must come after that.
    return 60 if is_long else 10


def run(case):
    machine = case.machine()
    machine.start(files={"/etc/timerd/timerd.toml": CONFIGURATION})
    machine.post("/v1/jobs/held/pause", {"note": "disk swap"})
    worst = 0
    for turn in range(repetitions(case.is_long)):
        worst = max(worst, suspend(case, machine, turn))
    case.note(f"{repetitions(case.is_long)} suspends of {seconds(case.is_long)} s, at most {worst / 1000:.1f} ms wrong")
    for name in ("calendar", *(f"grid-{count}" for count in BASES)):
        check_runs(case, machine, name)
    machine.wait("the job of the boot", lambda: machine.stamps("boot"), 120)
    boot = machine.stamps("boot")
    case.check(len(boot) == 1, f"on-boot runs once, not {len(boot)} times")
    case.check(boot[0].clocks.boottime >= 45_000_000, f"not before its time: {boot[0]}")


def suspend(case, machine, turn):
    """Suspends the machine with a job `at` that is due meanwhile, a pause that ends meanwhile, a run with a time limit and a
    retry that waits. Returns the largest error of an elapsed time."""
    length = seconds(case.is_long)
    # In the first turn, the job `at` is due together with that of the boot, if there is still time for that.
    clocks = machine.clocks()
    ahead = 45_000_000 - clocks.boottime
    due = clocks.real + (ahead if turn == 0 and ahead > 8_000_000 else 8_000_000)
    machine.configure(f'{CONFIGURATION}\n[job.at-{turn}]\ncommand = ["stamp", "at-{turn}"]\nat = "{rfc3339(due)}"\n')
    machine.wait("the instant is near", lambda: machine.clocks().real > due - 4_000_000, 120)
    machine.post("/v1/jobs/fails/run")
    if turn == 0:
        machine.wait("a run with a time limit", lambda: machine.stamps("limited"))
    machine.post("/v1/jobs/rests/pause", {"until": rfc3339(due)})
    jobs, told = machine.jobs()
    begun, ended = machine.suspend(length)
    after, told_after = machine.jobs()
    upcoming = machine.get("/v1/upcoming?limit=1000").body
    asleep = (ended.boottime - begun.boottime) - (ended.monotonic - begun.monotonic)
    case.check(asleep > 1_000_000, f"turn {turn}: the machine slept {asleep / 1e6:.1f} s of {length}")
    worst = 0
    for count, part in BASES.items():
        counted = after[count]["elapsed_usec"] - jobs[count]["elapsed_usec"]
        passed = told_after - told - (1 - part) * asleep
        worst = max(worst, abs(counted - passed))
        case.check(
            abs(counted - passed) <= TOLERANCE,
            f"turn {turn}: {count} counted {counted} µs where {passed} passed, {asleep} asleep",
        )
    case.check(
        after["held"]["elapsed_usec"] == jobs["held"]["elapsed_usec"], f"turn {turn}: a paused job counts no time"
    )
    case.check(after["held"]["state"] == "paused", f"turn {turn}: it stays paused")
    if told_after > due + 1_000_000:
        case.check(
            after["rests"]["state"] == "armed", f"turn {turn}: a pause ends while the machine sleeps: {after['rests']}"
        )
    check_upcoming(case, turn, after, upcoming)
    machine.wait(f"the job at-{turn}", lambda: machine.stamps(f"at-{turn}"))
    at = machine.stamps(f"at-{turn}")
    case.check(len(at) == 1 and at[0].clocks.real >= due, f"at-{turn} runs once, at {due} or later: {at}")
    check_limits(case, machine, turn)
    return worst


def check_upcoming(case, turn, jobs, upcoming):
    """What comes next is right at once: by the elapsed time of each job, and in the future."""
    now = microseconds(upcoming["now"])
    for run in upcoming["upcoming"]:
        case.check(
            microseconds(run["at"]) >= now - TOLERANCE,
            f"turn {turn}: at {upcoming['now']} a run is announced for the past: {run}",
        )
    times = {}
    for run in upcoming["upcoming"]:
        times.setdefault(run["job"], []).append(microseconds(run["at"]))
    calendar = times.get("calendar", [0])
    case.check(
        calendar[0] % PERIOD == 0 and calendar[0] - now <= PERIOD,
        f"turn {turn}: calendar is announced for {calendar[0]} at {now}",
    )
    for count in BASES:
        grid = times.get(f"grid-{count}", [0])
        case.check(
            0 <= grid[0] - now + TOLERANCE <= PERIOD + 2 * TOLERANCE,
            f"turn {turn}: grid-{count} is announced for {grid[0]} at {now}",
        )
        case.check(
            all(b - a == PERIOD for a, b in zip(grid, grid[1:])),
            f"turn {turn}: grid-{count} is announced every 2 s: {grid}",
        )


def check_limits(case, machine, turn):
    """The time limit of a run, and the delay of a retry."""
    if turn == 0:
        machine.wait("the run with a time limit ends", lambda: machine.job("limited").get("last"), 120)
        last = machine.job("limited")["last"]
        case.check(last["outcome"] == "timed-out", f"the run with a time limit: {last}")
    count = 2 * turn + 2
    machine.wait("the retry", lambda: len(machine.stamps("fails")) >= count, 120)
    tries = machine.stamps("fails")
    case.check(
        len(tries) == count and len({one.run for one in tries}) == count, f"turn {turn}: one retry, once: {tries[-3:]}"
    )
    first, second = tries[-2:]
    case.check(
        second.clocks.boottime - first.clocks.boottime >= 4_000_000,
        f"turn {turn}: the retry came after {second.clocks.boottime - first.clocks.boottime} µs",
    )


def check_runs(case, machine, name):
    """Each instant of the grid is covered by one run, and none is early."""
    machine.wait(f"no run of {name} is active", lambda: not machine.job(name)["running"])
    stamps = sorted(machine.stamps(name), key=lambda stamp: stamp.scheduled)
    if len(stamps) < 2:
        raise Failure(f"{name} ran {len(stamps)} times")
    case.check(len({stamp.run for stamp in stamps}) == len(stamps), f"{name}: a run started twice")
    early = [stamp for stamp in stamps if stamp.clocks.real < microseconds(stamp.scheduled)]
    case.check(not early, f"{name}: early: {early[:3]}")
    if name in ("calendar", "grid-boottime", "grid-wall"):
        span = microseconds(stamps[-1].scheduled) - microseconds(stamps[0].scheduled)
        covered = sum(1 + stamp.missed for stamp in stamps[1:])
        case.check(abs(span - covered * PERIOD) <= TOLERANCE, f"{name}: {covered} runs cover {span} µs")
        missed = [stamp.missed for stamp in stamps if stamp.missed]
        case.check(missed or seconds(case.is_long) < 4, f"{name}: no run stands for missed ones")
        case.note(f"{name} {len(stamps)} runs, {sum(missed)} missed in {len(missed)}")
    else:
        case.check(not any(stamp.missed for stamp in stamps), f"{name}: nothing was missed, since no time passed")


def rfc3339(microseconds_since_1970):
    seconds_since_1970, fraction = divmod(microseconds_since_1970, 1_000_000)
    from datetime import datetime, timezone

    return f"{datetime.fromtimestamp(seconds_since_1970, timezone.utc):%Y-%m-%dT%H:%M:%S}.{fraction:06}Z"
