# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""What it costs that people look: a burst while browsers follow the events through the web server, the wake-ups of an
idle daemon with a web server, the lateness of firings while the metrics are scraped, and the calendar of a job with a
very long history. Both sides of each ratio take turns within one run, so that a noisy minute of the machine counts for
both."""

import contextlib
import http.client
import json
import math
import multiprocessing
import os
import re
import sqlite3
import subprocess
import threading
import time

from . import burst, control, daemon, places, scale

BURST = 1000
BROWSERS = 5
ROUNDS = 8
IDLE_SECONDS = 60
# Jobs that are armed while metrics are scraped: each has its lines in the answer.
ARMED = 1000
# So many jobs run once a second, each at a point of the second of its own.
TICKS = 5
# How long scrapes go on, and then stop for as long, in seconds.
STRETCH = 20
STRETCHES, LONG_STRETCHES = 8, 24
# The runs of one job in the last 182 days, of which one in fifty failed, and how often its calendar is asked for.
HISTORY = 1_000_000
ASKED = 21


class WebServer(daemon.Process):
    """`timerd web` for a daemon."""

    def __init__(self, process):
        self.socket = process.socket
        self.file = process.path / "web.log"
        super().__init__(
            [places.TIMERD, "web", "--runtime", process.runtime, "--listen", "127.0.0.1:0"], self.file)
        found = None
        while found is None:
            time.sleep(0.02)
            found = re.search(r"http://127\.0\.0\.1:(\d+)", self.file.read_text())
        self.port = int(found.group(1))

    def log_in(self):
        """The cookie of a new session."""
        command = [places.TIMERCTL, "web", "--socket", self.socket, "--url", f"http://127.0.0.1:{self.port}"]
        link = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[0]
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", link[link.index("/login"):])
        reply = connection.getresponse()
        reply.read()
        connection.close()
        return reply.headers["Set-Cookie"].partition(";")[0]


def follow(port, cookie, heard, index):
    """Follows the events as a browser does, and counts them."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/v1/events", headers={"Cookie": cookie, "Accept": "text/event-stream"})
    reply = connection.getresponse()
    assert reply.status == 200, reply.status
    while text := reply.read1(1 << 20):
        # Also the greeting, of which there is one.
        heard[index] += text.count(b'"number":')


def browse(port, cookies, heard):
    """A process that comes after all others: what is measured is what the daemon does, not what a browser does."""
    os.nice(19)
    threads = [
        threading.Thread(target=follow, args=(port, cookie, heard, index), daemon=True)
        for index, cookie in enumerate(cookies)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextlib.contextmanager
def browsers(process, count):
    """So many browsers, each of its own session, that follow the events; yields how many each of them heard."""
    with WebServer(process) as server:
        heard = multiprocessing.Array("q", count, lock=False)
        work = multiprocessing.Process(
            target=browse, args=(server.port, [server.log_in() for _ in range(count)], heard), daemon=True)
        work.start()
        try:
            if not daemon.wait_for(lambda: all(heard), 60):
                raise RuntimeError("a browser hears nothing")
            yield heard
        finally:
            work.kill()
            work.join()


def one_burst(count, round):
    """A burst with so many browsers."""
    daemon.quiet()
    with daemon.folder() as path:
        file = daemon.stamp_file(path / "stamps")
        at = math.ceil(time.time() + 6)
        text = "".join(
            daemon.job(f"job-{index}", f'at = "{daemon.rfc3339(at)}"', [places.STAMP, file]) for index in range(BURST))
        with daemon.Timerd(path, {"timerd.toml": text}) as process, contextlib.ExitStack() as stack:
            process.wait_until_ready()
            heard = stack.enter_context(browsers(process, count)) if count else []
            burst.settle(file, BURST, at)
            # Of each run, the browsers hear at least that it began and that it ended.
            daemon.wait_for(lambda: all(number > 2 * BURST for number in heard), 10)
            late = [(real - at * 1e9) / 1e6 for real, _ in daemon.stamps(file)]
            if len(late) < BURST:
                raise RuntimeError(f"{len(late)} of {BURST} began")
            return {
                "case": "page", "what": "burst", "browsers": count, "round": round,
                "median_ms": daemon.reached(late, 0.5), "last_ms": late[-1], "heard": list(heard)}


def idle(seconds):
    """Wake-ups of a daemon, which is alone, has a web server, and has a browser."""
    daemon.quiet()
    with daemon.folder() as path, daemon.Timerd(path, scale.files(ARMED)) as process:
        process.wait_until_ready()

        def measure(what):
            time.sleep(5)
            before = process.switches()
            time.sleep(seconds)
            return {
                "case": "page", "what": "idle", "with": what, "jobs": ARMED,
                "per_s": process.wakeups(before) / seconds}

        yield measure("nothing")
        with WebServer(process):
            yield measure("a web server")
        with browsers(process, 1):
            yield measure("a web server and a browser")


class Scraper:
    """Asks for the metrics each second while it is on, in a process that comes after all others."""

    def __init__(self, process):
        self.isOn = multiprocessing.Event()
        self.took = multiprocessing.Queue()
        self.work = multiprocessing.Process(target=self.scrape, args=(process.socket,), daemon=True)

    def scrape(self, path):
        os.nice(19)
        # Not at the same point of each second: it meets the jobs at each of theirs.
        pause = 1.03
        while True:
            self.isOn.wait()
            began = time.monotonic()
            connection = control.Unix(path)
            connection.request("GET", "/metrics")
            size = len(connection.getresponse().read())
            connection.close()
            self.took.put((time.monotonic() - began, size))
            time.sleep(max(0, began + pause - time.monotonic()))

    def __enter__(self):
        self.work.start()
        return self

    def __exit__(self, *_):
        self.work.kill()
        self.work.join()


def scraping(stretches):
    """One daemon, whose metrics are scraped in every other stretch of time."""
    daemon.quiet()
    with daemon.folder() as path:
        files, phases = scale.files(ARMED), []
        for index in range(TICKS):
            file, phase = daemon.stamp_file(path / f"stamps-{index}"), 100 + index * 800 / TICKS
            phases.append((file, phase))
            files["timerd.toml"] += daemon.job(
                f"ticks-{index}", f'calendar = "*:*:{phase / 1000:.3f}/1"', [places.STAMP, file])
        parts = {True: [], False: []}
        with daemon.Timerd(path, files) as process, Scraper(process) as scraper:
            process.wait_until_ready()
            time.sleep(5)
            for stretch in range(2 * stretches):
                isOn = stretch % 2 == 1
                (scraper.isOn.set if isOn else scraper.isOn.clear)()
                # By then the runs of the last interval have ended.
                time.sleep(1.5)
                began = time.time_ns()
                time.sleep(STRETCH)
                parts[isOn].append((began, time.time_ns()))
        scrapes = []
        while not scraper.took.empty():
            scrapes.append(scraper.took.get())
        for isOn, times in parts.items():
            late = sorted(
                (real / 1e6 - phase) % 1000 for file, phase in phases for real, _ in daemon.stamps(file)
                if any(began < real < ended for began, ended in times))
            figure = {
                "case": "page", "what": "scrape", "scrapes": len(scrapes) if isOn else 0, "jobs": ARMED + TICKS,
                "firings": len(late), "median_ms": daemon.reached(late, 0.5), "p99_ms": daemon.reached(late, 0.99),
                "max_ms": late[-1]}
            if isOn:
                took = sorted(seconds for seconds, _ in scrapes)
                figure |= {"scrape_median_s": daemon.reached(took, 0.5), "bytes": scrapes[-1][1]}
            yield figure


def long_history(database, job):
    """Puts the runs of the job into the database of a daemon that has ended."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(
            """
            WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?1)
            INSERT INTO run (job, owner, scheduled_us, attempt, missed, active_ns, boot_id, recorded_us, began_us,
                outcome, ended_us, elapsed_us, user_us, system_us, peak_bytes, failed)
            SELECT ?2, ?2, at, 1, 0, 0, '', at, at, CASE WHEN n % 50 THEN 'exited(0)' ELSE 'exited(1)' END, at + 9000,
                9000, 900, 500, 3000000, n % 50 = 0
            FROM (SELECT n, ?3 - (?1 - n) * (182 * 86400000000 / ?1) AS at FROM number)
            """, [HISTORY, job, int(time.time() * 1e6) - 10_000_000])
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def calendar():
    """The answer from which the page draws 26 weeks of a job, through the web server."""
    daemon.quiet()
    with daemon.folder() as path:
        text = '[daemon]\nhistory = "400d"\n' + daemon.job("often", 'every = "1d"', [places.STAMP, path / "stamps"])
        with daemon.Timerd(path, {"timerd.toml": text}) as process:
            process.wait_until_ready()
        long_history(path / "state/timerd.db", "often")
        with daemon.Timerd(path, {"timerd.toml": text}) as process, WebServer(process) as server:
            process.wait_until_ready()
            cookie, took, runs = server.log_in(), [], 0
            for _ in range(ASKED):
                began = time.monotonic()
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
                connection.request("GET", "/v1/jobs/often/days", headers={"Cookie": cookie})
                runs = sum(day["run_count"] for day in json.loads(connection.getresponse().read())["days"])
                connection.close()
                took.append(time.monotonic() - began)
        if runs < HISTORY * 0.99:
            raise RuntimeError(f"{runs} of {HISTORY} runs are in the calendar")
        return {
            "case": "page", "what": "calendar", "rows": HISTORY, "first_s": took[0],
            "median_s": daemon.reached(sorted(took), 0.5), "best_s": min(took)}


def measured(long):
    for round in range(ROUNDS):
        # Neither is always the first.
        for count in (0, BROWSERS) if round % 2 == 0 else (BROWSERS, 0):
            yield one_burst(count, round)
    yield from idle(IDLE_SECONDS)
    yield from scraping(LONG_STRETCHES if long else STRETCHES)
    yield calendar()


def goals(rows):
    """What was to be reached, and what was. What disturbs a round of a burst only adds to it: the best one counts."""
    last = lambda count: min(row["last_ms"] for row in rows if row["what"] == "burst" and row["browsers"] == count)
    late = {row["scrapes"] > 0: row["p99_ms"] for row in rows if row["what"] == "scrape"}
    days, = (row["median_s"] for row in rows if row["what"] == "calendar")
    woken, = (row["per_s"] for row in rows if row["what"] == "idle" and row["with"] == "a web server")
    for what, figure, goal in (
            (f"last of a burst of {BURST} with {BROWSERS} browsers, by that without", last(BROWSERS) / last(0), 1.05),
            ("wake-ups a second of an idle daemon with a web server", woken, 5),
            ("99 % of lateness with a scrape each second, by that without", late[True] / late[False], 1.1),
            (f"seconds for the calendar of a job with {HISTORY} runs", days, 0.1)):
        yield {"case": "page", "what": "goal", "of": what, "figure": round(figure, 3), "goal": goal, "met": figure <= goal}


def run(long):
    rows = []
    for row in measured(long):
        rows.append(row)
        yield row
    yield from goals(rows)
