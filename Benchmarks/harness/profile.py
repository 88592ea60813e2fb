# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Where the processors' time of a burst goes, run by run, as perf(1) samples it."""

import collections
import math
import os
import shutil
import signal
import subprocess
import sys
import time

from . import burst, daemon, places

COUNT = 1000
ROUNDS = 3
HERTZ = 4999
# A sample in the midst of these is the kernel's work for a system call, or for a page that is not there yet.
CALLS = ("__x64_sys_", "__do_sys_", "__se_sys_", "__arm64_sys_")
FAULTS = ("exc_page_fault", "do_page_fault", "el0_da", "el0_ia")
# Two names of the kernel's for what programs call otherwise.
NAMES = {"clone": "clone: a copy of the table of memory", "execve": "execve"}


class Perf:
    """Samples all processors while it is entered."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        self.child = subprocess.Popen(
            ["perf", "record", "-q", "-a", "-e", "cpu-clock", "-F", str(HERTZ), "-g", "-o", self.file],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # It has opened its events once it has begun its file.
        daemon.wait_for(lambda: self.file.exists() and self.file.stat().st_size > 0, 10)

    def __exit__(self, *_):
        self.child.send_signal(signal.SIGINT)
        self.child.wait(60)


def samples(file):
    """Of each sample the name of the thread, its process, its thread, and what it was doing, innermost first."""
    text = subprocess.run(
        ["perf", "script", "-i", file, "-F", "comm,pid,tid,ip,sym"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, errors="replace", check=True).stdout
    for block in text.split("\n\n"):
        head, *frames = block.strip("\n").split("\n")
        comm, _, ids = head.strip().rpartition(" ")
        if "/" not in ids:
            continue
        process, thread = ids.split("/")
        yield comm.strip(), int(process), int(thread), [
            frame.split(None, 1)[1].split("+")[0] if len(frame.split(None, 1)) > 1 else "" for frame in frames]


def doing(frames):
    """What the outermost system call of a sample is, `page faults`, or `its own code`."""
    for frame in reversed(frames):
        for prefix in CALLS:
            if frame.startswith(prefix):
                return frame.removeprefix(prefix)
        if frame in FAULTS:
            return "page faults"
    return "its own code"


def measure(who, file, of):
    """The microseconds of a run by who spent them, and on what."""
    found = collections.Counter()
    for comm, process, thread, frames in samples(file):
        whose = of(comm, process, thread)
        if whose is not None:
            found[whose, doing(frames)] += 1
    for (whose, what), count in found.items():
        yield {
            "case": "profile", "who": who, "whose": whose, "what": what,
            "us": count / HERTZ / COUNT / ROUNDS * 1e6}


def bare(path):
    file = daemon.stamp_file(path / "stamps")
    at = math.ceil(time.time() + 1.5)
    with Perf(path / "perf"):
        subprocess.run([places.BARE, "burst", str(COUNT), str(at), places.STAMP, file], check=True)
    # A process that it made has its name up to its program.
    return lambda comm, *_: {"stamp": "the program", "bare": "the bare loop, and its processes before theirs"}.get(comm)


def timerd(path):
    file = daemon.stamp_file(path / "stamps")
    at = math.ceil(time.time() + 3)
    text = "".join(
        daemon.job(f"job-{index}", f'at = "{daemon.rfc3339(at)}"', [places.STAMP, file]) for index in range(COUNT))
    with daemon.Timerd(path, {"timerd.toml": text}) as process:
        process.wait_until_ready()
        runners = process.runners()
        with Perf(path / "perf"):
            burst.settle(file, COUNT, at)
            # Their ends are taken, told and recorded.
            daemon.wait_for(lambda: (path / "log").read_bytes().count(b": succeeded in ") == COUNT, 20)
        scheduler = process.pid

    def whose(comm, of, thread):
        if of == scheduler:
            return "the scheduler"
        if of in runners:
            return "the runner's thread" if comm == "timerd.runner" else "the runner's socket"
        # A copy of the runner's thread has its name.
        return {"stamp": "the program", "timerd.runner": "the process before its program"}.get(comm)

    return whose


def run(long):
    if not shutil.which("perf"):
        print("profile: no perf (Debian: linux-perf); left out", file=sys.stderr)
        return
    if os.geteuid() != 0:
        print("profile: perf needs root to see the kernel; left out", file=sys.stderr)
        return
    for who, make in (("bare posix_spawn", bare), ("timerd", timerd)):
        for _ in range(ROUNDS):
            daemon.quiet()
            with daemon.folder() as path:
                of = make(path)
                yield from measure(who, path / "perf", of)
