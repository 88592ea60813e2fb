# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
"""A mail server and web servers that keep what they get. A test that waits for something gives up after a minute."""

import email
import email.policy
import http.server
import socket
import threading
import time
from urllib.parse import urlsplit

from aiosmtpd.controller import Controller

TIMEOUT = 60


def wait(what, condition, timeout=TIMEOUT):
    """The first result of the condition that is true."""
    end = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"after {timeout} s: {what}")
        time.sleep(0.05)


def unused_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Mails:
    """A mail server on a port of its own."""

    def __init__(self, port=None):
        self.lock = threading.Lock()
        self.raw = []
        # The controller connects to its port once, so it cannot leave the choice to the kernel.
        self.port = port or unused_port()
        self.controller = Controller(self, hostname="127.0.0.1", port=self.port)
        self.controller.start()

    async def handle_DATA(self, server, session, envelope):
        with self.lock:
            self.raw.append((envelope.mail_from, envelope.rcpt_tos, envelope.content))
        return "250 OK"

    def to(self, recipient):
        """The mails to one address, with the envelope's sender."""
        with self.lock:
            raw = list(self.raw)
        return [
            (sender, email.message_from_bytes(content, policy=email.policy.default))
            for sender, recipients, content in raw
            if recipient in recipients
        ]

    def stop(self):
        self.controller.stop()


class Request:
    def __init__(self, handler, body):
        parts = urlsplit(handler.path)
        self.method = handler.command
        self.path = parts.path
        self.query = parts.query
        self.headers = handler.headers
        self.body = body


class Web:
    """A web server. A path begins with how it answers: /ok, /status/404, /slow, /garbage, /away, /redirect, /large."""

    def __init__(self, port=0):
        self.lock = threading.Lock()
        self.requests = []
        self.hanging = 0
        self.go_on = threading.Event()
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.do(body)

            def do_GET(self):
                self.do(b"")

            def do(self, body):
                request = Request(self, body)
                with web.lock:
                    web.requests.append(request)
                web.answer(self, request.path.split("/")[1:])

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler, path):
        kind = path[0]
        if kind == "slow":
            with self.lock:
                self.hanging += 1
            self.go_on.wait(TIMEOUT)
        if kind == "garbage":
            handler.wfile.write(b"\x00\x1b[2J nonsense\r\n\r\n" * 10)
            handler.close_connection = True
            return
        if kind == "away":
            handler.close_connection = True
            handler.connection.close()
            return
        status = int(path[1]) if kind == "status" else 302 if kind == "redirect" else 200
        body = b"x" * (10 << 20) if kind == "large" else b"OK\x1b[2J\n"
        handler.send_response(status)
        if kind == "redirect":
            handler.send_header("Location", f"http://127.0.0.1:{self.port}/ok/elsewhere")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        try:
            handler.wfile.write(body)
        except OSError:
            pass  # the client has seen enough

    def at(self, prefix):
        with self.lock:
            return [one for one in self.requests if one.path.startswith(prefix)]

    def stop(self):
        self.go_on.set()
        self.server.shutdown()
        self.server.server_close()
