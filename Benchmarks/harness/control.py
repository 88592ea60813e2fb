# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""What it costs to look at a daemon and to change it: a reload with one job changed among many, and the
lateness of firings while clients list all jobs, say nothing, read nothing or talk nonsense."""

import contextlib
import http.client
import json
import multiprocessing
import os
import random
import re
import socket
import statistics
import subprocess
import threading
import time

from . import daemon, places, scale

JOBS = 10_000
RELOADS = 5
SECONDS = 20
# How many of each kind of client there are.
CLIENTS = 16


class Unix(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path):
        super().__init__("timerd", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def listing(connection):
    connection.request("GET", "/v1/jobs")
    reply = connection.getresponse()
    body = reply.read()
    if reply.status != 200:
        raise RuntimeError(f"the list is answered with {reply.status}")
    return body


def due(path):
    """When each job fires next, as the daemon says."""
    connection = Unix(path)
    found = {job["job"]: job.get("next") for job in json.loads(listing(connection))["jobs"]}
    connection.close()
    return found


def reload():
    """Seconds for each of several reloads, and which timers moved by them."""
    daemon.quiet()
    text = lambda span: daemon.job("changed", f'every = "{span}"', ["/bin/true"])
    # By the calendar, so that the next firing is an instant that must stay what it was.
    jobs = {
        "timerd.toml": text("1h"),
        **{name: content.replace('every = "1d"', 'calendar = "2030-01-01 00:00:00"')
           for name, content in scale.files(JOBS).items() if name != "timerd.toml"}}
    with daemon.folder() as path, daemon.Timerd(path, jobs) as process:
        process.wait_until_ready()
        before = due(process.socket)
        took, moved, timers = [], set(), []
        for number in range(RELOADS):
            (process.config / "timerd.toml").write_text(text(f"{number + 2}h"))
            summary = path / "strace"
            trace = subprocess.Popen(
                ["strace", "-f", "-c", "-e", "trace=timerfd_settime", "-o", summary, "-p", str(process.pid)],
                stderr=subprocess.DEVNULL) if number == RELOADS - 1 else None
            if trace:
                time.sleep(0.5)
            began = time.monotonic()
            subprocess.run(
                [places.TIMERCTL, "reload", "--socket", process.socket], check=True, stdout=subprocess.DEVNULL)
            if trace is None:
                took.append(time.monotonic() - began)
            else:
                trace.send_signal(2)
                trace.wait()
                found = re.search(r"(\d+)(?:\s+\d+)?\s+timerfd_settime", summary.read_text())
                timers.append(int(found.group(1)) if found else 0)
            after = due(process.socket)
            moved |= {name for name, instant in after.items() if before.get(name) != instant}
            before = {**after}
        return {
            "case": "control", "what": "reload", "jobs": JOBS + 1, "median_s": statistics.median(took),
            "moved": sorted(moved), "timer_sets": timers[0]}


class Clients:
    """Threads that bother the daemon for so long, in a process that goes behind all others: what is measured
    is what the daemon does for its clients, not what they do themselves."""

    def __init__(self, path):
        self.path = str(path)
        self.over = threading.Event()
        self.took = []

    @classmethod
    def work(cls, path, kinds, seconds, told):
        os.nice(19)
        clients = cls(path)
        threads = [
            threading.Thread(target=getattr(clients, kind), daemon=True)
            for kind, count in kinds.items() for _ in range(count)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        clients.over.set()
        for thread in threads:
            thread.join(60)
        told.put(clients.took)

    def connect(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(1)
        client.connect(self.path)
        return client

    def lists(self):
        """Lists all jobs, again and again, and notes how long each took."""
        connection = Unix(self.path)
        while not self.over.is_set():
            began = time.monotonic()
            listing(connection)
            self.took.append(time.monotonic() - began)
        connection.close()

    def silent(self):
        """Connects, begins a request and never ends it."""
        while not self.over.is_set():
            with contextlib.suppress(OSError):
                client = self.connect()
                client.sendall(b"GET /v1/jobs HTTP/1.1\r\nHost: ")
                self.over.wait(5)
                client.close()

    def deaf(self):
        """Asks for everything many times and reads nothing."""
        while not self.over.is_set():
            with contextlib.suppress(OSError):
                client = self.connect()
                for _ in range(50):
                    client.sendall(b"GET /v1/jobs HTTP/1.1\r\nHost: timerd\r\n\r\n")
                self.over.wait(2)
                client.close()

    def nonsense(self):
        """Sends what is no request."""
        noise = random.Random(1)
        while not self.over.is_set():
            with contextlib.suppress(OSError):
                client = self.connect()
                client.sendall(noise.randbytes(4096))
                client.recv(4096)
                client.close()


def firing(clients):
    """Lateness of 500 firings a second among 10 000 armed jobs, with these clients at work."""
    daemon.quiet()
    with daemon.folder() as path:
        files, phases = scale.files(JOBS), []
        for index in range(daemon.FIRING):
            file = daemon.stamp_file(path / f"stamps-{index}")
            phases.append((file, daemon.phase(index)))
            files["timerd.toml"] += daemon.firing_job(index, file)
        # What is written of each run is the log's business, not the client's.
        files["timerd.toml"] = files["timerd.toml"].replace("[defaults]", '[defaults]\nlog = "failures"', 1)
        with daemon.Timerd(path, files) as process:
            process.wait_until_ready()
            time.sleep(2)
            began = time.time_ns()
            told = multiprocessing.Queue()
            work = multiprocessing.Process(target=Clients.work, args=(process.socket, clients, SECONDS, told))
            work.start()
            took = sorted(told.get())
            work.join()
            ended = time.time_ns()
            grown = process.memory("Rss")
        late = sorted(
            (real / 1e6 - phase) % daemon.PERIOD_MS for file, phase in phases
            for real, _ in daemon.stamps(file) if began < real < ended)
        figure = {
            "case": "control", "what": "firing", "clients": clients, "firings": len(late),
            "expected": int((ended - began) / 1e6 / daemon.PERIOD_MS * daemon.FIRING),
            "median_ms": daemon.reached(late, 0.5), "p99_ms": daemon.reached(late, 0.99), "max_ms": late[-1],
            "resident_bytes": grown}
        if took:
            figure |= {
                "lists": len(took), "list_median_s": daemon.reached(took, 0.5),
                "list_p99_s": daemon.reached(took, 0.99)}
        return figure


def run(_long):
    yield reload()
    yield firing({})
    yield firing({"lists": 1})
    yield firing({"lists": CLIENTS})
    yield firing({"silent": CLIENTS, "deaf": CLIENTS, "nonsense": 2})
