# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the commands of README.md in something that looks like a fresh clone."""

import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
# How long anything may take that takes moments.
TIMEOUT = 60
# These need root and an installed service: Tests/System/Machine does the same in a machine.
ELSEWHERE = ("make deb", "apt-get ", "$EDITOR ", "journalctl ")
# The job that has failed in the section about that. The other jobs are those of config/timerd.toml.
FAILED = '''
[job.nightly-copy]
shell = "echo copying /srv; echo 'error: /srv is read-only'; exit 1"
every = "50min"
'''


def blocks(text):
    """The code blocks: their language and their lines."""
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        yield match[1], match[2].splitlines()


def steps(lines):
    """The commands of a block, each with the lines that the README shows below it."""
    found = []
    for line in lines:
        if line[:2] in ("$ ", "# "):
            found.append((line[2:], []))
        elif found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line}", [])
        else:
            found[-1][1].append(line)
    return found


def masked(line):
    """A line without what differs each time: instants, time spans, who asks, which job is next, and widths."""
    line = re.sub(r"\d{8}T\d{6}\.\d+Z", "T", line)
    line = re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d+)?)?", "T", line)
    line = re.sub(r"\b((Mon|Tue|Wed|Thu|Fri|Sat|Sun|today|T) )?\d\d:\d\d(:\d\d)?\b", "T", line)
    line = re.sub(r"\b(just now|now)\b", "T", line)
    line = re.sub(r"\d[\d.]* (us|ms|s|min|h|d|w)( \d+ (us|ms|s|min|h|d|w))*\b", "T", line)
    line = re.sub(r" by \S+ \(", " by U (", line)
    line = re.sub(r"next is \S+ in", "next is J in", line)
    return re.sub(r"  +", "  ", line).rstrip()


def is_row(line):
    """A row of a table has columns, and what is in them is another thing each time."""
    return len(re.findall(r"\S {2,}\S", line)) >= 3 and not line.startswith("JOB ")


def compare(command, shown, said):
    """Each line that the README shows is one of those that the command says, in this order. One that ends with … is the
    beginning of a line."""
    rest = [masked(line) for line in said]
    for line in shown:
        if not line.strip() or line == "…" or is_row(line):
            continue
        start = masked(line.removesuffix("…"))
        found = [index for index, each in enumerate(rest)
                 if each == start or line.endswith("…") and each.startswith(start)]
        if not found:
            raise RuntimeError(f"`{command}` does not say\n  {line}\nbut\n  " + "\n  ".join(said))
        rest = rest[found[0] + 1:]


class Clone:
    def __init__(self, binaries, directory):
        self.directory = directory
        for name in os.listdir(ROOT):
            if name not in (".build", ".git", ".timerd", "config"):
                os.symlink(f"{ROOT}/{name}", f"{directory}/{name}")
        os.makedirs(f"{directory}/.build")
        os.symlink(binaries, f"{directory}/.build/release")
        os.makedirs(f"{directory}/config")
        with open(f"{ROOT}/config/timerd.toml") as file:
            self.write("config/timerd.toml", file.read())
        self.aliases = []
        self.daemon = None

    def write(self, name, text):
        with open(f"{self.directory}/{name}", "w") as file:
            file.write(text)
        os.chmod(f"{self.directory}/{name}", 0o600)

    def script(self, command):
        # What make would build is there.
        command = re.sub(r"^make ", "make -o build ", command)
        return "\n".join(["shopt -s expand_aliases", *self.aliases, command])

    def start(self, command):
        self.log = open(f"{self.directory}/log", "w")
        self.daemon = subprocess.Popen(
            ["bash", "-c", self.script(command)], cwd=self.directory, stdout=self.log, stderr=subprocess.STDOUT,
            start_new_session=True)

    def said(self):
        with open(f"{self.directory}/log") as file:
            return file.read().splitlines()

    def stop(self):
        if self.daemon:
            os.killpg(self.daemon.pid, signal.SIGTERM)
            self.daemon.wait(TIMEOUT)

    def run(self, command):
        if command.startswith("alias "):
            self.aliases.append(command)
            return []
        result = subprocess.run(
            ["bash", "-c", self.script(command)], cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=TIMEOUT)
        if result.returncode:
            raise RuntimeError(f"`{command}` fails: {result.returncode}\n{result.stdout}{result.stderr}")
        return result.stdout.splitlines()


def until(condition, what):
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            return condition()
        except RuntimeError as error:
            if time.monotonic() > end:
                raise RuntimeError(f"not after {TIMEOUT} s: {what}: {error}") from None
            time.sleep(0.05)


def do(clone, command, shown):
    if command == "make run":
        clone.start(command)
        return until(lambda: compare(command, shown, clone.said()), "the daemon starts")
    if command.startswith("timerctl failures"):
        with open(f"{clone.directory}/config/timerd.toml") as file:
            clone.write("config/timerd.toml", file.read() + FAILED)
        clone.run("timerctl reload")
        subprocess.run(
            ["bash", "-c", clone.script("timerctl run nightly-copy --wait")], cwd=clone.directory, capture_output=True)
    compare(command, shown, clone.run(command))


def main(binaries, directory):
    clone = Clone(binaries, directory)
    done, toml = 0, []
    try:
        with open(f"{ROOT}/README.md") as file:
            text = file.read()
        for language, lines in blocks(text):
            if language == "toml":
                toml.append("\n".join(lines))
                clone.write("timerd.toml", toml[-1])
            for command, shown in steps(lines) if language == "console" else []:
                if command.startswith(ELSEWHERE):
                    continue
                do(clone, command, shown)
                done += 1
                print(f"ok {command}", flush=True)
    finally:
        clone.stop()
    if done < 10:
        raise RuntimeError(f"the README has {done} commands only")
    print(f"{done} passed, 0 failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
