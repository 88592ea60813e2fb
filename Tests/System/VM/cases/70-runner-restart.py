# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""The runner is killed and restarted with live jobs in control groups of a real kernel: they live on, none is left behind."""

LIMIT = 600  # s
CONFIGURATION = """
[job.long]
command = ["stamp", "long", "sleep", "4711"]
every = "100h"
first = "0s"
[job.short]
command = ["stamp", "short", "sleep", "20"]
every = "100h"
first = "0s"
[job.leaves]
shell = "setsid stamp left sleep 4712 & sleep 4713"
every = "100h"
first = "0s"
kill-timeout = "2s"
[job.beat]
command = ["stamp", "beat"]
every = "1s"
"""


def run(case):
    machine = case.machine()
    machine.start(files={"/etc/timerd/timerd.toml": CONFIGURATION})
    processes = lambda *words: machine.run("pgrep", "-fx", " ".join(words)).output.split()
    runner = lambda: machine.do("systemctl", "show", "-P", "MainPID", "timerd-runner")
    machine.wait(
        "the jobs run", lambda: {stamp.name for stamp in machine.stamps()} >= {"long", "short", "left", "beat"}
    )
    long = machine.wait("its process", lambda: processes("sleep", "4711"))
    group = machine.do("cat", f"/proc/{long[0]}/cgroup").split("::")[1]
    case.check("timerd-runner.service/" in group, f"a run has a control group of its own below the runner: {group}")

    # Killed: the jobs live on, and the next runner finds them.
    first = runner()
    machine.do("kill", "-KILL", first)
    machine.wait("another runner", lambda: runner() not in ("0", first))
    runs = len(machine.stamps("beat"))
    machine.wait("jobs start again", lambda: len(machine.stamps("beat")) >= runs + 2)
    case.check(processes("sleep", "4711") == long, "the run is the same process")
    case.check(machine.job("long")["running"], "and still a run of its job")
    short = machine.ended("short")
    case.check(short["outcome"] == "lost(runner)", f"its end was not seen by the runner that started it: {short}")

    # Stopped by a command: everything in its group ends.
    machine.post("/v1/jobs/leaves/kill")
    leaves = machine.ended("leaves")
    case.check(leaves["reason"] in ("stopped", "lost"), f"a run is stopped: {leaves}")
    machine.wait(
        "what it left behind has ended", lambda: not processes("sleep", "4712") and not processes("sleep", "4713")
    )

    # Restarted in order: the run is stopped, and nothing is left of it.
    machine.do("systemctl", "restart", "timerd-runner", seconds=90)
    machine.wait("the long run is over", lambda: machine.job("long").get("last"))
    case.note(f"killed: {short['outcome']}, restarted: {machine.job('long')['last']['outcome']}")
    case.check(not processes("sleep", "4711"), "its process has ended")
    machine.wait(
        "its control group is removed", lambda: machine.run("test", "-e", f"/sys/fs/cgroup{group}").status == 1
    )
    runs = len(machine.stamps("beat"))
    machine.wait("jobs start again", lambda: len(machine.stamps("beat")) >= runs + 2)
    case.check(len({stamp.run for stamp in machine.stamps()}) == len(machine.stamps()), "no run started twice")
