# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
"""check.py PROGRAMS WORK [TEST...]: one daemon, whose notifiers send to the receivers of this process.

TIMERD_LONG=1 runs the tests too that take many minutes. TIMERD_TEST_SEED repeats the random texts of an earlier run.
"""

import email
import email.policy
import glob
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
import traceback
import uuid
from urllib.parse import parse_qs

from receivers import TIMEOUT, Mails, Web, unused_port, wait

PROGRAMS, WORK = sys.argv[1:3]
SOCKET = f"{WORK}/state/run/control.sock"
SECRET = "Zn4tSECRETq8"
MANY = 500


mails = Mails()
web = Web()
AWAY = unused_port()
LONG_AWAY = (unused_port(), unused_port())
SEED = int(os.environ.get("TIMERD_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
HOSTILE = 24
BASE = f"http://127.0.0.1:{web.port}"


def write(name, text, mode=0o644):
    with open(f"{WORK}/{name}", "w") as file:
        file.write(text)
    os.chmod(f"{WORK}/{name}", mode)


def prepare():
    write("msmtprc", f"""account default
host 127.0.0.1
port {mails.port}
from timerd@example.org
tls off
auth off
""")
    write("sendmail", f"""#!/bin/sh
LD_LIBRARY_PATH={WORK}/lib exec {WORK}/msmtp --file={WORK}/msmtprc "$@"
""", 0o755)
    os.mkdir(f"{WORK}/credentials", 0o700)
    write("credentials/hook", f"{BASE}/slow/{SECRET}?token={SECRET}\n", 0o600)
    os.mkdir(f"{WORK}/marks", 0o777)
    os.chmod(f"{WORK}/marks", 0o777)
    write("long-msmtprc", f"""account default
host 127.0.0.1
port {LONG_AWAY[1]}
from timerd@example.org
tls off
auth off
""")
    write("long-sendmail", f"""#!/bin/sh
LD_LIBRARY_PATH={WORK}/lib exec {WORK}/msmtp --file={WORK}/long-msmtprc "$@"
""", 0o755)
    for one in HOSTILE_JOBS:
        with open(f"{WORK}/{one.file}", "wb") as file:
            file.write(one.output)
        os.chmod(f"{WORK}/{one.file}", 0o644)
    configure(PAGER)


class HostileJob:
    """A job with a name, a description and an output that try to break out of their places."""

    letters = "ABCabc019_.@-"
    signs = list("\x00\x01\x07\x08\t\n\x0b\x7f\x85\u2028\u2029\u202e\u2066\u200f\ufeff=?<>&\"'`\\;:,@()[]{}|%$#*_~éß€😀漢 ") + [
        "\nBcc: x@example.org\n\n", "=?utf-8?q?x?=", "\n.\n", "From ", "<!channel>", "@everyone", "```"]
    raw = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f", b"\r", b"\x1b[2J"]

    def __init__(self, number, chance):
        # In the journal and on the command line a name of 64 characters is the longest.
        length = chance.choice([1, 10, 58])
        self.name = f"h{number}." + "".join(chance.choice(self.letters) for _ in range(length))
        # A name that ends in @ is that of a template.
        self.name = self.name[:-1] + self.name[-1].replace("@", "a")
        self.file = f"output-{number}"
        self.description = "".join(chance.choice(self.signs) for _ in range(chance.randrange(20)))
        self.description = "x" + self.description.replace("\x00", "") + "x"
        # Half of them have nothing that is removed from a text, so that it can be compared.
        self.is_text = number % 2 == 0
        pieces = [sign.encode() for sign in self.signs] + [b"line\n", b"\n", b"x" * 1200]
        pieces += [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f"] if self.is_text else self.raw
        self.output = b"".join(chance.choice(pieces) for _ in range(chance.randrange(1, 40)))
        self.output = self.output[:3000] + b"end\n"

    @property
    def table(self):
        # TOML has the same strings as JSON, but no raw DEL.
        description = json.dumps(self.description, ensure_ascii=False).replace("\x7f", "\\u007f")
        return f"""
[job."{self.name}"]
description = {description}
every = "1d"
output-tail = "64KiB"
command = ["sh", "-c", "cat {WORK}/{self.file}; exit 3"]
notify = ["text", "raw", "facts"]
"""


def printable(text, kept="\t"):
    """What a reader sees of a text: nothing that moves a terminal or reverses a line."""
    return "".join(
        f"\\x{ord(sign):02x}"
        if sign not in kept and re.match("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", sign) else sign
        for sign in text)


def shortened(line, most=300):
    units = 0
    for index, sign in enumerate(line):
        units += len(sign.encode("utf-16-le")) // 2
        if units > most - 1 and len(line.encode("utf-16-le")) // 2 > most:
            return line[:index] + "…"
    return line


HOSTILE_JOBS = [HostileJob(number, random.Random(SEED + number)) for number in range(HOSTILE)]

# The notifier that runs a job, and the job.
PAGER = f"""
[notify.page]
job = "pager"

[job.pager]
every = "1d"
shell = "env | grep ^TIMERD_NOTIFY_ >{WORK}/marks/new; mv {WORK}/marks/new {WORK}/marks/page-$$; test ! -e {WORK}/marks/page-fails"
notify = ["pager-mail"]
"""


def configure(pager):
    # Replaced in one step: the daemon may read it at any time.
    write("timerd.toml.new", CONFIG + JOBS + pager + "".join(one.table for one in HOSTILE_JOBS))
    os.rename(f"{WORK}/timerd.toml.new", f"{WORK}/timerd.toml")


CONFIG = f"""
[daemon]
auto-reload = false

[notify.mail]
mail = "admin@example.org"
mail-from = "timerd@example.org"
sendmail = "{WORK}/sendmail"
batch = "1s"

[notify.many]
mail = "many@example.org"
sendmail = "{WORK}/sendmail"
batch = "20s"

[notify.cron]
mail = "cron@example.org"
sendmail = "{WORK}/sendmail"
on = ["output"]
batch = "0s"

[notify.hook]
url-credential = "hook"
format = "json"
batch = "0s"

[notify.gone]
webhook = "http://127.0.0.1:{AWAY}/ok/back"
format = "json"
batch = "0s"

[notify.text]
mail = "text@example.org"
mail-from = "timerd@example.org"
sendmail = "{WORK}/sendmail"
on = ["failure"]
batch = "0s"
per-hour = 10000

[notify.raw]
mail = "raw@example.org"
mail-from = "timerd@example.org"
mail-content-type = "application/octet-stream"
sendmail = "{WORK}/sendmail"
on = ["output"]
batch = "0s"
per-hour = 10000

[notify.facts]
webhook = "{BASE}/ok/facts"
batch = "0s"
per-hour = 10000

[notify.pager-mail]
mail = "pager@example.org"
sendmail = "{WORK}/sendmail"
batch = "0s"

[notify.long-hook]
webhook = "http://127.0.0.1:{LONG_AWAY[0]}/ok/long"
batch = "0s"

[notify.long-mail]
mail = "long@example.org"
sendmail = "{WORK}/long-sendmail"
batch = "0s"

[notify.pings]
ping = "{BASE}/ok/{uuid.UUID(int=7)}"
format = "healthchecks"
"""
for name in ["status/404", "status/500", "garbage", "away", "redirect", "large", "ok"]:
    CONFIG += f"""
[notify.{name.replace("/", "-")}]
webhook = "{BASE}/{name}/x"
format = "slack"
"""

JOBS = f"""
[job.flap]
description = "Grüße, Welt\\u001b[2J"
every = "100ms"
first = "0s"
shell = "echo line; echo 'it = broken é' >&2; echo x >> {WORK}/marks/runs; test -e {WORK}/marks/well"
notify = ["mail"]

[job.listing]
every = "1d"
shell = "echo from the job"
notify = ["cron"]

[job.secret]
every = "1d"
shell = "exit 4"
notify = ["hook"]

[job.unreachable]
every = "1d"
shell = "exit 5"
notify = ["gone"]

[job.paged]
every = "1d"
shell = "exit 7"
notify = ["page"]

[job.long]
every = "1d"
shell = "exit 8"
notify = ["long-hook", "long-mail"]

[job.pinged]
every = "1d"
shell = "echo pinged; test -e {WORK}/marks/well"
notify = ["pings"]
""" + "".join(f"""
[job.many-{number}]
after = "2s"
command = ["false"]
notify = ["many"]
""" for number in range(MANY))


def timerctl(*arguments, status=0):
    done = subprocess.run(
        [f"{PROGRAMS}/timerctl", "--socket", SOCKET, *arguments],
        capture_output=True, text=True, timeout=2 * TIMEOUT)
    expected = [status] if isinstance(status, int) else status
    assert done.returncode in expected, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def complaint(*arguments, status=4):
    done = subprocess.run(
        [f"{PROGRAMS}/timerctl", "--socket", SOCKET, *arguments],
        capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == status, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr


def messages(notifier):
    answer = json.loads(timerctl("notify", "list", "--json", "--limit", "200"))
    return [one for one in answer["messages"] if one["notifier"] == notifier]


def text_of(mail):
    return mail.get_content().replace("\r\n", "\n")


def runs():
    try:
        with open(f"{WORK}/marks/runs") as file:
            return len(file.readlines())
    except FileNotFoundError:
        return 0


# The tests, in their order.

def a_hundred_failures_are_one_mail_and_one_recovery():
    wait("100 runs failed", lambda: runs() >= 100)
    write("marks/well", "")
    wait("the recovery came", lambda: len(mails.to("admin@example.org")) >= 2)
    (sender, failure), (_, recovery) = mails.to("admin@example.org")
    assert sender == "timerd@example.org", sender
    assert failure["Subject"].startswith("flap failed on "), failure["Subject"]
    assert failure["Subject"].endswith(": exit 1"), failure["Subject"]
    assert failure["From"] == "timerd@example.org" and failure["To"] == "admin@example.org"
    assert failure["Auto-Submitted"] == "auto-generated" and failure["Date"]
    text = text_of(failure)
    assert text.splitlines()[0] == failure["Subject"], text
    assert "flap (Grüße, Welt\\x1b[2J)" in text and "    | it = broken é\n" in text, text
    assert "timerctl why flap" in text and not failure.defects, text
    assert recovery["Subject"].startswith("flap recovered on "), recovery["Subject"]
    assert recovery["In-Reply-To"] == failure["Message-ID"], recovery.as_string()
    assert recovery["Message-ID"] != failure["Message-ID"]
    # Nothing else waits that would become a third one.
    wait("all are sent", lambda: all(one["state"] == "sent" for one in messages("mail")))
    assert len(mails.to("admin@example.org")) == 2


def many_failures_at_once_are_few_mails():
    def told():
        return sum(one["notification_count"] for one in messages("many"))

    wait(f"{MANY} failures are in messages", lambda: told() == MANY, 2 * TIMEOUT)
    wait("all are sent", lambda: all(one["state"] == "sent" for one in messages("many")))
    found = [mail for _, mail in mails.to("many@example.org")]
    assert 1 <= len(found) <= 3, len(found)
    texts = "".join(mail.get_content() for mail in found)
    named = sum(f" many-{number} " in texts for number in range(MANY))
    assert named == MANY, named
    print(f"  {MANY} failures at once: {len(found)} mails")


def output_is_mailed_as_cron_does():
    timerctl("run", "listing", "--wait")
    (_, mail), = wait("the mail came", lambda: mails.to("cron@example.org"))
    assert mail["Subject"].startswith("Cron <") and mail["Subject"].endswith("> echo from the job")
    assert text_of(mail) == "from the job\n", text_of(mail)


def the_secret_is_nowhere():
    timerctl("run", "secret", "--wait", status=[1, 4])
    wait("the receiver hangs", lambda: web.hanging > 0)
    for place in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
        if f"/{os.getpid()}/" in place:
            continue
        try:
            with open(place, "rb") as file:
                assert SECRET.encode() not in file.read(), place
        except OSError:
            continue
    web.go_on.set()
    request, = wait("the request came", lambda: web.at("/slow/"))
    assert request.path == f"/slow/{SECRET}" and request.query == f"token={SECRET}"
    facts = json.loads(request.body)
    assert facts["version"] == 1 and facts["notifications"][0]["exit_status"] == 4, facts
    wait("it is sent", lambda: [one["state"] for one in messages("hook")] == ["sent"])
    shown = [timerctl("notify", "list"), timerctl("notify", "test", "hook")]
    shown += [timerctl("api", "get", path) for path in ["/v1/notifiers", "/v1/notifications"]]
    shown.append(timerctl("show", "secret", "--json"))
    for text in shown:
        assert SECRET not in text, text
    for place in [f"{WORK}/log"] + glob.glob(f"{WORK}/state/**/*", recursive=True):
        if os.path.isfile(place):
            with open(place, "rb") as file:
                assert SECRET.encode() not in file.read(), place


def a_receiver_that_comes_back_gets_it_once():
    timerctl("run", "unreachable", "--wait", status=[1, 5])
    wait("an attempt failed", lambda: any(one["attempts"] for one in messages("gone")))
    one, = messages("gone")
    assert one["state"] == "waiting" and one["error"] and one["next"], one
    assert "failing" in timerctl("notify", "list")
    back = Web(AWAY)
    try:
        timerctl("notify", "retry", str(one["number"]))
        request, = wait("it came", lambda: back.at("/ok/back"))
        wait("it is sent", lambda: messages("gone")[0]["state"] == "sent")
        assert json.loads(request.body)["notifications"][0]["job"] == "unreachable"
        assert "it was sent already" in timerctl("notify", "retry", str(one["number"]))
        assert len(back.at("/ok/back")) == 1
    finally:
        back.stop()
    assert "the latest is" in complaint("notify", "retry", "999999")


def healthchecks_gets_starts_and_ends():
    timerctl("run", "pinged", "--wait")
    os.remove(f"{WORK}/marks/well")
    timerctl("run", "pinged", "--wait", status=1)
    check = f"/ok/{uuid.UUID(int=7)}"
    pings = wait("four pings came", lambda: len(web.at(check)) >= 4 and web.at(check))
    assert [one.path.removeprefix(check) for one in pings] == ["/start", "/0", "/start", "/1"]
    rids = [parse_qs(one.query)["rid"][0] for one in pings]
    assert rids[0] == rids[1] and rids[2] == rids[3] and rids[0] != rids[2], rids
    assert all(uuid.UUID(rid).version == 5 for rid in rids)
    assert [one.body for one in pings] == [b"", b"pinged\n", b"", b"pinged\n"]


def a_test_says_what_was_sent_and_what_came_back():
    shown = timerctl("notify", "test", "mail")
    assert "> Subject: test of the notifier mail on " in shown and "\nsent in " in shown, shown
    wait("it came", lambda: any("test of" in mail["Subject"] for _, mail in mails.to("admin@example.org")))
    shown = timerctl("notify", "test", "ok")
    assert "< OK\\x1b[2J" in shown and "HTTP status 200" in shown, shown
    count = len(web.at("/ok/x"))
    assert "nothing was sent (dry run)" in timerctl("notify", "test", "ok", "--dry-run")
    assert len(web.at("/ok/x")) == count
    for name, word in [
        ("status-404", "HTTP status 404"), ("status-500", "HTTP status 500"), ("redirect", "302"),
        ("garbage", "not sent"), ("away", "not sent"), ("gone", "not sent"),
    ]:
        shown = timerctl("notify", "test", name, status=1)
        assert "\nnot sent: " in shown and word in shown and "\x1b" not in shown, shown
    assert not web.at("/ok/elsewhere")
    shown = timerctl("notify", "test", "large", status=[0, 1])
    assert len(shown) < 20000, len(shown)
    shown = complaint("notify", "test", "mial")
    assert 'did you mean "mail"?' in shown and "`timerctl notify list`" in shown, shown
    shown = complaint("notify", "test", status=2)
    assert "give the name of a notifier" in shown, shown


def tests_at_once_do_not_disturb_each_other():
    results = []

    def one():
        results.append(json.loads(timerctl("notify", "test", "ok", "--json")))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * TIMEOUT)
    assert len(results) == 8 and all(one["is_sent"] for one in results), results


def hostile_texts_stay_in_their_places():
    print(f"TIMERD_TEST_SEED={SEED}")
    # One after the other: what fails at once is one mail.
    for count, one in enumerate(HOSTILE_JOBS, 1):
        timerctl("run", one.name, "--wait", status=[1, 3])
        wait("the mail came", lambda: len(mails.to("text@example.org")) >= count and len(web.at("/ok/facts")) >= count)

    def arrived():
        with mails.lock:
            return [(envelope, raw) for _, envelope, raw in mails.raw if envelope[0] in ("text@example.org", "raw@example.org")]

    wait("all mails came", lambda: len(arrived()) >= 2 * HOSTILE)
    facts = wait("all requests came", lambda: len(web.at("/ok/facts")) >= HOSTILE and web.at("/ok/facts"))
    facts = {one["notifications"][0]["job"]: one["notifications"][0] for one in (json.loads(one.body) for one in facts)}
    by_job = {one.name: one for one in HOSTILE_JOBS}
    assert len(arrived()) == 2 * HOSTILE and facts.keys() == by_job.keys()
    allowed = ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "X-Timerd-Notifier", "X-Timerd-Job",
               "MIME-Version", "Content-Type", "Content-Transfer-Encoding"]
    for recipients, raw in arrived():
        assert all(len(line) <= 998 for line in raw.split(b"\r\n")) and max(raw) < 0x7f, raw
        mail = email.message_from_bytes(raw.replace(b"\r\n", b"\n"), policy=email.policy.default)
        one = by_job[mail["X-Timerd-Job"]]
        assert sorted(mail.keys()) == sorted(allowed) and not mail.defects and not mail.is_multipart(), mail.as_string()
        assert mail["To"] == recipients[0] and mail["From"] == "timerd@example.org", mail.as_string()
        if recipients == ["raw@example.org"]:
            assert mail.get_payload(decode=True) == one.output, (one.output, mail.as_string())
            continue
        assert re.fullmatch(f"{re.escape(one.name)} failed on [^ ]+: exit 3", mail["Subject"]), mail["Subject"]
        text = mail.get_content()
        assert f" {one.name} ({printable(one.description)})\n" in text, (one.description, text)
        assert text == printable(text, "\t\n"), text
        shown = [line[6:] for line in text.split("\n") if line.startswith("    |")]
        if one.is_text:
            lines = printable(one.output.decode("utf-8", "replace"), "\t\n").rstrip("\n").split("\n")
            expected = [shortened(line) for line in lines]
            while not expected[0]:
                expected.pop(0)
            while shown and not shown[0]:
                shown.pop(0)
            assert shown == expected[-len(shown):] and len(shown) >= min(len(expected), 10), (shown, expected)
        assert shown[-1].endswith("end") or shown[-1].endswith("…"), shown
    for one in HOSTILE_JOBS:
        assert facts[one.name]["description"] == one.description, facts[one.name]
        assert facts[one.name]["output"] == one.output.decode("utf-8", "replace"), (one.output, facts[one.name])


def pages():
    found = []
    for name in sorted(glob.glob(f"{WORK}/marks/page-*"), key=os.path.getmtime):
        if not name.endswith("page-fails"):
            with open(name) as file:
                found.append(dict(line.rstrip("\n").split("=", 1) for line in file))
    return found


def a_notifier_can_run_a_job():
    timerctl("run", "paged", "--wait", status=[1, 7])
    facts, = wait("the job of the notifier ran", pages)
    assert facts["TIMERD_NOTIFY_NOTIFIER"] == "page" and facts["TIMERD_NOTIFY_KIND"] == "failure", facts
    assert facts["TIMERD_NOTIFY_JOB"] == "paged" and facts["TIMERD_NOTIFY_RUN"].startswith("paged:"), facts
    assert facts["TIMERD_NOTIFY_OUTCOME"] == "exited(7)" and facts["TIMERD_NOTIFY_FAILED_IN_A_ROW"] == "1", facts
    assert facts["TIMERD_NOTIFY_SINCE"] and facts["TIMERD_NOTIFY_AT"], facts
    message, = wait("it is recorded", lambda: [one for one in messages("page") if one["state"] == "sent"])
    assert facts["TIMERD_NOTIFY_MESSAGE"] == str(message["number"]), (facts, message)
    # If it fails, another notifier says so; it is not run because of itself.
    write("marks/page-fails", "")
    assert "page" in timerctl("notify", "list", "--names").split("\n")
    timerctl("notify", "test", "page")
    facts = wait("it ran again", lambda: len(pages()) >= 2 and pages()[1])
    assert facts["TIMERD_NOTIFY_KIND"] == "test" and "TIMERD_NOTIFY_JOB" not in facts, facts
    (_, mail), = wait("the other notifier tells", lambda: mails.to("pager@example.org"))
    assert mail["Subject"].startswith("pager failed on "), mail["Subject"]
    os.remove(f"{WORK}/marks/page-fails")


def the_job_of_a_notifier_can_be_renamed_but_not_removed():
    def reload(pager, status):
        configure(pager)
        done = subprocess.run(
            [f"{PROGRAMS}/timerctl", "--socket", SOCKET, "reload"], capture_output=True, text=True, timeout=2 * TIMEOUT)
        assert (done.returncode == 0) == (status == 0), done
        return done.stdout + done.stderr

    before = len(pages())
    # The job that a notifier runs cannot name it, nor another one that runs a job.
    said = reload(PAGER.replace('["pager-mail"]', '["page"]'), 1)
    assert 'the notifier "page" runs this job' in said, said
    said = reload(PAGER.replace("[job.pager]", "[job.pagre]"), 1)
    # "paged" is as near as "pagre".
    assert 'there is no job "pager" (did you mean "pag' in said, said
    renamed = PAGER.replace("[job.pager]", '[job.pager2]\nrenamed-from = "pager"').replace('job = "pager"', 'job = "pager2"')
    reload(renamed, 0)
    # The incident of the job is still open, so only a test can tell that the notifier works.
    timerctl("notify", "test", "page")
    wait("the renamed job ran", lambda: len(pages()) > before)
    # A new notifier instead of the old one, with the same job.
    reload(renamed.replace("[notify.page]", "[notify.page2]").replace('notify = ["page"]', 'notify = ["page2"]'), 1)
    reload(renamed, 0)


def ten_minutes_after_a_receiver_is_back_all_has_come():
    """The receivers are away for ten minutes, twice as long as the longest time between the first attempts."""
    timerctl("run", "long", "--wait", status=[1, 8])
    wait("the first attempts failed", lambda: all(messages(one)[0]["attempts"] for one in ("long-hook", "long-mail")))
    time.sleep(float(os.environ.get("TIMERD_LONG_SECONDS") or 600))
    assert all(messages(one)[0]["state"] == "waiting" for one in ("long-hook", "long-mail"))
    began = time.monotonic()
    back = Web(LONG_AWAY[0])
    office = Mails(LONG_AWAY[1])
    try:
        wait("the request came", lambda: back.at("/ok/long"), 660)
        came = time.monotonic() - began
        wait("the mail came", lambda: office.to("long@example.org"), 660)
        mailed = time.monotonic() - began
        print(f"back after {came:.0f} s the request and after {mailed:.0f} s the mail had come")
        assert max(came, mailed) <= 601
        wait("they are sent", lambda: all(messages(one)[0]["state"] == "sent" for one in ("long-hook", "long-mail")))
        assert len(back.at("/ok/long")) == 1 and len(office.to("long@example.org")) == 1
    finally:
        back.stop()
        office.stop()


def metrics_count_the_messages():
    text = timerctl("metrics")
    assert 'timerd_notifications_total{notifier="mail",result="sent"}' in text, text
    assert 'timerd_notifications_total{notifier="gone",result="failed"}' in text, text


TESTS = [
    a_hundred_failures_are_one_mail_and_one_recovery, healthchecks_gets_starts_and_ends,
    output_is_mailed_as_cron_does, the_secret_is_nowhere, a_receiver_that_comes_back_gets_it_once,
    a_test_says_what_was_sent_and_what_came_back, tests_at_once_do_not_disturb_each_other,
    many_failures_at_once_are_few_mails, metrics_count_the_messages, hostile_texts_stay_in_their_places,
    a_notifier_can_run_a_job, the_job_of_a_notifier_can_be_renamed_but_not_removed,
]
if os.environ.get("TIMERD_LONG"):
    TESTS.append(ten_minutes_after_a_receiver_is_back_all_has_come)


def main():
    chosen = [test for test in TESTS if test.__name__ in sys.argv[3:]] or TESTS
    prepare()
    environment = dict(os.environ, CREDENTIALS_DIRECTORY=f"{WORK}/credentials")
    with open(f"{WORK}/log", "w") as log:
        daemon = subprocess.Popen(
            [f"{PROGRAMS}/timerd", "run", "--config", f"{WORK}/timerd.toml", "--state",
             f"{WORK}/state", "--log", "stderr"], stderr=log, env=environment)
    passed = failed = 0
    try:
        wait("the daemon answers", lambda: daemon.poll() is not None or os.path.exists(SOCKET))
        for test in chosen:
            try:
                assert daemon.poll() is None, "the daemon has ended"
                test()
                passed += 1
                print(f"ok {test.__name__}")
            except Exception:  # one failure does not keep the others from running
                failed += 1
                print(f"not ok {test.__name__}")
                traceback.print_exc(file=sys.stdout)
    finally:
        daemon.terminate()
        try:
            daemon.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            daemon.kill()
        web.stop()
        mails.stop()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
