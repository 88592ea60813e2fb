# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Judges a fleet by two records that it cannot change: all changes of its keys in etcd, and what its jobs wrote when
they started."""

import datetime
import json

FINAL = {"ended", "skipped", "unstarted", "lost"}


def microseconds(stamp):
    """20261123T120000.000000Z or 2026-11-23T12:00:00.000000Z, as microseconds since 1970."""
    digits = stamp.replace("-", "").replace(":", "").rstrip("Z")
    whole, _, fraction = digits.partition(".")
    moment = datetime.datetime.strptime(whole, "%Y%m%dT%H%M%S").replace(tzinfo=datetime.timezone.utc)
    return int(moment.timestamp()) * 1_000_000 + int(fraction.ljust(6, "0") if fraction else 0)


class Start:
    """A line that a run of a job wrote: its ID, its fence, its machine, and when, in microseconds."""

    def __init__(self, line):
        self.run, self.fence, self.machine, at = line.split()
        self.fence, self.at = int(self.fence), int(at) // 1000
        self.due = microseconds(self.run.partition(":")[2].rpartition(":")[0])


class Record:
    def __init__(self, history, prefix):
        self.faults = []
        # From the run's name, such as `tick/20261123T120000.000000Z:1`, to its values with their revisions.
        self.runs = {}
        # From the job to the values of its key.
        self.jobs = {}
        for revision, key, value in history:
            kind, _, name = key.removeprefix(prefix).partition("/")
            if value is not None and kind in ("run", "job"):
                {"run": self.runs, "job": self.jobs}[kind].setdefault(name, []).append((revision, json.loads(value)))

    def fail(self, text):
        self.faults.append(text)

    @staticmethod
    def key(run):
        """`tick:20261123T120000.000000Z:1` as it is in the key of a run."""
        job, _, rest = run.partition(":")
        return f"{job}/{rest}"

    def check_starts(self, starts, earliest=0):
        """Each run started once at most, by the machine that claimed it, with the revision of its claim in its fence,
        and no earlier than `earliest` microseconds before its scheduled instant."""
        seen = {}
        for start in starts:
            key = self.key(start.run)
            if key in seen:
                self.fail(f"{start.run} started on {seen[key].machine} and on {start.machine}")
            seen[key] = start
            claims = [(revision, value) for revision, value in self.runs.get(key, []) if value["state"] == "claimed"]
            if not any(revision == start.fence % 2**48 and value["machine"] == start.machine for revision, value in claims):
                self.fail(f"{start.run} started on {start.machine} with the fence {start.fence}: {claims}")
            if start.at < start.due - earliest:
                self.fail(f"{start.run} started {start.due - start.at} us too early")
        return seen

    def check_ends(self, seen, job_names):
        """Each run is on record with what became of it, and what started is not called skipped or unstarted."""
        counts = {}
        for key, values in self.runs.items():
            if key.partition("/")[0] not in job_names:
                continue
            state = values[-1][1]["state"]
            counts[state] = counts.get(state, 0) + 1
            if state not in FINAL:
                self.fail(f"the run {key} is {state} for ever")
            if key in seen and state in ("skipped", "unstarted"):
                self.fail(f"the run {key} started, and is {state}")
            if key not in seen and state == "ended" and not values[-1][1]["outcome"].startswith(("spawn", "lost")):
                self.fail(f"the run {key} never started, and ended: {values[-1][1]['outcome']}")
        for key in seen:
            if key not in self.runs:
                self.fail(f"the run {key} is not on record")
        return counts

    def check_slots(self, job, period):
        """Each slot of a job that is due at the multiples of `period` seconds is accounted for by exactly one first
        attempt, from the first cursor of the job to the last. Returns how many there were."""
        values = [value for _, value in self.jobs.get(job, [])]
        if not values:
            self.fail(f"{job} was never written")
            return 0
        step = period * 1_000_000
        first, last = values[0]["cursor_us"], values[-1]["cursor_us"]
        spans = []
        for key, versions in self.runs.items():
            name, _, rest = key.partition("/")
            instant, _, attempt = rest.rpartition(":")
            if name == job and attempt == "1" and "after_us" in versions[0][1]:
                spans.append((versions[0][1]["after_us"], microseconds(instant), key))
        spans.sort()
        reached = first
        for after, slot, key in spans:
            if after // step != reached // step:
                self.fail(f"{key} accounts for the slots after {after}, and {reached} was reached")
            reached = slot
        if reached // step != last // step:
            self.fail(f"the last slot of {job} on record is {reached}, and its cursor is {last}")
        return last // step - first // step
