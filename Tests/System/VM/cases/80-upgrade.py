# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""The package is upgraded under live jobs and over a reboot; an older one refuses the newer state, and loses nothing of it."""

import os
import shutil
import subprocess

from machine import Broken

LIMIT = 900  # s
CONFIGURATION = """
[job.beat]
command = ["stamp", "beat"]
every = "2s"
[job.counts]
command = ["true"]
every = "100h"
[job.held]
command = ["true"]
every = "100h"
[job.long]
command = ["stamp", "long", "sleep", "4711"]
every = "100h"
first = "0s"
[job.boot]
command = ["stamp", "boot"]
on-boot = "1s"
"""
DATABASE = "/var/lib/timerd/timerd.db"
# A later timerd has more tables than this one knows.
SET_VERSION = f"""
import sqlite3, sys
database = sqlite3.connect("{DATABASE}")
database.execute("PRAGMA user_version = %d" % int(sys.argv[1]))
database.commit()
print(database.execute("PRAGMA user_version").fetchone()[0])
"""
GET_VERSION = f'import sqlite3; print(sqlite3.connect("{DATABASE}").execute("PRAGMA user_version").fetchone()[0])'
# Everything that is saved, and not how SQLite stores it.
CONTENTS = f"""
import hashlib, sqlite3
print(hashlib.sha256("\\n".join(sqlite3.connect("{DATABASE}").iterdump()).encode()).hexdigest())
"""


def run(case):
    packages = [case.product, later_package(case)]
    machine = case.machine()
    for package in packages:
        machine.add_disk(base=package)
    machine.start(files={"/etc/timerd/timerd.toml": CONFIGURATION, "/root/set-version": SET_VERSION})
    sizes = [os.path.getsize(package) for package in packages]
    for name, disk, size in zip(("this", "later"), ("vdb", "vdc"), sizes):
        machine.shell(f"head -c {size} /dev/{disk} >/root/{name}.deb")

    machine.wait("runs", lambda: machine.stamps("beat") and machine.stamps("long"))
    machine.post("/v1/jobs/held/pause", {"note": "disk swap"})
    upgrade(case, machine)
    version = machine.do("dpkg-query", "-W", "-f", "${Version}", "timerd")
    over_a_reboot(case, machine, version)
    downgrade(case, machine)
    stamps = machine.stamps()
    case.check(len({stamp.run for stamp in stamps}) == len(stamps), "no run started twice")
    case.note(f"{len(stamps)} runs in {len(machine.agent.boots)} boots")


def later_package(case):
    """The package with a higher version, and the same contents."""
    tree, path = f"{case.folder}/tree", f"{case.folder}/later.deb"
    try:
        subprocess.run(["dpkg-deb", "-R", case.product, tree], check=True, capture_output=True)
        control = f"{tree}/DEBIAN/control"
        with open(control, encoding="utf-8") as file:
            lines = file.read().splitlines()
        with open(control, "w", encoding="utf-8") as file:
            for line in lines:
                file.write(f"{line}+later\n" if line.startswith("Version: ") else f"{line}\n")
        subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "-b", tree, path], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Broken(f"cannot make a package to upgrade to: {error}; make deb, and name that package") from None
    shutil.rmtree(tree)
    return path


def install(machine, name):
    options = ("--force-unsafe-io", "--force-downgrade")
    machine.do("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", *options, "-i", f"/root/{name}.deb", seconds=400)


def elapsed(machine, name):
    return machine.job(name)["elapsed_usec"]


def upgrade(case, machine):
    process = machine.do("pgrep", "-fx", "sleep 4711")
    held, counts = elapsed(machine, "held"), machine.get("/v1/jobs/counts")
    install(machine, "later")
    machine.wait("timerd answers", machine.is_ready)
    runs = len(machine.stamps("beat"))
    machine.wait("jobs start again", lambda: len(machine.stamps("beat")) >= runs + 2)
    case.check(machine.do("pgrep", "-fx", "sleep 4711") == process, "a run is the same process after the upgrade")
    case.check(machine.job("long")["running"], "and still a run of its job")
    case.check(elapsed(machine, "held") == held, "a paused job has the same time")
    after = machine.get("/v1/jobs/counts")
    counted = after.body["elapsed_usec"] - counts.body["elapsed_usec"]
    passed = after.after.monotonic - counts.before.monotonic
    case.check(0 <= counted <= passed, f"counts gained {counted} µs while {passed} passed")
    # The default counts no time in which the daemon is down: here a restart, of some seconds in emulation.
    case.check(passed - counted <= 30_000_000, f"counts lost {passed - counted} µs by the upgrade")
    case.note(f"the upgrade cost {max(0, passed - counted) / 1e6:.1f} s")


def over_a_reboot(case, machine, version):
    held, counts = elapsed(machine, "held"), elapsed(machine, "counts")
    machine.reboot()
    case.check(machine.do("dpkg-query", "-W", "-f", "${Version}", "timerd") == version, "the later package is there")
    job = machine.job("held")
    case.check((job["state"], job["elapsed_usec"]) == ("paused", held), f"a pause outlives the reboot: {job}, was {held}")
    case.check((job.get("paused") or {}).get("note") == "disk swap", f"with its note: {job.get('paused')}")
    case.check(elapsed(machine, "counts") >= counts, "and so does elapsed time")
    machine.wait("on-boot runs in the new boot", lambda: len(machine.stamps("boot")) >= 2)
    last = machine.job("long").get("last")
    case.check(last and last["outcome"] in ("stopped", "lost(reboot)"), f"the run ended with the boot: {last}")


def downgrade(case, machine):
    """The later package has left a state that the older one does not know."""
    held = elapsed(machine, "held")
    machine.do("systemctl", "stop", "timerd.socket", "timerd", "timerd-runner")
    version = int(machine.do("python3", "-c", GET_VERSION))
    machine.do("python3", "/root/set-version", str(version + 1))
    contents = machine.do("python3", "-c", CONTENTS)
    install(machine, "this")
    refusal = rf"has version {version + 1}, this timerd knows up to {version}; install the newer timerd again"
    machine.wait_for_journal(refusal)
    refused = len(machine.journal(refusal))
    runs = len(machine.stamps())
    machine.reboot(ready=False)
    machine.wait("it refuses after the reboot too", lambda: len(machine.journal(refusal)) > refused)
    state = machine.do("systemctl", "show", "-P", "ActiveState", "timerd")
    case.check(state != "active", f"timerd is {state} with a state that it does not know")
    machine.do("systemctl", "stop", "timerd.socket", "timerd")
    case.check(machine.do("python3", "-c", CONTENTS) == contents, "the refused state is as it was")
    case.check(len(machine.stamps()) == runs, "nothing runs meanwhile")

    # A state that it knows.
    machine.do("python3", "/root/set-version", str(version))
    machine.do("systemctl", "start", "timerd.socket", "timerd")
    machine.wait("timerd answers", machine.is_ready)
    job = machine.job("held")
    case.check((job["state"], job["elapsed_usec"]) == ("paused", held), f"everything is as it was: {job}, was {held}")
    runs = len(machine.stamps("beat"))
    machine.wait("jobs start again", lambda: len(machine.stamps("beat")) >= runs + 2)
