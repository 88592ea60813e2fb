# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A cold boot with 200 jobs `on-boot` and 200 missed runs of calendars: each starts once, at most `max-concurrent` at a time."""

from datetime import datetime, timedelta, timezone

LIMIT = 900  # s
COUNT = 200
CONCURRENT = 10
BOOT_SECONDS = 20
ON_BOOT = [f"boot-{number}" for number in range(COUNT)]
CALENDARS = [f"calendar-{number}" for number in range(COUNT)]
# Each run says when it ends as well, from within.
PROGRAM = '["stamp", "{0}", "stamp", "end-{0}"]'


def configuration(at):
    """All calendar jobs are due daily at the instant of the wall clock."""
    return (
        f"[daemon]\nmax-concurrent = {CONCURRENT}\n"
        + "".join(
            f'[job.{name}]\ncommand = {PROGRAM.format(name)}\non-boot = "{BOOT_SECONDS}s"\n' for name in ON_BOOT
        )
        + "".join(
            f'[job.{name}]\ncommand = {PROGRAM.format(name)}\ncalendar = "{at:%H:%M:%S} UTC"\n' for name in CALENDARS
        )
    )


def run(case):
    machine = case.machine()
    began = datetime.now(timezone.utc)
    # Not due in the first boot, and missed when the machine boots for the second time, 30 hours later.
    missed = (began + timedelta(hours=20)).replace(minute=0, second=0, microsecond=0)
    machine.start()
    machine.configure(configuration(missed))
    machine.power_off()
    case.check(not machine.stamps(), f"a job runs in the boot in which it is added: {machine.stamps()[:3]}")

    # The clock of the hardware counts on from this instant.
    machine.start(ready=False, rtc=f"{began + timedelta(hours=30):%Y-%m-%dT%H:%M:%S}")
    machine.wait("timerd answers", machine.is_ready, 300)
    ready = machine.do("systemctl", "show", "-P", "ActiveEnterTimestampMonotonic", "timerd")
    boot = machine.do("systemctl", "show", "-P", "ExecMainStartTimestampMonotonic", "timerd")
    case.note(f"ready {(int(ready) - int(boot)) / 1e6:.1f} s after its start")
    names = ON_BOOT + CALENDARS
    ends = [f"end-{name}" for name in names]
    machine.wait("all runs have ended", lambda: len(machine.stamps(*ends)) >= len(ends), 600)
    machine.wait("no run is active", lambda: not any(job["running"] for job in machine.jobs()[0].values()))

    stamps = machine.stamps(*names)
    for name in names:
        found = [stamp for stamp in stamps if stamp.name == name]
        case.check(len(found) == 1, f"{name} started {len(found)} times")
    early = [stamp for stamp in stamps if stamp.name in ON_BOOT and stamp.clocks.boottime < BOOT_SECONDS * 1_000_000]
    case.check(not early, f"on-boot runs before its time: {early[:3]}")
    case.check(
        len({stamp.run for stamp in stamps}) == len(stamps), "two runs have the same ID"
    )
    expected = f"{missed:%Y-%m-%dT%H:%M:%S}"
    wrong = [stamp for stamp in stamps if stamp.name in CALENDARS and not stamp.scheduled.startswith(expected)]
    case.check(not wrong, f"a caught-up run is not that of {expected}: {wrong[:3]}")
    check_spread(case, machine, names)
    catch_up = [stamp.clocks.monotonic for stamp in stamps if stamp.name in CALENDARS]
    case.note(f"{len(catch_up)} caught up within {(max(catch_up) - min(catch_up)) / 1e6:.0f} s")


def check_spread(case, machine, names):
    """How many were between their two stamps at a time."""
    changes = sorted(
        (stamp.clocks.monotonic, -1 if stamp.name.startswith("end-") else 1)
        for stamp in machine.stamps(*names, *(f"end-{name}" for name in names))
    )
    active = most = 0
    for _, change in changes:
        active += change
        most = max(most, active)
    case.check(most <= CONCURRENT, f"{most} ran at a time, and not {CONCURRENT}")
    case.note(f"at most {most} at a time")
