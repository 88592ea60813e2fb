# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A machine that loses its power at any moment: no run starts twice, no answered command and at most 30 s of time are lost."""

import os
import random
import re
import threading
import time

from machine import Failure, Gone, microseconds

LOSS_MAX = 30_000_000  # µs
CONFIGURATION = """
[job.beat]
command = ["stamp", "beat"]
calendar = "*:*:*"
[job.grid]
command = ["stamp", "grid"]
every = "1500ms"
[job.fails]
command = ["stamp", "fails", "false"]
every = "4s"
retries = 1
retry-delay = "1s"
[job.boot]
command = ["stamp", "boot"]
on-boot = "1s"
[job.long]
command = ["sleep", "1000"]
every = "100h"
first = "0s"
""" + "".join(
    f"""
[job.{name}]
command = ["true"]
every = "100h"
""" for name in ("counts", "pauses", "stops", "skips", "one", "two")
)

# Before each start of the daemon: whether a copy of the database is sound, as SQLite finds it.
DATABASE_CHECK = """
import os, shutil, sqlite3
os.makedirs("/run/check", exist_ok=True)
for name in ("timerd.db", "timerd.db-wal"):
    if os.path.exists("/var/lib/timerd/" + name):
        shutil.copy("/var/lib/timerd/" + name, "/run/check/" + name)
result = "none"
if os.path.exists("/run/check/timerd.db"):
    try:
        result = sqlite3.connect("/run/check/timerd.db").execute("PRAGMA integrity_check").fetchone()[0]
    except sqlite3.Error as error:
        result = str(error)
open("/run/check/result", "w").write(result)
"""
FILES = {
    "/etc/timerd/timerd.toml": CONFIGURATION,
    "/root/check-database": DATABASE_CHECK,
    "/etc/systemd/system/timerd.service.d/check.conf": "[Service]\nExecStartPre=+/usr/bin/python3 /root/check-database\n",
}


def LIMIT(is_long):
    return 300 + cuts(is_long) * 120


def cuts(is_long):
    return int(os.environ.get("CUTS") or (50 if is_long else 5))


class Record:
    """What was answered, kept outside of the machine. A command that was sent and not answered may count or not."""

    def __init__(self):
        self.answered = {}  # by job: what the last answered command made of it
        self.sent = {}  # by job: what a command that was not answered would make of it
        self.sample = None  # the elapsed time of `counts`, and the time outside when that was asked for
        self.cuts = 0  # since then
        self.commands = 0

    def send(self, machine, jobs, path, body, effect):
        self.sent = {job: effect for job in jobs}
        machine.post(path, body)
        self.commands += 1
        self.answered.update(self.sent)
        self.sent = {}

    def allowed(self, job):
        return {self.answered.get(job, "armed"), self.sent.get(job, self.answered.get(job, "armed"))}


def state(job):
    """What a command can make of a job, as a text."""
    if job["state"] == "paused":
        return f"paused {job['paused'].get('note')}"
    return f"{job['state']} {job['skips']}" if "skips" in job else job["state"]


def command(machine, own, record):
    """One command, whose effect is known and differs from what is."""
    verb = own.choice(["pauses", "stops", "skips", "pair", "reload"])
    number = record.commands
    if verb == "pauses":
        if record.answered.get(verb, "armed") == "armed":
            record.send(machine, [verb], "/v1/jobs/pauses/pause", {"note": f"note {number}"}, f"paused note {number}")
        else:
            record.send(machine, [verb], "/v1/jobs/pauses/resume", {}, "armed")
    elif verb == "stops":
        is_armed = record.answered.get(verb, "armed") == "armed"
        record.send(
            machine, [verb], f"/v1/jobs/stops/{'stop' if is_armed else 'start'}", {}, "stopped" if is_armed else "armed"
        )
    elif verb == "skips":
        record.send(machine, [verb], "/v1/jobs/skips/skip-next", {"count": number + 1}, f"armed {number + 1}")
    elif verb == "pair":
        if record.answered.get("one", "armed") == "armed":
            record.send(
                machine,
                ["one", "two"],
                "/v1/jobs/pause",
                {"jobs": ["one", "two"], "note": f"pair {number}"},
                f"paused pair {number}",
            )
        else:
            # Without the pauses of the list, the answer would be a question (timerctl resume).
            record.send(machine, ["one", "two"], "/v1/jobs/resume", {"jobs": ["one", "two"]}, "armed")
    else:
        extra = "".join(f'[job.extra-{n}]\ncommand = ["true"]\nevery = "1h"\n' for n in range(own.randrange(4)))
        machine.write("/etc/timerd/jobs.d/extra.toml", extra)
        machine.post("/v1/reload")


def work(machine, own, record, problems):
    """Gives commands, and looks at the time, until the machine is off."""
    try:
        while True:
            command(machine, own, record)
            jobs, _ = machine.jobs()
            record.sample, record.cuts = (jobs["counts"]["elapsed_usec"], time.monotonic()), 0
    except Gone:
        pass
    except (Failure, KeyError) as problem:
        problems.append(f"a command: {problem}")


def run(case):
    machine = case.machine()
    record = Record()
    lost = []
    machine.start(files=FILES)
    count = cuts(case.is_long)
    for turn in range(count):
        # Every third cut is during the start of the machine's services.
        if turn % 3 == 2:
            time.sleep(case.random.uniform(0, 6))
        else:
            machine.wait("timerd answers", machine.is_ready, 120)
            own = random.Random(case.random.random())
            worker = threading.Thread(target=work, args=(machine, own, record, case.problems))
            worker.start()
            machine.wait("an answered command", lambda: record.sample or case.problems)
            time.sleep(case.random.uniform(0, 40 if case.is_long else 8))
        machine.cut_power()
        cut = time.monotonic()
        record.cuts += 1
        if turn % 3 != 2:
            worker.join()
        machine.start(ready=turn % 3 != 1 or turn == count - 1)
        if turn % 3 != 1 or turn == count - 1:
            check_turn(case, machine, record, cut, lost, f"cut {turn + 1}")
    case.note(f"{count} cuts, {record.commands} commands answered, at most {max(lost, default=0) / 1e6:.1f} s lost")
    check_runs(case, machine)


def check_turn(case, machine, record, cut, lost, name):
    """What the machine still knows after it."""
    sound = machine.do("cat", "/run/check/result")
    case.check(sound == "ok", f"{name}: the database is sound: {sound}")
    answer = machine.get("/v1/jobs")
    now, since = microseconds(answer.body["now"]), microseconds(answer.body["since"])
    jobs = {job["job"]: job for job in answer.body["jobs"]}
    for job in ("pauses", "stops", "skips", "one", "two"):
        found = state(jobs[job])
        case.check(
            found in record.allowed(job),
            f"{name}: an answered command is lost: {job} is {found!r}, not {record.allowed(job)}",
        )
        record.answered[job] = found
    case.check(
        state(jobs["one"]) == state(jobs["two"]),
        f"{name}: a command for two jobs holds for one: {state(jobs['one'])}, {state(jobs['two'])}",
    )
    record.sent = {}
    if record.sample is None:
        return
    (elapsed, asked), record.sample = record.sample, None
    restored = jobs["counts"]["elapsed_usec"] - (now - since)
    loss = elapsed - restored
    lost.append(loss // record.cuts)
    case.check(loss <= LOSS_MAX * record.cuts, f"{name}: {loss} µs are lost in {record.cuts} cuts")
    case.check(
        -loss <= (cut - asked) * 1e6 + 200_000, f"{name}: {-loss} µs are gained, {cut - asked:.3f} s before the cut"
    )
    entries = machine.journal(r"the machine went down without stopping the previous instance.*")
    said = re.search(r"up to ([\d.]+) (ms|s) of it is lost", entries[-1]) if entries else None
    case.check(said, f"{name}: the log says how much is lost: {entries[-1:]}")
    if said and record.cuts == 1:
        most = float(said[1]) * {"ms": 1e3, "s": 1e6}[said[2]]
        case.check(
            loss <= most + 200_000 and most <= LOSS_MAX, f"{name}: {loss} µs are lost, and the log says {said[0]}"
        )


def check_runs(case, machine):
    """Each run started once, over all boots; an interrupted one is on record as lost."""
    machine.wait("the job of the boot", lambda: any(stamp.boot == machine.boots for stamp in machine.stamps("boot")))
    boots = [stamp.boot for stamp in machine.stamps("boot")]
    case.check(len(set(boots)) == len(boots), f"on-boot runs once in each boot: {boots}")
    seen = {}
    for stamp in machine.stamps():
        seen.setdefault(stamp.run, []).append(stamp)
    case.note(f"{len(seen)} runs")
    for run_id, stamps in seen.items():
        case.check(len(stamps) == 1, f"{run_id} started twice, in the boots {[stamp.boot for stamp in stamps]}")
    ended = machine.get("/v1/runs?job=long").body["runs"]
    case.check([run["outcome"] for run in ended] == ["lost(reboot)"], f"an interrupted run is lost(reboot): {ended}")
    machine.power_off()
