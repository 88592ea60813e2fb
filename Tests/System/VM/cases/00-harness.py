# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""The machine is a real one: a kernel and a systemd of its own, control groups v2, a disk, a clock, and ports that survive a power cut."""

LIMIT = 600  # s


def run(case):
    machine = case.machine()
    machine.start(ready=False)
    case.note(f"first answer after {machine.agent.boots[0]['clocks'][1] / 1e6:.1f} s of the machine's time")
    case.check(machine.do("cat", "/proc/1/comm") == "systemd", "PID 1 is systemd")
    case.check("memory" in machine.do("cat", "/sys/fs/cgroup/cgroup.controllers"), "control groups v2 with memory")
    case.check("mem" in machine.do("cat", "/sys/power/state"), "it can be suspended")
    case.check(machine.do("cat", "/sys/module/apparmor/parameters/enabled") == "Y", "AppArmor is enabled")
    case.check(machine.do("ls", "/sys/class/net") == "lo", "there is no network")
    machine.do("stamp", "first")
    machine.do("sh", "-c", "echo synced >/root/kept && sync /root/kept && echo lost >/root/lost")
    machine.do("stamp", "last")
    machine.cut_power()
    names = [stamp.name for stamp in machine.stamps()]
    case.check(names == ["first", "last"], f"what was stamped is outside: {names}")
    machine.start(ready=False)
    case.check(machine.do("cat", "/root/kept") == "synced", "what was synced is on the disk after a power cut")
    case.check(machine.run("grep", "-q", "lost", "/root/lost").status != 0, "what was not synced is lost")
    machine.do("date", "-s", "@86400")
    case.check(machine.run("date", "+%s").output.startswith("864"), "its clock can be set")
