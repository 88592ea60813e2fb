# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""PausableTimers beside bare DispatchSourceTimers: each measurement is a process, and the two take turns."""

import json
import subprocess

from . import places

ROUNDS = 5
COUNT = 100_000
TICKS = ["one", "together", "apart", "apart-tolerant"]
RATES = [60, 240]
SECONDS, LONG_SECONDS = 10, 60


def bench(who, case, *arguments):
    words = [places.TIMER_BENCH, who, case, *map(str, arguments)]
    figures = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return {"case": "timers", "who": who, "what": " ".join(map(str, (case, *arguments))), **figures}


def run(long):
    seconds = LONG_SECONDS if long else SECONDS
    for _ in range(ROUNDS):
        for who in ("bare", "ours"):
            yield bench(who, "memory", COUNT)
        for case in TICKS:
            for who in ("bare", "ours"):
                yield bench(who, case)
    for rate in RATES:
        for who in ("bare", "ours"):
            yield bench(who, "rate", rate, seconds)
    yield bench("ours", "churn", 1_000_000)
    yield bench("ours", "left", COUNT)
    yield bench("ours", "paused", 1000, 10)
