# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Commands on machines that are far away, cut off and stopped, while others start runs."""

import json
import os
import random
import subprocess
import threading
import time

from fleet import PREFIX, Fleet, expect, judged, now
from machine import wait_until
from others import Ways
from random_faults import JOBS, Faults

# How late the watch may show a change, and a clock may be read, in microseconds.
SLACK = 300_000
COMMANDS = ("pause", "resume", "pause", "resume", "hold", "release", "skip-next")


class Command:
    """A command that was given on a machine: when, and what it answered."""

    def __init__(self, machine, verb, job):
        self.machine, self.verb, self.job = machine, verb, job
        arguments = ["fleet", verb] if verb in ("hold", "release") else [verb, job]
        self.began = now()
        try:
            self.status, _, self.error = machine.ctl(*arguments)
        except subprocess.TimeoutExpired:
            self.status, self.error = None, "no answer"
        self.ended = now()

    def __str__(self):
        return f"{self.verb} {self.job} on {self.machine.host} at {self.began}, answered at {self.ended}"

    @property
    def key(self):
        return "hold" if self.verb in ("hold", "release") else f"job/{self.job}"

    def is_so(self, value):
        """Whether a value of its key is what it requests."""
        if value is None:
            return False
        return {
            "pause": "pause" in value, "resume": "pause" not in value, "hold": value.get("held") is True,
            "release": value.get("held") is False, "skip-next": value.get("skips", 0) >= 1}[self.verb]


class Giver(threading.Thread):
    """Gives one command after the other on one machine, whatever happens to it."""

    def __init__(self, fleet, machine, seed, end):
        super().__init__()
        self.machine, self.random, self.end = machine, random.Random(seed), end
        self.given = []

    def run(self):
        while time.monotonic() < self.end:
            verb = self.random.choice(COMMANDS)
            self.given.append(Command(self.machine, verb, self.random.choice(list(JOBS))))
            time.sleep(self.random.uniform(0, 1.5))


class Timeline:
    """The values of a key as the watch of etcd brought them, with the instants."""

    def __init__(self, changes, key):
        self.values = [
            (at, json.loads(value) if value else None) for at, name, value in changes if name == PREFIX + key]

    def during(self, began, ended):
        """All values that it had in this time."""
        before = [value for at, value in self.values if at <= began - SLACK]
        return before[-1:] + [value for at, value in self.values if began - SLACK < at <= ended + SLACK]


def check_answers(given, changes):
    """What a command requests was so at some instant between its arrival and its answer. Returns the faults."""
    lines = {}
    faults = []
    for command in given:
        if command.status == 0:
            line = lines.setdefault(command.key, Timeline(changes, command.key))
            if not any(command.is_so(value) for value in line.during(command.began, command.ended)):
                faults.append(f"{command}: it was never so")
    return faults


def check_starts(given, changes, starts):
    """After a pause or a hold was acknowledged, nothing starts until etcd has it no more. Returns the faults."""
    faults = []
    for command in given:
        if command.status != 0 or command.verb not in ("pause", "hold"):
            continue
        line = Timeline(changes, command.key)
        is_so = [value for value in line.during(command.began, command.ended) if command.is_so(value)]
        after = [at for at, value in line.values if at > command.ended and not command.is_so(value)]
        # It may have ended before its answer.
        if not is_so or not command.is_so((line.during(command.ended, command.ended) or [None])[-1]):
            continue
        last = min(after, default=now()) - SLACK
        for start in starts:
            if command.ended < start.at < last and (command.verb == "hold" or start.run.startswith(f"{command.job}:")):
                faults.append(f"{start.run} started at {start.at} on {start.machine}, after {command}")
    return faults


def commands_under_faults():
    """what machines acknowledge that are slow, cut off or stopped is so, and after a pause or a hold nothing starts"""
    seed = int(os.environ.get("TIMERD_TEST_SEED") or random.randrange(1 << 32))
    seconds = float(os.environ.get("TIMERD_FLEET_SECONDS") or 60)
    print(f"commands-under-faults: TIMERD_TEST_SEED={seed} TIMERD_FLEET_SECONDS={seconds:.0f}", flush=True)
    with Fleet(JOBS, lease=5) as fleet, fleet.cluster.watched(PREFIX) as changes:
        fleet.wait_for_starts("tick", 3)
        # What had not changed since the watch began was so all the time.
        first = [(0, PREFIX + key, json.dumps(value)) for key, value in fleet.values().items()]
        # One machine is 100 ms away from etcd. Its faults are those of the others, and its own way stays.
        with Ways(fleet, fleet.machines[2], delay=0.1):
            end = time.monotonic() + seconds
            givers = [Giver(fleet, machine, seed + n, end) for n, machine in enumerate(fleet.machines)]
            for giver in givers:
                giver.start()
            # The first host has the etcd whose watch is the judge.
            faults = Faults(fleet, seed, [machine for machine in fleet.machines if machine is not fleet.first])
            while time.monotonic() < end:
                faults.make()
                faults.wait(4)
            for giver in givers:
                giver.join()
            fleet.cluster.wait()
            for machine in fleet.machines:
                machine.when_connected()
            wait_until(lambda: fleet.first.ctl("fleet", "release")[0] == 0, "it is released")
            given = [command for giver in givers for command in giver.given]
            changes = first + changes
            wrong = check_answers(given, changes) + check_starts(given, changes, fleet.starts())
            expect(not wrong, "\n".join(wrong[:20]))
            done = sum(command.status == 0 for command in given)
            expect(done * 3 > len(given), f"only {done} of {len(given)} commands were done")
            return f"{done} of {len(given)} commands, {judged(fleet, {})}, faults {faults.counts}"


CHECKS = {"commands-under-faults": commands_under_faults}
