# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""monday.py [PORT]: serves the page with the answers of an imagined timerd on a Monday morning, for the pictures of the
README, which must look the same each time they are made. `/v1` has the members that the page uses."""

import datetime
import json
import random
import sys
import time
import urllib.parse

import serve

NOW = datetime.datetime(2026, 11, 23, 7, 58, 12, 400000, datetime.timezone.utc)
STARTED = time.monotonic()
MINUTE, HOUR, DAY = 60, 3600, 86400


def now():
    return NOW + datetime.timedelta(seconds=time.monotonic() - STARTED)


def text(instant):
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def ago(seconds):
    return NOW - datetime.timedelta(seconds=seconds)


# Name, description, schedule, seconds between two runs, seconds since the last one, seconds that a run takes, the share
# of runs that fail, and what else is to be said of it now.
JOBS = [
    ("backup-srv", "restic backup of /srv to the vault", {"every_usec": 6 * HOUR}, 6 * HOUR, 2 * HOUR + 1130, 1500, 0.02, {}),
    ("backup-home", "restic backup of /home", {"every_usec": 4 * HOUR}, 4 * HOUR, 1420, 600, 0, {"running": 1420}),
    ("nightly-copy", "Copies /srv to the second disk", {"calendar": ["*-*-* 02:15:00"]}, DAY, 5 * HOUR + 2592, 1900, 0.05,
     {"fails": "/srv: read-only file system"}),
    ("db-dump", "Dumps the orders database", {"calendar": ["*-*-* 01:30:00"]}, DAY, 6 * HOUR + 1692, 780, 0.01, {}),
    ("db-vacuum", "VACUUM ANALYZE of the orders database", {"every_usec": 3 * HOUR}, 3 * HOUR, HOUR + 312, 240, 0, {}),
    ("snapshots", "LVM snapshots of the data volumes", {"every_usec": 4 * HOUR}, 4 * HOUR, 2 * HOUR + 2300, 35, 0,
     {"paused": ("ann", "storage firmware; done by 11:00", 2 * HOUR + 840, 3 * HOUR + 108)}),
    ("mail-queue", "Delivers queued mail", {"every_usec": 10 * MINUTE}, 10 * MINUTE, 268, 6, 0.03, {}),
    ("price-feed", "Loads the prices of the day", {"every_usec": HOUR}, HOUR, 940, 45, 0.12, {"retries": 424}),
    ("stock-sync", "Synchronises stock with the warehouse", {"every_usec": 15 * MINUTE}, 15 * MINUTE, 512, 95, 0.02, {}),
    ("search-index", "Rebuilds the search index", {"every_usec": 8 * HOUR}, 8 * HOUR, 3130, 5200, 0, {"running": 3130}),
    ("report-weekly", "Sends the weekly report", {"calendar": ["Mon *-*-* 08:30:00"]}, 7 * DAY, 6 * DAY + 23 * HOUR + 1692, 70, 0, {}),
    ("invoice-batch", "Prints the invoices", {"calendar": ["Mon..Fri *-*-* 09:00:00"]}, 3 * DAY, 2 * DAY + 22 * HOUR + 3492, 310, 0.03, {}),
    ("cert-renew", "Renews certificates that end soon", {"cron": ["17 3 * * *"]}, DAY, 4 * HOUR + 2472, 4, 0, {}),
    ("log-rotate", None, {"calendar": ["*-*-* 00:00:00"]}, DAY, 7 * HOUR + 3492, 2, 0, {}),
    ("geoip-update", "Weekly GeoIP data base", {"calendar": ["Wed *-*-* 04:00:00"]}, 7 * DAY, 5 * DAY + 4 * HOUR, 30, 0,
     {"paused": ("root", "licence expired", 3 * DAY + 700, None)}),
    ("disk-scrub", "Reads every block of the mirror", {"every_usec": 7 * DAY}, 7 * DAY, 2 * DAY, 9 * HOUR, 0, {}),
    ("year-end", "Closes the books", {"at": "2026-12-31T22:30:00.000000Z"}, 400 * DAY, None, 60, 0, {}),
]

# Job, who paused it, why, and how many seconds ago the pause began and ended.
PAUSES = [("stock-sync", "ann", "warehouse closed", 10 * HOUR, 4 * HOUR), ("search-index", "bob", "reindexing by hand", 14 * HOUR, 12 * HOUR)]


def run(job, due, took, failed, cause="schedule", note=None):
    """A run that ended."""
    began = due + datetime.timedelta(milliseconds=2)
    return {"id": f"{job}:{due:%Y%m%dT%H%M%S.%fZ}:1", "job": job, "scheduled": text(due), "began": text(began),
            "ended": text(began + datetime.timedelta(seconds=took)), "elapsed_usec": int(took * 1e6), "reason": "exited",
            "exit_code": int(failed), "failed": failed, "succeeded": not failed, "outcome": f"exited({int(failed)})", "result": "exit 1" if failed else "succeeded",
            "cause": cause, "missed": 0, "output": (note or "done") + "\n", "user_usec": int(took * 2e5),
            "system_usec": int(took * 4e4), "peak_bytes": 41_000_000}


def past(name, step, since, length, chance, more):
    """The runs of the last eight days, the latest first."""
    dice = random.Random(name)
    runs = []
    pauses = [(start, end) for job, _, _, start, end in PAUSES if job == name]
    if since is None:
        return runs
    first = since + step if "running" in more else since
    for seconds in range(first, 8 * DAY, step):
        if any(end < seconds < start for start, end in pauses):
            continue
        runs.append(run(name, ago(seconds), length * dice.uniform(0.85, 1.25), dice.random() < chance))
    if "fails" in more or "retries" in more:
        runs[0] = run(name, ago(since), length * 0.2, True, note=more.get("fails", "connection refused"))
    return runs


PAST = {job[0]: past(job[0], job[3], job[4], job[5], job[6], job[7]) for job in JOBS}
def status(job):
    name, description, plan, step, since, _, _, more = job
    passed = 40 * DAY if since is None else since
    elapsed = now() - NOW + datetime.timedelta(seconds=passed)
    remaining = 38 * DAY + 52308 if since is None else step - passed
    answer = {"job": name, "command": ["/usr/local/bin/" + name], "state": "armed", "running": [], "firings": 40,
              "active_usec": int((40 * DAY + (now() - NOW).total_seconds()) * 1e6),
              "checkpoint": text(NOW), "elapsed_usec": int(elapsed.total_seconds() * 1e6),
              "remaining_usec": int((remaining - (now() - NOW).total_seconds()) * 1e6),
              "next": text(NOW + datetime.timedelta(seconds=remaining))}
    answer |= {key: value * 1_000_000 if key.endswith("_usec") else value for key, value in plan.items()}
    if description:
        answer["description"] = description
    if PAST[name]:
        answer["last"] = PAST[name][0]
    if "running" in more:
        began = ago(more["running"])
        answer["running"] = [{"id": f"{name}:{began:%Y%m%dT%H%M%S.%fZ}:1", "job": name, "scheduled": text(began),
                              "began": text(began), "cause": "schedule"}]
    if "retries" in more:
        at = NOW + datetime.timedelta(seconds=more["retries"])
        answer |= {"state": "retrying", "next_attempt": text(at), "next_attempt_usec": int((at - now()).total_seconds() * 1e6)}
    if "fails" in more:
        answer["incidents"] = [{"kind": "failure", "notifier": "ops", "since": text(ago(since)), "failed_count": 1}]
    if "paused" in more:
        by, note, start, end = more["paused"]
        answer |= {"state": "paused", "paused": {"by": by, "note": note, "since": text(ago(start))},
                   "elapsed_usec": (since - start) * 1_000_000, "remaining_usec": (step - since + start) * 1_000_000,
                   "active_usec": 40 * DAY * 1_000_000}
        if "calendar" in plan:
            del answer["remaining_usec"]
        del answer["next"]
        if end:
            answer["paused"]["until"] = text(NOW + datetime.timedelta(seconds=end))
            answer["next"] = text(NOW + datetime.timedelta(seconds=end + step - since + start))
    return answer


def upcoming(until, name):
    found = []
    for job in JOBS:
        answer = status(job)
        if "next" not in answer or name not in (None, job[0]):
            continue
        at = datetime.datetime.fromisoformat(answer["next"].replace("Z", "+00:00"))
        for _ in range(200 if job[0] != "year-end" else 1):
            if text(at) > until:
                break
            found.append({"at": text(at), "job": job[0], "kind": "run"})
            at += datetime.timedelta(seconds=job[3])
    return sorted(found, key=lambda run: run["at"])


def recent(runs, query):
    """The last runs of a job that the query asks for, the oldest first."""
    wanted = [run for run in runs if run["ended"] >= query.get("since", "") and (run["failed"] or query.get("failed") != "1")]
    last = wanted[:int(query["count"])][::-1]
    return {"verdicts": "".join("f" if run["failed"] else "s" for run in last),
            "end_times": [int(datetime.datetime.fromisoformat(run["ended"].replace("Z", "+00:00")).timestamp() * 1e6) for run in last],
            "durations": [run["elapsed_usec"] for run in last]}


def days(job):
    """The last 26 weeks of a job, by its interval and how often it fails."""
    dice = random.Random(job[0])
    each = max(1, DAY // job[3])
    found = []
    for back in range(181, -1, -1):
        failed = sum(dice.random() < job[6] for _ in range(each))
        found.append({"day": f"{NOW - datetime.timedelta(days=back):%Y-%m-%d}", "run_count": each, "failed_count": failed,
                      "skipped_count": int(dice.random() < 0.02), "elapsed_usec": int(each * job[5] * 1e6)})
    return {"job": job[0], "timezone": "UTC", "today": f"{NOW:%Y-%m-%d}", "days": found}


def reasons(job):
    answer = status(job)
    if "paused" in answer:
        pause = answer["paused"]
        return [{"code": "paused", "text": f"It was paused at {pause['since']} by {pause['by']} ({pause['note']}); the pause "
                 f"ends at {pause.get('until')}.", "at": pause.get("until")},
                {"code": "on-resume", "text": "It keeps 24 min 20 s of elapsed time; 3 h 35 min 40 s will be left when it is resumed."}]
    return [{"code": "next-run", "text": f"It runs next at {answer['next']}."}]


class Handler(serve.Handler):
    def pass_on(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        name = query.get("job") or (url.path.split("/")[3] if url.path.startswith("/v1/jobs/") else None)
        job = next((job for job in JOBS if job[0] == name), None)
        if url.path == "/v1/events":
            return self.stream_events()
        answers = {
            "/v1/jobs": lambda: {"now": text(now()), "since": text(ago(40 * DAY)), "pid": 1, "version": "0.1.0", "rejected": [],
                                 "config": "/etc/timerd/timerd.toml", "jobs": [status(job) for job in JOBS]},
            "/v1/session": lambda: {"user": "alice", "may_change": True},
            "/v1/upcoming": lambda: {"upcoming": upcoming(query["until"], name)[:int(query["limit"])], "has_more": False},
            "/v1/runs": lambda: {"runs": sorted(
                (run for job, runs in PAST.items() for run in runs
                 if name in (None, job) and run["ended"] >= query.get("since", "") and (run["failed"] or query.get("result") != "failed")),
                key=lambda run: run["ended"], reverse=True)[:int(query["limit"])], "skipped_runs": []},
            "/v1/pauses": lambda: {"pauses": [
                {"job": job, "by": by, "note": note, "since": text(ago(start)), "ended": text(ago(end)), "ended_by": by}
                for job, by, note, start, end in PAUSES]},
            "/v1/notifications": lambda: {"messages": [
                {"number": 1, "notifier": one["notifier"], "state": "sent", "attempts": 1, "created": one["since"], "sent": one["since"],
                 "notification_count": 1, "notifications": [{"at": one["since"], "job": name, "kind": one["kind"]}]}
                for one in status(job).get("incidents", [])], "pending_count": 0},
            "/v1/recent": lambda: {"recent": [{"job": job, **recent(runs, query)} for job, runs in PAST.items() if recent(runs, query)["verdicts"]]},
            f"/v1/jobs/{name}/days": lambda: days(job),
            f"/v1/jobs/{name}/why": lambda: {"reasons": reasons(job)},
            f"/v1/jobs/{name}/log": lambda: {"active": [], "cursor": 1, "lines": [], "written": [], "since": "", "past": PAST[name][0]
                                             | {"output": "snapshot of data-1\nsnapshot of data-2\n2 snapshots, 0 errors\n"}},
        }
        content = answers.get(url.path, lambda: None)()
        self.answer(200 if content else 404, "application/json", json.dumps(content).encode())

    def stream_events(self):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            self.wfile.write(b'event: hello\nid: 0\ndata: {"instance":"monday","number":0}\n\n')
            while True:
                time.sleep(15)
                self.wfile.write(b":\n\n")
        except OSError:
            pass


if __name__ == "__main__":
    serve.serve(Handler, int(sys.argv[1]) if len(sys.argv) > 1 else 0)
