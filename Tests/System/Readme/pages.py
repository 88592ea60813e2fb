# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the commands of the pages in docs/ as they are printed, each page in something that looks like a fresh clone with
a daemon, and checks their configurations. A command that cannot run there is in ELSEWHERE, with what does the same."""

import glob
import json
import os
import re
import subprocess
import sys

import readme

# What is not run here, by page: how a command begins, and why. Each entry must be needed.
ELSEWHERE = {
    "CONTAINERS.md": {
        "podman ": "needs an image; Tests/System/Container",
    },
    "FLEET.md": {
        "systemctl mask etcd": "needs root and three machines; Tests/System/Fleet has a real etcd with these settings",
        "apt install etcd-server": "the same",
        "ls /var/lib/etcd": "the same",
        "cat > /etc/default/etcd": "the same",
        "install -d -m 755 /etc/etcd": "the same",
        "install -m 644 /etc/timerd/fleet/": "the same",
        "install -m 600 -o etcd": "the same",
        "systemctl unmask etcd": "the same",
        "systemctl enable etcd": "the same",
        "systemctl restart etcd": "the same",
        "ETCDCTL_API=3 etcdctl --endpoints": "the same",
        "chmod 600 /etc/timerd/fleet/": "needs root and systemd; Tests/System/Fleet",
        "mkdir -p /etc/systemd/system/timerd-fleet": "the same",
        "cat > /etc/systemd/system/timerd-fleet": "the same",
        "systemctl daemon-reload": "the same",
        "systemctl enable --now timerd-fleet": "the same",
        "systemctl restart timerd": "the same",
        "timerctl fleet": "needs a fleet; Tests/System/Fleet",
    },
    "FROM-CRON.md": {
        "timerctl import crontab /etc/crontab": "needs cron; Tests/System/Machine/cases/78-switch.sh",
        "timerctl import crontab --user anna": "needs a user anna with a crontab, and root; the same",
        "timerctl import crontab --system": "needs cron; the same",
        "timerctl import anacrontab": "needs anacron; Tests/System/Import",
        "timerctl import --all": "needs cron and systemd; 78-switch.sh",
    },
    "FROM-SYSTEMD-TIMERS.md": {
        "timerctl import --all": "needs systemd and root; Tests/System/Machine/cases/76-from-systemd.sh",
    },
    "NOTIFICATIONS.md": {
        "sudo install ": "needs root and systemd; Tests/System/Notify has credentials of the runner",
        "sudo systemctl ": "the same",
        "timerctl notify list": "shows messages that have failed; Tests/System/Notify",
        "timerctl notify test chat": "needs the credential; Tests/System/Notify",
        "timerctl notify retry": "needs a message that has failed; Tests/System/Notify",
    },
    "internals/TESTS.md": {
        "make test-vm ": "needs root, a package and minutes; .ci/run does it",
        "Tests/System/VM/run ": "the same",
    },
    "RECIPES.md": {
        "timerd check": "needs /etc/timerd; Tests/System/Recipes checks all of them",
        "timerctl ": "needs the job of the recipe; Tests/System/Recipes",
    },
    "USING.md": {
        "journalctl ": "needs the journal; Tests/System/Machine/cases/20-journal.sh",
    },
}
# What configurations of a page that name tables of others are checked beside.
MAIN = '''
[fleet]
name = "web"
etcd = ["https://10.0.0.1:2379"]
[notify.ops]
mail = "root"
[notify.hc-machine]
ping = "https://hc-ping.com/x"
'''
# A part of a table of a job, which stands for the rest of it.
PARTS = {("NOTIFICATIONS.md", 'notify = ["ops", "hc-backup"]'): 'shell = "true"\nevery = "1h"\n'}


def blocks(text):
    """The code blocks, also those in lists: their language and their lines without the indent of the block."""
    for match in re.finditer(r"^( *)```(\w*)\n(.*?)^ *```$", text, re.M | re.S):
        yield match[2], [line[len(match[1]):] for line in match[3].splitlines()]


def steps(language, lines):
    """The commands of a block, each with the lines that the page shows below it."""
    found, end = [], None
    for line in lines:
        if end is not None or found and (found[-1][0].endswith("\\") or is_open(found[-1][0])) and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line}", [])
            end = None if line == end else end
        elif language == "sh":
            found.append((line, []))
        elif line[:2] in ("$ ", "# ") and not line.startswith(("# HELP", "# TYPE")):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
        here = re.search(r"<<'(\w+)'", line)
        end = here[1] if here else end
    return [(command, shown) for command, shown in found if command.strip()]


def is_open(command):
    """Whether a loop has no end yet."""
    return command.startswith("for ") and not command.endswith("done")


class Page(readme.Clone):
    """A clone with a daemon, and with what a machine has beside it."""

    def __init__(self, binaries, directory):
        super().__init__(binaries, directory)
        os.makedirs(f"{directory}/bin")
        os.makedirs(f"{directory}/units/lib/systemd/system")
        os.makedirs(f"{directory}/root")
        with open(f"{directory}/config/timerd.toml") as file:
            config = file.read()
        sendmail = f'[notify.ops]\nsendmail = "{directory}/bin/sendmail"\n'
        self.write("config/timerd.toml", config.replace("[notify.ops]\n", sendmail) + readme.FAILED)
        timer = "[Timer]\nOnCalendar=daily\nPersistent=true\n"
        for name in ("logrotate", "backup"):
            self.write(f"units/lib/systemd/system/{name}.timer", timer)
            self.write(f"units/lib/systemd/system/{name}.service", "[Service]\nExecStart=/bin/true\n")
        self.program("sudo", 'exec "$@"')
        self.program("sendmail", "cat >/dev/null")
        self.program("crontab", "printf 'MAILTO=\"\"\\nPATH=/bin\\n0 5 * * * /bin/true\\n'")
        self.program("fcrontab", "echo '@ 30 true'")
        self.program("timerd", f'exec {binaries}/timerd "$@"')
        self.program(
            "timerctl",
            f'[ "$1 $2" = "import systemd" ] && set -- "$@" --root {directory}/units\n'
            f'case $1 in import) ;; *) export TIMERD_SOCKET={directory}/.timerd/run/control.sock ;; esac\n'
            f'exec {binaries}/timerctl "$@"')

    def program(self, name, script):
        with open(f"{self.directory}/bin/{name}", "w") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(f"{self.directory}/bin/{name}", 0o755)

    def script(self, command):
        for path, here in (("/run/timerd/", ".timerd/run/"), ("/tmp/", f"{self.directory}/"),
                           ("/root/", f"{self.directory}/root/")):
            command = re.sub(rf"(?<![\w./]){path}", here, command)
        return f"PATH={self.directory}/bin:$PATH; " + super().script(command)

    def begin(self):
        self.start("make run")
        readme.until(self.isThere, "the daemon starts")
        # What the pages look at is a job that has failed.
        subprocess.run(["bash", "-c", self.script("timerctl run nightly-copy --wait")], cwd=self.directory,
                       capture_output=True)

    def isThere(self):
        if not os.path.exists(f"{self.directory}/.timerd/run/control.sock"):
            raise RuntimeError("\n".join(self.said()))


# These say with their status that something differs, or that there are notes.
NOTED = ("timerctl import", "crontab -l |", "fcrontab -l |")


def do(page, command, shown):
    if command.startswith("cd ") or "&& cd " in command:
        # The rest of the block is in this directory.
        page.run(command)
        page.aliases.append(command.split("&&")[-1].strip().replace("/root/", f"{page.directory}/root/"))
        return
    allowed = (0, 1) if command.startswith(NOTED) else (0,)
    result = subprocess.run(
        ["bash", "-c", page.script(command)], cwd=page.directory, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=readme.TIMEOUT)
    if result.returncode not in allowed:
        raise RuntimeError(f"`{command}` fails: {result.returncode}\n{result.stdout}{result.stderr}")
    readme.compare(command, shown, result.stdout.splitlines())


def check(binaries, directory, name, lines):
    """A configuration of a page is valid, alone or beside the tables that the page describes elsewhere."""
    text = "\n".join(lines) + "\n"
    for (page, part), rest in PARTS.items():
        if page == name and part in text:
            text = text.replace(part, part + "\n" + rest)
    with open(f"{directory}/main.toml", "w") as file:
        file.write(MAIN)
    os.chmod(f"{directory}/main.toml", 0o600)
    command = [f"{binaries}/timerd", "check", "-"] + ([] if "[fleet]" in text else ["--config", f"{directory}/main.toml"])
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=readme.TIMEOUT)
    if result.returncode:
        raise RuntimeError(f"{name}: its configuration is wrong: {result.stderr}\n{text}")


def verbs(binaries, program):
    """The commands of a program, with their options."""
    said = subprocess.run([f"{binaries}/{program}", "--experimental-dump-help"], capture_output=True, text=True)
    found = {}
    for verb in json.loads(said.stdout)["command"]["subcommands"]:
        names = {name["name"] for each in (verb, *verb.get("subcommands", ()))
                 for argument in each.get("arguments", ()) for name in argument.get("names", ())}
        for name in (verb["commandName"], *verb.get("aliases", ())):
            found[name] = names
    return found


def name_commands(binaries):
    """Each command that a text names, such as `timerctl list --failed`, is one that there is."""
    known = {program: verbs(binaries, program) for program in ("timerctl", "timerd")}
    pages = [f"{readme.ROOT}/README.md", f"{readme.ROOT}/CHANGELOG.md"]
    for path in pages + glob.glob(f"{readme.ROOT}/docs/**/*.md", recursive=True):
        with open(path) as file:
            text = file.read()
        for program, rest in re.findall(r"`(timerctl|timerd) ([^`]*)`", text):
            words = rest.split(" -- ")[0].split()
            while words and words[0].startswith("-"):
                words.pop(0)
            # Such as `timerctl at`, and not `timerd 0.1`.
            if not words or not re.fullmatch(r"[a-z-]+(\|[a-z-]+)*", words[0]):
                continue
            for verb in words[0].split("|"):
                options = known[program].get(verb)
                if options is None:
                    raise RuntimeError(f"{path}: there is no `{program} {verb}`")
                for option in re.findall(r"(?:^| )--?([a-z][a-z-]*)", " ".join(words[1:])):
                    if option not in options:
                        raise RuntimeError(f"{path}: `{program} {verb}` has no option {option}")


def run(binaries, work, path, used):
    name = os.path.relpath(path, f"{readme.ROOT}/docs")
    directory = f"{work}/{name}"
    os.makedirs(directory)
    page, done = None, 0
    with open(path) as file:
        text = file.read()
    try:
        for language, lines in blocks(text):
            if language == "toml":
                check(binaries, directory, name, lines)
                print(f"ok {name}: [{lines[0]}] …", flush=True)
                done += 1
            for command, shown in steps(language, lines) if language in ("console", "sh") else []:
                elsewhere = [start for start in ELSEWHERE.get(name, {}) if command.startswith(start)]
                used.update((name, start) for start in elsewhere)
                if elsewhere:
                    continue
                if not page:
                    page = Page(binaries, directory)
                    page.begin()
                if name == "USING.md" and "timerd.toml" in command:
                    with open(f"{readme.ROOT}/README.md") as file:
                        toml = [each for kind, each in blocks(file.read()) if kind == "toml"][-1]
                    page.write("timerd.toml", "\n".join(toml))
                do(page, command, shown)
                done += 1
                print(f"ok {name}: {command.splitlines()[0]}", flush=True)
    finally:
        if page:
            page.stop()
    return done


def main(binaries, work):
    name_commands(binaries)
    done, used = 0, set()
    for path in sorted(glob.glob(f"{readme.ROOT}/docs/*.md") + glob.glob(f"{readme.ROOT}/docs/internals/*.md")):
        done += run(binaries, work, path, used)
    stale = {(page, start) for page, starts in ELSEWHERE.items() for start in starts} - used
    if stale:
        raise RuntimeError(f"no page has these commands any more: {sorted(stale)}")
    if done < 25:
        raise RuntimeError(f"the pages have {done} commands only")
    print(f"{done} passed, 0 failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
