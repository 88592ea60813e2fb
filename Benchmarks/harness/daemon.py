# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Schedulers as child processes: timerd and its peers, each with the same jobs."""

import array
import contextlib
import math
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

from . import places


@contextlib.contextmanager
def folder():
    """An empty folder that is gone afterwards."""
    places.WORK.mkdir(parents=True, exist_ok=True)
    path = pathlib.Path(tempfile.mkdtemp(dir=places.WORK))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def stamps(path):
    """When each process began: pairs of nanoseconds by CLOCK_REALTIME and CLOCK_MONOTONIC, sorted."""
    data = pathlib.Path(path).read_bytes()
    return sorted(struct.iter_unpack("=qq", data[: len(data) // 16 * 16]))


def reached(values, part):
    """Of sorted values the one that this part of them, above 0 and up to 1, does not exceed."""
    return values[math.ceil(len(values) * part) - 1]


def stamp_file(path):
    """An empty file for stamps."""
    path.write_bytes(b"")
    return path


def wait_for(condition, seconds):
    """Whether the condition came true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def busy():
    """Processor seconds of the whole machine so far that were not idle, and all there were."""
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


def quiet(seconds=2):
    """Waits until others leave the machine alone, but not for ever."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = busy()
        time.sleep(0.5)
        after = busy()
        if (after[0] - before[0]) < 0.1 * (after[1] - before[1]):
            return


class Process:
    """A child process that is ended when it is left."""

    def __init__(self, command, log, **options):
        self.log = open(log, "wb")
        self.began = time.monotonic()
        self.child = subprocess.Popen(
            command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, **options)
        self.pid = self.child.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, number=signal.SIGTERM, seconds=60):
        if self.child.poll() is None:
            self.child.send_signal(number)
            try:
                self.child.wait(seconds)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        self.log.close()

    def pids(self):
        """What is counted as the scheduler: this process, not the jobs it started."""
        return [self.pid]

    def sum(self, figure):
        """`figure` of each of its processes, added up."""
        return sum(figure(pathlib.Path(f"/proc/{pid}")) for pid in self.pids())

    def memory(self, name):
        """A line of /proc/PID/smaps_rollup, in bytes: Rss, Anonymous."""
        return self.sum(lambda folder: number(folder / "smaps_rollup", name) * 1024)

    def memories(self):
        """Of each of its processes by name: what is its alone, and what is resident, in bytes."""
        found = {}
        for pid in self.pids():
            rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup")
            found[name(pid)] = {
                "anonymous_bytes": number(rollup, "Anonymous") * 1024,
                "resident_bytes": number(rollup, "Rss") * 1024}
        return found

    def switches(self):
        """How often each of its threads went to sleep of its own will."""
        found = {}
        for pid in self.pids():
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    found[task] = number(task / "status", "voluntary_ctxt_switches")
        return found

    def wakeups(self, before):
        """How often its threads went to sleep since; those that ended meanwhile are gone."""
        return sum(count - before.get(task, 0) for task, count in self.switches().items())

    def processor_seconds(self, first=11):
        """Of its processes; with `first` 13, of their children that have ended (proc(5), stat)."""
        def ticks(folder):
            fields = (folder / "stat").read_text().rsplit(") ", 1)[1].split()
            return int(fields[first]) + int(fields[first + 1])

        return self.sum(ticks) / os.sysconf("SC_CLK_TCK")

    def children_seconds(self):
        """Processor time of the jobs' processes that have ended."""
        return self.processor_seconds(13)

    def written(self):
        """Bytes it caused to be written to disks."""
        return self.sum(lambda folder: number(folder / "io", "write_bytes"))


def number(file, name):
    """The number on the line of this name in a file of /proc."""
    for line in file.read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    raise ValueError(f"{file}: no {name}")


def name(pid):
    """The name of a process; empty once it is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Timerd(Process):
    """timerd's release binary on configuration files of its own."""

    def __init__(self, path, files, **environment):
        """`files`: texts by name, of which timerd.toml is the first."""
        self.path = path
        # As under systemd, where it is in /run: a tmpfs.
        self.runtime = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm", prefix="timerd-bench-"))
        # Nothing else is in this directory, as in /etc/timerd: timerd watches it.
        self.config = path / "config"
        (self.config / "jobs.d").mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (self.config / name).write_text(text)
            (self.config / name).chmod(0o600)
        self.socket = self.runtime / "control.sock"
        self.ready = None
        notify = path / "notify"
        notify.unlink(missing_ok=True)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(notify))
        command = [
            places.TIMERD, "run", "--config", self.config / "timerd.toml", "--state", path / "state",
            "--runtime", self.runtime, "--log", "stderr"]
        super().__init__(
            command, path / "log", env={**os.environ, "NOTIFY_SOCKET": str(notify), **environment})

    def end(self, *how):
        super().end(*how)
        # It goes once nothing of the jobs is left to tell.
        if not wait_for(lambda: not self.runners(), 5):
            for pid in self.runners():
                os.kill(pid, signal.SIGTERM)
        shutil.rmtree(self.runtime, ignore_errors=True)

    def pids(self):
        """The daemon and its runner, which owns the jobs' processes; it is no child of the daemon's."""
        return [pid for pid in [self.pid, *self.runners()] if name(pid)]

    def runners(self):
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if str(self.runtime) in (folder / "cmdline").read_text().split("\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
        return [pid for pid in found if name(pid) == "timerd-runner"]

    def wait_until_ready(self, seconds=120):
        """Seconds from its start to READY=1, which it says once jobs fire on time and its runner can start runs."""
        self.notify.settimeout(seconds)
        while self.ready is None:
            if b"READY=1" in self.notify.recv(65536).split(b"\n"):
                self.ready = time.monotonic() - self.began
        # The socket is not read any more; a scheduler must not care that it is full.
        self.notify.close()
        return self.ready

    def error(self):
        return (self.path / "log").read_text(errors="replace")[-2000:]


def job(name, schedule, command):
    """One job of a configuration of timerd."""
    words = ", ".join(f'"{word}"' for word in command)
    return f"[job.{name}]\n{schedule}\ncommand = [{words}]\n"


# So many jobs, each of which fires ten times a second at points of its own, are 500 firings a second.
FIRING, PERIOD_MS = 50, 100


def phase(index):
    """Of which part of its period one of those jobs fires, in milliseconds."""
    return index * PERIOD_MS / FIRING


def firing_job(index, file):
    """One of those jobs; its processes leave their stamps in `file`."""
    return job(
        f"fires-{index}", f'calendar = "*:*:{phase(index) / 1000:.3f}/{PERIOD_MS / 1000}"', [places.STAMP, file])


def with_limit(live):
    """What timerd is called with so many runs at once, and how its configuration begins; None is its default."""
    if live is None:
        return "timerd", ""
    return f"timerd, max-concurrent = {live}", f"[daemon]\nmax-concurrent = {live}\n"


def rfc3339(second):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))


def cronstable(path, jobs):
    """cronstable on jobs given as (name, schedule of seven fields, command)."""
    text = ["jobs:"]
    for name, schedule, command in jobs:
        words = "".join(f"\n      - {word}" for word in command)
        text.append(
            f"  - name: {name}\n    schedule: \"{schedule}\"\n    command:{words}\n"
            "    captureStderr: false")
    (path / "cronstable.yaml").write_text("\n".join(text) + "\n")
    return Process(
        [places.VENV / "cronstable", "-c", path / "cronstable.yaml"], path / "log", cwd=path)


def apscheduler(path, *arguments):
    """APScheduler 3 with a blocking scheduler; see peers/apscheduler_jobs.py."""
    return Process(
        [places.VENV / "python", places.HERE / "peers/apscheduler_jobs.py", *map(str, arguments)],
        path / "log")


CRON = r"""
set -e
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/spool
mkdir -p /var/spool/cron/crontabs /run/etc /run/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/work /etc
rm -f /etc/crontab /etc/cron.d/*
cp "$1" /etc/cron.d/bench
cp -r "$2/etc/pam.d/cron" /etc/pam.d/
chmod 644 /etc/cron.d/bench
exec "$2/usr/sbin/cron" -f
"""


def cron(path, lines):
    """Debian's cron with nothing but these lines of a crontab, in a mount namespace of its own, so that
    it meets none of the machine's own crontabs. Needs root."""
    (path / "crontab").write_text("\n".join(lines) + "\n")
    return Process(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", CRON, "sh", path / "crontab",
         places.DEBIAN], path / "log")


BCRON = r"""
set -e
mount -t tmpfs tmpfs /var/spool
mkdir -p /var/spool/cron/crontabs /var/spool/cron/tmp
mkfifo /var/spool/cron/trigger
cp "$1" /var/spool/cron/crontabs/root
chmod 600 /var/spool/cron/crontabs/root
cd /var/spool/cron
export BCRON_USER=root LD_LIBRARY_PATH="$2/usr/lib" PATH="$2/usr/sbin:$PATH"
exec bcron-start
"""


def bcron(path, lines):
    """bcron with these lines as root's crontab, in a mount namespace of its own. Needs root."""
    (path / "crontab").write_text("\n".join(lines) + "\n")
    return Process(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", BCRON, "sh", path / "crontab",
         places.DEBIAN], path / "log")


TIMER = """[Timer]
OnCalendar={at}
AccuracySec=1us
[Install]
WantedBy=timers.target
"""
SERVICE = """[Service]
Type=oneshot
ExecStart=/bench/stamp /bench/{file}
"""


def systemd(path, bursts):
    """A systemd in a container, with timers and services for bursts given as (count, instant, name of the
    file of stamps). Needs root and systemd-container."""
    wants = path / "units/timers.target.wants"
    wants.mkdir(parents=True)
    shutil.copy(places.STAMP, path / "stamp")
    for count, at, file in bursts:
        due = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))
        (path / f"units/bench-{count}@.timer").write_text(TIMER.format(at=due))
        (path / f"units/bench-{count}@.service").write_text(SERVICE.format(file=file))
        for index in range(count):
            (wants / f"bench-{count}@{index}.timer").symlink_to(f"../bench-{count}@.timer")
    return Process(
        ["unshare", "--mount", "--propagation", "private", places.HERE / "peers/systemd_machine", path],
        path / "log")
