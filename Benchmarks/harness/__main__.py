# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the cases named on the command line, or all of them, and writes the report.

Each case yields figures, one line of JSON each, kept in results/; the report is made of the latest of every
case. What is printed last is which goals were missed, and why."""

import json
import os
import platform
import subprocess
import sys
import time

from . import (
    agenda, burst, control, cost, durable, growth, next, notify, page, places, profile, punctual, report, scale,
    timers, top, versions)

CASES = {
    "next": next, "agenda": agenda, "burst": burst, "scale": scale, "cost": cost, "punctual": punctual,
    "durable": durable, "control": control, "growth": growth, "page": page, "notify": notify, "timers": timers,
    "top": top, "profile": profile, "versions": versions}


def machine():
    """What the figures were made on."""
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    commit = subprocess.run(
        ["git", "-C", places.PROJECT, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True)
    return {
        "at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "processor": model,
        "cores": os.cpu_count(), "kernel": platform.release(), "commit": commit.stdout.strip(),
        "load": round(os.getloadavg()[0], 2)}


def main():
    names = sys.argv[1:] or list(CASES)
    for name in names:
        if name not in CASES:
            sys.exit(f"bench: no case {name!r}; there are {', '.join(CASES)}")
    places.RESULTS.mkdir(parents=True, exist_ok=True)
    goals = None
    for name in names:
        lines = [{"case": name, "machine": machine()}]
        print(json.dumps(lines[0]), flush=True)
        for figure in CASES[name].run(os.environ.get("LONG") == "1"):
            if figure is not None:
                lines.append(figure)
                print(json.dumps(figure), flush=True)
        if name == "versions":
            # It has no part in the report, which is about one version.
            continue
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (places.RESULTS / f"{name}.jsonl").write_text(text)
        goals = report.write()
    if goals is None:
        return
    print(f"{places.HERE / 'RESULTS.md'} is written")
    missed = list(goals.missed())
    print("\n".join(missed) if missed else "every goal is met")


main()
