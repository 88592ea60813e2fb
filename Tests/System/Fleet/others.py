# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""An etcd that is far away, has a wrong clock, is three clusters, or has what another version wrote."""

import json
import os
import signal
import subprocess
import sys
import time

from etcd import Cluster
from fleet import EACH_SECOND, PREFIX, Fleet, expect, judged
from machine import Machine, wait_until

PROXY = os.path.join(os.path.dirname(__file__), "proxy.py")


class Ways:
    """Another way from a machine to each etcd. Use it with `with`."""

    def __init__(self, fleet, machine, delay=0.0, shifts=(0, 0, 0)):
        self.processes = []
        urls = []
        for number, (host, shift) in enumerate(zip(fleet.cluster.hosts, shifts)):
            port = 3000 + number
            target = f"{fleet.cluster.network.address(host)}:2379"
            self.processes.append(
                subprocess.Popen(
                    fleet.cluster.network.command(
                        machine.host, sys.executable, PROXY, str(port), target, str(delay), str(shift))))
            urls.append(f"http://127.0.0.1:{port}")
        machine.stop()
        machine.urls = urls
        machine.write_config()
        machine.start()
        machine.when_connected()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def shown(machine):
    return json.loads(machine.must("fleet", "--json"))


def when_fit(fleet):
    def all_fit():
        machines = shown(fleet.first)["machines"]
        return len(machines) == len(fleet.machines) and all(machine["fit"] for machine in machines)

    wait_until(all_fit, "all machines are fit")


def far_store():
    """from a machine 100 ms away from etcd a pause holds on all machines, and resume works, each within 5 s"""
    jobs = {"tick": EACH_SECOND, "count": ['fleet = "one"', 'every = "1h"']}
    with Fleet(jobs) as fleet:
        far = fleet.machines[2]
        with Ways(fleet, far, delay=0.1):
            when_fit(fleet)
            slowest = 0
            for round in range(6):
                for job in ("count", "tick"):
                    for verb in ("pause", "resume"):
                        began = time.monotonic()
                        far.must(verb, job)
                        slowest = max(slowest, time.monotonic() - began)
                        value = fleet.job(job)
                        expect(("pause" in value) == (verb == "pause"), f"after {verb} {job}: {value}")
            expect(slowest < 5, f"{slowest:.1f} s")
            expect(fleet.job("count").get("opened_t") is not None, "its time counts")
            counts = judged(fleet, {"tick": 1})
        return f"the slowest of 24 commands took {slowest:.1f} s, {counts}"


def old_knowledge():
    """a command is not acknowledged by what a machine knew: cut off, with timerd-fleet stopped, or 30 ms away"""
    jobs = {"tick": EACH_SECOND, "idle": ['fleet = "one"', 'every = "1h"']}
    with Fleet(jobs) as fleet:
        first, _, third = fleet.machines
        when_fit(fleet)

        def is_paused(job="idle"):
            return "pause" in fleet.job(job)

        def paused_and_resumed(begin, end):
            first.must("pause", "idle")
            wait_until(lambda: '"paused"' in third.must("show", "idle", "--json").replace(" ", ""), "it knows the pause")
            begin()
            first.must("resume", "idle")
            began = time.monotonic()
            status, _, error = third.ctl("pause", "idle")
            took = time.monotonic() - began
            expect(status != 0 or is_paused(), "it acknowledged a pause that was not there")
            end()
            third.when_connected()
            return f"{'done' if status == 0 else 'refused'} in {took:.1f} s"

        cut = paused_and_resumed(lambda: fleet.network.cut(third.host), lambda: fleet.network.heal(third.host))

        def stop():
            third.kill("timerd-fleet", signal.SIGSTOP)

        # It continues by itself, as after a moment without memory.
        def stop_for_a_while():
            stop()
            subprocess.Popen(["sh", "-c", f"sleep 3; kill -CONT {third.processes['timerd-fleet'].pid}"])

        stopped = paused_and_resumed(stop_for_a_while, lambda: third.kill("timerd-fleet", signal.SIGCONT))
        wait_until(lambda: third.ctl("pause", "idle")[0] == 0, "it is paused")
        expect(is_paused(), "it is not paused")
        with Ways(fleet, third, delay=0.03):
            wait_until(lambda: third.state() == "connected", "it may start runs")
            for _ in range(6):
                third.must("fleet", "hold")
                expect(fleet.values()["hold"]["held"], "a hold had no effect")
                third.must("fleet", "release")
                expect(not fleet.values()["hold"]["held"], "a release had no effect")
            wait_until(lambda: fleet.first.ctl("pause", "tick")[0] == 0, "it is paused")
        return f"cut off: {cut}, stopped: {stopped}"


def why_nothing_starts():
    """a name that is taken, a drained machine and one that just joined say so, there and elsewhere"""
    with Fleet({"tick": EACH_SECOND}) as fleet:
        # All hosts have one kernel, and so one boot: by that a machine knows its own earlier starts.
        for _ in range(3):
            fleet.first.stop()
            fleet.first.start()
            fleet.first.when_connected()
        when_fit(fleet)
        third = fleet.machines[2]
        third.stop()
        third.name = fleet.first.host
        third.write_config()
        third.start()
        third.when_connected()
        wait_until(lambda: "is connected as host1" in shown(third).get("problem", ""), "its name is taken")
        third.stop()
        third.name = third.host
        third.write_config()
        third.start()
        third.when_connected()
        when_fit(fleet)
        third.must("fleet", "drain")

        def unfit():
            return [one.get("unfit") for one in shown(fleet.first)["machines"] if one["machine"] == third.host]

        wait_until(lambda: unfit() == ["drained"], "the others see that it is drained")
        for machine in fleet.machines[:2]:
            machine.must("fleet", "drain")
        time.sleep(3)
        next_run = json.loads(third.must("show", "tick", "--json")).get("next")
        expect(next_run is None or next_run > time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()), f"next: {next_run}")
        for machine in fleet.machines:
            machine.must("fleet", "undrain")
        fleet.wait_for_starts("tick", 3)
        return judged(fleet, {"tick": 1})


def wrong_clock_of_an_etcd():
    """while the clock of one of three etcds is wrong, also the first one, all machines stay fit"""
    with Fleet({"tick": EACH_SECOND}) as fleet:
        machine = fleet.machines[1]
        with Ways(fleet, machine, shifts=(3, 0, 0)):
            when_fit(fleet)
            skew = next(one for one in shown(machine)["machines"] if one["machine"] == machine.host)
            expect(-1100 < skew["skew_msec_min"] and skew["skew_msec_max"] < 1100, f"{skew}")
        with Ways(fleet, machine, shifts=(3, 3, 0)):
            wait_until(
                lambda: any(one.get("unfit") == "clock" for one in shown(fleet.first)["machines"]),
                "the other machines see that it has a wrong clock")
            problem = shown(machine)["problem"]
            expect("timedatectl" in problem and "ahead of that of etcd by" in problem, problem)
            status, _, error = fleet.first.ctl("run", "tick", "--on", machine.host)
            expect(status and "its clock is wrong" in error, error)
        machine.stop()
        machine.urls = None
        machine.write_config()
        machine.start()
        machine.when_connected()
        when_fit(fleet)
        return judged(fleet, {"tick": 1})


def what_cannot_be_read():
    """a job that another version wrote stops alone, on all machines, and goes on when it can be read"""
    with Fleet({"tick": EACH_SECOND, "other": EACH_SECOND}) as fleet:
        fleet.wait_for_starts("other", 2)
        fleet.first.must("pause", "other")
        value = fleet.job("other")
        fleet.cluster.ctl("put", f"{PREFIX}job/other", json.dumps({**value, "zzz": 1}))
        for machine in fleet.machines:
            wait_until(lambda: "job/other: unknown member 'zzz'" in machine.log(), f"{machine.host} names the key")
            status, _, error = machine.ctl("resume", "other")
            expect(status and "unknown member 'zzz'" in error, error)
            codes = [reason["code"] for reason in json.loads(machine.must("why", "other", "--json"))["reasons"]]
            expect("fleet-unreadable" in codes, f"{codes}")
        fleet.wait_for_starts("tick", 3)
        fleet.cluster.ctl("put", f"{PREFIX}job/other", json.dumps(value))
        wait_until(lambda: fleet.machines[1].ctl("resume", "other")[0] == 0, "it is resumed")
        fleet.wait_for_starts("other", 2)
        return judged(fleet, {"tick": 1})


def versions_side_by_side():
    """beside a machine with an older version the format stays, and a machine that does not know a format stands by"""
    with Fleet({"tick": EACH_SECOND}) as fleet:
        wait_until(lambda: fleet.values()["identity"].get("format", 1) > 1, "all know the newest format")
        fence = fleet.wait_for_starts("tick", 2) or fleet.starts("tick")[-1].fence
        expect(fence >> 48 == 1, f"the fence is {fence}")
        identity = fleet.values()["identity"]
        fleet.cluster.ctl("put", f"{PREFIX}identity", json.dumps({**identity, "format": 99, "zzz": {}}))
        for machine in fleet.machines:
            wait_until(lambda: "newer version" in shown(machine).get("problem", ""), f"{machine.host} stands by")
        before = len(fleet.starts())
        revision = fleet.values()
        time.sleep(3)
        expect(len(fleet.starts()) == before, "something started")
        changed = [key for key, value in fleet.values().items() if revision.get(key) != value]
        expect(not changed, f"it writes {changed}")
        status, _, error = fleet.first.ctl("fleet", "adopt")
        expect(status and "newer version" in error, error)
        fleet.cluster.ctl("put", f"{PREFIX}identity", json.dumps(identity))
        fleet.wait_for_starts("tick", 3)
        return judged(fleet, {"tick": 1})


def etcds_of_their_own():
    """three etcds that do not know each other are named by each machine, with what to do"""

    class Clusters(Cluster):
        def peers(self, host):
            return [host]

    with Fleet({"tick": EACH_SECOND}, cluster=Clusters) as fleet:
        for machine in fleet.machines:
            wait_until(
                lambda: "is a cluster of 1 member, and [fleet] names 3" in shown(machine).get("problem", ""),
                f"{machine.host} says it")
        return "named"


CHECKS = {
    "far-store": far_store,
    "old-knowledge": old_knowledge,
    "why-nothing-starts": why_nothing_starts,
    "wrong-clock-of-an-etcd": wrong_clock_of_an_etcd,
    "what-cannot-be-read": what_cannot_be_read,
    "versions-side-by-side": versions_side_by_side,
    "etcds-of-their-own": etcds_of_their_own,
}
