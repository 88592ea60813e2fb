# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
"""check.py PROGRAMS WORK [TEST...]: one daemon, whose notifiers send to the receivers of this process."""

import glob
import json
import os
import subprocess
import sys
import threading
import traceback
import uuid
from urllib.parse import parse_qs

from receivers import PATIENCE, Mails, Web, unused_port, wait

PROGRAMS, WORK = sys.argv[1:3]
SOCKET = f"{WORK}/state/run/control.sock"
SECRET = "Zn4tSECRETq8"
MANY = 500


mails = Mails()
web = Web()
AWAY = unused_port()
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
    write("timerd.toml", CONFIG + JOBS)


CONFIG = f"""
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
        capture_output=True, text=True, timeout=2 * PATIENCE)
    expected = [status] if isinstance(status, int) else status
    assert done.returncode in expected, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


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
    assert failure["Subject"].endswith(": exit status 1"), failure["Subject"]
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

    wait(f"{MANY} failures are in messages", lambda: told() == MANY, 2 * PATIENCE)
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
    timerctl("notify", "retry", "999999", status=4)


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
    assert "did you mean" in subprocess.run(
        [f"{PROGRAMS}/timerctl", "--socket", SOCKET, "notify", "test", "mial"],
        capture_output=True, text=True, timeout=PATIENCE).stderr


def tests_at_once_do_not_disturb_each_other():
    results = []

    def one():
        results.append(json.loads(timerctl("notify", "test", "ok", "--json")))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE)
    assert len(results) == 8 and all(one["is_sent"] for one in results), results


def metrics_count_the_messages():
    text = timerctl("metrics")
    assert 'timerd_notifications_total{notifier="mail",result="sent"}' in text, text
    assert 'timerd_notifications_total{notifier="gone",result="failed"}' in text, text


TESTS = [
    a_hundred_failures_are_one_mail_and_one_recovery, healthchecks_gets_starts_and_ends,
    output_is_mailed_as_cron_does, the_secret_is_nowhere, a_receiver_that_comes_back_gets_it_once,
    a_test_says_what_was_sent_and_what_came_back, tests_at_once_do_not_disturb_each_other,
    many_failures_at_once_are_few_mails, metrics_count_the_messages,
]


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
            daemon.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            daemon.kill()
        web.stop()
        mails.stop()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
