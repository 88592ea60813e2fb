# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""check.py PRODUCT [CASE...]: runs the cases, each in a machine of its own. `run` says which variables there are."""

import importlib.util
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback

from machine import Broken, Failure, Gone, Machine

HERE = pathlib.Path(__file__).parent
LONG = os.environ.get("LONG", "0") not in ("", "0")


class TooLong(Exception):
    """The case has not ended within its limit."""


class Case:
    """What a case is given: machines, random numbers, and a record of what was wrong."""

    def __init__(self, folder, product, seed):
        self.folder = folder
        self.product = product
        self.random = random.Random(seed)
        self.is_long = LONG
        self.problems = []
        self.figures = []
        self.machines = []

    def machine(self, **options):
        folder = f"{self.folder}/{len(self.machines)}"
        os.mkdir(folder)
        self.machines.append(Machine(folder, **options))
        return self.machines[-1]

    def check(self, is_right, what):
        """The case fails if it is not, but what follows is checked as well."""
        if not is_right:
            self.problems.append(what)

    def note(self, figure):
        """A figure for the line of the case."""
        self.figures.append(figure)

    @staticmethod
    def number(variable, usual, long):
        """How often, as the variable says."""
        return int(os.environ.get(variable) or (long if LONG else usual))

    def end(self):
        for machine in self.machines:
            machine.end()


def known_failures():
    """The failures that are known: the case, a part of the problem, and the reason."""
    lines = (HERE / "known-failures").read_text(encoding="utf-8").splitlines()
    return [tuple(part.strip() for part in line.split("|", 2)) for line in lines if line and not line.startswith("#")]


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def limit(module):
    """How many seconds it may take: LIMIT, or what it says for this number of repetitions."""
    return module.LIMIT(LONG) if callable(module.LIMIT) else module.LIMIT


def raise_too_long(*_):
    raise TooLong


def attempt(module, case):
    """Runs the case, and adds what ended it to its problems."""
    signal.signal(signal.SIGALRM, raise_too_long)
    signal.alarm(limit(module))
    try:
        module.run(case)
    except TooLong:
        where = [frame for frame in traceback.extract_tb(sys.exc_info()[2]) if "/cases/" in frame.filename]
        case.problems.append(f"not done after {limit(module)} s{f', in line {where[-1].lineno}' if where else ''}")
    except (Failure, Gone) as problem:
        case.problems.append(str(problem))
    except Broken:
        explain(case)
        raise
    except Exception:  # a mistake of the case itself
        case.problems.append(traceback.format_exc())
    finally:
        signal.alarm(0)
        case.end()


def explain(case):
    """Shows the logs of the machines."""
    for machine in case.machines:
        for name, mark, count in (("console", ">", 15), ("journal", "|", 80)):
            lines = machine.text(name).rstrip().split("\n") if os.path.exists(f"{machine.folder}/{name}") else []
            for line in lines[-count:]:
                print(f"    {mark} {line}")


def run_case(path, product, seed, known):
    """How it ended: passed, failed or known."""
    module = load(path)
    name = path.stem.split("-", 1)[1]
    began = time.monotonic()
    # On the disk of the store, which has room: /tmp can be in memory.
    with tempfile.TemporaryDirectory(prefix="case.", dir=os.environ["VM_STORE"]) as folder:
        case = Case(folder, product, f"{seed} {name}")
        attempt(module, case)
        reasons = {
            next((reason for of, part, reason in known if of == name and part in problem), None)
            for problem in case.problems
        }
        verdict = "passed" if not case.problems else "failed" if None in reasons else "known"
        word = {"passed": "ok", "failed": "FAILED", "known": "known"}[verdict]
        print(f"{word:7} {name:20} {time.monotonic() - began:6.1f} s  {', '.join(case.figures)}")
        if case.problems:
            print(f"    proves: {module.__doc__.strip().splitlines()[0]}")
        for problem in case.problems:
            print("    " + problem.rstrip().replace("\n", "\n    "))
        for reason in sorted(reasons - {None}):
            print(f"    known: {reason}")
        if verdict == "failed" or os.environ.get("SHOW"):
            explain(case)
        if os.environ.get("KEEP"):
            shutil.copytree(
                folder, os.environ["KEEP"], dirs_exist_ok=True, ignore=shutil.ignore_patterns("agent", "qmp")
            )
    sys.stdout.flush()
    return verdict


def choose(names):
    """The files of the cases with these names, or all."""
    paths = {path.stem.split("-", 1)[1]: path for path in sorted(HERE.glob("cases/*.py"))}
    unknown = [name for name in names if name not in paths]
    if unknown:
        print(f"Tests/System/VM/run: no case {unknown[0]}; there are: {' '.join(paths)}", file=sys.stderr)
        sys.exit(2)
    return [paths[name] for name in names] or list(paths.values())


def main(product, names):
    names = names or os.environ.get("CASES", "").split()
    paths = choose(names)
    upgrades = [path for path in paths if path.stem.endswith("-upgrade")]
    if upgrades and not names and not product.endswith(".deb"):
        print("not run: upgrade, which needs the package (make deb) in place of the directory")
        paths = [path for path in paths if path not in upgrades]
    seed = os.environ.get("TIMERD_TEST_SEED") or str(random.randrange(1 << 32))
    print(f"TIMERD_TEST_SEED={seed}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    known = known_failures()
    began = time.monotonic()
    verdicts = []
    for path in paths:
        try:
            verdicts.append(run_case(path, product, seed, known))
        except Broken as problem:
            print(f"Tests/System/VM/run: {problem}", file=sys.stderr)
            return 2
    print(f"{time.monotonic() - began:.1f} s in all")
    if verdicts.count("known"):
        print(f"{verdicts.count('known')} failed as known-failures says")
    print(f"{verdicts.count('passed')} passed, {verdicts.count('failed')} failed")
    return verdicts.count("failed") > 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main(sys.argv[1], sys.argv[2:]))
