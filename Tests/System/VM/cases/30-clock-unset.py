# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A machine without a battery for its clock: it boots in 1970, is set 56 years forward, and runs nothing of what lies in between."""

import time

from machine import microseconds

LIMIT = 600  # s
BASES = ("active", "uptime", "boottime", "wall")
CONFIGURATION = (
    "".join(f"""
[job.{count}]
command = ["true"]
every = "10h"
count = "{count}"
""" for count in BASES)
    + """
[job.second]
command = ["stamp", "second"]
calendar = "*:*:0/2"
concurrency = "allow"
[job.grid]
command = ["stamp", "grid"]
every = "3s"
concurrency = "allow"
[job.monthly]
command = ["stamp", "monthly"]
calendar = "*-*-15 00:00:00"
[job.then]
command = ["stamp", "then"]
at = "2000-02-29T12:00:00Z"
[job.boot]
command = ["stamp", "boot"]
on-boot = "1s"
"""
)
# The clock of the hardware is unset, and what systemd would guess instead is set back. The kernel allows no time before its
# own start.
UNSET = {"rtc": "1970-01-01T00:00:00", "words": "systemd.clock_usec=300000000"}
FORWARD = r"The wall clock was set forward by .*; schedules follow the new time"


def run(case):
    machine = case.machine()
    began = time.monotonic()
    machine.start(files={"/etc/timerd/timerd.toml": CONFIGURATION}, **UNSET)
    set_clock(case, machine, 1)
    before = {name: machine.job(name)["elapsed_usec"] for name in BASES}
    machine.power_off()
    # The saved state is from 2026 now, and the clock begins in 1970 again.
    machine.start(**UNSET)
    set_clock(case, machine, 2)
    passed = (time.monotonic() - began) * 1e6
    for name in BASES:
        gained = machine.job(name)["elapsed_usec"] - before[name]
        case.check(
            0 <= gained <= passed,
            f"{name} gained {gained} µs over the boot and both changes of the clock, in {passed:.0f} µs",
        )
    boots = [stamp.boot for stamp in machine.stamps("boot")]
    case.check(boots == [1, 2], f"on-boot runs once in each boot: {boots}")
    case.check(
        not machine.stamps("monthly", "then"), f"what lies in between does not run: {machine.stamps('monthly', 'then')}"
    )


def set_clock(case, machine, boot):
    """Sets it from 1970 to now, and looks at what follows."""
    of_boot = lambda name: [stamp for stamp in machine.stamps(name) if stamp.boot == boot]
    machine.wait("runs in 1970", lambda: of_boot("second") and of_boot("grid") and of_boot("boot"))
    case.check(machine.clocks().real < 3600 * 1_000_000, f"boot {boot}: it is 1970")
    first = machine.get("/v1/jobs")
    now = int(time.time())
    machine.do("date", "-s", f"@{now}")
    machine.wait("the log says so", lambda: len(machine.journal(FORWARD)) == boot)
    last = machine.get("/v1/jobs")
    check_elapsed(case, boot, first, last)
    after = lambda name: [stamp for stamp in of_boot(name) if stamp.clocks.real >= now * 1_000_000]
    machine.wait("runs with the right clock", lambda: len(after("second")) >= 2 and len(after("grid")) >= 2)
    for name in ("second", "grid"):
        stamps = of_boot(name)
        case.check(len({stamp.run for stamp in stamps}) == len(stamps), f"boot {boot}: a run of {name} started twice")
        missed = [stamp for stamp in stamps if stamp.missed and (name != "grid" or boot == 1)]
        case.check(not missed, f"boot {boot}: nothing is missed: {missed[:3]}")
    # After the clock was set back, the same instant comes again: a run has one more microsecond then, as its own name.
    odd = [stamp.scheduled for stamp in of_boot("second") if microseconds(stamp.scheduled) % 2_000_000 != boot - 1]
    case.check(not odd, f"boot {boot}: an instant of the calendar is not on the full second: {odd[:3]}")
    wrong = [
        stamp
        for stamp in of_boot("second")
        if 100_000_000_000_000 < microseconds(stamp.scheduled) < now * 1_000_000 - 2_000_000
    ]
    case.check(not wrong, f"boot {boot}: what lies in between is not run: {wrong[:3]}")
    for name in ("second", "monthly"):
        following = microseconds(machine.job(name)["next"])
        case.check(following >= now * 1_000_000, f"boot {boot}: {name} is next due at {following}")


def check_elapsed(case, boot, first, last):
    """The elapsed times of the two answers differ by what passed between them, by the clock that cannot be set."""
    at_least, at_most = last.before.monotonic - first.after.monotonic, last.after.monotonic - first.before.monotonic
    elapsed = [{job["job"]: job.get("elapsed_usec") for job in answer.body["jobs"]} for answer in (first, last)]
    for name in BASES:
        counted = elapsed[1][name] - elapsed[0][name]
        case.check(
            at_least <= counted <= at_most,
            f"boot {boot}: {name} counted {counted} µs where {at_least} to {at_most} passed",
        )
