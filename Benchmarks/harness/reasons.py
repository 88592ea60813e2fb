# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Why goals are missed, as far as that is known: by how the goal begins. README.md has the figures."""

REASONS = {
    "burst: last of 1000, by the bare loop's": (
        "both processors have work from the first start to the last, and a run has what a bare process has not: a "
        "record, an order and an end on a socket, a session, pipes, limits and memory of its own"),
    "burst: last of 1000, by the best peer's": "the bare loop itself takes half of what APScheduler does or more",
    "burst: last of": (
        "both processors have work from the first start to the last, and not all processes can be ready before"),
    "cost": "each firing has two rows, two lines of log, and an order and an end on a socket",
    "durable": "each run has two rows, two lines of log, a session, pipes and memory of its own",
    "growth: reload of one job": (
        "both processes read all the files at the same time, to find which have changed, and parse those"),
    "memory: timerd-runner": "what malloc keeps of the parsed files differs by a few percent from start to start",
    "scale: start to ready": (
        "both processes read and check all the files: about 3 s of work, which two processors share"),
}


def reason(goal):
    """The reason of the longest beginning that fits; empty if none does."""
    fitting = [start for start in REASONS if goal.startswith(start)]
    return REASONS[max(fitting, key=len)] if fitting else ""
