# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""An etcd that lost everything, or is a copy from before, and what comes back after `adopt`."""

import json
import os
import shutil
import time

from fleet import EACH_SECOND, Fleet, expect, judged, now
from machine import wait_until

JOBS = {
    "tick": EACH_SECOND,
    "idle": EACH_SECOND,
    "count": ['fleet = "one"', 'every = "1h"'],
}


def shown(machine):
    return json.loads(machine.must("fleet", "--json"))


def elapsed(machine, job):
    return json.loads(machine.must("show", job, "--json"))["active_usec"] / 1e6


def recovered(fleet):
    identity = fleet.values().get("identity")
    return identity and "recovery" not in identity


def saved(fleet):
    """The name of a snapshot of etcd as it is now."""
    snapshot = f"{fleet.work}/snapshot"
    expect(fleet.cluster.ctl("snapshot", "save", snapshot), "a snapshot is made")
    return snapshot


def restore(fleet, snapshot, token):
    """Lets all etcds begin with the snapshot, as the administrator of FLEET.md does."""
    cluster = fleet.cluster
    cluster.stop()
    names = ",".join(f"{host}={cluster.url(host, 2380)}" for host in cluster.hosts)
    for host in cluster.hosts:
        shutil.rmtree(cluster.data(host))
        status = cluster.ctl(
            "snapshot", "restore", snapshot, "--name", host, "--data-dir", cluster.data(host), "--initial-cluster", names,
            "--initial-cluster-token", token, "--initial-advertise-peer-urls", cluster.url(host, 2380), host=host)
        expect(status is not None, f"the snapshot cannot be restored on {host}")
        cluster.start(host)
    cluster.wait()


def forget_all(machine):
    """Installs the machine again: nothing of its state is left."""
    machine.stop()
    shutil.rmtree(f"{machine.directory}/state")
    os.mkdir(f"{machine.directory}/state", 0o700)


def adopted_after_loss():
    """pauses, skipped runs, elapsed time and the hold come back into an empty etcd, also from a daemon that was restarted"""
    with Fleet(JOBS) as fleet:
        first, second, third = fleet.machines
        fleet.wait_for_starts("tick", 3)
        wait_until(lambda: elapsed(first, "count") > 5, "some time counts")
        second.must("pause", "idle", "--note", "the disk is full")
        third.must("skip-next", "count", "3")
        third.must("fleet", "hold")
        # What it knows is on its disk then.
        wait_until(lambda: shown(first).get("held_by"), "the first machine knows the hold")
        first.stop()
        before = elapsed(second, "count")
        fleet.cluster.stop()
        old = fleet.starts()
        fleet.cluster.create()
        first.start()
        first.when_connected()
        wait_until(lambda: first.state() == "unusable", "the empty etcd is refused")
        status, _, error = first.ctl("fleet", "adopt")
        expect(status == 1 and "These stay paused: idle\n" in error and "stays held" in error, f"adopt: {status} {error}")
        adopted = now()
        first.must("fleet", "adopt", "--yes")
        wait_until(lambda: recovered(fleet), "the store has recovered")
        job = fleet.job("idle")
        expect(job["pause"]["note"] == "the disk is full", f"{job}")
        expect(fleet.values()["hold"]["held"], "the fleet is not held any more")
        expect(fleet.job("count")["skips"] == 3, f"{fleet.job('count')}")
        expect(fleet.job("count")["active_ns"] / 1e9 >= before - 0.5, f"{fleet.job('count')}, {before} s before")
        expect(len(fleet.starts()) == len(old), "something started during a hold")
        wait_until(lambda: third.ctl("fleet", "release")[0] == 0, "it is released")
        fleet.wait_for_starts("tick", 3)
        new = [start for start in fleet.starts() if start.at > adopted]
        expect(all(start.run.startswith("tick:") for start in new), "a job ran that was paused")
        expect(min(start.fence for start in new) > max(start.fence for start in old), "the fence went back")
        expect(min(start.due for start in new) > max(start.due for start in old), "a slot started twice")
        return f"{len(old)} starts before and {len(new)} after it, {before:.1f} s came back"


def restored_with_the_same_token():
    """a machine without memory starts nothing in an etcd that was restored under its old token"""
    with Fleet(JOBS) as fleet:
        fleet.wait_for_starts("tick", 3)
        snapshot = saved(fleet)
        fleet.wait_for_starts("tick", 5)
        fleet.first.must("pause", "idle")
        new, *others = reversed(fleet.machines)
        for machine in fleet.machines:
            machine.stop()
        forget_all(new)
        restore(fleet, snapshot, f"test-{fleet.cluster.token}")
        old = fleet.starts()
        new.start()
        new.when_connected()
        wait_until(lambda: "restored from a snapshot" in shown(new).get("problem", ""), "it notices that")
        # Others lift the revision.
        for number in range(20):
            fleet.cluster.ctl("put", "/other", str(number))
        new.stop()
        new.start()
        new.when_connected()
        wait_until(lambda: "restored from a snapshot" in shown(new).get("problem", ""), "it notices that again")
        expect(len(fleet.starts()) == len(old), "something started before adopt")
        for machine in others:
            machine.start()
            machine.when_connected()
        adopted = now()
        new.must("fleet", "adopt", "--yes")
        fleet.wait_for_starts("tick", 3)
        started = [start for start in fleet.starts() if start.at > adopted]
        expect(all(start.run.startswith("tick:") for start in started), "a job ran that was paused after the snapshot")
        expect(min(s.due for s in started) > max(s.due for s in old), "a slot started twice")
        return f"{len(old)} starts before and {len(started)} after it"


def no_machine_remembers():
    """if no machine remembers what was paused, the fleet is held after `adopt` until it is released"""
    with Fleet(JOBS) as fleet:
        fleet.wait_for_starts("tick", 3)
        snapshot = saved(fleet)
        for machine in fleet.machines:
            forget_all(machine)
        restore(fleet, snapshot, "restored")
        old = fleet.starts()
        for machine in fleet.machines:
            machine.start()
            machine.when_connected()
        status, _, error = fleet.first.ctl("fleet", "adopt")
        expect(status == 1 and "held until `timerctl fleet release`" in error, f"adopt: {status} {error}")
        fleet.first.must("fleet", "adopt", "--yes")
        wait_until(lambda: recovered(fleet), "the store has recovered")
        time.sleep(3)
        expect(len(fleet.starts()) == len(old), "something started")
        reply = shown(fleet.machines[1])
        expect(reply["held_by"] == "timerd", f"{reply}")
        wait_until(lambda: "remembers what was paused: it is held" in fleet.first.log(), "the log says it")
        wait_until(lambda: fleet.first.ctl("fleet", "release")[0] == 0, "it is released")
        fleet.wait_for_starts("tick", 3)
        return judged(fleet, {})


CHECKS = {
    "adopted-after-loss": adopted_after_loss,
    "restored-with-the-same-token": restored_with_the_same_token,
    "no-machine-remembers": no_machine_remembers,
}
