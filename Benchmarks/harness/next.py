# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""The next slot of a schedule: timerd, systemd's own function, croniter and cronsim."""

import glob
import json
import os
import subprocess
import sys

from . import places

ZONES = ["UTC", "Europe/Berlin", "America/New_York"]
LIBRARIES = "/usr/lib/*/systemd/libsystemd-shared-*.so"


def lines(command, **environment):
    """The lines of JSON a program writes."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(_long):
    """Yields one figure for each expression, zone and peer."""
    for zone in ZONES:
        yield from lines([places.CORE_BENCH, "next", places.EXPRESSIONS, zone])
    yield from lines([places.CORE_BENCH, "zones", places.EXPRESSIONS])
    found = sorted(glob.glob(LIBRARIES))
    if found:
        command = [places.SYSTEMD_NEXT, found[-1], places.EXPRESSIONS]
        for zone in ZONES:
            yield from lines([*command, zone], TZ=zone)
        # Where its quick way is closed it forks; a few calls are enough to see that.
        yield from lines([*command, ZONES[1], "3", ZONES[1]], TZ="UTC")
    else:
        print("next: no libsystemd-shared here; systemd is left out", file=sys.stderr)
    yield from lines([places.VENV / "python", places.HERE / "peers/next.py", places.EXPRESSIONS, *ZONES])
