# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Faults at random, for a minute or an hour."""

import os
import random
import signal
import time

from fleet import EACH_SECOND, Fleet, judged
from machine import wait_until

JOBS = {
    "tick": EACH_SECOND,
    "slow": ['fleet = "one"', 'calendar = "*-*-* *:*:00/3"', 'timezone = "UTC"', "after-start: sleep 1"],
    "all": ['fleet = "one"', 'calendar = "*-*-* *:*:00/5"', 'timezone = "UTC"', 'on-missed = "run-all"'],
    "interval": ['fleet = "one"', 'every = "7s"'],
}


class Faults:
    """Makes one fault after the other, each of which ends after some seconds. At most one host is away at a time, so
    that etcd always has a majority, except for faults of etcd itself."""

    def __init__(self, fleet, seed, machines=None):
        self.fleet, self.random, self.counts = fleet, random.Random(seed), {}
        self.machines = machines or fleet.machines

    def make(self):
        kind = self.random.choice([self.cut, self.cut_one_way, self.crash, self.kill_one, self.freeze, self.etcd])
        self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
        kind(self.random.choice(self.machines))

    def wait(self, most=6):
        time.sleep(self.random.uniform(0.2, most))

    def cut(self, machine):
        self.fleet.network.cut(machine.host)
        self.wait(15)
        self.fleet.network.heal(machine.host)

    def cut_one_way(self, machine):
        other = self.random.choice([m for m in self.fleet.machines if m is not machine])
        self.fleet.network.cut(machine.host, other.host)
        self.wait(15)
        self.fleet.network.heal(machine.host)

    def crash(self, machine):
        machine.crash()
        self.wait()
        machine.start()

    def kill_one(self, machine):
        name = self.random.choice(["timerd", "timerd-fleet", "timerd-runner"])
        machine.kill(name)
        self.wait(3)
        {"timerd": machine.start_timerd, "timerd-fleet": machine.start_fleet,
         "timerd-runner": machine.start_runner}[name]()

    def freeze(self, machine):
        name = self.random.choice(["timerd", "timerd-fleet", "timerd-runner"])
        machine.kill(name, signal.SIGSTOP)
        self.wait(15)
        machine.kill(name, signal.SIGCONT)

    def etcd(self, machine):
        host = self.fleet.cluster.leader() if self.random.random() < 0.5 else machine.host
        if host in [machine.host for machine in self.machines]:
            self.fleet.cluster.kill(host)
            self.wait()
            self.fleet.cluster.start(host)


def random_faults():
    """random crashes, kills, freezes and cuts: no run starts twice, and each slot is accounted for"""
    seed = int(os.environ.get("TIMERD_TEST_SEED") or random.randrange(1 << 32))
    seconds = float(os.environ.get("TIMERD_FLEET_SECONDS") or 60)
    print(f"random-faults: TIMERD_TEST_SEED={seed} TIMERD_FLEET_SECONDS={seconds:.0f}", flush=True)
    with Fleet(JOBS, lease=5) as fleet:
        fleet.wait_for_starts("tick", 3)
        faults = Faults(fleet, seed)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            faults.make()
            faults.wait(4)
        fleet.cluster.wait()
        for machine in fleet.machines:
            machine.when_connected()
        fleet.wait_for_starts("tick", 3)
        return f"{judged(fleet, {'tick': 1, 'slow': 3, 'all': 5})}, faults {faults.counts}"


CHECKS = {"random-faults": random_faults}
