# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A daemon and its web server, each a process of its own, for the tests."""

import http.client
import json
import pathlib
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# Generous: it costs nothing when all is well.
TIMEOUT = 60


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("timerd", timeout=TIMEOUT)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Daemon:
    """A daemon in a directory of its own, which is removed at the end."""

    def __init__(self, programs, config):
        self.programs = pathlib.Path(programs)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="timerd-page-"))
        self.config = self.directory / "timerd.toml"
        self.config.write_text(config.replace("@DIRECTORY@", str(self.directory)))
        self.socket = str(self.directory / "state" / "run" / "control.sock")
        self.log = open(self.directory / "log", "ab")
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.programs / "timerd", "run", "--config", self.config, "--state", self.directory / "state",
             "--log", "stderr"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        wait_for(lambda: self.get("/v1/jobs"), "the daemon does not answer")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(TIMEOUT)
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, body=None):
        return self.ask("POST", path, json.dumps(body or {}))

    def ask(self, method, path, body=None, read=True):
        connection = UnixConnection(self.socket)
        try:
            connection.request(method, path, body)
            reply = connection.getresponse()
            answer = json.loads(reply.read()) if read else None
        finally:
            connection.close()
        if reply.status != 200:
            raise OSError(f"{method} {path}: {reply.status} {answer}")
        return answer

    def job(self, name):
        return self.get(f"/v1/jobs/{name}")


class Server:
    """The web server of a daemon; the port stays the same when it is started again."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.port = 0
        self.start()

    def start(self):
        arguments = [self.daemon.programs / "timerd", "web", "--runtime", self.daemon.directory / "state" / "run",
                     "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        line = first_line(self.process.stderr)
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", line).group(1))

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def link(self):
        """A link with which a browser is logged in."""
        command = [self.daemon.programs / "timerctl", "web", "--socket", self.daemon.socket, "--url", self.address]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[0]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


class ImaginedServer:
    """monday.py."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-B", HERE / "monday.py"], stdout=subprocess.PIPE)
        self.address = f"http://127.0.0.1:{int(first_line(self.process.stdout))}"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def first_line(pipe):
    readable, _, _ = select.select([pipe], [], [], TIMEOUT)
    assert readable, "the server does not start"
    return pipe.readline().decode()


def wait_for(condition, otherwise):
    """Until it is true; what it throws while the daemon is not there counts as false."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        try:
            if condition():
                return
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.05)
    raise AssertionError(otherwise)
