# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""An etcd that is away, empty or old, the clock of the fleet, and changed definitions."""

import time

from fleet import EACH_SECOND, IS_LONG, Fleet, expect, judged, now
from machine import wait_until

LOCAL = ['every = "1s"']


def etcd_away():
    """while etcd is away local jobs run on time; fleet firings follow on-missed within 3 s of its return"""
    with Fleet({"tick": EACH_SECOND, "local": LOCAL}) as fleet:
        fleet.wait_for_starts("tick", 3)
        for host in fleet.cluster.hosts:
            fleet.cluster.kill(host)
        away = now()
        time.sleep(600 if IS_LONG else 15)
        status, _, error = fleet.first.ctl("pause", "tick")
        expect(status != 0 and "etcd" in error, f"pause: {status} {error}")
        expect("local" in fleet.first.must("list"), "list works")
        for host in fleet.cluster.hosts:
            fleet.cluster.start(host)
        fleet.cluster.wait()
        back = now()
        first = wait_until(lambda: [s for s in fleet.starts("tick") if s.at > back - 3_000_000], "tick starts again")[0]
        expect(first.at - back <= 3_000_000, f"{(first.at - back) / 1e6} s after the return")
        local = [start.at for start in fleet.starts("local") if start.machine == "host1"]
        gaps = [b - a for a, b in zip(local, local[1:]) if b > away]
        expect(max(gaps) < 1_200_000, f"local was {max(gaps)} us without a run")
        return f"first start {(first.at - back) / 1e6:.2f} s after the return, {judged(fleet, {'tick': 1})}"


def etcd_wiped():
    """in an etcd that lost everything nothing starts before `fleet adopt`, and no old slot after it"""
    with Fleet({"tick": EACH_SECOND, "idle": ['fleet = "one"', 'every = "1h"']}) as fleet:
        fleet.wait_for_starts("tick", 3)
        fleet.first.must("pause", "idle")
        wait_until(lambda: '"state":"paused"' in fleet.first.must("show", "idle", "--json").replace(" ", ""), "it is paused")
        fleet.cluster.stop()
        old = fleet.starts("tick")
        fleet.cluster.create()
        wiped = now()
        time.sleep(15)
        expect(len(fleet.starts("tick")) == len(old), "something started before adopt")
        shown = fleet.first.must("fleet")
        expect("adopt" in shown, f"timerctl fleet does not say what to do: {shown}")
        # Without a terminal it says what comes back, and does nothing.
        status, _, error = fleet.first.ctl("fleet", "adopt")
        expect(status == 1 and "These stay paused: idle\n" in error, f"adopt: {status} {error}")
        fleet.first.must("fleet", "adopt", "--yes")
        fleet.wait_for_starts("tick", 3)
        new = [start for start in fleet.starts("tick") if start.at > wiped]
        expect(min(start.due for start in new) > max(start.due for start in old), "a slot started twice")
        return f"{len(old)} starts before and {len(new)} after it"


def clock_of_the_fleet():
    """over ten crashes of machines and an outage no active time is gained, and 0.1 s lost at most"""
    with Fleet({"count": ['fleet = "one"', 'every = "1h"']}) as fleet:
        wait_until(lambda: fleet.job("count") and fleet.job("count").get("opened_t") is not None, "the job counts")
        resumed = restart_count(fleet)
        for round in range(10):
            machine = fleet.machines[round % 3]
            old = fleet.members()[machine.host]["inc"]
            machine.crash()
            time.sleep(2)
            machine.start()
            wait_until(lambda: knows_the_clock(fleet, machine, old), f"{machine.host} knows the clock of the fleet")
        for host in fleet.cluster.hosts:
            fleet.cluster.kill(host)
        time.sleep(60 if IS_LONG else 10)
        for host in fleet.cluster.hosts:
            fleet.cluster.start(host)
        fleet.cluster.wait()
        wait_until(lambda: fleet.first.ctl("pause", "count")[0] == 0, "it is paused")
        job = fleet.job("count")
        paused, counted = job["pause"]["since_us"], job["active_ns"] / 1e9 - resumed[2]
        longest, shortest = (paused - resumed[0]) / 1e6, (paused - resumed[1]) / 1e6
        expect(counted <= longest + 0.05, f"{counted - longest} s gained of {longest} s")
        expect(counted >= shortest - 0.1, f"{shortest - counted} s lost of {shortest} s")
        return f"{counted:.3f} s counted, between {shortest:.3f} s and {longest:.3f} s passed"


def wall_clock_of_the_fleet():
    """with count = "wall" the time counts on while no machine runs, and not during a hold"""
    with Fleet({"count": ['fleet = "one"', 'every = "1h"', 'count = "wall"']}) as fleet:
        wait_until(lambda: fleet.job("count") and fleet.job("count").get("opened_t") is not None, "the job counts")
        resumed = restart_count(fleet)
        for machine in fleet.machines:
            machine.crash()
        time.sleep(8)
        for machine in fleet.machines:
            machine.start()
        fleet.first.when_connected()
        wait_until(lambda: fleet.first.ctl("fleet", "hold")[0] == 0, "it is held")
        held = now()
        time.sleep(4)
        released = now()
        fleet.first.must("fleet", "release")
        wait_until(lambda: fleet.first.ctl("pause", "count")[0] == 0, "it is paused")
        job = fleet.job("count")
        counted = job["active_ns"] / 1e9 - resumed[2]
        longest = (job["pause"]["since_us"] - resumed[0] - (released - held)) / 1e6
        expect(longest - 0.5 <= counted <= longest + 0.05, f"{counted} s counted of {longest} s")
        return f"{counted:.3f} s counted, at most {longest:.3f} s passed"


def knows_the_clock(fleet, machine, old):
    """Whether a machine started again since the incarnation `old`, and compared its clock with the others."""
    member = fleet.members().get(machine.host)
    return member and member["inc"] != old and member["fit"]


def restart_count(fleet):
    """Pauses and resumes the job `count`. Returns between which instants its time began to count, in microseconds, and
    what it had counted before, in seconds."""
    fleet.first.must("pause", "count")
    counted = fleet.job("count")["active_ns"] / 1e9
    before = now()
    fleet.first.must("resume", "count")
    return before, now(), counted


def rolling_reload():
    """after the first machine reloaded a changed definition, no machine starts the job by the old one"""
    old = EACH_SECOND + ["after-start: true # old"]
    with Fleet({"tick": EACH_SECOND}) as fleet:
        fleet.wait_for_starts("tick", 3)
        changed = EACH_SECOND + ["after-start: true # changed"]
        first, *others = fleet.machines
        first.write_config({"tick": changed})
        first.must("reload")
        at = now()
        fleet.wait_for_starts("tick", 5)
        wrong = [s.run for s in fleet.starts("tick") if s.machine != first.host and s.due > at]
        expect(not wrong, f"started by the old definition: {wrong}")
        shown = fleet.first.must("fleet")
        expect("tick" in shown, f"timerctl fleet does not show the drift: {shown}")
        for machine in others:
            machine.write_config({"tick": changed})
            machine.must("reload")
        wait_until(lambda: "tick" not in fleet.first.must("fleet"), "no machine has drifted")
        return judged(fleet, {"tick": 1})


CHECKS = {
    "etcd-away": etcd_away,
    "etcd-wiped": etcd_wiped,
    "clock-of-the-fleet": clock_of_the_fleet,
    "wall-clock-of-the-fleet": wall_clock_of_the_fleet,
    "rolling-reload": rolling_reload,
}
