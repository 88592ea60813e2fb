# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""serve.py SOCKET [PORT]: serves the status page as it is in the sources, and passes /v1 on to the control socket.

For work on the page and for its tests: a change of a file is seen after a reload of the page. It listens on
127.0.0.1 only, prints the port, and has no login: everyone on this machine can use it while it runs.
"""

import http.client
import http.server
import pathlib
import socket
import sys

PAGE = pathlib.Path(__file__).resolve().parents[3] / "Sources" / "Control" / "CWebPage"
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
FILES = {
    "/" + str(file.relative_to(PAGE)): (file, f"{TYPES[file.suffix[1:]]}; charset=utf-8")
    for file in PAGE.rglob("*")
    if file.suffix[1:] in TYPES
}
FILES["/"] = FILES.pop("/index.html")
# The page must work under the policy that it is served with.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("timerd")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path.startswith("/v1/"):
            return self.pass_on()
        if path not in FILES:
            return self.answer(404, "text/plain", b"not found\n")
        file, kind = FILES[path]
        self.answer(200, kind, file.read_bytes())

    def do_POST(self):
        self.pass_on()

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        inner = UnixConnection(sys.argv[1])
        try:
            inner.request(self.command, self.path, body or None)
            reply = inner.getresponse()
        except (OSError, http.client.HTTPException):
            return self.answer(
                502, "application/json", b'{"code":"no-daemon","error":"timerd does not answer"}'
            )
        if reply.headers.get_content_type() == "text/event-stream":
            return self.stream(reply, inner)
        try:
            content = reply.read()
        except (OSError, http.client.HTTPException):
            content = b""
        self.answer(reply.status, reply.headers.get("Content-Type", "application/json"), content)
        inner.close()

    def stream(self, reply, inner):
        self.close_connection = True
        self.send_response(reply.status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while data := reply.read1(65536):
                self.wfile.write(data)
        except (OSError, http.client.HTTPException):
            pass
        inner.close()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request, address):
        """A browser that closes a connection is no error."""


def serve(handler, port=0):
    """Until the process ends."""
    server = Server(("127.0.0.1", port), handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(Handler, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
