#!/usr/bin/python3
# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""`kills.py POMODORO [COUNT]`: kills the example COUNT times (1000) at random instants, now and then paused, and holds
each account that is restored against what really passed: at most 1 s lost, nothing gained, paused stays paused.
TIMERD_TEST_SEED draws the same instants again."""

import os
import random
import subprocess
import sys
import tempfile
import time

# How long making and saving a timer takes at most, in nanoseconds, apart from what others take of the processors.
SLACK = 5_000_000


def waited(pid):
    """How long the process's threads waited for a processor so far, in nanoseconds (proc(5), schedstat)."""
    folder = f"/proc/{pid}/task"
    return sum(int(open(f"{folder}/{task}/schedstat").read().split()[1]) for task in os.listdir(folder))


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    seed = int(os.environ.get("TIMERD_TEST_SEED", random.randrange(1 << 32)))
    print(f"kills: TIMERD_TEST_SEED={seed}")
    draw = random.Random(seed)
    # What the account may say at most, and must say at least, and whether it is paused.
    most = least = 0
    paused = False
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        for kill in range(count):
            words = [program, "--trace", "--work", "100000", "--folder", folder + "/accounts"]
            with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                active, at, state = trace(process)
                first = active
                if (state == "paused") != paused:
                    sys.exit(f"kill {kill}: {state}, though it was {'' if paused else 'not '}paused")
                # The first line comes as soon as the timer is made and saved.
                if first > most + (0 if paused else SLACK + waited(process.pid)):
                    sys.exit(f"kill {kill}: {(first - most) / 1e6} ms gained")
                if first < least - 1_000_000_000:
                    sys.exit(f"kill {kill}: {(least - first) / 1e6} ms lost")
                worst = max(worst, least - first)
                if draw.random() < 0.4:
                    time.sleep(draw.random() * 0.1)
                    paused = not paused
                    print("p" if paused else "r", file=process.stdin, flush=True)
                    # Once it is answered, it is saved.
                    while not process.stdout.readline().startswith("done"):
                        pass
                    active, at, state = trace(process)
                time.sleep(draw.random() * draw.choice([0.01, 0.2, 0.9]))
                before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                process.kill()
                process.wait()
                after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                least = active + (0 if paused else max(0, before - at))
                most = active + (0 if paused else after - at)
    print(f"kills: {count}, at most {worst / 1e6:.0f} ms lost, nothing gained")


def trace(process):
    """The next line that says how the account stands."""
    while True:
        line = process.stdout.readline()
        if not line:
            sys.exit(f"the program ended: {process.wait()}")
        words = line.split()
        if len(words) == 3 and words[0].isdigit():
            return int(words[0]), int(words[1]), words[2]


main()
