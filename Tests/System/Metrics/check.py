# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""check.py TIMERCTL SOCKET PORT DIRECTORY: checks the metrics of the daemon behind a control socket, which is also at
this TCP port, with promtool and with a Prometheus whose files are in the directory."""

import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import time
import urllib.parse
import urllib.request

TIMERCTL, SOCKET, PORT, WORK = sys.argv[1:]
ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
RULES = f"{ROOT}/monitoring/prometheus/timerd.rules.yml"
# For what takes moments; it costs nothing when all is well.
TIMEOUT = 60
RESULTS = ["success", "failed", "timed-out", "lost", "stopped", "replaced", "skipped"]

passed = failed = 0


def expect(what, is_so, detail=""):
    global passed, failed
    if is_so:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what}\n{detail}", flush=True)


def timerctl(*arguments, status=0):
    result = subprocess.run([TIMERCTL, *arguments, "--socket", SOCKET], capture_output=True, text=True)
    expect(f"timerctl {' '.join(arguments)}", result.returncode == status, result.stderr)
    return result.stdout


def tool(*arguments, given=None, directory=None):
    result = subprocess.run(arguments, input=given, capture_output=True, text=True, cwd=directory)
    return result.returncode == 0 and not result.stderr, result.stdout + result.stderr


def history():
    """The runs that ended, by job and by the result that metrics count them under."""
    counts = {}
    for run in json.loads(timerctl("history", "--limit", "1000", "--json"))["runs"]:
        outcome, did_fail = run["outcome"], run.get("failed", False)
        result = outcome.split("(")[0]
        if result == "exited":
            result = "failed" if did_fail else "success"
        elif result in ("signalled", "spawn-failed"):
            result = "failed"
        counts[run["job"], result] = counts.get((run["job"], result), 0) + 1
    return counts


def is_same(found, wanted):
    """Whether these are the same values of the same series; those that are measured have more digits."""
    return found.keys() == wanted.keys() and all(abs(found[key] - wanted[key]) < 0.001 for key in wanted)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    def __init__(self):
        config = f"{WORK}/prometheus.yml"
        with open(config, "w") as file:
            json.dump({
                "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
                "rule_files": [RULES],
                "scrape_configs": [{"job_name": "timerd", "static_configs": [{"targets": [f"127.0.0.1:{PORT}"]}]}],
            }, file)
        self.log = open(f"{WORK}/prometheus.log", "w")
        # Another process may take the port first: then this one ends at once.
        for _ in range(10):
            self.port = free_port()
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={WORK}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)
            if self.wait_until_ready():
                return
            self.end()
        sys.exit("prometheus does not start:\n" + open(f"{WORK}/prometheus.log").read())

    def wait_until_ready(self):
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5)
                return True
            except OSError:
                time.sleep(0.1)
        return False

    def end(self):
        self.process.terminate()
        self.process.wait()

    def query(self, text):
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def values(self, text):
        """The values of an answer by the labels that are not of Prometheus itself."""
        found = {}
        for series in self.query(text):
            labels = {k: v for k, v in series["metric"].items() if k not in ("__name__", "instance", "job")}
            found[tuple(sorted(labels.items()))] = float(series["value"][1])
        return found

    def becomes(self, text, wanted):
        """Waits until an answer is this; what it is at the end."""
        end = time.monotonic() + TIMEOUT
        while True:
            found = self.values(text)
            if is_same(found, wanted) or time.monotonic() > end:
                return found
            time.sleep(0.2)


def check_files():
    good, text = tool("promtool", "check", "rules", RULES)
    expect("promtool check rules", good, text)
    for file in (RULES, f"{ROOT}/Tests/System/Metrics/rules.test.yml"):
        shutil.copy(file, WORK)
    good, text = tool("promtool", "test", "rules", "rules.test.yml", directory=WORK)
    expect("promtool test rules", good, text)
    names = set(re.findall(r"alert: (\w+)", open(RULES).read()))
    tests = open(f"{ROOT}/Tests/System/Metrics/rules.test.yml").read()
    expect("each alert is tested", names == set(re.findall(r"alertname: (\w+)", tests)), names)
    for name in sorted(names):
        fires = [test == "" for test in re.findall(rf"alertname: {name}(, exp_alerts: \[\])?", tests)]
        expect(f"{name} fires and clears", True in fires and fires[0] is False and fires[-1] is False, fires)


def check_text():
    text = timerctl("metrics")
    good, said = tool("promtool", "check", "metrics", given=text)
    expect("promtool check metrics", good, said)
    file = f"{WORK}/timerd.prom"
    before = set(os.listdir(WORK))
    timerctl("metrics", "--output", file)
    expect("only the file is written", set(os.listdir(WORK)) - before == {"timerd.prom"}, os.listdir(WORK))
    expect("its mode is 0644", stat.S_IMODE(os.stat(file).st_mode) == 0o644)
    good, said = tool("promtool", "check", "metrics", given=open(file).read())
    expect("promtool check metrics, of the file", good, said)
    for accepted, kind in [("text/plain", "text/plain; version=0.0.4; charset=utf-8"),
                           ("application/openmetrics-text",
                            "application/openmetrics-text; version=1.0.0; charset=utf-8")]:
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}/metrics", headers={"Accept": accepted})
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            expect(f"the answer to {accepted}", answer.headers["Content-Type"] == kind, answer.headers)


def check_values(prometheus):
    found = prometheus.becomes('up{job="timerd"}', {(): 1})
    expect("Prometheus scrapes it", found == {(): 1}, found)
    for _ in range(3):
        timerctl("run", "good", "--wait")
    for _ in range(2):
        timerctl("run", "bad.job@home-1", "--wait", status=3)
    timerctl("pause", "paused", "--note", '"} 1')
    timerctl("kill", "busy")

    # The second run of this job starts within a second of the end of the first one.
    end = time.monotonic() + TIMEOUT
    while ("busy", "stopped") not in history() and time.monotonic() < end:
        time.sleep(0.1)
    runs = history()
    for job in ("good", "bad.job@home-1", "busy", "nightly"):
        wanted = {(("name", job), ("result", result)): float(runs.get((job, result), 0)) for result in RESULTS}
        found = prometheus.becomes(f'timerd_job_runs_total{{name="{job}"}}', wanted)
        expect(f"the runs of {job} are those of the history", found == wanted, f"{found}\n{wanted}")
    wanted = {(("result", result),): float(sum(n for (_, r), n in runs.items() if r == result)) for result in RESULTS}
    found = prometheus.becomes("timerd_runs_total", wanted)
    expect("the sums are those of the history", found == wanted, f"{found}\n{wanted}")

    listed = {job["job"]: job for job in json.loads(timerctl("list", "--json"))["jobs"]}
    for query, wanted in [
        ("timerd_job_paused == 1", {(("name", "paused"),): 1}),
        ("timerd_jobs", {(("state", "armed"),): 5, (("state", "finished"),): 0, (("state", "paused"),): 1,
                         (("state", "stopped"),): 0}),
        ("timerd_metrics_jobs_omitted", {(): 1}),
        ("timerd_job_last_run_success == 0", {(("name", "bad.job@home-1"),): 0}),
        ("timerd_runner_connected", {(): 1}),
        ("timerd_runs_max", {(): 64}),
        ("timerd_config_last_reload_successful", {(): 1}),
        ('timerd_job_interval_seconds{name="nightly"}', {(("name", "nightly"),): 86400}),
        ('timerd_job_run_duration_seconds_count', {(("name", "good"),): 3}),
        ('time() - timerd_job_last_success_timestamp_seconds < bool 3600', {(("name", "good"),): 1}),
        ('sum(timerd_job_skips_total{name="busy"} > bool 0)', {(): 1}),
        # What is left stays the same while the job is paused.
        ('timerd_job_remaining_seconds{name="paused"}',
         {(("name", "paused"),): listed["paused"]["remaining_usec"] / 1e6}),
        ('count by (schedule, timezone) (timerd_job_info{name="nightly"})',
         {(("schedule", "calendar *-*-* 03:00:00"), ("timezone", "Europe/Berlin")): 1}),
    ]:
        found = prometheus.becomes(query, wanted)
        expect(query, is_same(found, wanted), f"{found}\n{wanted}")

    found = prometheus.values("count by (exported_job) ({__name__=~\"timerd_.*\"})")
    expect("no label is renamed by the scrape", list(found) == [()], found)
    found = prometheus.values("ALERTS{alertname=~\"TimerdDown|TimerdRunnerAway|TimerdSaturated\"}")
    expect("no alert about the daemon", found == {}, found)


def check_dashboard(prometheus):
    """Each expression of the dashboard is one, and names metrics that there are."""
    dashboard = json.load(open(f"{ROOT}/monitoring/grafana/timerd.json"))
    names = {series["metric"]["__name__"] for series in prometheus.query('{__name__=~"timerd_.+"}')}
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            text = target["expr"].replace("$instance", ".*").replace("$name", ".*").replace("$__rate_interval", "1m")
            answer = prometheus.query(text)
            expect(f"dashboard: {panel['title']}", isinstance(answer, list), f"{text}\n{answer}")
            used = set(re.findall(r"timerd_\w+", text))
            expect(f"dashboard: {panel['title']}: names", used and used <= names, used - names)


check_files()
check_text()
prometheus = Prometheus()
try:
    check_values(prometheus)
    check_dashboard(prometheus)
finally:
    prometheus.end()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
