# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Machines that crash, stop and are cut off."""

import signal
import time

from fleet import EACH_SECOND, IS_LONG, PREFIX, Fleet, expect, judged, now
from machine import wait_until
from record import Record

# host1 starts it as long as it can.
PREFERS_FIRST = EACH_SECOND + ['prefer = ["host1"]', 'takeover-delay = "2s"']


def longest_gap(starts, since):
    """The longest time without a start, in seconds, from the last start before `since` (microseconds)."""
    instants = [start.at for start in starts]
    first = max((at for at in instants if at <= since), default=since)
    following = [first] + [at for at in instants if at > first]
    return max(b - a for a, b in zip(following, following[1:])) / 1e6


def owner_crashes():
    """the machine that starts a job crashes: the next firing is late by takeover-delay and 0.5 s at most"""
    with Fleet({"tick": PREFERS_FIRST}) as fleet:
        fleet.wait_for_starts("tick", 3)
        expect({start.machine for start in fleet.starts("tick")[-3:]} == {"host1"}, "host1 does not start it")
        at = now()
        fleet.first.crash()
        fleet.wait_for_starts("tick", 3)
        others = [start for start in fleet.starts("tick") if start.machine != "host1"]
        late = (others[0].at - others[0].due) / 1e6
        expect(late <= 2.5, f"{others[0].run} was {late} s late")
        fleet.first.start()
        wait_until(lambda: fleet.starts("tick")[-1].machine == "host1", "host1 starts it again")
        return f"late by {late:.2f} s, {longest_gap(fleet.starts('tick'), at):.2f} s without a start, {judged(fleet, {'tick': 1})}"


def leader_crashes_too():
    """with the leader of etcd as well: late by takeover-delay and 3.5 s at most"""
    with Fleet({"tick": PREFERS_FIRST}) as fleet:
        fleet.wait_for_starts("tick", 3)
        leader = fleet.cluster.leader()
        at = now()
        fleet.cluster.kill(leader)
        fleet.first.crash()
        fleet.wait_for_starts("tick", 3)
        others = [start for start in fleet.starts("tick") if start.machine != "host1"]
        gap = longest_gap(fleet.starts("tick"), at)
        late = max((start.at - start.due) / 1e6 for start in others[:3])
        expect(late <= 5.5, f"late by {late} s")
        fleet.cluster.start(leader)
        fleet.cluster.wait()
        fleet.first.start()
        return f"late by {late:.2f} s, {gap:.2f} s without a start, {judged(fleet, {'tick': 1})}"


def isolated_machine():
    """a machine that is cut off starts nothing after its lease less 1 s, and the others continue"""
    with Fleet({"tick": PREFERS_FIRST}, lease=5) as fleet:
        fleet.wait_for_starts("tick", 3)
        fleet.network.cut("host1")
        at = now()
        fleet.wait_for_starts("tick", 8)
        last = max(start.at for start in fleet.starts("tick") if start.machine == "host1")
        expect(last <= at + 4_000_000, f"host1 started something {(last - at) / 1e6} s after it was cut off")
        fleet.network.heal("host1")
        wait_until(lambda: fleet.starts("tick")[-1].machine == "host1", "host1 starts it again")
        gap = longest_gap(fleet.starts("tick"), at)
        return f"last start there {(last - at) / 1e6:.2f} s after the cut, longest gap {gap:.1f} s, {judged(fleet, {'tick': 1})}"


def frozen_before_the_start():
    """a runner that is stopped between claim and start, and continues after the deadline, starts nothing"""
    with Fleet({"tick": PREFERS_FIRST}, lease=5) as fleet:
        fleet.wait_for_starts("tick", 3)
        first = fleet.first
        first.kill("timerd-runner", signal.SIGSTOP)
        stopped = now()
        claimed = wait_until(
            lambda: [(k.removeprefix("run/"), v["nonce"]) for k, v in fleet.values().items()
                     if k.startswith("run/tick/") and v["state"] == "claimed" and v["machine"] == "host1"
                     and v["claimed_us"] > stopped],
            "a run is claimed while the runner is stopped")[0]
        # The daemon is alone with its runner now: its lease ends.
        fleet.network.cut("host1")
        time.sleep(60 if IS_LONG else 7)
        first.kill("timerd-runner", signal.SIGCONT)
        fleet.network.heal("host1")
        wait_until(
            lambda: not any(Record.key(live["run"]) == claimed[0] for live in fleet.job("tick")["live"]),
            "what became of the run is on record")
        # The store keeps the latest runs only, but its history has all.
        state = Record(fleet.cluster.history(PREFIX), PREFIX).runs[claimed[0]][-1][1]["state"]
        expect(state in ("unstarted", "lost"), f"the run is {state}")
        expect(claimed[0] not in [Record.key(start.run) for start in fleet.starts()], "it was started")
        return f"the run is {state}, {judged(fleet, {'tick': 1})}"


CHECKS = {
    "owner-crashes": owner_crashes,
    "leader-crashes-too": leader_crashes_too,
    "isolated-machine": isolated_machine,
    "frozen-before-the-start": frozen_before_the_start,
}
