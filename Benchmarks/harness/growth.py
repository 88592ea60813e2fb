# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""What concerns very many jobs, or very many rows, at once: how long it takes, and how late it makes the firings of
other jobs. Each figure has the lateness of a few jobs that fire all the time beside it, and the longest that an
answer about one job took, which waits for the queue that decides."""

import bisect
import contextlib
import signal
import sqlite3
import subprocess
import threading
import time

from . import control, daemon, places, scale

# So many jobs fire ten times a second each, at points of their own.
TICKS = 5
PERIOD_MS = 100
# How many jobs, and how many of them one reload changes.
JOBS = 100_000
CHANGED = 60_000
# The most jobs that a configuration may have.
MOST = 250_000
# How many runs are too old at once.
ROWS = 2_500_000


def tick_files(path):
    """Jobs that fire all the time, in a file that comes after all others, and where and when each leaves its stamps."""
    text, phases = "", []
    for index in range(TICKS):
        file, phase = daemon.stamp_file(path / f"stamps-{index}"), index * PERIOD_MS / TICKS
        text += daemon.job(
            f"ticks-{index}",
            f'calendar = "*:*:{phase / 1000:.3f}/{PERIOD_MS / 1000}"\nconcurrency = "allow"\nlog = "none"',
            [places.STAMP, file])
        phases.append((file, phase))
    return text, phases


class Watch:
    """How late the ticks are while something else happens, and how long answers about one job take."""

    def __init__(self, process, phases):
        self.process, self.phases = process, phases
        self.over = threading.Event()
        self.answers = []
        self.asking = threading.Thread(target=self.ask, daemon=True)

    def ask(self):
        connection = control.Unix(self.process.socket)
        while not self.over.wait(0.005):
            began = time.monotonic()
            connection.request("GET", "/v1/jobs/ticks-0")
            connection.getresponse().read()
            self.answers.append(time.monotonic() - began)
        connection.close()

    def __enter__(self):
        self.began = time.time_ns()
        self.asking.start()
        return self

    def __exit__(self, *_):
        self.ended = time.time_ns()
        # What came due before the end may begin after it.
        time.sleep(1)
        self.over.set()
        self.asking.join(120)

    def figures(self):
        """Of each instant at which a job was due, how long it took until one of its processes began."""
        late, begun, due = [], 0, 0
        for file, phase in self.phases:
            stamps = [real / 1e6 for real, _ in daemon.stamps(file)]
            at = self.began / 1e6 - (self.began / 1e6 - phase) % PERIOD_MS + PERIOD_MS
            begun += sum(at <= stamp < self.ended / 1e6 for stamp in stamps)
            while at < self.ended / 1e6:
                due += 1
                place = bisect.bisect_left(stamps, at)
                if place < len(stamps):
                    late.append(stamps[place] - at)
                at += PERIOD_MS
        late.sort()
        return {
            "due": due, "begun": begun, "late_median_ms": daemon.reached(late, 0.5) if late else None,
            "late_max_ms": late[-1] if late else None, "answer_max_ms": max(self.answers, default=0) * 1000}


@contextlib.contextmanager
def running(count, keys='every = "1d"', ticks=True, kind=daemon.Timerd):
    """A daemon with so many jobs, and a few that fire all the time."""
    daemon.quiet()
    with daemon.folder() as path:
        files = scale.files(count, keys)
        files["timerd.toml"] = f"[daemon]\njobs-max = {min(MOST, count + 1000)}\n" + files["timerd.toml"]
        text, phases = tick_files(path)
        if ticks:
            files["jobs.d/zz.toml"] = text
        with kind(path, files) as process:
            process.wait_until_ready(600)
            yield process, phases, files


def timerctl(process, *words):
    """Seconds that a command took."""
    began = time.monotonic()
    subprocess.run(
        [places.TIMERCTL, *words, "--socket", process.socket], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def reload(count, changed):
    with running(count) as (process, phases, files):
        time.sleep(3)
        left = changed
        for name, text in sorted(files.items()):
            if name.startswith("jobs.d/0") and left > 0:
                (process.config / name).write_text(text.replace('"1d"', '"2d"', left))
                left -= min(left, text.count('"1d"'))
        with Watch(process, phases) as watch:
            took = timerctl(process, "reload")
            time.sleep(2)
        return {"case": "growth", "what": "reload", "jobs": count, "changed": changed, "took_s": took, **watch.figures()}


def checkpoint(count, seconds=60):
    with running(count) as (process, phases, _):
        with Watch(process, phases) as watch:
            time.sleep(seconds)
        return {"case": "growth", "what": "checkpoint", "jobs": count, **watch.figures()}


def start(count):
    """A second start, which finds an account for each job; what came due before it was ready is not counted."""
    daemon.quiet()
    with running(count, ticks=False) as (process, _, files):
        path = process.path
        process.end()
        text, phases = tick_files(path)
        files["jobs.d/zz.toml"] = text
        with daemon.Timerd(path, files) as second:
            ready = second.wait_until_ready(600)
            with Watch(second, phases) as watch:
                time.sleep(5)
            figures = watch.figures()
            began = time.monotonic()
            second.end()
            return {
                "case": "growth", "what": "start and stop", "jobs": count, "ready_s": ready,
                "stop_s": time.monotonic() - began, "stop_status": second.child.returncode, **figures}


def order(count, *words):
    """An order for all jobs. Those that fire all the time come last; they are watched until it is done."""
    with running(count) as (process, phases, _):
        time.sleep(3)
        with Watch(process, phases) as watch:
            took = timerctl(process, *words)
        return {"case": "growth", "what": " ".join(words), "jobs": count, "took_s": took, **watch.figures()}


class Telling(daemon.Timerd):
    """A daemon of which is counted how often it asks the service manager for more time."""

    def wait_until_ready(self, seconds=120):
        self.extensions = 0
        self.notify.settimeout(seconds)
        while self.ready is None:
            told = self.notify.recv(65536)
            self.extensions += b"EXTEND_TIMEOUT_USEC=" in told
            if b"READY=1" in told.split(b"\n"):
                self.ready = time.monotonic() - self.began
        self.notify.close()
        return self.ready


def listing(count):
    with running(count, ticks=False, kind=Telling) as (process, _, _files):
        scale.steady(process, 60)
        held = scale.memory(process)
        began = time.monotonic()
        listed = subprocess.run(
            [places.TIMERCTL, "list", "--socket", process.socket], stdout=subprocess.PIPE, check=False)
        took = time.monotonic() - began
        began = time.monotonic()
        process.end(signal.SIGTERM, 300)
        return {
            "case": "growth", "what": "list", "jobs": count, "ready_s": process.ready,
            "extensions": process.extensions, "took_s": took, "status": listed.returncode,
            # Each job has a line; there are a head, an empty line and the sum as well.
            "listed": listed.stdout.count(b"\n") - 3, "stop_s": time.monotonic() - began,
            "stop_status": process.child.returncode, **held}


def old_runs(database, count):
    """Puts so many runs of some jobs into the history, all of them too old to be kept."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(
            """
            WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
            INSERT INTO run (job, scheduled_us, attempt, missed, active_ns, boot_id, recorded_us, owner, outcome,
                ended_us, elapsed_us, user_us, system_us, peak_bytes, failed)
            SELECT 'job-' || (n % 100), 1000000 + n, 1, 0, 0, '', 1000000 + n, 'job-' || (n % 100), 'exited(0)',
                1000000 + n, 1, 1, 1, 1, 0 FROM number
            """, [count])
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def pruning(rows):
    """A start with so many runs that are too old. How long it takes until they are gone and the file is small again,
    and how late firings are meanwhile."""
    with running(100, ticks=False) as (process, _, files):
        process.end()
        database = process.path / "state/timerd.db"
        old_runs(database, rows)
        full = database.stat().st_size
        text, phases = tick_files(process.path)
        files["jobs.d/zz.toml"] = text
        with daemon.Timerd(process.path, files) as second:
            ready = second.wait_until_ready(600)
            with Watch(second, phases) as watch:
                began = time.monotonic()
                done = daemon.wait_for(lambda: database.stat().st_size < full / 20, 1200)
                took = time.monotonic() - began
            return {
                "case": "growth", "what": "prune", "rows": rows, "ready_s": ready, "took_s": took, "done": done,
                "bytes_before": full, "bytes_after": database.stat().st_size, **watch.figures()}


def run(_long):
    for count in [60_000, JOBS]:
        yield start(count)
        yield checkpoint(count)
    yield reload(JOBS, 1)
    yield reload(JOBS, CHANGED)
    for words in [("list",), ("pause", "--all"), ("resume", "--all"), ("run", "--all")]:
        yield order(JOBS, *words)
    yield pruning(ROWS)
    for figures in [start, checkpoint, lambda count: reload(count, 1), lambda count: order(count, "list"), listing]:
        yield figures(MOST - TICKS)
