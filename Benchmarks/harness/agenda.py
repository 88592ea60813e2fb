# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""The agenda among many jobs, without a daemon."""

from . import places
from .next import lines


def run(_long):
    yield from lines([places.CORE_BENCH, "agenda"])
