# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""The machine of a case: its disk is a layer over the image, and what it writes to its ports is kept outside of it."""

import gzip
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
from collections import namedtuple
from datetime import datetime

from agent import Agent, Gone
from qemu import Broken, Qemu

SOCKET = "/run/timerd/control.sock"
BOOT_SECONDS = 300

# Clocks in microseconds.
Clocks = namedtuple("Clocks", "real monotonic boottime")
Stamp = namedtuple("Stamp", "boot name run scheduled missed clocks")
Result = namedtuple("Result", "status output errors before after")
Answer = namedtuple("Answer", "status body before after")


class Failure(Exception):
    """What was expected did not happen."""


def microseconds(instant):
    """An instant of the API, in microseconds since 1970."""
    time_of_day = datetime.fromisoformat(instant.replace("Z", "+00:00"))
    return int(time_of_day.timestamp()) * 1_000_000 + time_of_day.microsecond


class Machine:
    def __init__(self, folder, **options):
        self.folder = folder
        self.options = options
        self.qemu = self.agent = None
        self.boots = 0
        store = os.environ["VM_STORE"]
        self.kernel, self.initrd = f"{store}/kernel", f"{store}/initrd"
        self.disks = [self.layer("root", os.path.realpath(f"{store}/machine"))]

    def layer(self, name, base=None, megabytes=None):
        """A new disk, of which only the changes from the base are stored."""
        path = f"{self.folder}/{name}.qcow2"
        over = ["-b", base, "-F", "raw"] if base else []
        made = subprocess.run(
            ["qemu-img", "create", "-q", "-f", "qcow2", *over, path, *([f"{megabytes}M"] if megabytes else [])],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise Broken(
                f"cannot make a disk: {made.stderr.strip()}; free some of the disk that has {self.folder}, "
                "or remove .build/vm to make the machine again"
            )
        return path

    def add_disk(self, megabytes=None, base=None):
        """A further disk, empty or with the contents of a file, which the guest has as /dev/vdb from the next start on."""
        self.disks.append(self.layer(f"disk{len(self.disks)}", base, megabytes))

    def with_files(self, files):
        """An initramfs that puts the files, texts by their paths, on the disk."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            for path, text in files.items():
                place = pathlib.Path(f"{folder}/files{path}")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
            names = "\n".join(str(place.relative_to(folder)) for place in sorted(pathlib.Path(folder).rglob("*")))
            archive = subprocess.run(
                ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"],
                cwd=folder,
                input=names.encode(),
                capture_output=True,
                check=True,
            ).stdout
        path = pathlib.Path(f"{self.folder}/initrd")
        path.write_bytes(pathlib.Path(self.initrd).read_bytes() + gzip.compress(archive))
        return str(path)

    def start(self, ready=True, files=None, **options):
        """Switches it on, and waits until it is up; with `ready`, until timerd answers as well. The files, texts by their
        paths, are on its disk before it boots."""
        self.boots += 1
        for name in ("stamps", "journal", "console"):
            with open(f"{self.folder}/{name}", "a", encoding="utf-8") as file:
                file.write(f"--- boot {self.boots}\n")
        initrd = self.with_files(files) if files else self.initrd
        self.qemu = Qemu(self.folder, self.kernel, initrd, self.disks, **{**self.options, **options})
        self.agent = Agent(f"{self.folder}/agent", time.monotonic() + 30, self.qemu.complain)
        self.wait_for_boot(1)
        if ready:
            self.wait("timerd answers", self.is_ready, BOOT_SECONDS)

    def wait_for_boot(self, count):
        """Waits until systemd has started the agent, for the count-th time since the machine was switched on."""
        deadline = time.monotonic() + BOOT_SECONDS
        while len(self.agent.boots) < count:
            self.qemu.complain()
            fault = re.search(r"timerd-vm: .*|Kernel panic.*", self.text("console").split("--- boot")[-1])
            if fault or not self.qemu.is_on or time.monotonic() > deadline:
                if not self.qemu.is_on and not fault:
                    raise Broken(f"QEMU ended with status {self.qemu.process.returncode}; run the case again")
                why = fault.group().strip() if fault else f"no answer within {BOOT_SECONDS} s"
                raise Broken(
                    f"the machine did not boot ({why}); if its image is broken, remove .build/vm to make it again"
                )
            time.sleep(0.1)

    def is_ready(self):
        answer = self.ask_http("GET", "/v1/jobs")
        return answer is not None and answer.status == 200

    def run(self, *command, seconds=120, text=""):
        """Runs a command in the machine."""
        answer = self.agent.ask(seconds, command=command, input=text)
        if "failed" in answer:
            raise Failure(f"{' '.join(command)}: {answer['failed']}")
        return Result(
            answer["status"], answer["output"], answer["errors"], Clocks(*answer["before"]), Clocks(*answer["after"])
        )

    def do(self, *command, **options):
        """Its output; it must succeed."""
        result = self.run(*command, **options)
        if result.status:
            raise Failure(
                f"{' '.join(command)}: status {result.status}: {result.errors.strip() or result.output.strip()}"
            )
        return result.output.strip()

    def shell(self, script, **options):
        return self.do("sh", "-euc", script, **options)

    def ask_http(self, method, path, body=None, seconds=120):
        """The answer of timerd, or None if there is no daemon."""
        text = "" if body is None else json.dumps(body)
        head = f"{method} {path} HTTP/1.1\r\nHost: timerd\r\nConnection: close\r\n"
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(text.encode())}\r\n"
        answer = self.agent.ask(seconds, request=f"{head}\r\n{text}", socket=SOCKET)
        head, _, body = answer.get("answer", "").partition("\r\n\r\n")
        if not head:
            return None
        return Answer(int(head.split()[1]), json.loads(body), Clocks(*answer["before"]), Clocks(*answer["after"]))

    def get(self, path):
        answer = self.ask_http("GET", path)
        if answer is None or answer.status != 200:
            raise Failure(f"GET {path}: {answer and (answer.status, answer.body)}")
        return answer

    def post(self, path, body=None):
        answer = self.ask_http("POST", path, body or {})
        if answer is None or answer.status != 200:
            raise Failure(f"POST {path}: {answer and (answer.status, answer.body)}")
        return answer

    def jobs(self):
        """All jobs by their names, and the instant of the wall clock at which this was so."""
        body = self.get("/v1/jobs").body
        return {job["job"]: job for job in body["jobs"]}, microseconds(body["now"])

    def job(self, name):
        return self.get(f"/v1/jobs/{name}").body

    def ended(self, name, count=1, seconds=120):
        """The latest run of a job, of at least so many that have ended."""

        def runs():
            found = self.get(f"/v1/runs?job={name}&limit=1000").body["runs"]
            return found if len(found) >= count else None

        return self.wait(f"{count} ended runs of {name}", runs, seconds)[0]

    def write(self, path, text):
        self.do("sh", "-c", 'cat >"$1"; chmod 644 "$1"', "sh", path, text=text)

    def configure(self, text, reload=True):
        self.write("/etc/timerd/timerd.toml", text)
        if reload:
            self.post("/v1/reload")

    def wait(self, what, condition, seconds=120):
        """Waits until the condition has a value that counts as true, and returns it."""
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            self.qemu.complain()
            if time.monotonic() > deadline:
                raise Failure(f"waited {seconds} s in vain: {what}")
            time.sleep(0.1)
        return value

    def clocks(self):
        return self.run("true").after

    def suspend(self, seconds):
        """Suspends it to memory. Returns the clocks before and after."""
        before = self.qemu.count("WAKEUP")
        result = self.run(
            "sh",
            "-euc",
            f"echo 0 >/sys/class/rtc/rtc0/wakealarm; echo +{seconds} >/sys/class/rtc/rtc0/wakealarm; "
            "echo mem >/sys/power/state",
            seconds=seconds + 60,
        )
        if result.status:
            raise Failure(f"the machine cannot be suspended: {result.errors.strip()}")
        if self.qemu.count("WAKEUP") != before + 1:
            raise Failure("the machine was not suspended")
        return result.before, result.after

    def cut_power(self):
        self.qemu.cut()
        self.agent.close()

    def reboot(self, ready=True):
        """An orderly reboot."""
        boots = len(self.agent.boots)
        self.run("systemctl", "--no-block", "reboot")
        self.wait_for_boot(boots + 1)
        if ready:
            self.wait("timerd answers", self.is_ready, BOOT_SECONDS)

    def power_off(self):
        """An orderly end."""
        self.run("systemctl", "--no-block", "poweroff")
        self.wait("the machine is off", lambda: not self.qemu.is_on, 90)
        self.agent.close()

    def end(self):
        if self.qemu and self.qemu.is_on:
            self.qemu.cut()

    def text(self, name):
        with open(f"{self.folder}/{name}", encoding="utf-8", errors="replace") as file:
            return file.read().replace("\r", "").replace("\0", "")

    def journal(self, pattern):
        """What matches the pattern in the lines of the journal, over all boots."""
        return re.findall(pattern, self.text("journal"), re.MULTILINE)

    def wait_for_journal(self, pattern, seconds=120):
        return self.wait(f"a journal entry like {pattern!r}", lambda: self.journal(pattern), seconds)

    def stamps(self, *names):
        """What the jobs wrote with `stamp`, in its order."""
        boot, found = 0, []
        for line in self.text("stamps").split("\n"):
            words = line.split()
            if line.startswith("--- boot"):
                boot = int(words[2])
            elif len(words) == 8 and words[0] == "stamp" and (not names or words[1] in names):
                missed = int(words[4]) if words[4].isdigit() else 0
                found.append(Stamp(boot, words[1], words[2], words[3], missed, Clocks(*map(int, words[5:]))))
        return found


__all__ = ["Answer", "Broken", "Clocks", "Failure", "Gone", "Machine", "Result", "Stamp", "microseconds"]
