# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A file system that is read-only, because its disk failed or at the start: nothing answered is lost, and repaired it is used again."""

from statedisk import ERROR, STATE, check_once, check_pauses, goes_on, pause, start, use_table, waits

LIMIT = 600  # s


def run(case):
    machine = start(case, "-e remount-ro")
    answered = {"before": pause(case, machine, "before")}
    case.check(answered["before"], "a pause is answered while the disk works")

    # The disk is gone, and ext4 makes itself read-only for good.
    use_table(machine, ERROR)
    waits(machine, 1)
    machine.wait("it is read-only", lambda: machine.run("sh", "-c", f": >{STATE}/one-more").status != 0)
    case.check(not pause(case, machine, "during"), "no command is answered as done that is not on the disk")
    # The machine is started again with another disk that has what was written.
    machine.cut_power()
    machine.start()
    check_pauses(case, machine, answered, "with the disk back")
    goes_on(case, machine, answered, "after")

    # Read-only when the daemon starts.
    machine.do("systemctl", "stop", "timerd.socket", "timerd", seconds=90)
    machine.do("mount", "-o", "remount,ro", STATE)
    runs = len(machine.stamps("beat"))
    machine.run("systemctl", "--no-block", "start", "timerd.socket", "timerd", seconds=90)
    said = machine.wait_for_journal(r"timerd\[\d+\]: .*(?:[Rr]ead-only|readonly).*", 120)
    case.note(said[-1].split(": ", 1)[1])
    case.check(len(machine.stamps("beat")) == runs, "no run starts that cannot be recorded")
    machine.do("mount", "-o", "remount,rw", STATE)
    machine.wait("timerd answers by itself", machine.is_ready, 120)
    goes_on(case, machine, answered, "read-only")
    check_once(case, machine)
