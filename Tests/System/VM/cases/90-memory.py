# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Memory runs out, and the kernel chooses what to kill: the jobs that use it up, never the runner, the daemon or another job."""

LIMIT = 600  # s
COUNT = 3
CONFIGURATION = """
[job.beat]
command = ["stamp", "beat"]
every = "1s"
[job.quiet]
command = ["stamp", "quiet", "sleep", "4711"]
every = "100h"
first = "0s"
"""


def hogs(count):
    """Jobs that take more and more memory, and fill it, until the kernel ends them."""
    code = "blocks = []\\nwhile True: blocks.append(bytearray(b'x' * 8000000))"
    return "".join(
        f'[job.hog-{number}]\ncommand = ["python3", "-Sc", "{code}"]\nevery = "100h"\n' for number in range(count)
    )


def run(case):
    machine = case.machine(memory=512)
    machine.start(files={"/etc/timerd/timerd.toml": CONFIGURATION + hogs(COUNT)})
    machine.wait("the jobs run", lambda: machine.stamps("quiet") and machine.stamps("beat"))
    case.check(machine.run("test", "-e", "/proc/pressure/memory").status == 0, "the kernel measures memory pressure")
    main = lambda unit: machine.do("systemctl", "show", "-P", "MainPID", unit)
    daemon, runner = main("timerd"), main("timerd-runner")
    quiet = machine.do("pgrep", "-fx", "sleep 4711")
    for number in range(COUNT):
        machine.post(f"/v1/jobs/hog-{number}/run")
    for number in range(COUNT):
        ended = machine.ended(f"hog-{number}", seconds=300)
        case.check(ended["outcome"] == "signalled(SIGKILL)", f"it is on record how the job ended: {ended}")
    runs = len(machine.stamps("beat"))
    machine.wait("runs start", lambda: len(machine.stamps("beat")) >= runs + 3)
    victims = machine.shell("dmesg | sed -n 's/.*Killed process [0-9]* (\\([^)]*\\)).*/\\1/p' | sort | uniq -c")
    case.note(f"killed: {' '.join(victims.split())}")
    case.check(victims.split() == [str(COUNT), "python3"], f"only the jobs that use the memory are killed: {victims}")
    case.check(
        (main("timerd"), main("timerd-runner")) == (daemon, runner), "the daemon and the runner are the same processes"
    )
    case.check(machine.do("pgrep", "-fx", "sleep 4711") == quiet, "a job that uses little is the same process")
