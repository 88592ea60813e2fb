# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""What `timerctl top` costs while it shows 1000 jobs, of which some fire: processor time of the screen and of the
daemon, the latter in turns with none who looks. A wide terminal also shows why the selected job has not run."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

from . import daemon, places, scale

JOBS, FIRING = 1000, 20
ROWS = 50
SECONDS, LONG_SECONDS = 20, 60


class Screen(daemon.Process):
    """`timerctl top` on a terminal of its own."""

    def __init__(self, process, columns):
        self.master, self.terminal = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        super().__init__(
            ["setsid", "sh", "-c", 'exec "$@" <"$0" >"$0"', os.ttyname(self.terminal),
             places.TIMERCTL, "top", "--socket", process.socket],
            process.path / "top.log", env={**os.environ, "TERM": "xterm-256color"})

    def end(self, *how):
        super().end(*how)
        os.close(self.terminal)
        os.close(self.master)

    def read(self, seconds):
        """How many bytes it draws in this time."""
        end, count = time.monotonic() + seconds, 0
        while (left := end - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0]:
                count += len(os.read(self.master, 65536))
        return count


def looking(process, columns, seconds):
    """One terminal of this width, after its first screens."""
    with Screen(process, columns) as screen:
        if screen.read(3) < ROWS * columns / 2:
            raise RuntimeError(f"top draws nothing: {(process.path / 'top.log').read_text(errors='replace')}")
        before = screen.processor_seconds(), process.processor_seconds()
        count = screen.read(seconds)
        after = screen.processor_seconds(), process.processor_seconds()
    return {
        "columns": columns, "bytes_each_second": count / seconds, "top": (after[0] - before[0]) / seconds,
        "daemon": (after[1] - before[1]) / seconds}


def run(long):
    seconds = LONG_SECONDS if long else SECONDS
    jobs = scale.files(JOBS - FIRING)
    for index in range(FIRING):
        jobs["timerd.toml"] += daemon.job(f"firing-{index}", 'every = "5s"', ["/bin/true"])
    with daemon.folder() as path, daemon.Timerd(path, jobs) as process:
        process.wait_until_ready()
        daemon.quiet()
        before = process.processor_seconds()
        time.sleep(seconds)
        yield {"jobs": JOBS, "alone": (process.processor_seconds() - before) / seconds}
        for columns in (80, 160):
            yield looking(process, columns, seconds)
