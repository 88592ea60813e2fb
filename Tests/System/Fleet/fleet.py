# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Three machines with an etcd each, and what must be true of them at any time."""

import json
import os
import shutil
import tempfile
import time

from etcd import Cluster
from machine import Machine, wait_until
from network import Network
from record import Record, Start

PREFIX = "/timerd/test/"
# How long what is away stays away, in seconds: with TIMERD_FLEET_LONG=1 as long as it may be in the worst hour.
IS_LONG = os.environ.get("TIMERD_FLEET_LONG") == "1"
# Due at each second.
EACH_SECOND = ['fleet = "one"', 'calendar = "*-*-* *:*:*"', 'timezone = "UTC"', 'concurrency = "allow"']


class Fleet:
    """A fleet of `size` machines, on the first three of which is an etcd. Use it with `with`.

    With `has_clocks`, the wall clock of each machine can be set."""

    network = None

    def __init__(self, jobs, size=3, extra="", lease=10, has_clocks=False, cluster=Cluster):
        # The hosts are made once, and have no state.
        Fleet.network = Fleet.network or Network(3)
        self.work = tempfile.mkdtemp(dir=os.environ["TIMERD_WORK"])
        open(f"{self.work}/starts", "w").close()
        self.cluster = cluster(Fleet.network, self.work)
        self.machines = [
            Machine(Fleet.network, host, self.cluster, self.work, lease, extra) for host in Fleet.network.hosts[:size]
        ]
        for machine in self.machines if has_clocks else []:
            machine.set_clock(0)
        try:
            self.form(jobs)
        except Exception:
            self.__exit__(True)
            raise

    def form(self, jobs):
        for machine in self.machines:
            machine.write_config(jobs)
            machine.start()
        self.first.when_connected()
        self.first.must("fleet", "adopt")
        wait_until(lambda: len(self.members()) == len(self.machines), "all machines are members")

    @property
    def first(self):
        return self.machines[0]

    def machine(self, host):
        return next(machine for machine in self.machines if machine.host == host)

    def __enter__(self):
        return self

    def __exit__(self, kind=None, *_):
        for host in Fleet.network.hosts:
            Fleet.network.heal(host)
        for machine in self.machines:
            machine.crash()
        self.cluster.stop()
        if kind is not None:
            for machine in self.machines:
                for name in machine.processes:
                    print(f"{machine.host}, {name}:\n{machine.log(name)[-2000:]}", flush=True)
        shutil.rmtree(self.work)

    # What is seen of it.

    def values(self):
        return {key.removeprefix(PREFIX): json.loads(text) for key, text in self.cluster.values(PREFIX).items()}

    def members(self):
        return {key.partition("/")[2]: value for key, value in self.values().items() if key.startswith("member/")}

    def job(self, name):
        return self.values().get(f"job/{name}")

    def starts(self, job=None):
        """What the runs wrote when they started, in the order of their times."""
        with open(f"{self.work}/starts") as file:
            found = [Start(line) for line in file.read().split("\n")[:-1]]
        return sorted((s for s in found if job is None or s.run.startswith(f"{job}:")), key=lambda start: start.at)

    def wait_for_starts(self, job, count, timeout=60):
        """Waits until the job was started that many times since now."""
        before = len(self.starts(job))
        wait_until(lambda: len(self.starts(job)) >= before + count, f"{count} starts of {job}", timeout)

    def settle(self):
        """Ends all faults, and waits until no run is open. The jobs are paused."""
        for machine in self.machines:
            for job in machine.jobs:
                if self.job(job) and not self.job(job).get("pause"):
                    wait_until(lambda: machine.ctl("pause", job)[0] == 0, f"{job} is paused")
        wait_until(lambda: not any(v.get("live") for k, v in self.values().items() if k.startswith("job/")),
                   "no run is open", 90)

    def judge(self, periods, earliest=0):
        """Judges all that happened. `periods` has the seconds between the slots of some jobs. Returns the counts."""
        record = Record(self.cluster.history(PREFIX), PREFIX)
        # Those of other jobs have no fence.
        starts = [start for start in self.starts() if start.fence]
        jobs = {job for machine in self.machines for job in machine.jobs}
        seen = record.check_starts(starts, earliest)
        counts = record.check_ends(seen, jobs)
        counts["slots"] = sum(record.check_slots(job, period) for job, period in periods.items())
        counts["starts"] = len(starts)
        return counts, record.faults


def now():
    """The wall clock, in microseconds."""
    return time.time_ns() // 1000


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def expect(is_so, what):
    if not is_so:
        raise AssertionError(what)


def judged(fleet, periods, earliest=0):
    fleet.settle()
    counts, faults = fleet.judge(periods, earliest)
    expect(not faults, "\n".join(faults[:20]))
    return counts
