# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""The time of one next slot in croniter and cronsim, over the same walk as CoreBench:

    next.py EXPRESSIONS ZONE...
"""

import datetime
import json
import statistics
import sys
import time
import zoneinfo

import croniter
import cronsim

START = 1_767_225_600
STEPS = {"ordinary": 200, "worst": 10}
ROUNDS = 3


def croniter_walk(text, start):
    return croniter.croniter(text, start, ret_type=datetime.datetime).get_next


def cronsim_walk(text, start):
    return cronsim.CronSim(text, start).__next__


NEVER = (StopIteration, croniter.CroniterBadDateError)
REFUSED = (croniter.CroniterError, cronsim.CronSimError)


def walk(make, text, start, steps):
    """Nanoseconds per call. Where there is no further slot the walk begins again."""
    step = make(text, start)
    began = time.perf_counter_ns()
    for _ in range(steps):
        try:
            step()
        except NEVER:
            step = make(text, start)
    return (time.perf_counter_ns() - began) / steps


def slots(make, text, start):
    """The first slots folded into one number, as CoreBench does it."""
    folded = 14_695_981_039_346_656_037
    step = make(text, start)
    for _ in range(25):
        try:
            slot = step()
        except NEVER:
            break
        folded = (folded ^ int(slot.timestamp()) * 1_000_000) * 1_099_511_628_211 % (1 << 64)
    return f"{folded:x}"


def main():
    for line in open(sys.argv[1], encoding="utf-8"):
        if line.startswith("#"):
            continue
        kind, _, text = line.rstrip("\n").split("\t")
        if text == "-":
            continue
        for zone in sys.argv[2:]:
            start = datetime.datetime.fromtimestamp(START, zoneinfo.ZoneInfo(zone))
            for who, make in (("croniter", croniter_walk), ("cronsim", cronsim_walk)):
                try:
                    figures = [walk(make, text, start, STEPS[kind]) for _ in range(ROUNDS)]
                except REFUSED as error:
                    print(f"next: {who} does not read {text!r}: {error}", file=sys.stderr)
                    continue
                print(json.dumps({
                    "case": "next", "who": who, "grammar": "cron", "class": kind, "zone": zone,
                    "expression": text, "ns": round(statistics.median(figures), 1),
                    "slots": slots(make, text, start)}), flush=True)


main()
