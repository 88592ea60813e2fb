# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A clock that is set, slewed, given a leap second and moved to another zone: elapsed time does not notice, and calendars follow."""

from machine import microseconds

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND
BASES = ("active", "uptime", "boottime", "wall")
ELAPSED = (
    "".join(f"""
[job.{count}]
command = ["true"]
every = "10h"
count = "{count}"
""" for count in BASES)
    + """
[job.grid]
command = ["stamp", "grid"]
every = "2s"
concurrency = "allow"
[job.second]
command = ["stamp", "second"]
calendar = "*:*:0/1"
concurrency = "allow"
[job.fixed]
command = ["true"]
calendar = "02:30"
timezone = "Europe/Berlin"
"""
)
# adjtimex(2): the modes, the frequency in 2^-16 ppm and the status, in a `struct timex`.
ADJUST = """
import ctypes, struct, sys
modes, frequency, status = (int(word) for word in sys.argv[1:])
data = bytearray(256)
struct.pack_into("i", data, 0, modes)
struct.pack_into("q", data, 16, frequency)
struct.pack_into("i", data, 40, status)
print(ctypes.CDLL(None, use_errno=True).adjtimex((ctypes.c_char * 256).from_buffer(data)))
print(struct.unpack_from("q", data, 16)[0], struct.unpack_from("i", data, 40)[0])
"""
FREQUENCY, STATUS, INSERT = 0x2, 0x10, 0x10
SLEW_SECONDS = 10


def LIMIT(is_long):
    return 600 + 2 * slew(is_long)


def slew(is_long):
    return 600 if is_long else SLEW_SECONDS


def run(case):
    machine = case.machine()
    machine.start(files={"/etc/timerd/timerd.toml": ELAPSED, "/root/adjust": ADJUST})
    machine.wait("runs", lambda: machine.stamps("grid") and machine.stamps("second"))
    first = machine.get("/v1/jobs")
    zone(case, machine)
    slewed(case, machine)
    leap_second(case, machine)
    set_by_a_minute(case, machine)
    set_by_a_day(case, machine)
    elapsed(case, first, machine.get("/v1/jobs"))
    once(case, machine, "grid")
    once(case, machine, "second")


def elapsed(case, first, last):
    """By each base, exactly the time passed that the clock says which cannot be set."""
    at_least, at_most = last.before.monotonic - first.after.monotonic, last.after.monotonic - first.before.monotonic
    times = [{job["job"]: job.get("elapsed_usec") for job in answer.body["jobs"]} for answer in (first, last)]
    for name in BASES:
        counted = times[1][name] - times[0][name]
        case.check(at_least <= counted <= at_most, f"{name} counted {counted} µs where {at_least} to {at_most} passed")
    case.note(f"{at_least / SECOND:.0f} s counted by each base")


def once(case, machine, name):
    stamps = machine.stamps(name)
    case.check(len({stamp.run for stamp in stamps}) == len(stamps), f"a run of {name} started twice")
    case.note(f"{len(stamps)} runs of {name}")


def with_job(machine, name, calendar, options=""):
    machine.configure(f'{ELAPSED}\n[job.{name}]\ncommand = ["stamp", "{name}"]\ncalendar = "{calendar}"\n{options}')


def time_of_day(instant):
    seconds = instant // SECOND % 86400
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def set_clock(machine, instant):
    machine.do("date", "-s", f"@{instant / SECOND:.6f}")


def zone(case, machine):
    """In Tokyo it is nine hours later: the job runs by the clock there as soon as the machine is there."""
    due = (machine.clocks().real + 12 * SECOND) // SECOND * SECOND
    fixed = machine.job("fixed")["next"]
    with_job(machine, "tokyo", time_of_day(due + 9 * HOUR))
    case.check(microseconds(machine.job("tokyo")["next"]) > due + HOUR, "by UTC it is due hours later")
    machine.do("ln", "-sf", "/usr/share/zoneinfo/Asia/Tokyo", "/etc/localtime")
    machine.wait("the job of Tokyo", lambda: machine.stamps("tokyo"))
    stamps = machine.stamps("tokyo")
    case.check(
        [microseconds(stamp.scheduled) for stamp in stamps] == [due], f"it ran at its time there: {stamps}, not {due}"
    )
    case.check(machine.job("fixed")["next"] == fixed, "a job with its own zone is as it was")
    case.check(machine.journal("Time zone rules changed; recomputed the schedules of"), "the log says so")
    machine.do("ln", "-sf", "/usr/share/zoneinfo/UTC", "/etc/localtime")
    machine.wait("the zone is UTC again", lambda: machine.job("second")["timezone"] in ("UTC", "Etc/UTC"))


def slewed(case, machine):
    """NTP lets the clocks run 500 ppm faster. That is not a step, and no run is early or left out."""
    steps = len(machine.journal("The wall clock was set"))
    count = len(machine.stamps("second"))
    machine.do("python3", "/root/adjust", str(FREQUENCY), str(500 << 16), "0")
    state = machine.do("python3", "/root/adjust", "0", "0", "0").split()
    case.check(int(state[1]) == 500 << 16, f"the clock is slewed: {state}")
    until = machine.clocks().real + slew(case.is_long) * SECOND
    machine.wait(
        "it is slewed long enough",
        lambda: machine.stamps("second")[-1].clocks.real > until,
        2 * slew(case.is_long) + 60,
    )
    machine.do("python3", "/root/adjust", str(FREQUENCY), "0", "0")
    stamps = machine.stamps("second")[count:]
    case.check(len(machine.journal("The wall clock was set")) == steps, "a slewed clock is not one that was set")
    early = [stamp for stamp in stamps if stamp.clocks.real < microseconds(stamp.scheduled)]
    case.check(not early, f"with a slewed clock, early: {early[:3]}")
    covered(case, stamps, "with a slewed clock")


def covered(case, stamps, when):
    """Each second between the first and the last run has a run, and only one. (Runs at the same time end in any order.)"""
    due = sorted(microseconds(stamp.scheduled) // SECOND for stamp in stamps)
    case.check(due == list(range(due[0], due[0] + len(due))), f"{when}, one run in each second: {due}")


def leap_second(case, machine):
    """The last second of a day is inserted twice: 23:59:59 comes again, and midnight once."""
    with_job(machine, "midnight", "00:00:00", 'concurrency = "allow"\n')
    midnight = (machine.clocks().real // DAY + 1) * DAY
    set_clock(machine, midnight - 8 * SECOND)
    machine.wait(
        "the clock is followed", lambda: microseconds(machine.job("midnight")["next"]) // SECOND == midnight // SECOND
    )
    count = len(machine.stamps("second"))
    before = machine.clocks()
    machine.do("python3", "/root/adjust", str(STATUS), "0", str(INSERT))
    machine.wait("midnight", lambda: machine.stamps("midnight"))
    machine.wait("some seconds more", lambda: machine.stamps("second")[-1].clocks.real > midnight + 3 * SECOND)
    after = machine.clocks()
    inserted = (after.boottime - before.boottime) - (after.real - before.real)
    case.check(abs(inserted - SECOND) < 50_000, f"a second was inserted: {inserted} µs")
    stamps = [
        stamp for stamp in machine.stamps("second")[count:] if microseconds(stamp.scheduled) >= midnight - 7 * SECOND
    ]
    covered(case, stamps, "over a leap second")
    case.check(len(machine.stamps("midnight")) == 1, f"midnight comes once: {machine.stamps('midnight')}")
    machine.do("python3", "/root/adjust", str(STATUS), "0", "0")


def set_by_a_minute(case, machine):
    """Set back by a minute, no run is repeated. Set forward by a minute, a missed one is caught up once."""
    due = (machine.clocks().real + 8 * SECOND) // SECOND * SECOND
    with_job(machine, "repeated", time_of_day(due))
    machine.wait("the job", lambda: machine.stamps("repeated"))
    set_clock(machine, due - 4 * SECOND)
    machine.wait("its time comes again", lambda: machine.clocks().real > due + 2 * SECOND)
    case.check(len(machine.stamps("repeated")) == 1, f"a run is repeated: {machine.stamps('repeated')}")
    due = machine.clocks().real // SECOND * SECOND + 40 * SECOND
    with_job(machine, "caught-up", time_of_day(due))
    set_clock(machine, machine.clocks().real + MINUTE)
    machine.wait("what was missed is caught up", lambda: machine.stamps("caught-up"))
    machine.wait_for_journal("The wall clock was set forward by .*; runs that became due are caught up once")
    case.check(len(machine.stamps("caught-up")) == 1, f"once: {machine.stamps('caught-up')}")


def set_by_a_day(case, machine):
    """Set by more than three hours, the time before was wrong: what lies in between is not run, and what comes again runs again."""
    due = (machine.clocks().real + 8 * SECOND) // SECOND * SECOND
    with_job(machine, "again", time_of_day(due))
    machine.wait("the job", lambda: machine.stamps("again"))
    set_clock(machine, due - DAY - 6 * SECOND)
    machine.wait("it runs on the day before", lambda: len(machine.stamps("again")) == 2)
    case.check(
        microseconds(machine.stamps("again")[1].scheduled) // SECOND == (due - DAY) // SECOND,
        f"at its time there: {machine.stamps('again')}",
    )
    machine.wait_for_journal("The wall clock was set back by .*; schedules follow the new time")
    set_clock(machine, due - 6 * SECOND)
    machine.wait("what comes again runs again", lambda: len(machine.stamps("again")) == 3)
    case.check(
        microseconds(machine.stamps("again")[2].scheduled) // SECOND == due // SECOND,
        f"at its time: {machine.stamps('again')}",
    )
    # The daily time lies in between.
    due = (machine.clocks().real + 20 * SECOND) // SECOND * SECOND
    with_job(machine, "between", time_of_day(due))
    set_clock(machine, due + 3 * DAY + MINUTE)
    machine.wait(
        "runs at the new time", lambda: machine.stamps("second")[-1].clocks.real > due + 3 * DAY + MINUTE + SECOND
    )
    case.check(not machine.stamps("between"), f"what lies in between is not run: {machine.stamps('between')}")
    case.check(
        microseconds(machine.job("between")["next"]) // SECOND == (due + 4 * DAY) // SECOND,
        "it is due at its time on the next day",
    )
