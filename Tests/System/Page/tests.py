# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""tests.py PROGRAMS [TEST…]: the status page in a real browser. Started by Tests/System/Page/run."""

import os
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time
import unittest
import urllib.request

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

import daemon as machinery
from daemon import Daemon, ImaginedServer, Server, wait_for

PAGE = pathlib.Path(__file__).resolve().parents[3] / "Sources" / "Control" / "CWebPage"
IMAGES = PAGE.parents[2] / "docs" / "images"
WEIGHT_MAX = 160_000
PATHS = {"/", "/app.css", "/icon.svg"} | {f"/script/{module.name}" for module in (PAGE / "script").iterdir()}
KILLS = int(os.environ.get("TIMERD_PAGE_KILLS", 0))
# A page has the right state again so many seconds after its server is back.
BACK_MAX = 3

CONFIG = r"""
[job.steady]
description = "Counts down during the tests"
command = ["true"]
every = "6h"

[job.patient]
description = "Is paused and resumed"
command = ["true"]
every = "2h"

[job.talker]
description = "Writes while one looks"
shell = "echo first line; cat '@DIRECTORY@/pipe'; echo last line"
every = "12h"

[job.broken]
description = "Fails"
shell = "echo it went wrong >&2; exit 3"
every = "12h"

[job.flaky]
description = "Is tried again"
shell = "exit 75"
every = "12h"
retries = 3
retry-delay = "2h"

[job.nightly]
description = "Goes by the calendar"
command = ["true"]
calendar = "Mon..Fri 02:30"
timezone = "Europe/Berlin"

[job.often]
command = ["true"]
every = "1s"

[job.once]
command = ["true"]
after = "100d"

[job.hostile]
description = "<script>document.title = 'taken over'</script>\u202Ereversed"
shell = '''printf '<b id=own>bold</b>\n\033[31mred\033[0m\n\342\200\256txt.exe\n\377 no UTF-8\n' '''
every = "12h"

[job.a-job-with-a-name-of-sixty-four-characters-which-is-the-longest]
command = ["true"]
every = "12h"
"""

# Two people are told about one job: one message is sent, the other one cannot be.
NOTIFIED = r"""
[notify.ops]
job = "teller"

[notify.away]
webhook = "http://127.0.0.1:1/secret"

[job.teller]
command = ["true"]
at = "2190-01-01T00:00:00Z"

[job.payroll]
shell = "test -e '@DIRECTORY@/well'"
every = "12h"
notify = ["ops", "away"]

[job.calm]
command = ["true"]
every = "12h"
"""

# A run that does not end at once when it is told to.
STOPPED = r"""
[job.slow]
shell = "trap '' TERM; sleep 3 & wait; wait"
every = "12h"
kill-timeout = "5s"

[job.calm]
command = ["true"]
every = "12h"
"""

# One after the other, and one at a time.
CHAINED = r"""
[slot.disk]
max = 1

[job.backup]
command = ["true"]
every = "12h"

[job.upload]
command = ["true"]
follows = { job = "backup" }

[job.repair]
command = ["true"]
follows = [{ job = "backup", on = "failure" }, { job = "upload", on = "end" }]

[job.long]
command = ["sleep", "1000"]
every = "12h"
slots = ["disk"]

[job.queued]
command = ["true"]
every = "12h"
slots = ["disk"]
"""

# What failed in the night, and what works again.
NIGHT = r"""
[job.db-a]
shell = "test -e '@DIRECTORY@/well' || { echo 'cannot connect'; exit 1; }"
every = "12h"

[job.db-b]
shell = '''echo begin; printf '10 %%\r20 %%\r\033[31mdisk full\033[0m\n\n' >&2; exit 2'''
every = "12h"

[job.web]
command = ["true"]
every = "12h"
"""

VIEWS = {
    "jobs": "/",
    "runs": "/#/runs",
    "timeline": "/#/timeline?range=1h",
    "job": "/#/job/patient",
    "events": "/#/events",
}


class PageTests(unittest.TestCase):
    """They share a daemon and a browser; each has a page of its own, and jobs of its own where it changes them."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(PROGRAMS, CONFIG)
        cls.addClassCleanup(cls.daemon.end)
        os.mkfifo(cls.daemon.directory / "pipe")
        cls.server = Server(cls.daemon)
        cls.addClassCleanup(cls.server.kill)
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        cls.browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--headless=new", "--no-sandbox", "--disable-dev-shm-usage"])
        cls.addClassCleanup(cls.browser.close)
        expect.set_options(timeout=machinery.TIMEOUT * 1000)

    def open(self, path="/", width=1440, height=900, scheme="light", server=None, prepare=None, zone="Europe/Berlin"):
        context = self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, timezone_id=zone)
        self.addCleanup(context.close)
        page = context.new_page()
        page.set_default_timeout(machinery.TIMEOUT * 1000)
        self.problems = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda message: (os.environ.get("DEBUG") and print(message.text), self.note(message)))
        page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))
        if prepare:
            prepare(page)
        server = server or self.server
        if isinstance(server, Server):
            page.goto(server.link())
        page.goto(server.address + path)
        return page

    def note(self, message):
        # What is not there is said to the console by the browser itself, such as /favicon.ico.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(message.text)

    def tearDown(self):
        self.assertEqual(getattr(self, "problems", []), [])

    def row(self, page, job):
        return page.locator(f'tr[data-job="{job}"]')

    def wait_seconds_of(self, page, count):
        """Until the page has counted down some seconds, as another job shows them."""
        locator = self.row(page, "often").locator(".c-active")
        for _ in range(count):
            expect(locator).not_to_have_text(locator.inner_text())

    # The views

    def test_jobs_at_a_glance(self):
        self.daemon.post("/v1/jobs/broken/run")
        wait_for(lambda: self.daemon.job("broken").get("last"), "it does not run")
        self.daemon.post("/v1/jobs/once/pause", {"note": "waits for Ann"})
        self.addCleanup(self.daemon.post, "/v1/jobs/once/resume")
        page = self.open()
        expect(self.row(page, "broken").locator(".c-last")).to_contain_text("exit 3")
        failed = page.get_by_role("region", name="failed")
        expect(failed).to_contain_text("broken")
        expect(page.get_by_role("region", name="paused")).to_contain_text("waits for Ann")
        expect(page.get_by_role("region", name="next")).to_contain_text("often")
        expect(page).to_have_title(re.compile("failed · Jobs · timerd"))
        row = self.row(page, "once")
        expect(row.locator(".c-state")).to_contain_text("paused")
        expect(row.locator(".c-state")).to_contain_text("by root · waits for Ann")
        expect(self.row(page, "nightly")).to_contain_text("Mon–Fri at 02:30")
        expect(self.row(page, "steady")).to_contain_text("every 6 h".replace(" h", "\u00a0h"))
        # The last runs come from the history, and then from what is heard.
        recent = self.row(page, "broken").locator(".recent")
        expect(recent).to_have_attribute("aria-label", re.compile(r"last (\d+) runs?: \1 failed"))
        known = recent.locator("path").get_attribute("d").count("M")
        self.daemon.post("/v1/jobs/broken/run")
        expect(recent).to_have_attribute("aria-label", f"last {min(20, known + 1)} runs: {min(20, known + 1)} failed")
        # What failed is filtered by its heading, and back.
        failed.get_by_role("button").click()
        expect(self.row(page, "steady")).to_have_count(0)
        expect(self.row(page, "broken")).to_be_visible()
        failed.get_by_role("button").click()
        expect(self.row(page, "steady")).to_be_visible()
        # Its own page says it first of all.
        self.row(page, "broken").get_by_role("link").click()
        expect(page.locator(".job .heading")).to_contain_text("last run: exit 3")

    def test_a_pause_stops_the_bar_and_resuming_moves_it(self):
        page = self.open()
        row = self.row(page, "patient")
        row.get_by_role("button", name="Pause").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("Pause patient")
        dialog.get_by_label("Note").fill("disk swap")
        dialog.get_by_label("in 4 h").check()
        dialog.get_by_role("button", name="Pause", exact=True).click()
        expect(row.locator(".bar")).to_have_attribute("data-kind", "paused")
        expect(row.locator(".c-state")).to_contain_text(re.compile(r"by root until .*disk swap"))
        left, width = row.locator(".c-left").inner_text(), row.locator(".bar-left").get_attribute("style")
        steady = self.row(page, "steady").locator(".bar-text span").first
        others = steady.inner_text()
        self.wait_seconds_of(page, 3)
        self.assertEqual(row.locator(".c-left").inner_text(), left)
        self.assertEqual(row.locator(".bar-left").get_attribute("style"), width)
        self.assertTrue(self.daemon.job("patient")["paused"]["note"] == "disk swap")
        # The same on the page of the job, with who, why and until when.
        row.get_by_role("link", name="patient").click()
        hero = page.get_by_role("region", name="Remaining time")
        expect(hero.locator(".bar")).to_have_attribute("data-kind", "paused")
        expect(hero).to_contain_text(re.compile("paused by root since .*, until .*disk swap"))
        page.get_by_role("button", name="Resume").click()
        expect(hero.locator(".bar")).to_have_attribute("data-kind", "counts")
        rest = hero.locator(".rest")
        expect(rest).not_to_have_text(rest.inner_text())
        self.assertNotIn("paused", self.daemon.job("patient"))
        expect(page.get_by_role("status")).to_contain_text("patient: resumed; next run in")
        self.assertTrue(others)

    def test_a_run_is_read_while_it_writes(self):
        page = self.open("/#/job/talker")
        page.get_by_role("button", name="Run now").click()
        output = page.get_by_role("log")
        expect(output).to_contain_text("first line")
        expect(page.locator(".job .heading .state")).to_contain_text("running")
        with open(self.daemon.directory / "pipe", "w") as pipe:
            for text in ("middle line 1\n", "middle line 2\n"):
                pipe.write(text)
                pipe.flush()
                expect(output).to_contain_text(text.strip())
        expect(output).to_contain_text("last line")
        self.assertEqual(output.inner_text().count("first line"), 1)
        expect(page.locator(".job .heading .state")).to_contain_text("armed")
        run = page.locator(".history tbody tr").first
        expect(run).to_contain_text("succeeded")
        expect(run).to_contain_text("requested by root")
        run.get_by_role("link").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Run of ")
        expect(page.get_by_role("log")).to_contain_text("middle line 2")
        expect(page.locator(".facts")).to_contain_text("requested by root")
        # Back to the job. Its days come from the history.
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("talker")
        page.reload()
        expect(page.get_by_role("img", name="Calendar of talker: 1 run in 26 weeks, none failed")).to_be_visible()
        expect(page.locator(".year rect.day-ok4")).to_have_count(1)

    def test_runs_are_killed_and_retries_cancelled_after_a_question(self):
        self.daemon.post("/v1/jobs/flaky/run")
        page = self.open("/#/job/flaky")
        state = page.locator(".job .heading .state")
        expect(state).to_contain_text("retrying")
        expect(page.get_by_role("region", name="Remaining time")).to_contain_text("until the next attempt")
        # A page that was opened in the middle of the delay shows how much of it is left.
        self.wait_seconds_of(self.open(), 2)
        page.reload()
        bar = page.locator(".hero .bar-left")
        expect(bar).to_have_attribute("style", re.compile(r"width: 9\d"))
        page.get_by_role("button", name="Stop its runs…").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.keyboard.press("K")
        page.get_by_role("dialog").get_by_role("button", name="Stop its runs").click()
        expect(state).to_contain_text("armed")
        self.assertEqual(self.daemon.job("flaky")["running"], [])

    def test_skips_stop_and_start(self):
        page = self.open("/#/job/steady")
        page.get_by_role("button", name="Skip next").click()
        expect(page.get_by_role("status")).to_contain_text("the next run will be skipped")
        page.get_by_role("button", name="Do not skip").click()
        expect(page.get_by_role("button", name="Do not skip")).to_have_count(0)
        self.assertNotIn("skips", self.daemon.job("steady"))
        page.goto(f"{self.server.address}/#/job/once")
        page.get_by_role("button", name="Stop the timer…").click()
        page.get_by_role("dialog").get_by_role("button", name="Stop the timer").click()
        expect(page.locator(".job .heading .state")).to_contain_text("stopped")
        page.goto(f"{self.server.address}/#/")
        expect(self.row(page, "once").get_by_role("button", name="Start the timer of once")).to_be_visible()
        expect(self.row(page, "once").get_by_role("button", name="Pause once")).to_have_count(0)
        page.goto(f"{self.server.address}/#/job/once")
        page.get_by_role("button", name="Start the timer").click()
        expect(page.locator(".job .heading .state")).to_contain_text("armed")

    def test_many_jobs_at_once(self):
        page = self.open()
        for job in ("steady", "nightly"):
            self.row(page, job).get_by_role("checkbox").check()
        bar = page.get_by_role("region", name="Selected jobs")
        expect(bar).to_contain_text("2 selected")
        bar.get_by_role("button", name="Pause…").click()
        page.get_by_role("dialog").get_by_label("Note").fill("all at once")
        page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
        for job in ("steady", "nightly"):
            expect(self.row(page, job).locator(".c-state")).to_contain_text("all at once")
        bar.get_by_role("button", name="Resume…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("steady by root “all at once”")
        dialog.get_by_role("button", name="Resume").click()
        for job in ("steady", "nightly"):
            expect(self.row(page, job).locator(".c-state")).not_to_contain_text("paused")
        bar.get_by_role("button", name="Clear").click()
        expect(bar).to_be_hidden()

    def test_filters_are_in_the_address(self):
        page = self.open("/#/?q=paused&sort=name&state=armed")
        search, state = page.get_by_role("searchbox"), page.get_by_label("State")
        expect(search).to_have_value("paused")
        expect(state).to_have_value("armed")
        expect(self.row(page, "patient")).to_be_visible()
        expect(self.row(page, "steady")).to_have_count(0)
        # What is typed replaces the address, what is chosen is a step back.
        search.fill("pipe no such job")
        expect(page).to_have_url(re.compile(r"#/\?q=pipe\+no\+such\+job&state=armed&sort=name$"))
        search.fill("")
        state.select_option("retrying")
        expect(page).to_have_url(re.compile(r"#/\?state=retrying&sort=name$"))
        page.go_back()
        expect(state).to_have_value("armed")
        expect(self.row(page, "steady")).to_be_visible()
        page.go_forward()
        expect(state).to_have_value("retrying")
        # Another view and back: the filters are as they were.
        page.get_by_role("link", name="Timeline").click()
        page.get_by_role("button", name="12\u00a0h").click()
        expect(page).to_have_url(re.compile(r"#/timeline\?range=12h$"))
        page.get_by_role("link", name="Jobs", exact=True).click()
        expect(page).to_have_url(re.compile(r"#/\?state=retrying&sort=name$"))
        page.get_by_role("link", name="Jobs", exact=True).click()
        expect(self.row(page, "steady")).to_be_visible()
        page.go_back()
        page.go_back()
        expect(page.get_by_role("button", name="12\u00a0h")).to_have_attribute("aria-pressed", "true")
        page.go_back()
        expect(page.get_by_role("button", name="3\u00a0h")).to_have_attribute("aria-pressed", "true")
        page.goto(f"{self.server.address}/#/events?q=patient&level=bad")
        expect(page.get_by_label("Level")).to_have_value("bad")
        expect(page.get_by_role("searchbox")).to_have_value("patient")

    def test_a_wrong_address_is_answered_with_a_sentence(self):
        page = self.open()
        wrong = page.locator("#wrong")
        for address, sentence in [
            ("#/nonsense", "This page has no view “nonsense”"), ("#/__proto__", "no view “__proto__”"), ("#/run/x", "no view “run”"),
            ("#/?state=nonsense", "The filter “State” cannot be “nonsense”"), ("#/?sort=x", "The filter “Order” cannot be “x”"),
            ("#/timeline?range=9y", "The timeline cannot show “9y”"), ("#/events?level=%3Cb%3E", "cannot be “<b>”"),
            ("#/job/%E0%A4%A", "This address is damaged"), ("#/job/", None), ("#/", None)]:
            page.goto(f"{self.server.address}/{address}")
            if sentence:
                expect(wrong).to_contain_text(sentence)
            else:
                expect(wrong).to_be_hidden()
            expect(page.locator("main h1")).to_have_count(1)
        page.goto(f"{self.server.address}/#/?state=x")
        self.check(page, 1440)

    def test_a_run_has_an_address_however_old_it_is(self):
        def runs():
            return self.daemon.get("/v1/runs?job=once&output=0&limit=1000")["runs"]

        for count in range(len(runs()) + 1, 26):
            self.daemon.post("/v1/jobs/once/run")
            wait_for(lambda: len(runs()) == count, "it does not run")
        oldest = runs()[-1]["id"]
        page = self.open(f"/#/job/once/{oldest}")
        expect(page.get_by_role("heading", level=1)).to_contain_text("Run of ")
        expect(page.locator(".facts")).to_contain_text(oldest)
        expect(page.locator(".job .heading")).to_contain_text("succeeded")
        page.goto(f"{self.server.address}/#/job/once")
        rows = page.locator(".history tbody tr")
        expect(rows).to_have_count(20)
        page.get_by_role("button", name="Older runs").click()
        expect(rows).to_have_count(25)
        rows.last.get_by_role("link").click()
        expect(page).to_have_url(re.compile("#/job/once/once%3A"))
        expect(page.locator(".facts")).to_contain_text(oldest)
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("once")
        # A run more does not make the table longer than what was asked for.
        latest = rows.first.inner_text()
        self.daemon.post("/v1/jobs/once/run")
        expect(rows.first).not_to_have_text(latest)
        expect(rows).to_have_count(20)
        for address, sentence in [("once/once:20200101T000000.000000Z:1", "timerd cannot show this run: nothing is known of run"),
                                  ("once/rubbish", "timerd cannot show this run: ")]:
            page.goto(f"{self.server.address}/#/job/{address}")
            expect(page.locator(".job .empty")).to_contain_text(sentence)

    def test_a_login_leads_to_the_address_that_was_opened(self):
        context = self.browser.new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(self.server.address + "/#/job/patient")
        expect(page.get_by_role("alert")).to_contain_text("it leads back to this address")
        page.goto(self.server.link())
        expect(page.get_by_role("heading", level=1)).to_have_text("patient")
        expect(page).to_have_url(re.compile("#/job/patient$"))
        # Once: the next login shows the jobs.
        page.goto(self.server.link())
        expect(self.row(page, "patient")).to_be_visible()

    def test_the_morning_after(self):
        """What failed is seen without a click, also what works again, and the server finds it by result, job, time and cause."""
        daemon = Daemon(PROGRAMS, NIGHT)
        self.addCleanup(daemon.end)
        server = Server(daemon)
        self.addCleanup(server.kill)
        page = self.open(server=server)
        expect(self.row(page, "web")).to_be_visible()

        def run(job):
            last = daemon.job(job).get("last", {}).get("id")
            daemon.post(f"/v1/jobs/{job}/run")
            wait_for(lambda: daemon.job(job).get("last", {}).get("id") != last, "it does not run")

        run("db-a")
        failed = page.get_by_role("region", name="failed")
        expect(failed).to_contain_text(re.compile("1 failed since .*, it still fails"))
        expect(failed).to_contain_text("cannot connect")
        (daemon.directory / "well").touch()
        for job in ("db-b", "db-a", "web"):
            run(job)
        expect(failed).to_contain_text(re.compile("2 failed since .*18:00, 1 works again"))
        # The last line as a terminal shows it, which is no empty one.
        expect(failed.locator(".note").first).to_have_text("disk full")
        expect(self.row(page, "db-b").locator(".last-line")).to_have_text("disk full")
        expect(self.row(page, "db-a").locator(".last-line")).to_be_hidden()
        page.reload()
        expect(failed).to_contain_text(re.compile("2 failed since .*18:00, 1 works again"))
        failed.get_by_role("link", name=re.compile("^2 failed")).click()
        expect(page).to_have_url(re.compile(r"#/runs\?time=.*T18%3A00\.\.&result=failed$"))
        rows = page.locator(".runs tbody tr")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("db-b")
        expect(rows.first).to_contain_text("exit 2")
        expect(rows.first.locator(".last-line")).to_have_text("disk full")
        summary = page.locator(".runs .panel li")
        expect(summary).to_have_count(2)
        expect(summary.filter(has_text="db-a")).to_contain_text("1 failed run, works again since")
        expect(summary.filter(has_text="db-b")).to_contain_text("1 failed run, still fails")
        # Filters of the server: name, result, cause.
        page.get_by_role("searchbox").fill("db-a")
        expect(rows).to_have_count(1)
        page.get_by_label("Result").select_option("")
        expect(rows).to_have_count(2)
        page.get_by_role("searchbox").fill("*-a web")
        expect(rows).to_have_count(3)
        expect(rows.first).to_contain_text("web")
        page.get_by_label("Order").select_option("failed")
        expect(rows.first).to_contain_text("exit 1")
        page.get_by_label("Cause").select_option("requested")
        expect(rows).to_have_count(3)
        page.get_by_label("Cause").select_option("schedule")
        expect(page.locator(".runs .empty")).to_contain_text(re.compile("^No run matches since .*18:00.$"))
        page.go_back()
        expect(rows).to_have_count(3)
        rows.first.get_by_role("link").first.click()
        expect(page.locator(".job .heading")).to_contain_text("exit 1")
        page.go_back()
        expect(page.get_by_label("Order")).to_have_value("failed")
        expect(rows).to_have_count(3)
        # It is live, and a skipped run is there with its reason in words.
        run("web")
        expect(rows).to_have_count(4)
        page.goto(server.address + "/#/runs?time=yesterday")
        expect(page.locator(".runs .empty")).to_have_text("No run ended yesterday.")
        page.get_by_label("Time", exact=True).select_option("span")
        expect(page).to_have_url(re.compile(r"time=.*T18%3A00\.\.$"))
        page.get_by_label("To", exact=True).fill("2020-01-01T00:00")
        page.get_by_label("To", exact=True).dispatch_event("change")
        expect(page.locator(".runs .empty")).to_contain_text("The end of this time must be after its beginning.")
        for query, sentence in [("time=x", "“x” is no time that this page knows"), ("time=2026-11-30T03:00..2026-11-30T01:00", "is no time"),
                                ("result=good", "The filter “Result” cannot be “good”"), ("cause=%3Cb%3E", "cannot be “<b>”")]:
            page.goto(f"{server.address}/#/runs?{query}")
            expect(page.locator("#wrong")).to_contain_text(sentence)
            expect(rows).to_have_count(5)
        page.route("**/v1/runs?*", lambda route: route.fulfill(status=400, json={"code": "bad-query", "error": "no such thing"}))
        page.get_by_role("searchbox").fill("x")
        expect(page.locator(".runs .empty")).to_have_text("timerd cannot show these runs: no such thing.")

    def test_a_frequent_job_hides_no_failure_in_the_timeline(self):
        now = int(time.time() * 1e6)

        def instant(usec):
            return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(usec // 1_000_000)) + f".{usec % 1_000_000:06}Z"

        def many(route):
            """Five thousand runs of a frequent job and more; the failed backup is before all of them."""
            runs = [{"id": f"often:20260101T000000.{n:06}Z:1", "job": "often", "scheduled": instant(now - n * 20_000), "began": instant(now - n * 20_000 - 1000),
                     "ended": instant(now - n * 20_000), "outcome": "exited(0)", "result": "succeeded", "succeeded": True, "failed": False} for n in range(1000)]
            route.fulfill(json={"runs": runs, "skipped_runs": [], "next_cursor": "r1.1"})

        def brief(route):
            isFailed = "failed=1" in route.request.url
            recent = [{"job": "broken", "verdicts": "f", "end_times": [now - 1_800_000_000], "durations": [60_000_000]}]
            if not isFailed:
                recent.append({"job": "often", "verdicts": "s" * 500, "end_times": [now - 600_000_000 + n * 1000 for n in range(500)], "durations": [500] * 500})
            route.fulfill(json={"recent": recent})

        def prepare(page):
            page.route(re.compile(r"/v1/runs\?limit=1000"), many)
            page.route(re.compile(r"/v1/recent\?count=500"), brief)

        page = self.open("/#/timeline?range=1h", prepare=prepare)
        lane = page.locator(".lanes .lane", has=page.get_by_role("link", name="broken", exact=True))
        expect(lane.locator(".run-f")).to_have_count(1)
        expect(page.locator("#timeline-summary")).to_contain_text(re.compile(
            r"1 failed; .*Of 1 job with very many runs only the last 500 and the last 500 failed ones are shown: often \(complete since \d\d:\d\d"))

    def test_the_timeline_is_a_picture_and_a_table(self):
        self.daemon.post("/v1/jobs/broken/run")
        self.daemon.post("/v1/jobs/once/pause", {"note": "see the hatching"})
        self.addCleanup(self.daemon.post, "/v1/jobs/once/resume")
        page = self.open("/#/timeline?range=1h")

        def lane(job):
            return page.locator(".lanes .lane", has=page.get_by_role("link", name=job, exact=True))

        expect(lane("often").locator(".run-s")).to_have_count(1)
        expect(lane("often").locator(".run-next")).to_have_count(1)
        expect(lane("broken").locator(".run-f")).to_have_count(1)
        expect(lane("once").locator(".run-paused")).to_have_count(1)
        expect(lane("broken").get_by_role("img")).to_have_attribute("aria-label", re.compile("broken: .* failed"))
        expect(page.locator(".load")).to_have_count(1)
        # A pause that is over is there as well, also one that ends now.
        table = page.get_by_role("region", name="The timeline as a table")
        page.get_by_text("The same as a table").click()
        for job in ("nightly", "flaky"):
            self.daemon.post(f"/v1/jobs/{job}/pause", {"note": f"over for {job}"})
            self.daemon.post(f"/v1/jobs/{job}/resume")
            expect(lane(job).locator(".run-paused")).to_have_count(1)
            row = table.get_by_role("row", name=re.compile(f"{job} pause .* by root, ended by root: over for {job}"))
            expect(row.first).to_be_visible()
        page.reload()
        expect(lane("flaky").locator(".run-paused")).to_have_count(1)
        page.get_by_role("button", name="7\u00a0d").click()
        expect(page.get_by_role("button", name="7\u00a0d")).to_have_attribute("aria-pressed", "true")
        expect(lane("broken").locator(".run-f")).to_have_count(1)
        page.get_by_text("The same as a table").click()
        expect(table.get_by_role("row", name=re.compile("broken run .* exit 3")).first).to_be_visible()
        expect(table.get_by_role("row", name=re.compile("once pause .* see the hatching")).first).to_be_visible()

    def test_what_others_do_is_seen_at_once(self):
        page = self.open()
        expect(page.locator("#link")).to_have_text("live")
        expect(self.row(page, "patient")).to_be_visible()
        self.daemon.post("/v1/jobs/patient/pause", {"note": "from a terminal"})
        expect(self.row(page, "patient").locator(".c-state")).to_contain_text("from a terminal")
        self.daemon.post("/v1/jobs/patient/resume")
        expect(self.row(page, "patient").locator(".c-state")).to_contain_text("armed")
        page.keyboard.press("4")
        first = page.locator(".events [data-event=resumed]").first
        expect(first).to_contain_text("patient")
        self.daemon.post("/v1/jobs/broken/run")
        expect(page.locator(".events [data-event=run-ended][data-job=broken]").first).to_contain_text("failed")
        page.get_by_label("Level").select_option("bad")
        expect(page.locator(".events [data-event=resumed]")).to_have_count(0)
        page.get_by_label("Level").select_option("")
        page.get_by_role("searchbox").fill("patient")
        expect(page.locator(".events [data-job=broken]")).to_have_count(0)
        expect(first).to_contain_text("patient")

    def test_a_long_output_is_read_searched_and_kept(self):
        run = "talker:20261121T055945.910612Z:1"
        count = 100_000

        def text(number):
            return f"\x1b[{31 + number % 6}mline {number}\x1b[0m of many" + (" with a needle" if number % 30_000 == 0 else "")

        lines = [{"run": run, "number": number, "at": f"2026-11-21T05:59:{number % 60:02}.250000Z", "is_error": number % 10 == 0, "text": text(number)}
                 for number in range(2, count + 2)]
        status = {"id": run, "job": "talker", "scheduled": "2026-11-21T05:59:45.910612Z", "ended": "2026-11-21T06:00:00.000000Z", "outcome": "exited(0)",
                  "result": "succeeded", "succeeded": True, "failed": False, "user_usec": 0, "system_usec": 0}

        def prepare(page):
            page.route("**/log?*", lambda route: route.fulfill(json={"lines": lines, "written": [{"run": run, "line_count": count + 1}], "cursor": 1, "active": [], "since": "x"}))
            page.route("**/v1/runs/talker*", lambda route: route.fulfill(json={"run_status": status, "state": "ended", "attempt": 1}))

        page = self.open(f"/#/job/talker/{run}", prepare=prepare)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        output = page.get_by_role("log")
        # It begins at its end; few of its lines are elements, wherever one reads.
        expect(output.get_by_text(f"line {count + 1} of many")).to_be_in_viewport()
        expect(page.locator(".panel", has_text="Output").first).to_contain_text(f"{count} of {count + 1} lines; journalctl TIMERD_RUN_ID={run} shows what was logged of the rest.")
        expect(page.get_by_label("Follow")).to_be_checked()
        for place in (0.5, 0.1, 0):
            output.evaluate("(box, place) => { box.scrollTop = box.scrollHeight * place; }", place)
            wait_for(lambda: output.evaluate("(box) => [...box.querySelectorAll('.line')].some((one) => Math.abs(one.getBoundingClientRect().top - box.getBoundingClientRect().top) < 60)"),
                     "there are no lines where one reads")
            self.assertLess(output.locator(".line").count(), 2500)
        expect(page.get_by_label("Follow")).not_to_be_checked()
        expect(output.get_by_text("line 1 is not here")).to_be_visible()
        expect(output.locator(".line").nth(1).locator("span.a3")).to_have_text("line 2")
        # The time, the stream, and long lines.
        expect(output.locator(".line-time").first).to_be_hidden()
        page.get_by_label("Times").check()
        expect(output.locator(".line-time").first).to_have_text("06:59:02.250")
        page.get_by_label("Wrap").uncheck()
        expect(output).not_to_have_class(re.compile("wrap"))
        self.check(page, 1440)
        # A search goes from line to line, and around.
        find = page.get_by_label("Find in the output")
        find.fill("NEEDLE")
        expect(page.get_by_text("3 lines", exact=True)).to_be_visible()
        for number in (30_000, 60_000, 90_000, 30_000):
            find.press("Enter")
            expect(output.locator(".found")).to_contain_text(f"line {number} of many with a needle")
            expect(output.locator(".found")).to_be_in_viewport()
        find.press("Shift+Enter")
        expect(output.locator(".found")).to_contain_text("line 90000")
        page.get_by_label("Streams").select_option("err")
        expect(output.get_by_text(f"line {count} of many")).to_be_in_viewport()
        expect(output.get_by_text(f"line {count + 1} of many")).to_have_count(0)
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("status")).to_contain_text("copied")
        copied = page.evaluate("navigator.clipboard.readText()").split("\n")
        self.assertEqual((copied[0], copied[-2], len(copied)), ("line 10 of many", f"line {count} of many", count // 10 + 1))
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        self.assertEqual(download.value.suggested_filename, "talker_20261121T055945.910612Z_1.log")
        self.assertEqual(pathlib.Path(download.value.path()).read_text().split("\n")[0], text(10))

    # Everyone

    def test_everything_by_keyboard_alone(self):
        page = self.open()
        expect(self.row(page, "patient")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Go to the content")).to_be_focused()
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type("patient paused and")
        expect(self.row(page, "steady")).to_have_count(0)
        expect(self.row(page, "patient")).to_be_visible()
        page.keyboard.press("Escape")
        expect(self.row(page, "steady")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        expect(self.row(page, "steady").get_by_role("link")).to_be_focused()
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        expect(self.row(page, "patient").get_by_role("link")).to_be_focused()
        page.keyboard.press("x")
        expect(self.row(page, "patient").get_by_role("checkbox")).to_be_checked()
        page.keyboard.press("x")
        expect(self.row(page, "patient").get_by_role("checkbox")).not_to_be_checked()
        page.keyboard.press("p")
        expect(page.get_by_label("Note")).to_be_focused()
        page.keyboard.type("by keys")
        page.keyboard.press("Enter")
        expect(self.row(page, "patient").locator(".c-state")).to_contain_text("by keys")
        # The event can come before the answer that closes the dialog.
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.keyboard.press("r")
        expect(self.row(page, "patient").locator(".c-state")).to_contain_text("armed")
        # The buttons of the row come next.
        for label in ("Run patient", "Pause patient", "Skip the next run of patient"):
            page.keyboard.press("Tab")
            expect(page.get_by_role("button", name=label)).to_be_focused()
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("Keys and signs")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.keyboard.press("k")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        expect(page.get_by_role("heading", level=1)).to_have_text("patient")
        page.keyboard.press("R")
        expect(page.locator(".history tbody tr").first).to_contain_text("requested by root")
        page.keyboard.press("Escape")
        expect(self.row(page, "patient")).to_be_visible()
        page.keyboard.press("2")
        expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
        page.keyboard.press("3")
        expect(page.get_by_role("heading", level=1)).to_have_text("Timeline")
        page.keyboard.press("4")
        expect(page.get_by_role("heading", level=1)).to_have_text("Events")
        page.keyboard.press("1")
        expect(self.row(page, "patient")).to_be_visible()

    def test_single_keys_can_be_switched_off(self):
        page = self.open()
        expect(self.row(page, "steady")).to_be_visible()
        page.get_by_role("button", name="Keys and signs").click()
        page.get_by_label("Use these keys").uncheck()
        page.keyboard.press("Escape")
        page.keyboard.press("2")
        page.keyboard.press("?")
        expect(self.row(page, "steady")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)

    def test_each_view_is_accessible_light_and_dark_narrow_and_wide(self):
        self.daemon.post("/v1/jobs/patient/pause", {"note": "for a look", "for_usec": 3_600_000_000})
        self.addCleanup(self.daemon.post, "/v1/jobs/patient/resume")
        self.daemon.post("/v1/jobs/hostile/run")
        wait_for(lambda: self.daemon.job("hostile").get("last"), "it does not run")
        for scheme in ("light", "dark"):
            for width in (320, 390, 1024, 1440):
                page = self.open(width=width, scheme=scheme)
                for view, path in VIEWS.items():
                    with self.subTest(scheme=scheme, width=width, view=view):
                        page.goto(self.server.address + path)
                        expect(page.locator("#link")).to_have_attribute("data-state", re.compile("live|poll"))
                        expect(page.locator("main h1")).to_have_count(1)
                        if view == "job":
                            expect(page.locator(".why li").first).to_be_visible()
                        self.check(page, width)
                run = self.daemon.get("/v1/runs?job=hostile&output=0&limit=1")["runs"][0]["id"]
                page.goto(f"{self.server.address}/#/job/hostile/{run}")
                expect(page.get_by_role("log")).to_contain_text("bold")
                self.check(page, width)
                page.goto(self.server.address + "/#/job/patient")
                page.get_by_role("button", name="Change the pause…").click()
                self.check(page, width)
                page.keyboard.press("Escape")

    def check(self, page, width):
        found = Axe().run(page, options={"resultTypes": ["violations"]})
        self.assertEqual(found.violations_count, 0, found.generate_report())
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)

    # Others' text, clocks and rights

    def test_hostile_text_is_text(self):
        self.daemon.post("/v1/jobs/hostile/pause", {"note": "<img src=x onerror=alert(1)> \u202egpj.exe"})
        self.daemon.post("/v1/jobs/hostile/run")
        wait_for(lambda: self.daemon.job("hostile").get("last"), "it does not run")
        page = self.open()
        row = self.row(page, "hostile")
        expect(row.locator(".c-job")).to_contain_text(r"<script>document.title = 'taken over'</script>\x202ereversed")
        expect(row.locator(".c-state")).to_contain_text(r"<img src=x onerror=alert(1)> \x202egpj.exe")
        row.get_by_role("link").click()
        output = page.get_by_role("log")
        for text in ("<b id=own>bold</b>", "red", r"\x202etxt.exe", "\ufffd no UTF-8"):
            expect(output).to_contain_text(text)
        expect(page.get_by_role("region", name="Remaining time")).to_contain_text("“<img src=x")
        for tag in ("img", "main script", "#own", "iframe"):
            expect(page.locator(tag)).to_have_count(0)
        page.keyboard.press("2")
        expect(page.locator(".runs tbody tr", has_text="hostile").first).to_be_visible()
        page.keyboard.press("3")
        expect(page.locator(".lane", has=page.get_by_role("link", name="hostile"))).to_be_visible()
        page.keyboard.press("4")
        expect(page.locator("main h1")).to_have_text("Events")
        expect(page.locator("img")).to_have_count(0)
        self.assertNotIn("taken over", page.title())
        # Addresses are others' text as well.
        page.goto(self.server.address + "/#/job/%3Cimg%20src%3Dx%3E/%E0%A4%A")
        page.goto(self.server.address + "/#/job/%3Cimg%20src%3Dx%3E")
        expect(page.get_by_text("There is no job <img src=x>.")).to_be_visible()
        self.daemon.post("/v1/jobs/hostile/resume")

    def test_a_wrong_clock_of_the_browser_changes_nothing(self):
        def shift(page):
            page.add_init_script("const real = Date.now; Date.now = () => real() + 7200e3;")

        self.daemon.post("/v1/jobs/broken/run")
        page = self.open(prepare=shift)
        expect(self.row(page, "broken").locator(".c-last")).to_contain_text(re.compile(r"\d\u00a0s ago|1\u00a0min ago"))
        expect(self.row(page, "steady").locator(".c-left")).to_contain_text(re.compile("^5\u00a0h 5"))
        expect(page.locator("#zone")).to_contain_text("by the clock of the server")

    def test_who_may_only_look_has_no_buttons(self):
        def viewer(page):
            page.route("**/v1/session", lambda route: route.fulfill(json={"user": "eve", "may_change": False}))

        page = self.open(prepare=viewer)
        expect(page.locator("#about")).to_contain_text("you are eve, who may only look")
        expect(self.row(page, "steady").get_by_role("button")).to_have_count(0)
        # Nor anything that only commands need.
        expect(page.get_by_role("checkbox")).to_have_count(0)
        page.keyboard.press("j")
        page.keyboard.press("x")
        expect(page.get_by_role("region", name="Selected jobs")).to_be_hidden()
        page.keyboard.press("R")
        expect(page.get_by_role("status")).to_contain_text("You may look, but not change anything.")

    def test_a_pause_of_another_user_is_ended_after_a_question(self):
        def other(page):
            page.route("**/v1/session", lambda route: route.fulfill(json={"user": "alice", "may_change": True}))

        self.daemon.post("/v1/jobs/nightly/pause", {"note": "ask Bob"})
        page = self.open("/#/job/nightly", prepare=other)
        expect(page.locator("#about")).to_contain_text("you are alice")
        page.get_by_role("button", name="Resume").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("nightly by root “ask Bob”")
        dialog.get_by_role("button", name="Resume").click()
        expect(page.locator(".job .heading .state")).to_contain_text("armed")

    def test_why_counts_down(self):
        page = self.open("/#/job/steady")
        next_run = page.locator(".why [data-code=next-run]")
        expect(next_run).to_contain_text(re.compile(r"It runs next at .*, counting active time \(in 5\u00a0h \d+\u00a0min\)\."))
        # As the clock of the page says it, not as timerd said it once.
        self.daemon.post("/v1/jobs/steady/run")
        last = page.locator(".why [data-code=last-run] [data-at]")
        expect(last).to_have_text(re.compile("^[3-9]\u00a0s ago$"))

    def test_a_stop_is_said(self):
        daemon = Daemon(PROGRAMS, STOPPED)
        self.addCleanup(daemon.end)
        server = Server(daemon)
        self.addCleanup(server.kill)
        page = self.open("/#/job/calm", server=server)
        daemon.post("/v1/jobs/slow/run")
        wait_for(lambda: daemon.job("slow")["running"][0].get("began"), "it does not start")
        expect(page.locator(".hero")).to_contain_text("until the next run")
        daemon.process.terminate()
        # Never that no run is scheduled: it is started again.
        expect(page.locator(".hero")).to_contain_text(re.compile("until the next run|timerd is stopping"))
        expect(page.locator("#link")).to_have_text("no answer")
        expect(page.locator(".hero")).not_to_contain_text("no run is scheduled")

    def test_who_is_logged_out_is_told_what_to_do(self):
        def refuse(page):
            page.route(re.compile("/v1/"), lambda route: route.fulfill(
                status=401, json={"code": "unauthorized", "error": "log in"}))

        page = self.open(prepare=refuse)
        expect(page.get_by_role("alert")).to_contain_text("timerctl web")
        # Nothing is known then: it must not say that no job failed.
        expect(page.locator(".board")).to_be_hidden()
        self.check(page, 1440)

    def test_a_link_that_was_used_says_what_to_do(self):
        page = self.open(scheme="dark", width=320)
        link = self.server.link()
        page.goto(link)
        expect(self.row(page, "steady")).to_be_visible()
        page.goto(link)
        expect(page.get_by_role("heading")).to_have_text("This link cannot be used")
        expect(page.locator("main")).to_contain_text("Run timerctl web for another one.")
        self.check(page, 320)

    def test_a_refused_command_is_told(self):
        page = self.open("/#/job/steady")
        expect(page.get_by_role("button", name="Run now")).to_be_visible()
        page.route("**/v1/jobs/steady/run", lambda route: route.fulfill(
            status=403, json={"code": "forbidden", "error": "only operators may do this"}))
        page.get_by_role("button", name="Run now").click()
        expect(page.get_by_role("status")).to_contain_text("steady: only operators may do this")

    # Weight, loss, size

    def test_it_is_light_and_asks_nobody_else(self):
        # What is served: without the comments.
        weight = sum(len(urllib.request.urlopen(self.server.address + path).read()) for path in PATHS)
        self.assertLessEqual(weight, WEIGHT_MAX)
        requests = []
        page = self.open(prepare=lambda page: page.on("request", lambda request: requests.append(request.url)))
        expect(self.row(page, "steady")).to_be_visible()
        for view in VIEWS.values():
            page.goto(self.server.address + view)
            expect(page.locator("main h1")).to_have_count(1)
        files = {url.removeprefix(self.server.address).partition("#")[0] for url in requests
                 if "/v1/" not in url and "/login?" not in url}
        self.assertLessEqual(files, PATHS)
        self.assertTrue(all(url.startswith(self.server.address) for url in requests), requests)
        print(f"  {weight} bytes in {len(files)} files")

    def test_an_event_is_on_the_screen_soon(self):
        page = self.open()
        expect(page.locator("#link")).to_have_text("live")
        state = self.row(page, "patient").locator(".c-state")
        expect(state).to_contain_text("armed")
        # The page says itself when it changed: the test looks only now and then.
        state.evaluate("""(cell) => {
            window.changes = [];
            new MutationObserver(() => window.changes.push(Date.now()))
                .observe(cell.querySelector('.word'), { childList: true, characterData: true, subtree: true });
        }""")
        # The figure is 300 ms. A machine that does other things meanwhile is no reason to fail: of three series one counts.
        for _ in range(3):
            began = []
            page.evaluate("window.changes = []")
            for _ in range(20):
                for verb, word in (("pause", "paused"), ("resume", "armed")):
                    began.append(time.time() * 1000)
                    self.daemon.post(f"/v1/jobs/patient/{verb}")
                    expect(state.locator(".word")).to_have_text(word)
            changes = page.evaluate("window.changes")
            self.assertEqual(len(changes), len(began))
            delays = sorted(change - begin for change, begin in zip(changes, began))
            print(f"  from command to screen, {len(delays)} events: median {delays[19]:.0f} ms, 95 % {delays[37]:.0f} ms")
            if delays[37] <= 1000:
                return
        self.fail("events are on the screen too late")

    def test_a_server_and_a_daemon_that_come_back(self):
        daemon = Daemon(PROGRAMS, CONFIG)
        self.addCleanup(daemon.end)
        server = Server(daemon)
        self.addCleanup(lambda: server.kill())
        page = self.open(server=server)
        row = self.row(page, "patient")
        expect(row).to_be_visible()
        daemon.post("/v1/jobs/patient/pause", {"note": "kept"})
        expect(row).to_contain_text("kept")
        banner = page.get_by_role("alert")
        steady = self.row(page, "steady").locator(".c-left")
        server.kill()
        expect(banner).to_contain_text("timerd does not answer; trying again")
        shown = steady.inner_text()
        self.assertTrue(shown)
        server.start()
        expect(banner).to_have_count(0)
        expect(row).to_contain_text("kept")
        # What is shown is from before as long as timerd does not answer; its sessions end with it.
        daemon.kill()
        expect(banner).to_contain_text("timerd does not answer; trying again")
        expect(row).to_contain_text("kept")
        daemon.start()
        expect(banner).to_contain_text("You are not logged in")
        page.context.new_page().goto(server.link())
        expect(banner).to_have_count(0)
        expect(row).to_contain_text("kept")
        daemon.post("/v1/jobs/patient/resume")
        expect(row).not_to_contain_text("kept")
        expect(page.locator("#link")).to_have_text("live")

    def test_more_tabs_than_a_browser_has_connections(self):
        first = self.open()
        tabs = [first] + [first.context.new_page() for _ in range(6)]
        for tab in tabs[1:]:
            tab.on("pageerror", lambda error: self.problems.append(str(error)))
            tab.goto(self.server.address)
        for tab in tabs:
            expect(self.row(tab, "patient")).to_be_visible()
            expect(tab.locator("#link")).to_have_text(re.compile("live|every few seconds"))
        self.daemon.post("/v1/jobs/patient/pause", {"note": "in each tab"})
        for tab in tabs:
            expect(self.row(tab, "patient")).to_contain_text("in each tab")
        # Commands go through in a tab without a stream, too, and it gets the place of one that is closed.
        without = next(tab for tab in tabs if tab.locator("#link").inner_text() != "live")
        self.row(without, "patient").get_by_role("button", name="Resume").click()
        for tab in tabs:
            expect(self.row(tab, "patient")).not_to_contain_text("in each tab")
        live = [tab for tab in tabs if tab.locator("#link").inner_text() == "live"]
        self.assertEqual(len(live), 4)
        for tab in live:
            tab.close()
        expect(without.locator("#link")).to_have_text("live")

    @unittest.skipUnless(KILLS, "TIMERD_PAGE_KILLS is not set")
    def test_kills_at_random_moments(self):
        """The daemon, its web server or both are killed while five tabs are open, one of them without a stream."""
        seed = int(os.environ.get("TIMERD_TEST_SEED", random.randrange(1 << 32)))
        print(f"\n  TIMERD_TEST_SEED={seed}")
        dice = random.Random(seed)
        daemon = Daemon(PROGRAMS, CONFIG)
        self.addCleanup(daemon.end)
        os.mkfifo(daemon.directory / "pipe")
        server = Server(daemon)
        self.addCleanup(lambda: server.kill())
        tabs = {"jobs": self.open(server=server)}
        # The last one has no stream.
        for view, path in [(view, VIEWS[view]) for view in ("events", "job", "timeline")] + [("more jobs", "/")]:
            tab = tabs[view] = tabs["jobs"].context.new_page()
            tab.set_default_timeout(machinery.TIMEOUT * 1000)
            tab.on("pageerror", lambda error, view=view: self.problems.append(f"{view}: {error}"))
            tab.on("console", self.note)
            tab.goto(server.address + path)
        waits = {"web": [], "daemon": [], "both": []}
        for number in range(KILLS):
            victim = dice.choice(list(waits))
            note = f"round {number}"
            daemon.post("/v1/jobs/patient/pause", {"note": note})
            time.sleep(dice.uniform(0, 0.5))
            if victim != "web":
                daemon.kill()
            if victim != "daemon":
                server.kill()
            time.sleep(dice.uniform(0, 1.5))
            if victim != "web":
                daemon.start()
            else:
                # What happens while there is no page.
                note = f"round {number}, meanwhile"
                daemon.post("/v1/jobs/patient/pause", {"note": note})
            if victim != "daemon":
                server.start()
            since = time.monotonic()
            if victim != "web":
                # They are right as soon as one is logged in: sessions end with the daemon.
                login = tabs["jobs"].context.new_page()
                login.goto(server.link())
                login.close()
                since = time.monotonic()
            self.expect_state(daemon, tabs, note)
            waits[victim].append(time.monotonic() - since)
            daemon.post("/v1/jobs/patient/resume")
            daemon.post("/v1/jobs/broken/run")
            self.expect_state(daemon, tabs, None)
            self.expect_each_event_once(tabs["events"], note, victim == "web")
        for victim, times in waits.items():
            if times:
                print(f"  {victim} killed {len(times)} times: all tabs are right again after {min(times):.1f} to {max(times):.1f} s")
        self.assertLess(max(max(times, default=0) for times in waits.values()), BACK_MAX)

    def expect_state(self, daemon, tabs, note):
        """In each tab there is what the daemon says, and that it is from now."""
        for view, tab in tabs.items():
            expect(tab.locator("#banner")).to_be_hidden()
            expect(tab.locator("body")).not_to_have_class(re.compile("stale"))
            expect(tab.locator("#link")).to_have_text(re.compile("live|every few seconds"))
            if view in ("jobs", "more jobs"):
                row = self.row(tab, "patient")
                expect(row.locator(".word")).to_have_text("paused" if note else "armed")
                if note:
                    expect(row).to_contain_text(note)
                else:
                    expect(self.row(tab, "broken").locator(".c-state")).to_contain_text("armed")
                    expect(self.row(tab, "broken").locator(".c-last")).to_contain_text("exit 3")
            elif view == "job":
                expect(tab.locator(".heading .word")).to_have_text("paused" if note else "armed")
                expect(tab.locator(".hero .note")).to_have_text(f"“{note}”" if note else "")
            elif view == "timeline":
                name = tab.locator(".lane").filter(has_text="patient").get_by_role("img")
                expect(name).to_have_attribute("aria-label", re.compile("paused by" if note else r"^(?!.*paused by)"))
        for view in ("jobs", "more jobs"):
            jobs = {job["job"]: job for job in daemon.get("/v1/jobs")["jobs"] if job["job"] != "often"}
            self.assertEqual(tabs[view].locator("tbody tr").count(), len(jobs) + 1)
            for name, job in jobs.items():
                word = "running" if job["running"] and job["state"] == "armed" else job["state"]
                expect(self.row(tabs[view], name).locator(".word")).to_have_text(word)

    def expect_each_event_once(self, tab, note, is_same_daemon):
        """Those of this daemon are there, and none twice."""
        expect(tab.locator(".events li[data-event=resumed]").first).to_be_visible()
        if is_same_daemon:
            expect(tab.locator(".events li[data-job=patient]").filter(has_text=note).first).to_be_visible()
        expect(tab.locator(".events li[data-event=run-ended][data-job=broken]").first).to_be_visible()
        lines = tab.locator(".events li").evaluate_all("all => all.map((one) => one.querySelector('time').dateTime + one.innerText)")
        self.assertEqual([line for line in lines if lines.count(line) > 1], [])

    def test_a_dialog_outlives_a_restart_of_the_daemon(self):
        daemon = Daemon(PROGRAMS, CONFIG)
        self.addCleanup(daemon.end)
        server = Server(daemon)
        self.addCleanup(server.kill)
        page = self.open(server=server)
        self.row(page, "patient").get_by_role("button", name="Pause").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Note").fill("what was written stays")
        daemon.kill()
        dialog.get_by_role("button", name="Pause", exact=True).click()
        error = dialog.get_by_role("alert")
        expect(error).to_contain_text("timerd does not answer")
        daemon.start()
        dialog.get_by_role("button", name="Pause", exact=True).click()
        expect(error).to_contain_text("timerctl web")
        page.context.new_page().goto(server.link())
        expect(page.locator("#banner")).to_be_hidden()
        expect(dialog.get_by_label("Note")).to_have_value("what was written stays")
        dialog.get_by_role("button", name="Pause", exact=True).click()
        expect(dialog).to_have_count(0)
        expect(self.row(page, "patient")).to_contain_text("what was written stays")

    def test_what_people_were_told_about_is_marked(self):
        daemon = Daemon(PROGRAMS, NOTIFIED)
        self.addCleanup(daemon.end)
        server = Server(daemon)
        self.addCleanup(server.kill)
        page = self.open(server=server)
        sign = self.row(page, "payroll").locator(".incident")
        expect(self.row(page, "payroll")).to_be_visible()
        expect(sign).to_be_hidden()
        daemon.post("/v1/jobs/payroll/run")
        expect(sign).to_be_visible()
        expect(sign).to_have_attribute("aria-label", re.compile("^failure since .*, ops has a message about it; failure since .*, away (has a message about it|cannot send messages)$"))
        expect(self.row(page, "calm").locator(".incident")).to_be_hidden()
        page.get_by_label("State").select_option("incident")
        expect(page.locator("tbody tr")).to_have_count(1)
        page.goto(server.address + "/#/job/payroll")
        expect(page.locator(".heading .incident")).to_be_visible()
        told = page.locator("section", has=page.get_by_role("heading", name="Notifications")).get_by_role("listitem")
        expect(told.filter(has_text=re.compile("^ops: failure, sent "))).to_have_count(1)
        expect(told.filter(has_text=re.compile("^away: failure, waits for its next attempt .*: "))).to_have_count(1)
        self.assertNotIn("secret", page.content())
        self.check(page, 1440)
        # From there to what happened to it.
        page.get_by_role("link", name="Its events").click()
        expect(page.get_by_role("searchbox")).to_have_value("payroll")
        expect(page.locator(".events [data-event=run-ended][data-job=payroll]").first).to_be_visible()
        expect(page.locator(".events [data-job=teller]")).to_have_count(0)
        page.go_back()
        # It is over, and that is told as well.
        (daemon.directory / "well").touch()
        daemon.post("/v1/jobs/payroll/run")
        expect(page.locator(".heading .incident")).to_be_hidden()
        expect(told.filter(has_text=re.compile("^ops: recovery, sent "))).to_have_count(1)
        page.goto(server.address + "/#/job/calm")
        expect(page.get_by_role("heading", name="calm")).to_be_visible()
        expect(page.get_by_role("heading", name="Notifications")).to_have_count(0)
        # A job that is renamed takes its messages along.
        daemon.config.write_text(
            daemon.config.read_text().replace("[job.payroll]", '[job.wages]\nrenamed-from = "payroll"'))
        daemon.post("/v1/reload")
        page.goto(server.address + "/#/job/wages")
        expect(told.filter(has_text=re.compile("^ops: recovery, sent "))).to_have_count(1)
        messages = daemon.get("/v1/notifications?job=wages")["messages"]
        self.assertEqual({one["job"] for message in messages for one in message["notifications"]}, {"wages"})
        self.assertEqual(daemon.get("/v1/notifications?job=payroll")["messages"], [])

    def test_what_follows_what_and_who_holds_a_slot(self):
        daemon = Daemon(PROGRAMS, CHAINED)
        self.addCleanup(daemon.end)
        server = Server(daemon)
        self.addCleanup(server.kill)
        page = self.open("/#/job/upload", server=server)
        expect(page.locator(".lead")).to_contain_text("after each run of backup that succeeds")
        daemon.post("/v1/jobs/backup/run")
        run = page.locator(".history tbody tr").first
        expect(run).to_contain_text("after backup:")
        # From the run to the one that caused it, and back.
        run.get_by_role("link").click()
        page.locator(".facts").get_by_role("link", name=re.compile("^backup:")).click()
        expect(page.locator(".path")).to_contain_text("backup")
        page.locator(".facts").get_by_role("link", name=re.compile("^upload:")).click()
        expect(page.locator(".path")).to_contain_text("upload")
        page.keyboard.press("Escape")
        expect(page.get_by_role("heading", level=1)).to_have_text("upload")
        expect(page.locator(".facts").last).to_contain_text("repair")
        page.goto(server.address + "/#/job/repair")
        expect(page.locator(".why")).to_contain_text("waits for a run of backup")

        daemon.post("/v1/jobs/long/run")
        wait_for(lambda: daemon.job("long")["running"][0].get("began"), "it does not start")
        daemon.post("/v1/jobs/queued/run")
        page.goto(server.address + "/#/job/queued")
        slots = page.locator(".panel", has_text="Slots").locator("li").first
        expect(slots).to_contain_text("disk: 1 of 1 taken by long since")
        expect(slots).to_contain_text("waiting: queued")
        self.check(page, 1440)
        daemon.post("/v1/jobs/long/kill")
        expect(slots).to_contain_text("disk: 0 of 1 taken")

    def test_no_jobs(self):
        daemon = Daemon(PROGRAMS, "")
        self.addCleanup(daemon.end)
        server = Server(daemon)
        self.addCleanup(server.kill)
        page = self.open(server=server)
        expect(page.get_by_text("There are no jobs yet; timerctl edit opens the configuration.")).to_be_visible()
        expect(page.get_by_role("table")).to_have_count(0)
        daemon.config.write_text('[job.first]\ncommand = ["true"]\nevery = "1h"\n')
        daemon.post("/v1/reload")
        expect(self.row(page, "first")).to_be_visible()

    def test_an_error_of_the_configuration_is_said(self):
        daemon = Daemon(PROGRAMS, '[job.first]\ncommand = ["true"]\nevery = "1h"\n')
        self.addCleanup(daemon.end)
        server = Server(daemon)
        self.addCleanup(server.kill)
        page = self.open(server=server, prepare=lambda page: page.clock.install())
        expect(page.locator("#link")).to_have_text("live")
        expect(self.row(page, "first")).to_be_visible()
        good = daemon.config.read_text()
        daemon.config.write_text(good + 'evry = "1h"\n')
        wait_for(lambda: "refusal" in daemon.get("/v1/jobs"), "the configuration is not refused")
        # An event says it at once: no minute passes by the clock of the page.
        faults = page.get_by_role("region", name="Errors of the configuration")
        expect(faults).to_contain_text(f"the current configuration is kept; timerd check {daemon.config} shows the errors")
        self.check(page, 1440)
        daemon.config.write_text(good)
        expect(faults).to_have_count(0)

    def test_a_hold_of_the_machine_is_said(self):
        daemon = Daemon(PROGRAMS, '[job.first]\ncommand = ["true"]\nevery = "1h"\n')
        self.addCleanup(daemon.end)
        server = Server(daemon)
        self.addCleanup(server.kill)
        page = self.open(server=server)
        expect(self.row(page, "first")).to_be_visible()
        hold = page.locator("#hold")
        expect(hold).to_be_hidden()
        daemon.post("/v1/hold", {"note": "new <b>disks</b>"})
        expect(hold).to_contain_text("holds this machine since")
        expect(hold).to_contain_text("(new <b>disks</b>): no run starts, and timerctl release ends that")
        self.check(page, 1440)
        daemon.post("/v1/release")
        expect(hold).to_be_hidden()
        expect(self.row(page, "first")).to_be_visible()

    def time_to_show(self, page, jobs):
        """Milliseconds from the list of jobs to the picture."""
        expect(page.locator(".count")).to_have_text(f"{jobs} jobs")
        expect(page.locator("tr[data-job]")).to_have_count(jobs)
        figures = page.evaluate(
            "Object.fromEntries(performance.getEntriesByType('mark').reverse().map((mark) => [mark.name, mark.startTime]))")
        took = figures["jobs-shown"] - figures["jobs-heard"]
        print(f"  {jobs} jobs: {took:.0f} ms from the list to the picture; {figures['jobs-shown']:.0f} ms from the address")
        return took

    def test_a_thousand_jobs(self):
        config = "".join(f'[job.job-{n:04}]\ndescription = "One of many"\ncommand = ["true"]\nevery = "{n % 90 + 5}min"\n'
                         for n in range(1000))
        daemon = Daemon(PROGRAMS, config)
        self.addCleanup(daemon.end)
        server = Server(daemon)
        self.addCleanup(server.kill)
        page = self.open(server=server)
        # The figure is 500 ms. A machine that was busy or suspended in the meantime gets another try.
        for attempt in range(3):
            if attempt > 0:
                page.reload()
            took = self.time_to_show(page, 1000)
            if took < 5_000:
                break
        self.assertLess(took, 5_000)
        page.get_by_role("searchbox").fill("job-0999")
        expect(page.locator("tr[data-job]")).to_have_count(1)


    def test_more_jobs_than_rows(self):
        config = "".join(f'[job.job-{n:04}]\ncommand = ["true"]\nevery = "{n % 90 + 5}min"\n' for n in range(2100))
        daemon = Daemon(PROGRAMS, config)
        self.addCleanup(daemon.end)
        server = Server(daemon)
        self.addCleanup(server.kill)
        page = self.open(server=server)
        expect(page.locator(".count")).to_have_text("2100 jobs")
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(1000)
        more = page.get_by_role("button", name="1000 more of 2100 jobs")
        more.click()
        more.click()
        expect(rows).to_have_count(2100)
        expect(more).to_have_count(0)
        page.get_by_placeholder("Filter jobs").fill("job-2099")
        expect(rows).to_have_count(1)
        # The others are found, too, without that their rows were ever there.
        daemon.post("/v1/jobs/pause", {"jobs": [f"job-{n:04}" for n in range(2100)]})
        page.goto(server.address + "/#/timeline?range=1h")
        expect(page.locator("#timeline-summary")).to_contain_text("Only 1000 of 2100 jobs are shown: filter them.")
        expect(page.locator(".lanes .lane")).to_have_count(1000)
        page.get_by_placeholder("Filter jobs").fill("job-2086")
        expect(page.locator(".lanes .lane")).to_have_count(1)

    def test_ten_thousand_jobs_change_at_once(self):
        """Each of them has an event, which are more than the daemon keeps for a reader; the page must stay usable."""
        names = [f"job-{n:05}" for n in range(10_000)]
        daemon = Daemon(PROGRAMS, "".join(f'[job.{name}]\ncommand = ["true"]\nevery = "3h"\n' for name in names))
        self.addCleanup(daemon.end)
        server = Server(daemon)
        self.addCleanup(server.kill)

        def watch(page):
            page.add_init_script("""window.blocked = [];
                new PerformanceObserver((list) => blocked.push(...list.getEntries().map((entry) => entry.duration)))
                    .observe({ entryTypes: ['longtask'] });""")

        for view, path in (("jobs", "/"), ("timeline", "/#/timeline?range=1h")):
            page = self.open(path, server=server, prepare=watch)
            expect(page.locator("#link")).to_have_text("live")

            def paused(name):
                if view == "jobs":
                    return self.row(page, name).filter(has_text="paused")
                return page.locator(".lanes .lane", has_text=name).locator("svg[aria-label*='paused by']")

            # The page is complete, and hears of events.
            daemon.post(f"/v1/jobs/{names[0]}/pause")
            expect(paused(names[0])).to_have_count(1)
            expect(paused(names[999])).to_have_count(0)
            page.evaluate("blocked = []")
            began = time.monotonic()
            daemon.post("/v1/jobs/pause", {"jobs": names, "note": "storm"})
            commanded = time.monotonic()
            expect(paused(names[999])).to_have_count(1)
            seen = time.monotonic()
            if view == "jobs":
                expect(page.get_by_role("region", name="paused").locator(".glance-count")).to_have_text("10000")
                page.get_by_placeholder("Filter jobs").fill(names[-1])
                expect(self.row(page, names[-1]).locator(".c-state")).to_contain_text("storm")
            blocked = page.evaluate("Math.max(0, ...blocked)")
            print(f"  10 000 jobs paused at once, {view}: the command {commanded - began:.1f} s, on the screen "
                  f"{seen - began:.1f} s after its start; the page is blocked for at most {blocked:.0f} ms")
            # Goal: half a second. A machine that does other things as well is no reason to fail.
            self.assertLess(blocked, 5000)
            page.close()
            daemon.post("/v1/jobs/resume", {"jobs": names})

    def test_the_pictures_of_the_readme(self):
        """What they show is imagined, so that it is the same each time; it uses all that the API says."""
        server = ImaginedServer()
        self.addCleanup(server.kill)
        wanted = os.environ.get("TIMERD_PAGE_IMAGES")
        directory = IMAGES if wanted else pathlib.Path(tempfile.mkdtemp())
        if not wanted:
            self.addCleanup(shutil.rmtree, directory)
        directory.mkdir(exist_ok=True)
        pictures = [("page-jobs", "/", 880, "light", "tr[data-job=price-feed] .last-line"),
                    ("page-jobs-dark", "/", 880, "dark", "tr[data-job=price-feed] .last-line"),
                    ("page-timeline", "/#/timeline?range=24h", 760, "light", ".lane .run-next"),
                    ("page-job", "/#/job/snapshots", 960, "light", ".durations, .next li")]
        for name, path, height, scheme, shown in pictures:
            page = self.open(path, width=1280, height=height, scheme=scheme, server=server,
                             zone="UTC")
            expect(page.locator("#link")).to_have_text("live")
            for part in shown.split(", "):
                expect(page.locator(part).first).to_be_visible()
            file = directory / f"{name}.png"
            page.screenshot(path=file, animations="disabled")
            self.assertLess(file.stat().st_size, 200_000, name)


def main():
    """Runs those that are named, or all, and says how many passed."""
    loader = unittest.defaultTestLoader
    names = [f"__main__.PageTests.{name}" for name in sys.argv[2:]]
    suite = loader.loadTestsFromNames(names) if names else loader.loadTestsFromTestCase(PageTests)
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(suite)
    failed = len({str(test).partition(" (")[0] for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed")
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    PROGRAMS = sys.argv[1]
    main()
