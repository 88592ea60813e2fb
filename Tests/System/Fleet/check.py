# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""check.py [CHECK...]: what a fleet promises, with real machines. `list` lists the checks."""

import sys
import time
import traceback

import commands
import failover
import others
import quiet
import random_faults
import recovery
import store

CHECKS = {
    **quiet.CHECKS, **failover.CHECKS, **store.CHECKS, **recovery.CHECKS, **others.CHECKS, **random_faults.CHECKS,
    **commands.CHECKS}


# A measurement, for release builds on a quiet machine: only if it is named.
MEASUREMENTS = {"many-at-once"}


def main(names):
    if names == ["list"]:
        print("\n".join(f"{name:24} {check.__doc__}" for name, check in CHECKS.items()))
        return 0
    passed = failed = 0
    for name in names or [name for name in CHECKS if name not in MEASUREMENTS]:
        began = time.monotonic()
        try:
            figures = CHECKS[name]()
            print(f"ok {name} ({time.monotonic() - began:.0f} s): {figures}", flush=True)
            passed += 1
        except Exception:
            print(f"FAILED {name}: {CHECKS[name].__doc__}\n{traceback.format_exc()}", flush=True)
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main(sys.argv[1:]))
