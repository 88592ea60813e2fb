# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A full ext4, without space and then without inodes: runs wait, nothing answered is lost in a power cut, and all goes on by itself."""

from statedisk import STATE, check_once, check_pauses, check_time, pause, start, waits, works

LIMIT = 600  # s
# Several times, because ext4 reserves more than it needs until the blocks are written.
FILL = f"for time in 1 2 3 4; do cat /dev/zero >>{STATE}/filler 2>/dev/null || true; sync -f {STATE}; done"


def run(case):
    machine = start(case, "-N 64")
    answered = {"before": pause(case, machine, "before")}
    case.check(answered["before"], "a pause is answered while there is space")
    first = machine.get("/v1/jobs")
    machine.shell(FILL)
    waits(machine, 1)
    runs = len(machine.stamps("beat"))
    answered["during"] = pause(case, machine, "during")
    case.check(len(machine.stamps("beat")) <= runs + 1, "no run starts while its start cannot be recorded")
    machine.wait(
        "the status line says that runs wait",
        lambda: "runs wait" in machine.do("systemctl", "show", "-P", "StatusText", "timerd"),
    )
    check_time(case, machine, first)
    machine.do("rm", f"{STATE}/filler")
    works(case, machine, 1)
    check_pauses(case, machine, answered, "with space again")

    # Full again, and then the power is gone.
    machine.shell(FILL)
    waits(machine, 2)
    answered["after"] = pause(case, machine, "after")
    machine.cut_power()
    machine.start()
    check_pauses(case, machine, answered, "after the power cut")
    machine.do("rm", "-f", f"{STATE}/filler")
    runs = len(machine.stamps("beat"))
    machine.wait("runs start again", lambda: len(machine.stamps("beat")) >= runs + 2)
    inodes(case, machine)
    check_once(case, machine)


def inodes(case, machine):
    """No file can be made, and the daemon starts: its database needs a second file to be written."""
    machine.do("systemctl", "stop", "timerd.socket", "timerd")
    machine.shell(
        f"mkdir {STATE}/many; cd {STATE}/many; number=0; while touch $number; do number=$((number + 1)); done 2>/dev/null"
    )
    case.check(machine.run("sh", "-c", f": >{STATE}/one-more").status != 0, "there are no inodes")
    machine.run("systemctl", "start", "timerd.socket", "timerd", seconds=120)
    machine.wait("timerd answers", machine.is_ready)
    machine.wait(
        "the log says that no run starts",
        lambda: machine.journal("no run starts until there is space|" "jobs that become due wait"),
        120,
    )
    runs = len(machine.stamps("beat"))
    machine.do("rm", "-r", f"{STATE}/many")
    machine.wait("runs start by themselves", lambda: len(machine.stamps("beat")) >= runs + 2, 120)
    case.check(machine.job("before")["state"] == "paused", "a pause is kept")
