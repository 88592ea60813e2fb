# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A machine of a fleet: timerd, its runner and timerd-fleet on a host of a network, and what its jobs wrote."""

import json
import os
import platform
import signal
import subprocess
import time

# The directory of the programs.
BIN = os.environ["TIMERD_BIN"]
# Of the package faketime: another wall clock for one process.
FAKETIME = f"/usr/lib/{platform.machine()}-linux-gnu/faketime/libfaketime.so.1"
# How long anything may take that takes moments. It costs nothing when all is well.
TIMEOUT = 60


def wait_until(condition, what, timeout=TIMEOUT, pause=0.05):
    """Waits until `condition` returns something true, and returns that."""
    end = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise RuntimeError(f"not after {timeout} s: {what}")
        time.sleep(pause)


class Machine:
    def __init__(self, network, host, cluster, work, lease=10, extra=""):
        self.network, self.host, self.cluster = network, host, cluster
        self.directory = f"{work}/{host}"
        # What the runs of all machines write: they have the same definition, and the runner says which machine it is.
        self.starts_file = f"{work}/starts"
        self.processes = {}
        self.lease, self.extra = lease, extra
        # Other addresses than those of the cluster, and the name in the fleet.
        self.urls = None
        self.name = host
        for name in ("", "/state", "/run"):
            os.makedirs(self.directory + name, mode=0o700, exist_ok=True)
        self.jobs = {}
        self.write_config()

    @property
    def config(self):
        return f"{self.directory}/timerd.toml"

    @property
    def socket(self):
        return f"{self.directory}/run/control.sock"

    @property
    def fleet_socket(self):
        return f"{self.directory}/run/fleet.sock"

    def command(self, after="true"):
        """The command of a job: one line in one write, which no kill splits."""
        return f"""echo "$TIMERD_RUN_ID ${{TIMERD_FENCE:-0}} $TEST_MACHINE $(date +%s%N)" >> {self.starts_file}; {after}"""

    def write_config(self, jobs=None):
        """Jobs: from each name to the lines of its section."""
        if jobs is not None:
            self.jobs = jobs
        urls = ", ".join(f'"{url}"' for url in self.urls or self.cluster.urls)
        text = f'[fleet]\nname = "test"\nmachine = "{self.name}"\netcd = [{urls}]\nlease = "{self.lease}s"\n{self.extra}\n'
        for name, lines in self.jobs.items():
            after = "true"
            section = []
            for line in lines:
                if line.startswith("after-start: "):
                    after = line.removeprefix("after-start: ")
                else:
                    section.append(line)
            shell = f"shell = {json.dumps(self.command(after))}"
            text += "\n".join([f"[job.{name}]", 'pass-environment = ["TEST_MACHINE"]', shell, *section, ""])
        temporary = self.config + ".new"
        with open(temporary, "w") as file:
            file.write(text)
        os.chmod(temporary, 0o600)
        os.rename(temporary, self.config)

    # The processes.

    def set_clock(self, seconds):
        """How far the wall clock of timerd and timerd-fleet is ahead from now on. Before their start, 0 will do."""
        with open(self.clock + ".new", "w") as file:
            file.write(f"{seconds:+.3f}s\n")
        os.rename(self.clock + ".new", self.clock)

    @property
    def clock(self):
        return f"{self.directory}/clock"

    def environment(self, name):
        values = {**os.environ, "TEST_MACHINE": self.host}
        if name != "timerd-runner" and os.path.exists(self.clock):
            values |= {
                "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": self.clock, "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        return values

    def spawn(self, name, *arguments):
        with open(f"{self.directory}/{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                self.network.command(self.host, f"{BIN}/{name}", *arguments), stdout=log, stderr=log,
                env=self.environment(name), start_new_session=True)

    def start_fleet(self):
        self.spawn("timerd-fleet", "--config", self.config, "--socket", self.fleet_socket)

    def start_runner(self):
        self.spawn(
            "timerd-runner", "--config", self.config, "--runtime", f"{self.directory}/run")

    def start_timerd(self):
        self.spawn(
            "timerd", "run", "--config", self.config, "--state", f"{self.directory}/state", "--runtime",
            f"{self.directory}/run", "--runner", f"{self.directory}/run/runner.sock", "--fleet", self.fleet_socket,
            "--log", "stderr")

    def start(self):
        self.start_runner()
        self.start_fleet()
        self.start_timerd()

    def kill(self, name, number=signal.SIGKILL):
        process = self.processes[name]
        if process.poll() is None:
            process.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            process.wait(TIMEOUT)

    def crash(self):
        """All processes end at once, as in a power cut; the disk stays."""
        for name in self.processes:
            if self.processes[name].poll() is None:
                self.processes[name].kill()
        for process in self.processes.values():
            process.wait(TIMEOUT)

    def stop(self):
        for name in ("timerd", "timerd-runner", "timerd-fleet"):
            if name in self.processes:
                self.kill(name, signal.SIGTERM)

    # What is seen of it.

    def ctl(self, *arguments):
        result = subprocess.run(
            [f"{BIN}/timerctl", *arguments, "--socket", self.socket], capture_output=True, text=True, timeout=TIMEOUT)
        return result.returncode, result.stdout, result.stderr

    def must(self, *arguments):
        status, out, errors = self.ctl(*arguments)
        if status:
            raise RuntimeError(f"{self.host}: timerctl {' '.join(arguments)}: {status}: {errors}")
        return out

    def state(self):
        """What `timerctl fleet` says of its connection; None while its daemon does not answer."""
        status, out, _ = self.ctl("fleet", "--json")
        return json.loads(out)["state"] if status == 0 else None

    def when_connected(self):
        wait_until(lambda: self.state() not in (None, "away"), f"{self.host} is connected to etcd")

    def log(self, name="timerd"):
        with open(f"{self.directory}/{name}.log", errors="replace") as file:
            return file.read()
