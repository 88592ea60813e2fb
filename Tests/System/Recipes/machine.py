# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A daemon in the foreground with one recipe, in a folder that stands for the root of the machine, and stand-ins for the
programs that the recipe names."""

import email
import email.policy
import glob
import http.server
import json
import os
import pwd
import re
import subprocess
import sys
import threading
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
sys.path.insert(0, f"{ROOT}/Tests/System/Readme")

import readme  # noqa: E402

# How long anything may take that takes moments.
TIMEOUT = 60
# Where the files of a recipe are: below the folder of its machine.
MOVED = re.compile(r"(?<![\w./:@])/(?=(?:srv|var|mnt|home|usr/local|usr/sbin|etc)\b)")
# The user that stands for the users of the recipes. Only root can run jobs as others.
USER = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name

STAND_IN = """#!/bin/sh
# Records how it was called, and then does what the test wants.
NOTES={notes}
record=$(mktemp "$NOTES/.record.XXXXXX")
{{
    echo "directory=$PWD"
    echo "umask=$(umask)"
    echo "user=$(id -un)"
    echo "nice=$(nice)"
    echo "io=$(ionice -p $$)"
    for argument; do echo "argument=$argument"; done
    env | sed 's/^/env=/'
}} >"$record"
chmod 644 "$record"
mv "$record" "$NOTES/call.{name}.$(date +%s%N)"
. {behaviour}
"""
SENDMAIL = """#!/bin/sh
mail=$(mktemp {notes}/.mail.XXXXXX)
{{ echo "$*"; cat; }} >"$mail"
chmod 644 "$mail"
mv "$mail" {notes}/mail.$(date +%s%N)
"""


def wait(what, condition, timeout=None):
    """The first result of the condition that is true."""
    timeout = timeout or TIMEOUT
    end = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"not after {timeout} s: {what}")
        time.sleep(0.02)


class Recipe:
    """A section of the page: its file, the text of it, and the commands with what the page shows below them."""

    def __init__(self, heading, text):
        blocks = list(readme.blocks(text))
        self.heading = heading
        tomls = ["\n".join(lines) + "\n" for language, lines in blocks if language == "toml"]
        consoles = [lines for language, lines in blocks if language == "console"]
        assert len(tomls) == 1 and len(consoles) == 1, f"{heading}: a recipe is one file and one block of commands"
        self.toml = tomls[0]
        place = re.match(r"# /etc/timerd/jobs\.d/([\w-]+)\.toml\n", self.toml)
        assert place, f"{heading}: the first line does not say which file this is"
        self.name = place[1]
        self.commands = readme.steps(consoles[0])
        assert 1 <= len(self.commands) <= 2, f"{heading}: {len(self.commands)} commands"


class Call:
    """How a stand-in was called."""

    def __init__(self, path):
        self.path, self.arguments, self.environment = path, [], {}
        self.time = int(path.rsplit(".", 1)[1]) / 1e9
        with open(path) as file:
            for line in file.read().splitlines():
                key, _, value = line.partition("=")
                if key == "argument":
                    self.arguments.append(value)
                elif key == "env":
                    name, _, value = value.partition("=")
                    self.environment[name] = value
                else:
                    setattr(self, key, value)


class Web:
    """A web server that keeps the paths of its requests."""

    def __init__(self):
        self.requests = []
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                web.requests.append(self.path)
                self.send_response(200)
                self.end_headers()

            do_GET = do_POST

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Machine:
    def __init__(self, binaries, work, recipe):
        self.binaries, self.recipe = binaries, recipe
        self.directory = f"{work}/{recipe.name}"
        self.notes = f"{self.directory}/notes"
        self.socket = f"{self.directory}/state/run/control.sock"
        self.daemon = None
        self.done = []
        for name in ("notes", "behaviour", "bin", "usr/local/bin", "usr/sbin", "etc/timerd/jobs.d", "etc/timerd/secrets"):
            os.makedirs(f"{self.directory}/{name}")
        os.chmod(self.notes, 0o777)
        self.text = recipe.toml
        self.main = ""
        # It is found by the jobs too.
        self.write("bin/timerctl", f'#!/bin/sh\nTIMERD_SOCKET={self.socket} exec {binaries}/timerctl "$@"\n', 0o755)
        self.write("bin/sendmail", SENDMAIL.format(notes=self.notes), 0o755)

    # What the machine has

    def path(self, name):
        return f"{self.directory}/{name.lstrip('/')}"

    def write(self, name, text, mode=0o600):
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def folder(self, name):
        """A directory that belongs to the user of the job."""
        os.makedirs(self.path(name), exist_ok=True)
        if os.getuid() == 0:
            os.chown(self.path(name), pwd.getpwnam(USER).pw_uid, -1)

    def program(self, name, does="exit 0"):
        """A stand-in, which then does this; or it does something else from now on."""
        place = name if name.startswith("/") else f"/usr/local/bin/{name}"
        name = os.path.basename(name)
        behaviour = f"behaviour/{name}"
        self.write(f"{behaviour}.new", does + "\n", 0o644)
        os.rename(self.path(f"{behaviour}.new"), self.path(behaviour))
        if not os.path.exists(self.path(place)):
            text = STAND_IN.format(notes=self.notes, name=name, behaviour=self.path(behaviour))
            self.write(place, text, 0o755)

    def calls(self, name):
        return [Call(path) for path in sorted(glob.glob(f"{self.notes}/call.{name}.*"))]

    def mails(self):
        """The mails that were sent: to whom, and the mail itself."""
        found = []
        for path in sorted(glob.glob(f"{self.notes}/mail.*")):
            with open(path) as file:
                first, text = file.read().split("\n", 1)
            mail = email.message_from_string(text, policy=email.policy.default)
            found.append((first.split(" -- ")[1].split(), mail))
        return found

    # The configuration

    def change(self, old, new):
        """Changes the recipe for the test, which says with it how: a shorter time, another place."""
        assert self.text.count(old) == 1, f"{old!r} is not once in the recipe:\n{self.text}"
        self.text = self.text.replace(old, new)

    def mail_here(self):
        """Mails go to a stand-in, at once."""
        self.text, count = re.subn(
            r"(?m)^(mail = .*)$", rf'\1\nsendmail = "{self.directory}/bin/sendmail"\nbatch = "0s"', self.text)
        assert count == 1, self.text

    def configure(self):
        """Writes the configuration: the recipe with its files below this folder, and programs from there."""
        text = MOVED.sub(f"{self.directory}/", self.text)
        text = re.sub(r'(?m)^user = ".*"$', f'user = "{USER}"', text)
        path = f"{self.directory}/usr/local/bin:{self.directory}/bin:/usr/bin:/bin"
        self.write("etc/timerd/timerd.toml", f'{self.main}\n[defaults]\nenvironment = {{ PATH = "{path}" }}\n')
        self.write("etc/timerd/new", text)
        os.rename(self.path("etc/timerd/new"), self.path(f"etc/timerd/jobs.d/{self.recipe.name}.toml"))

    def check(self):
        """The configuration has neither an error nor a warning."""
        said = self.timerd("check", "--config", f"{self.directory}/etc/timerd/timerd.toml",
                           f"{self.directory}/etc/timerd/jobs.d/{self.recipe.name}.toml")
        assert said.returncode == 0 and not said.stderr and "no errors" in said.stdout, said.stdout + said.stderr

    # The daemon

    def timerd(self, *arguments, zone=None):
        return subprocess.run(
            [f"{self.binaries}/timerd", *arguments], env={**os.environ, **({"TZ": zone} if zone else {})},
            capture_output=True, text=True, timeout=60)

    def simulate(self, *arguments):
        """What would happen with the unchanged recipe on a machine in UTC."""
        self.write("unchanged.toml", self.recipe.toml)
        said = self.timerd("simulate", "--config", self.path("unchanged.toml"), *arguments, zone="UTC")
        assert said.returncode == 0, said.stderr
        return said.stdout

    def launch(self, around=()):
        with open(f"{self.directory}/log", "a") as log:
            self.daemon = subprocess.Popen(
                [*around, f"{self.binaries}/timerd", "run", "--config", f"{self.directory}/etc/timerd/timerd.toml",
                 "--state", f"{self.directory}/state", "--log", "stderr"],
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, text=True)
        wait("the daemon answers", self.answers)
        # Jobs of other users find their credentials there.
        for name in ("state", "state/run"):
            os.chmod(self.path(name), 0o711)

    def start(self):
        self.configure()
        self.check()
        self.launch()

    def answers(self):
        assert self.daemon.poll() is None, "the daemon has ended:\n" + self.read("log")
        return self.timerctl("list", "--names", status=None).returncode == 0

    def stop(self):
        if self.daemon:
            self.daemon.terminate()
            self.daemon.communicate(timeout=60)
            self.daemon = None

    def timerctl(self, *arguments, status=0):
        said = subprocess.run(
            [f"{self.directory}/bin/timerctl", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60)
        assert status is None or said.returncode == status, \
            f"timerctl {arguments}: {said.returncode}\n{said.stdout}{said.stderr}"
        return said

    def json(self, *arguments):
        return json.loads(self.timerctl(*arguments, "--json").stdout)

    def reload(self):
        self.configure()
        self.timerctl("reload")

    def run(self, job, *arguments, status=0):
        """Runs a job, and waits for its end."""
        return self.timerctl("run", job, "--wait", *arguments, status=status)

    def history(self, job):
        """The finished runs, the first one first."""
        return self.json("history", job, "--limit", "1000")["runs"][::-1]

    def printed(self, command, status=0):
        """Runs a command of the page as it is printed, and compares what it says with what the page shows."""
        shown = dict(self.recipe.commands)
        assert command in shown, f"the page does not have `{command}`: {list(shown)}"
        said = subprocess.run(
            ["bash", "-c", command], env={**os.environ, "PATH": f"{self.directory}/bin:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        assert said.returncode == status, f"`{command}`: {said.returncode}\n{said.stdout}"
        # The page has the paths of the recipe, and its addresses.
        text = said.stdout.replace(self.directory, "")
        if os.environ.get("RECIPES_SHOW"):
            print(f"$ {command}\n{text}", flush=True)
        readme.compare(command, shown[command], text.splitlines())
        self.done.append(command)
        return said.stdout
