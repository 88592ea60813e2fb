# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Many armed jobs: the time until all timers are set, memory, the table of them, and what an idle daemon
costs. The weight of the programs."""

import os
import re
import shutil
import statistics
import subprocess
import time

from . import daemon, places

COUNTS = [1000, 10_000, 100_000]
IDLE_JOBS = 1000
ROUNDS = 5
# How often timerd is started. What a start takes, and what malloc keeps of it, differs from one to the next.
STARTS = 3
# Who is idle with nothing to count.
PAUSED = "timerd, every job paused"
# Of how many jobs a list is to be there at once.
FEW = [100, 1000]
PROGRAMS = ["timerd", "timerd-runner", "timerctl"]
# Each file is to stay below the 8 MiB timerd reads.
JOBS_PER_FILE = 10_000


def files(count, keys='every = "1d"'):
    """A configuration of so many jobs, none of them due within a day, in as many files as it takes."""
    found = {"timerd.toml": "[defaults]\nenvironment = { LANG = \"C.UTF-8\" }\n"}
    for start in range(0, count, JOBS_PER_FILE):
        found[f"jobs.d/{start:06}.toml"] = "".join(
            daemon.job(f"job-{index}", keys, ["/bin/true"])
            for index in range(start, min(count, start + JOBS_PER_FILE)))
    return found


def memory(process):
    return {"anonymous_bytes": process.memory("Anonymous"), "resident_bytes": process.memory("Rss")}


def settled(process):
    """The memory of both processes once what starting took is given back."""
    steady(process, 20)
    return {**memory(process), "processes": process.memories()}


def timed(command, rounds=ROUNDS):
    """Seconds from exec to exit, the median of several; between them as much time as a daemon rests after a
    listing, so that none waits for the one before it."""
    figures = []
    with open(os.devnull, "w", encoding="utf-8") as null:
        for _ in range(rounds):
            began = time.monotonic()
            child = os.posix_spawn(
                command[0], [str(word) for word in command], os.environ,
                file_actions=[(os.POSIX_SPAWN_DUP2, null.fileno(), 1)])
            _, status = os.waitpid(child, 0)
            figures.append(time.monotonic() - began)
            if status:
                raise subprocess.CalledProcessError(status, command)
            time.sleep(5 * figures[-1])
    return sorted(figures)[rounds // 2]


def start(path, count):
    """The time of one start, and the memory after it."""
    with daemon.Timerd(path, files(count)) as process:
        return {"ready_s": process.wait_until_ready(), **settled(process)}


def median(found):
    """Of several starts the median time, and the memory of the one with the median."""
    by_memory = sorted(found, key=lambda one: one["anonymous_bytes"])
    return {**by_memory[len(found) // 2], "ready_s": statistics.median(one["ready_s"] for one in found)}


def timerd(count):
    """The first start, which finds no account of any job."""
    found = []
    for _ in range(STARTS):
        daemon.quiet()
        with daemon.folder() as path:
            found.append(start(path, count))
    with daemon.folder() as path, daemon.Timerd(path, files(count)) as process:
        process.wait_until_ready()
        settled(process)
        listed = timed([places.TIMERCTL, "list", "--socket", process.socket])
        shown = timed([places.TIMERCTL, "show", f"job-{count - 1}", "--socket", process.socket])
        return {
            "case": "scale", "who": "timerd", "jobs": count, **median(found),
            "list_s": listed, "show_s": shown, "after_list_resident_bytes": memory(process)["resident_bytes"]}


def again(count):
    """A second start, which finds an account for every job."""
    with daemon.folder() as path:
        with daemon.Timerd(path, files(count)) as process:
            process.wait_until_ready()
        found = []
        for _ in range(STARTS):
            daemon.quiet()
            found.append(start(path, count))
        return {"case": "scale", "who": "timerd, second start", "jobs": count, **median(found)}


def few(count):
    """How long a list of few jobs takes, beside a program that does nothing."""
    daemon.quiet()
    with daemon.folder() as path, daemon.Timerd(path, files(count)) as process:
        process.wait_until_ready()
        command = [places.TIMERCTL, "list", "--socket", process.socket]
        return {
            "case": "scale", "few_jobs": count, "list_s": timed(command, 21),
            "names_s": timed([*command, "--names"], 21), "json_s": timed([*command, "--json"], 21),
            "true_s": timed(["/bin/true"], 21)}


def sizes():
    for name in PROGRAMS:
        yield {"case": "scale", "program": name, "bytes": (places.TIMERD.parent / name).stat().st_size}


def package():
    """What the Debian package takes once it is installed, as its control file says, in KiB."""
    with daemon.folder() as path:
        subprocess.run(
            ["make", "deb", f"DIST={path}"], cwd=places.PROJECT, stdout=subprocess.DEVNULL, check=True)
        found, = path.glob("timerd_*.deb")
        text = subprocess.run(
            ["dpkg-deb", "--field", found, "Installed-Size"], stdout=subprocess.PIPE, check=True, text=True)
        return {
            "case": "scale", "package_bytes": found.stat().st_size, "installed_bytes": int(text.stdout) * 1024}


def clean_build():
    """The time a release build takes from nothing but the packages' sources."""
    scratch = places.BUILD / "clean"
    shutil.rmtree(scratch, ignore_errors=True)
    command = ["swift", "build", "-c", "release", "--static-swift-stdlib", "--scratch-path", scratch]
    subprocess.run([*command, "--show-bin-path"], cwd=places.PROJECT, stdout=subprocess.DEVNULL, check=True)
    began = time.monotonic()
    subprocess.run(command, cwd=places.PROJECT, stdout=subprocess.DEVNULL, check=True)
    figure = {"case": "scale", "clean_build_s": time.monotonic() - began}
    shutil.rmtree(scratch)
    return figure


def steady(process, seconds):
    """Waits until a daemon that does not report its start has started: it uses no CPU time for a second."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = process.processor_seconds()
        time.sleep(1)
        if process.processor_seconds() - before < 0.02:
            return


def peer(who, count, start):
    with daemon.folder() as path, start(path) as process:
        steady(process, 300)
        return {
            "case": "scale", "who": who, "jobs": count, **memory(process),
            "start_cpu_s": process.processor_seconds()}


def peers(count):
    """The same jobs in the others: at 04:05 each day, or once a day."""
    file = places.WORK / "never"
    if os.geteuid() == 0:
        lines = [f"5 4 * * * root /bin/true {index}" for index in range(count)]
        yield peer("Debian cron", count, lambda path: daemon.cron(path, lines))
    yield peer(
        "APScheduler", count,
        lambda path: daemon.apscheduler(path, "idle", count, "-", places.STAMP, file))
    jobs = [(f"job-{index}", "5 4 * * *", ["/bin/true"]) for index in range(count)]
    yield peer("cronstable", count, lambda path: daemon.cronstable(path, jobs))


# A day in seven columns, then the call: the lines of `strace -c -f`.
CALL = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", re.M)


def idle(seconds, who, keys):
    """Wake-ups and processor time first, undisturbed; system calls in a second stretch, under strace."""
    with daemon.folder() as path:
        # A clean stop leaves a copy of the database. Otherwise the daily one would come in the minute of this.
        with daemon.Timerd(path, files(IDLE_JOBS, keys)) as process:
            process.wait_until_ready()
        with daemon.Timerd(path, files(IDLE_JOBS, keys)) as process:
            process.wait_until_ready()
            # A request must not leave anything behind that wakes the process.
            timed([places.TIMERCTL, "list", "--socket", process.socket], 1)
            return idle_figure(process, path / "strace", who, seconds)


def idle_figure(process, summary, who, seconds):
    # The threads of Dispatch that the start needed end after some seconds without work.
    time.sleep(15)
    switches, processor, written = process.switches(), process.processor_seconds(), process.written()
    time.sleep(seconds)
    figure = {
        "case": "scale", "who": who, "idle_jobs": IDLE_JOBS, "seconds": seconds,
        "wakeups": process.wakeups(switches),
        "cpu_s": round(process.processor_seconds() - processor, 3),
        "written_bytes": process.written() - written}
    subprocess.run(
        ["timeout", "-s", "INT", str(seconds), "strace", "-c", "-f", "-o", summary,
         *(word for pid in process.pids() for word in ("-p", str(pid)))], stderr=subprocess.DEVNULL)
    calls = {name: int(count) for count, name in CALL.findall(summary.read_text())}
    calls.pop("total", None)
    return {**figure, "syscalls": sum(calls.values()), "calls": calls}


def idle_peer(who, start, seconds):
    with daemon.folder() as path, start(path) as process:
        steady(process, 120)
        switches, processor = process.switches(), process.processor_seconds()
        time.sleep(seconds)
        return {
            "case": "scale", "who": who, "idle_jobs": IDLE_JOBS, "seconds": seconds,
            "wakeups": process.wakeups(switches),
            "cpu_s": round(process.processor_seconds() - processor, 3)}


def idle_peers(seconds):
    file = places.WORK / "never"
    if os.geteuid() == 0:
        lines = [f"5 4 * * * root /bin/true {index}" for index in range(IDLE_JOBS)]
        yield idle_peer("Debian cron", lambda path: daemon.cron(path, lines), seconds)
    yield idle_peer(
        "APScheduler",
        lambda path: daemon.apscheduler(path, "idle", IDLE_JOBS, "-", places.STAMP, file), seconds)
    jobs = [(f"job-{index}", "5 4 * * *", ["/bin/true"]) for index in range(IDLE_JOBS)]
    yield idle_peer("cronstable", lambda path: daemon.cronstable(path, jobs), seconds)


def run(long):
    yield from sizes()
    if long:
        yield package()
        yield clean_build()
    for count in FEW:
        yield few(count)
    for count in COUNTS:
        yield timerd(count)
        yield again(count)
    # With 100 000 one of them takes longer to start than all the rest of this.
    for count in COUNTS[:2] if long else COUNTS[:1]:
        yield from peers(count)
    # Whichever moment it begins at, this has four checkpoints.
    yield idle(100, "timerd", 'every = "1d"')
    yield idle(60, PAUSED, 'every = "1d"\npaused = true')
    yield from idle_peers(60)
