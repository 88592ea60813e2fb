# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A cluster of real etcds, one on each host of a network."""

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

# TIMERD_ETCD is the program; etcdctl is beside it.
ETCD = os.environ["TIMERD_ETCD"]
ETCDCTL = os.path.join(os.path.dirname(ETCD), "etcdctl")


# Prints each message of a watch of all keys below a prefix.
WATCH = """
import base64, json, sys, urllib.request
key = sys.argv[2].encode()
end = key[:-1] + bytes([key[-1] + 1])
create = {"key": base64.b64encode(key).decode(), "range_end": base64.b64encode(end).decode()}
body = json.dumps({"create_request": create}).encode()
for line in urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/v3/watch", body)):
    print(line.decode().strip(), flush=True)
"""


class Cluster:
    """An etcd on each of the first hosts."""

    def __init__(self, network, work, size=3):
        self.network, self.work = network, work
        self.hosts = network.hosts[:size]
        self.processes = {}
        self.token = 0
        self.create()

    def url(self, host, port=2379):
        return f"http://{self.network.address(host)}:{port}"

    @property
    def urls(self):
        return [self.url(host) for host in self.hosts]

    def create(self):
        """Forms a new, empty cluster."""
        self.token += 1
        for host in self.hosts:
            shutil.rmtree(self.data(host), ignore_errors=True)
            self.start(host)
        self.wait()

    def peers(self, host):
        """The hosts whose etcds form a cluster with that of this host."""
        return self.hosts

    def data(self, host):
        return f"{self.work}/etcd-{host}"

    def start(self, host):
        cluster = ",".join(f"{other}={self.url(other, 2380)}" for other in self.peers(host))
        with open(f"{self.work}/etcd-{host}.log", "ab") as log:
            self.processes[host] = subprocess.Popen(
                self.network.command(
                    host, ETCD, "--name", host, "--data-dir", self.data(host), "--pre-vote",
                    "--listen-client-urls", self.url(host) + ",http://127.0.0.1:2379",
                    "--advertise-client-urls", self.url(host),
                    "--listen-peer-urls", self.url(host, 2380), "--initial-advertise-peer-urls", self.url(host, 2380),
                    "--initial-cluster", cluster, "--initial-cluster-token", f"test-{self.token}",
                    "--initial-cluster-state", "new"),
                stdout=log, stderr=log)

    def kill(self, host, number=signal.SIGKILL):
        process = self.processes[host]
        if process.poll() is None:
            process.send_signal(number)
        if number == signal.SIGKILL:
            process.wait()

    def stop(self):
        for host in self.hosts:
            self.kill(host)

    def ctl(self, *arguments, host=None, timeout=10):
        """The answer of etcdctl; None if etcd does not answer."""
        host = host or self.hosts[0]
        endpoints = self.url(host) if host else ",".join(self.urls)
        environment = {**os.environ, "ETCDCTL_API": "3"}
        try:
            result = subprocess.run(
                self.network.command(host, ETCDCTL, "--endpoints", endpoints, *arguments), env=environment,
                capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return None
        return result.stdout if result.returncode == 0 else None

    def wait(self):
        """Waits until each etcd that runs answers."""
        end = time.monotonic() + 30
        for host in self.hosts:
            while self.processes[host].poll() is None and self.ctl("get", "x", host=host) is None:
                if time.monotonic() > end:
                    raise RuntimeError(f"the etcd of {host} does not answer")

    def leader(self):
        for host in self.hosts:
            status = self.ctl("endpoint", "status", "-w", "json", host=host)
            if status:
                fields = json.loads(status)[0]["Status"]
                if fields["header"]["member_id"] == fields["leader"]:
                    return host
        return None

    def values(self, prefix):
        """What is stored now: from each key to its value."""
        answer = json.loads(self.ctl("get", "--prefix", prefix, "-w", "json"))
        return {text(entry["key"]): text(entry.get("value", "")) for entry in answer.get("kvs", [])}

    @contextlib.contextmanager
    def watched(self, prefix):
        """Yields a list of all changes below the prefix as they arrive: (microseconds, key, value or None). The watch
        goes on while etcd has no leader, which that of etcdctl does not."""
        watch = subprocess.Popen(
            self.network.command(self.hosts[0], sys.executable, "-c", WATCH, self.url(self.hosts[0]), prefix),
            stdout=subprocess.PIPE, text=True)
        changes = []

        def read():
            for line in watch.stdout:
                at = time.time_ns() // 1000
                for event in json.loads(line)["result"].get("events") or []:
                    value = None if event.get("type") == "DELETE" else text(event["kv"].get("value", ""))
                    changes.append((at, text(event["kv"]["key"]), value))

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield changes
        finally:
            watch.kill()
            watch.wait()
            reader.join()

    def ctl_process(self, *arguments):
        """etcdctl at the first etcd, whose output is read line by line."""
        return subprocess.Popen(
            self.network.command(self.hosts[0], ETCDCTL, "--endpoints", self.url(self.hosts[0]), *arguments),
            env={**os.environ, "ETCDCTL_API": "3"}, stdout=subprocess.PIPE, text=True)

    def history(self, prefix):
        """All changes since the cluster was formed, in their order: (revision, key, value or None)."""
        # A key that no fleet reads ends the list.
        self.ctl("put", "/end", "")
        last = json.loads(self.ctl("get", "/end", "-w", "json"))["header"]["revision"]
        watch = self.ctl_process("watch", "--prefix", "/", "--rev", "1", "-w", "json")
        changes = []
        try:
            for line in watch.stdout:
                for event in json.loads(line).get("Events") or []:
                    entry = event["kv"]
                    value = None if event.get("type") == 1 else text(entry.get("value", ""))
                    if entry["mod_revision"] >= last:
                        return changes
                    if text(entry["key"]).startswith(prefix):
                        changes.append((entry["mod_revision"], text(entry["key"]), value))
        finally:
            watch.kill()
            watch.wait()
        raise RuntimeError("the history of etcd ended early")


def text(encoded):
    return base64.b64decode(encoded).decode()
