# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""The outer end of the port to guest/agent: requests, and the answers that belong to them."""

import json
import queue
import socket
import threading
import time


class Gone(Exception):
    """The machine does not answer, or is off."""


class Agent:
    def __init__(self, path, deadline, complain):
        """Connects; `complain` raises if there will be no machine."""
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                complain()
                if time.monotonic() > deadline:
                    raise Gone("QEMU did not open its ports") from None
                time.sleep(0.05)
        self.boots = []  # the boot id and the first clocks of each boot
        self.answers = {}
        self.count = 0
        self.lock = threading.Lock()
        self.is_open = True
        threading.Thread(target=self.receive, daemon=True).start()

    def receive(self):
        waiting = b""
        try:
            while part := self.socket.recv(1 << 16):
                *lines, waiting = (waiting + part).split(b"\n")
                for line in lines:
                    self.take(line)
        except OSError:
            pass
        with self.lock:
            self.is_open = False
            for answers in self.answers.values():
                answers.put(None)

    def take(self, line):
        try:
            answer = json.loads(line)
        except ValueError:
            return  # half a line, cut off by the end of a boot
        if "boot" in answer:
            self.boots.append(answer)
            return
        with self.lock:
            waiting = self.answers.pop(answer["id"], None)
        if waiting:
            waiting.put(answer)

    def ask(self, seconds, **request):
        """The answer, which must come within the seconds."""
        answers = queue.Queue()
        with self.lock:
            if not self.is_open:
                raise Gone("the machine is off")
            self.count += 1
            number = self.count
            self.answers[number] = answers
        try:
            self.socket.sendall(json.dumps({"id": number, **request}).encode() + b"\n")
            answer = answers.get(timeout=seconds)
        except queue.Empty:
            raise Gone(f"no answer within {seconds} s to {request}") from None
        except OSError:
            raise Gone("the machine is off") from None
        finally:
            self.answers.pop(number, None)
        if answer is None:
            raise Gone("the machine went off")
        return answer

    def close(self):
        self.socket.close()
