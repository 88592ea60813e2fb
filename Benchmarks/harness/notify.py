# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""What notifications cost a burst: of jobs that are not watched, of jobs whose runs are told to a webhook that never
answers, and of jobs that ping such a receiver at the start and the end of each run. They take turns within one run, so
that a noisy minute of the machine counts for all."""

import contextlib
import math
import socket
import statistics
import subprocess
import threading
import time

from . import burst, daemon, places

BURST = 1000
ROUNDS, LONG_ROUNDS = 12, 40


@contextlib.contextmanager
def receiver():
    """Takes every connection and never answers; yields its port, and the connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = []

        def take():
            with contextlib.suppress(OSError):
                while True:
                    taken.append(server.accept()[0])

        threading.Thread(target=take, daemon=True).start()
        try:
            yield server.getsockname()[1], taken
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for connection in taken:
                connection.close()


def tables(how, port):
    """The notifier, and the key of each job."""
    if how == "none":
        return "", ""
    address = f'ping = "http://127.0.0.1:{port}/"' if how == "ping" else (
        f'webhook = "http://127.0.0.1:{port}/"\non = ["success"]')
    return f"[notify.hangs]\n{address}\n", 'notify = ["hangs"]\n'


def one(how, round):
    daemon.quiet()
    with daemon.folder() as path, receiver() as (port, taken):
        file = daemon.stamp_file(path / "stamps")
        at = math.ceil(time.time() + 4)
        notifier, key = tables(how, port)
        text = notifier + "".join(
            daemon.job(f"job-{index}", f'{key}at = "{daemon.rfc3339(at)}"', [places.STAMP, file])
            for index in range(BURST))
        with daemon.Timerd(path, {"timerd.toml": text}) as process:
            process.wait_until_ready()
            if how != "none":
                # A message is on its way and hangs while the burst comes.
                test = subprocess.Popen(
                    [places.TIMERCTL, "notify", "test", "hangs", "--socket", process.socket],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                if not daemon.wait_for(lambda: taken, 10):
                    raise RuntimeError("the receiver got nothing")
                test.kill()
                test.wait()
            if time.time() > at - 0.5:
                raise RuntimeError("timerd was not ready in time")
            burst.settle(file, BURST, at)
            late = [(real - at * 1e9) / 1e6 for real, _ in daemon.stamps(file)]
            if len(late) < BURST:
                raise RuntimeError(f"{len(late)} of {BURST} began")
            return {
                "case": "notify", "what": "burst", "how": how, "round": round, "median_ms": daemon.reached(late, 0.5),
                "last_ms": late[-1], "requests": len(taken)}


def round_off(ratio):
    return round(ratio, 3)


def run(long):
    last = {}
    for round in range(LONG_ROUNDS if long else ROUNDS):
        for how in ("none", "webhook", "ping"):
            figure = one(how, round)
            last.setdefault(how, []).append(figure["last_ms"])
            yield figure
    # What disturbs a round only adds to it: the best one counts.
    for how in ("webhook", "ping"):
        yield {
            "case": "notify", "what": "goal", "goal": 1.05,
            "of": f"last of a burst of {BURST} with a {how} that hangs, by that without",
            "figure": round_off(min(last[how]) / min(last["none"])),
            "medians": round_off(statistics.median(last[how]) / statistics.median(last["none"]))}
