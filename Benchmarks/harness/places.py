# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Where everything is."""

import pathlib

HERE = pathlib.Path(__file__).resolve().parent.parent
PROJECT = HERE.parent
BUILD = HERE / ".build"
BIN = BUILD / "bin"
VENV = BUILD / "venv" / "bin"
RESULTS = HERE / "results"
WORK = BUILD / "work"
EXPRESSIONS = HERE / "expressions.tsv"
TIMERD = PROJECT / ".build/release/timerd"
TIMERCTL = PROJECT / ".build/release/timerctl"
CORE_BENCH = BUILD / "release/CoreBench"
BARE_TIMERS = BUILD / "release/BareTimers"
TIMER_BENCH = BUILD / "release/TimerBench"
STAMP = BIN / "stamp"
BARE = BIN / "bare"
SYSTEMD_NEXT = BIN / "systemd_next"
COUNT_SYNCS = BIN / "count_syncs.so"
DEBIAN = BUILD / "debian"
