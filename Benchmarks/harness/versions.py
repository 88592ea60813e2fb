# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Two builds of timerd in turns: bursts, and lists of 1000 jobs. OTHER is the folder with the programs of the other
one, such as `.build/release` of a checkout of an earlier commit."""

import os
import pathlib
import statistics

from . import burst, places, scale

# Of each number of jobs so many rounds.
ROUNDS = {1: 24, 100: 10, 1000: 10}
LISTED = 1000


class Build:
    """Lets the other cases use the programs in this folder."""

    def __init__(self, name, folder):
        self.name, self.folder = name, pathlib.Path(folder).resolve()

    def use(self):
        places.TIMERD, places.TIMERCTL = self.folder / "timerd", self.folder / "timerctl"


def listed(build):
    """Seconds for a list, exec to exit."""
    build.use()
    return scale.few(LISTED)["list_s"]


def compared(jobs, what, figures):
    """How the middle of this build's figures is to that of the other's, and to the bare loop's."""
    middle = {name: statistics.median(found) for name, found in figures.items()}
    return {
        "case": "versions", "jobs": jobs, "what": what, "rounds": len(figures["this"]), **middle,
        "this_by_other": middle["this"] / middle["other"]}


def run(_long):
    other = os.environ.get("OTHER")
    if not other:
        print("versions: OTHER= names no other build; left out", flush=True)
        return
    builds = [Build("this", places.TIMERD.parent), Build("other", other)]
    for jobs, rounds in ROUNDS.items():
        late = {"this": [], "other": [], "bare": []}
        busy = {"this": [], "other": [], "bare": []}
        for round in range(rounds):
            # Each of them is the first in every second round.
            for build in builds if round % 2 else builds[::-1]:
                build.use()
                found = burst.timerd(jobs, round)
                if found:
                    late[build.name].append(found["last_ms"])
                    busy[build.name].append(found["busy_us"])
            found = burst.bare(jobs, round)
            late["bare"].append(found["last_ms"])
            busy["bare"].append(found["busy_us"])
        yield compared(jobs, "last start, ms", late)
        if jobs == max(ROUNDS):
            yield compared(jobs, "all processors, us a run", busy)
    seconds = {"this": [], "other": []}
    for _ in range(3):
        for build in builds:
            seconds[build.name].append(listed(build))
    yield compared(LISTED, "list, s", seconds)
    builds[0].use()
