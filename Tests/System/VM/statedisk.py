# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A disk of its own for the saved state, which can be filled, broken and repaired while timerd uses it."""

import re

STATE = "/var/lib/timerd"
MEGABYTES = 24
SECTORS = MEGABYTES * 2048
JOBS = """
[job.beat]
command = ["stamp", "beat"]
every = "1s"
[job.second]
command = ["stamp", "second"]
calendar = "*:*:0/2"
""" + "".join(
    f"""
[job.{name}]
command = ["true"]
every = "100h"
""" for name in ("counts", "before", "during", "after", "flakey", "read-only")
)
# The device `state` of the device mapper, /dev/dm-0, is the disk until the case changes that.
MOUNT = f"""#!/bin/sh -eu
modprobe dm_mod
if [ "$(head -c 2048 /dev/vdb | tr -d '\\0' | wc -c)" = 0 ]; then
    mke2fs -q -t ext4 $(cat /root/mkfs-options) /dev/vdb
else
    e2fsck -y /dev/vdb || [ $? -le 2 ]
fi
dmsetup create --noudevrules --noudevsync state --table "0 {SECTORS} linear /dev/vdb 0"
mkdir -p {STATE}
mount -t ext4 -o noauto_da_alloc /dev/dm-0 {STATE}
chown timerd: {STATE}
"""
UNIT = """[Unit]
Description=The disk of the saved state
DefaultDependencies=no
After=local-fs.target
Before=timerd.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -eu /root/mount-state
"""
WAITS = r"jobs that become due wait, and writing is tried again every second|a power cut now may lose the latest changes, and commands wait"
WORKS = r"The saved state can be written again; nothing was lost"


def start(case, mkfs_options=""):
    """A machine with such a disk, whose jobs run."""
    machine = case.machine()
    machine.add_disk(MEGABYTES)
    machine.start(
        files={
            "/etc/timerd/timerd.toml": JOBS,
            "/root/mount-state": MOUNT,
            "/root/mkfs-options": mkfs_options,
            "/etc/systemd/system/state-disk.service": UNIT,
            "/etc/systemd/system/timerd.service.d/disk.conf": "[Unit]\nRequires=state-disk.service\nAfter=state-disk.service\n",
        }
    )
    case.check(machine.run("mountpoint", "-q", STATE).status == 0, "the saved state is on its own disk")
    machine.wait("runs", lambda: machine.stamps("beat") and machine.stamps("second"))
    return machine


def waits(machine, count):
    """Waits until timerd has said for the count-th time that it cannot save its state."""
    machine.wait("the log says that the state cannot be saved", lambda: len(machine.journal(WAITS)) >= count, 120)


def works(case, machine, count):
    """Waits until it has said that it can again, and runs start."""
    machine.wait("the log says that the state can be saved again", lambda: len(machine.journal(WORKS)) >= count, 120)
    runs = len(machine.stamps("beat"))
    machine.wait("runs start again", lambda: len(machine.stamps("beat")) >= runs + 2, 120)


def pause(case, machine, job):
    """Pauses a job, and returns whether that was answered as done. An error means that it can be either."""
    answer = machine.ask_http("POST", f"/v1/jobs/{job}/pause", {"note": job})
    if answer.status != 200:
        case.note(f"{job}: {answer.status} {answer.body.get('error')}")
    return answer.status == 200


def check_pauses(case, machine, answered, when):
    """Each pause that was answered is there."""
    for job, was_answered in answered.items():
        found = machine.job(job)
        if was_answered:
            case.check(
                found["state"] == "paused" and found["paused"].get("note") == job,
                f"{when}: an answered pause is lost: {found}",
            )


def check_once(case, machine):
    """No run started twice."""
    seen = {}
    for stamp in machine.stamps():
        seen.setdefault(stamp.run, []).append(stamp)
    twice = {run: stamps for run, stamps in seen.items() if len(stamps) > 1}
    case.check(not twice, f"started twice: {twice}")
    case.note(f"{len(seen)} runs")


def check_time(case, machine, first):
    """The time of a job goes on while its state cannot be saved."""
    last = machine.get("/v1/jobs")
    at_least, at_most = last.before.monotonic - first.after.monotonic, last.after.monotonic - first.before.monotonic
    elapsed = [
        next(job["elapsed_usec"] for job in answer.body["jobs"] if job["job"] == "counts") for answer in (first, last)
    ]
    counted = elapsed[1] - elapsed[0]
    case.check(at_least <= counted <= at_most, f"{counted} µs counted where {at_least} to {at_most} passed")


def use_table(machine, table):
    """Replaces what is behind the device while it is used."""
    machine.shell(
        f"dmsetup suspend --noflush --nolockfs state; dmsetup load state --table '{table}'; dmsetup resume --noudevrules --noudevsync state"
    )


LINEAR = f"0 {SECTORS} linear /dev/vdb 0"
ERROR = f"0 {SECTORS} error"


def with_bad_files(machine, bad):
    """A table in which only the contents of the database and of its log are elsewhere: `bad` is the target for them. The file
    system itself works."""
    bad_sectors = set()
    for name in ("timerd.db", "timerd.db-wal"):
        listed = machine.shell(f"sync -f {STATE}; filefrag -e -b512 {STATE}/{name}")
        for first, last in re.findall(r"^ *\d+: +\d+\.\. *\d+: +(\d+)\.\. *(\d+):", listed, re.MULTILINE):
            bad_sectors.update(range(int(first), int(last) + 1))
    lines, begin = [], 0
    for sector in range(1, SECTORS + 1):
        if sector == SECTORS or (sector in bad_sectors) != (begin in bad_sectors):
            target = bad if begin in bad_sectors else "linear /dev/vdb {begin}"
            lines.append(f"{begin} {sector - begin} {target}".replace("{begin}", str(begin)))
            begin = sector
    return "\n".join(lines)


def goes_on(case, machine, answered, job):
    """Without any help a command is answered again, runs start, and no pause is lost."""
    answered[job] = machine.wait("a command is answered again", lambda: pause(case, machine, job))
    runs = len(machine.stamps("beat"))
    machine.wait("runs start", lambda: len(machine.stamps("beat")) >= runs + 2)
    check_pauses(case, machine, answered, f"at {job}")
