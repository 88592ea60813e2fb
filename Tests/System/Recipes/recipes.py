# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""recipes.py BINARIES WORK [RECIPE...]: does with each recipe of docs/RECIPES.md what it is for, and asserts what it
says. What the test shortens or replaces in a recipe is in its `change`; the rest runs as it is on the page. `invoices`
is only checked, because it needs a fleet: Tests/System/Fleet has one."""

import glob
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import traceback
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import machine as machine_module
from machine import ROOT, USER, Machine, Recipe, Web, wait
from mistakes import MISTAKES

PAGE = f"{ROOT}/docs/RECIPES.md"
# What a machine without the programs, users and files of a recipe is warned of.
EXPLAINED = {"missing-program", "missing-directory", "missing-file", "unknown-user"}
FLEET = '[fleet]\nname = "prod"\nmachine = "web1"\netcd = ["https://10.0.0.1:2379"]\n'
BERLIN = ZoneInfo("Europe/Berlin")


def when(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def outcomes(machine, job):
    return [run["outcome"] for run in machine.history(job)]


def names(machine, *arguments):
    return machine.timerctl("list", "--names", *arguments).stdout.split()


def miss(machine, old, instants):
    """Lets the job miss its runs: the daemon knows the job, and is down at these times (seconds from now)."""
    for longer in (0, 15, 45):
        now = datetime.now(timezone.utc).replace(microsecond=0)
        due = [now + timedelta(seconds=second + longer) for second in instants]
        times = ", ".join(f'"{one:%Y-%m-%d %H:%M:%S} UTC"' for one in due)
        machine.change(old, f"calendar = [{times}]")
        machine.start()
        machine.stop()
        if datetime.now(timezone.utc) < due[0]:
            break
        # The machine is too slow for that: again, with more time.
        machine.text = machine.text.replace(f"calendar = [{times}]", old)
    wait("the times have passed", lambda: datetime.now(timezone.utc) > due[-1] + timedelta(seconds=1.5))
    return due


# The recipes, by the names of their files.

def backup(machine):
    machine.write("etc/timerd/secrets/restic", "horse battery\n")
    machine.program("restic", 'cat "$2" >"$NOTES/password"; echo snapshot 5f2a saved')
    machine.start()
    shown = machine.json("show", "backup")
    left = shown["remaining_usec"] / 60e6
    assert 29 < left <= 30 and shown["every_usec"] == 6 * 3600e6, f"the first run is after {left} min"
    said = machine.printed("timerctl run backup --wait")
    assert "snapshot 5f2a saved" in said
    call, = machine.calls("restic")
    credentials = call.environment["CREDENTIALS_DIRECTORY"]
    assert call.arguments == ["--password-file", f"{credentials}/restic", "backup", "--exclude-caches",
                              machine.path("srv"), machine.path("home")], call.arguments
    assert machine.read("notes/password") == "horse battery\n"
    assert call.environment["RESTIC_REPOSITORY"] == "sftp:backup@nas.example.org:/web1"
    assert call.nice == "10" and call.io == "idle", (call.nice, call.io)
    assert not os.path.exists(credentials), "the copy of the password is still there"
    before = machine.json("show", "backup")["elapsed_usec"]
    machine.printed("timerctl pause backup --note 'the NAS gets new disks'")
    paused = machine.json("show", "backup")
    machine.stop()
    machine.launch()
    after = machine.json("show", "backup")
    assert after["state"] == "paused" and after["elapsed_usec"] == paused["elapsed_usec"] > before, (before, paused, after)


def copy_to_disk(machine):
    machine.program("rsync")
    machine.mail_here()
    machine.change('"7d"', '"1s"')
    machine.start()
    said = machine.run("copy-to-disk", status=1).stderr
    assert "condition not met: mounted" in said, said
    assert outcomes(machine, "copy-to-disk")[0].startswith("skipped(condition mounted ")
    assert not names(machine, "--failed") and not machine.calls("rsync")
    machine.printed("timerctl history copy-to-disk")
    machine.printed("timerctl why copy-to-disk")
    to, mail = wait("a mail comes", machine.mails)[0]
    assert to == ["root"] and "copy-to-disk has not succeeded" in mail["Subject"], mail["Subject"]
    # /proc stands for the disk.
    machine.change('"/mnt/backup"', '"/proc"')
    machine.reload()
    machine.run("copy-to-disk")
    call, = machine.calls("rsync")
    assert call.arguments == ["-a", "--delete", machine.path("srv/"), machine.path("mnt/backup/srv/")], call.arguments


def laptop_backup(machine):
    said = machine.simulate("--from", "2026-12-01T08:00:00Z", "--to", "2026-12-02T08:00:00Z",
                            "--suspend", "2026-12-01T09:00:00Z..2026-12-01T21:30:00Z")
    assert re.findall(r"(\S+ \S+) \S+  laptop-backup  fires", said) == ["2026-12-01 21:30:00"], said
    machine.program("restic", "echo saved")
    machine.write("etc/timerd/secrets/restic", "secret\n")
    if on_battery():
        machine.change("ac-power = true\n", "")
    machine.configure()
    machine.check()
    # The daemon has no network until a line comes.
    user = [] if os.getuid() == 0 else ["--map-root-user"]
    machine.launch(["unshare", "--net", *user, "sh", "-c",
                    '"$@" </dev/null & trap "kill $!" TERM; read line && '
                    "ip link add wan type veth peer name wan2 && ip link set wan2 up && ip addr add 192.0.2.2/24 dev wan && ip link set wan up && "
                    "ip route add default via 192.0.2.1; wait $! || wait $!", "sh"])
    machine.timerctl("run", "laptop-backup")
    why = wait("it waits", lambda: waits_for_network(machine))
    assert re.search(r"skipped at [^()]*\(in (8 h|7 h 59 min)\)", why), why
    machine.printed("timerctl why laptop-backup")
    assert not machine.calls("restic")
    machine.daemon.stdin.write("\n")
    machine.daemon.stdin.flush()
    wait("it runs once the network is there", lambda: outcomes(machine, "laptop-backup"))
    assert outcomes(machine, "laptop-backup") == ["exited(0)"]
    machine.printed("timerctl run laptop-backup --force --wait")
    assert len(machine.calls("restic")) == 2


def waits_for_network(machine):
    why = machine.timerctl("why", "laptop-backup").stdout
    return why if "network-online" in why else None


def on_battery():
    """Whether this machine runs on its battery now."""
    supplies = [(open(f"{path}/type").read().strip(), open(f"{path}/online").read().strip())
                for path in glob.glob("/sys/class/power_supply/*") if os.path.exists(f"{path}/online")]
    return bool(supplies) and ("Mains", "1") not in supplies and ("USB", "1") not in supplies


def dump_shop(machine):
    machine.folder("var/backups/postgresql")
    machine.program("pg_dump", 'for a; do case $a in --file=*) echo "$DATA first" >"${a#--file=}" ;; esac; done')
    machine.start()
    machine.printed("timerctl run dump-shop --wait")
    call, = machine.calls("pg_dump")
    assert call.arguments == ["--format=custom", "--file=shop.part", "shop"], call.arguments
    assert call.directory == machine.path("var/backups/postgresql") and call.user == USER
    dump = machine.path("var/backups/postgresql/shop.dump")
    assert stat.S_IMODE(os.stat(dump).st_mode) == 0o600
    good = machine.read("var/backups/postgresql/shop.dump")
    machine.program("pg_dump", 'echo half >shop.part; echo "pg_dump: error: connection lost" >&2; exit 1')
    machine.run("dump-shop", status=1)
    assert machine.read("var/backups/postgresql/shop.dump") == good, "a dump that failed replaced the last good one"
    said = machine.printed("timerctl history dump-shop")
    assert "connection lost" in said


def pull(machine):
    machine.program("rsync")
    machine.start()
    jobs = ["pull@web1", "pull@web2", "pull@db1"]
    assert names(machine) == jobs
    for job in jobs:
        machine.run(job)
    arguments = [call.arguments for call in machine.calls("rsync")]
    assert arguments == [["-a", "--delete", f"root@{name}:/srv/", machine.path(f"var/backups/{name}/")]
                         for name in ("web1", "web2", "db1")], arguments
    assert machine.json("show", "pull@db1")["calendar"] == ["Sat *-*-* 12:00:00"], machine.json("show", "pull@db1")
    due = [when(machine.json("show", job)["next"]).astimezone() for job in jobs]
    assert due[0].hour == due[1].hour == 3 and due[0] != due[1] and due[2].hour == 12, due
    machine.printed("timerctl list --match 'pull@*'")
    machine.printed("timerctl pause pull@ --for 2h --note 'new switch'")
    assert names(machine, "--paused") == jobs


def certificates(machine):
    machine.program("certbot", "echo 'no route to the certificate authority' >&2; exit 1")
    machine.mail_here()
    machine.change('"5d"', '"1s"')
    machine.start()
    due = when(machine.json("next", "certificates")["instants"][0]).astimezone()
    assert due.hour in (0, 12), due
    machine.run("certificates", status=1)
    to, mail = wait("a mail comes", machine.mails)[0]
    assert to == ["root"] and "certificates has not succeeded" in mail["Subject"], mail["Subject"]
    machine.program("certbot", 'eval "$4"')
    machine.program("systemctl")
    machine.printed("timerctl run certificates --wait")
    mails = wait("another mail comes", lambda: len(machine.mails()) >= 2 and machine.mails())
    assert "certificates recovered" in mails[1][1]["Subject"], mails[1][1]["Subject"]
    call = machine.calls("certbot")[-1]
    assert call.arguments == ["renew", "--quiet", "--deploy-hook", "systemctl reload nginx"], call.arguments
    assert machine.calls("systemctl")[0].arguments == ["reload", "nginx"]
    machine.printed("timerctl notify test certificates")
    # The failure was no news.
    assert len(wait("the test comes", lambda: len(machine.mails()) >= 3 and machine.mails())) == 3


def rotate_logs(machine):
    machine.program("/usr/sbin/logrotate")
    due = miss(machine, 'calendar = "00:00"', [4, 5])
    machine.launch()
    call, = wait("it catches up", lambda: machine.calls("logrotate"))
    assert call.environment["TIMERD_MISSED"] == "1", call.environment
    assert when(call.environment["TIMERD_SCHEDULED"]) == due[0], call.environment
    assert call.arguments == [machine.path("etc/logrotate.conf")] and call.nice == "19" and call.io == "idle"
    machine.stop()
    machine.text = machine.recipe.toml
    machine.configure()
    machine.check()
    machine.launch()
    machine.printed("timerctl next rotate-logs")
    assert outcomes(machine, "rotate-logs") == ["exited(0)"], "two missed runs are caught up once"


def old_uploads(machine):
    machine.folder("var/lib/shop/uploads")
    machine.folder("var/lib/shop/uploads/deeper")
    for name, days in (("old", 31.5), ("deeper/older", 400), ("new", 29), ("deeper/newer", 0)):
        path = machine.path(f"var/lib/shop/uploads/{name}")
        open(path, "w").close()
        os.utime(path, (time.time() - days * 86400,) * 2)
    # The file of another user, in a directory of another user.
    os.makedirs(machine.path("var/lib/shop/uploads/foreign"), exist_ok=True)
    machine.start()
    machine.printed("timerctl run old-uploads --wait")
    left = sorted(os.path.relpath(os.path.join(folder, name), machine.path("var/lib/shop/uploads"))
                  for folder, _, files in os.walk(machine.path("var/lib/shop/uploads")) for name in files)
    assert left == ["deeper/newer", "new"], left
    if os.getuid() == 0:
        path = machine.path("var/lib/shop/uploads/foreign/file")
        open(path, "w").close()
        os.utime(path, (0, 0))
        said = machine.run("old-uploads", status=1)
        assert os.path.exists(path) and "foreign/file" in said.stderr, said
        # Only the run that failed is in the log.
        log = machine.read("log")
        assert "old-uploads: run" in log and "old-uploads: succeeded" not in log, log


def announce(machine):
    """A boot is a new id of the boot, which is mounted over that of the kernel."""
    machine.program("announce")
    machine.change('"2min"', '"1s"')
    machine.configure()
    machine.check()
    user = [] if os.getuid() == 0 else ["--map-root-user"]
    around = ["unshare", "--mount", *user, "sh", "-c",
              f'mount --bind {machine.path("boot")} /proc/sys/kernel/random/boot_id && exec "$@"', "sh"]

    def boot(number):
        machine.write("boot", f"0000000{number}-0000-4000-8000-000000000000\n", 0o644)

    boot(1)
    text, machine.text = machine.text, "\n"
    machine.configure()
    machine.launch(around)
    machine.text = text
    machine.reload()
    machine.printed("timerctl why announce")
    machine.stop()
    machine.launch(around)
    assert machine.json("show", "announce")["state"] == "finished", machine.json("show", "announce")
    machine.stop()
    boot(2)
    machine.launch(around)
    wait("it runs after the boot", lambda: outcomes(machine, "announce"))
    machine.stop()
    machine.launch(around)
    machine.printed("timerctl run announce --wait")
    causes = [run["cause"] for run in machine.history("announce")]
    assert causes == ["schedule", "requested"], causes
    assert machine.calls("announce")[0].arguments == ["--up"]


def reindex(machine):
    said = machine.simulate("--from", "2026-12-03T08:00:00+01:00", "--to", "2026-12-04T13:00:00+01:00",
                            "--run-time", "reindex=9h")
    # From 22:00 to 6:00 in Berlin, once for all that was due in the day.
    assert re.findall(r"2026-12-0(\d \d\d:\d\d:\d\d) \S+  reindex  (fires|is stopped)", said) == [
        ("3 21:00:00", "fires"), ("4 05:00:00", "is stopped")], said
    machine.program("reindex", "echo rebuilt")
    far = datetime.now(BERLIN) + timedelta(days=3)
    machine.change('every = "6h"', 'every = "100ms"')
    machine.change('["Mon..Fri 22:00-06:00", "Sat..Sun"]', f'["{far:%a} 10:00-12:00"]')
    machine.start()
    # Ten of its intervals.
    wait("it was due", lambda: machine.json("show", "reindex")["active_usec"] > 1e6)
    assert " is closed until " in machine.printed("timerctl why reindex")
    assert not machine.calls("reindex"), "it ran outside its window"
    assert "rebuilt" in machine.printed("timerctl run reindex --wait")
    assert len(machine.calls("reindex")) == 1
    machine.change(f'["{far:%a} 10:00-12:00"]', '["Mon..Sun"]')
    machine.reload()
    wait("it runs in its window", lambda: len(machine.calls("reindex")) > 1)


def statement(machine):
    machine.program("statement")
    machine.start()
    days = [when(one).astimezone(BERLIN) for one in machine.json("next", "statement", "-n", "12")["instants"]]
    assert all((one.day, one.hour, one.minute) == (1, 7, 0) for one in days), days
    months = [one.month for one in days]
    assert set(months) == {2, 3, 4, 6, 7, 8, 9, 10, 11, 12}, months
    assert len(machine.printed("timerctl next statement -n 12").splitlines()) >= 12
    # What the page says about a line of cron.
    line = re.search(r'`cron = "([^"]+)"`', machine.page)[1]
    said = machine.json("next", "--cron", line, "--timezone", "Europe/Berlin", "--from", "2026-12-15T00:00:00Z", "-n", "12")
    for one, month in zip(said["instants"], [*range(1, 13)]):
        first = date(2027, month, 1)
        near = first + timedelta(days={5: 2, 6: 1}.get(first.weekday(), 0))
        assert when(one).astimezone(BERLIN).date() == near, (one, near)


def inventory(machine):
    machine.program("inventory")
    miss(machine, 'calendar = "05:00"', [4])
    machine.launch()
    shown = machine.json("show", "inventory")
    run, = shown["running"]
    ahead = (when(run["starts_at"]) - datetime.now(timezone.utc)).total_seconds()
    assert run["waits"] == "catch-up-delay" and 0 < ahead <= 1800, shown
    machine.printed("timerctl why inventory")
    assert not machine.calls("inventory")
    # After another restart only the rest passes.
    machine.stop()
    machine.launch()
    again, = machine.json("show", "inventory")["running"]
    assert again["id"] == run["id"] and when(again["starts_at"]) < when(run["starts_at"]) + timedelta(seconds=30), again
    machine.stop()
    shutil.rmtree(machine.path("state"))
    machine.text = machine.recipe.toml
    machine.change('"30min"', '"1s"')
    due, = miss(machine, 'calendar = "05:00"', [4])
    machine.launch()
    wait("it catches up", lambda: outcomes(machine, "inventory"))
    call, = machine.calls("inventory")
    assert when(call.environment["TIMERD_SCHEDULED"]) == due, call.environment
    machine.printed("timerctl history inventory")
    # On time it does not wait.
    machine.text = machine.recipe.toml
    soon = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(seconds=3)
    machine.change('calendar = "05:00"', f'calendar = "{soon:%Y-%m-%d %H:%M:%S} UTC"')
    machine.reload()
    wait("it runs on time", lambda: len(machine.calls("inventory")) == 2, 30)


def archive(machine):
    machine.program("archive", "echo made >&2")
    machine.program("rclone", 'echo "$TIMERD_CAUSE_JOB $TIMERD_CAUSE_RESULT"')
    machine.program("archive-repair", 'echo "$TIMERD_CAUSE_JOB $TIMERD_CAUSE_RESULT"')
    machine.start()
    machine.printed("timerctl run archive --wait")
    wait("the upload follows", lambda: outcomes(machine, "upload"))
    machine.printed("timerctl why upload")
    machine.program("archive", "exit 4")
    machine.run("archive", status=4)
    wait("the repair follows", lambda: outcomes(machine, "archive-repair"))
    for job, result in (("upload", "success"), ("archive-repair", "failed")):
        run, = machine.history(job)
        assert run["output"] == f"archive {result}\n", run
    assert len(machine.calls("rclone")) == len(machine.calls("archive-repair")) == 1
    assert machine.calls("rclone")[0].arguments == ["sync", machine.path("var/archive"), "remote:archive"]


def disk(machine):
    held = 'mkdir "$NOTES/held" || touch "$NOTES/overlap"\n'
    free = 'rmdir "$NOTES/held"\n'
    until = 'until [ -e "$NOTES/release" ]; do sleep 0.02; done\n'
    machine.program("btrfs", held + until + free)
    machine.program("thumbnails", held + free)
    machine.program("updatedb", held + free)
    # The schedule of the one that does not wait.
    machine.change('calendar = "hourly"', 'every = "1s"')
    machine.start()
    wait("updatedb runs", lambda: machine.calls("updatedb"))
    machine.timerctl("run", "scrub")
    wait("the scrub is active", lambda: machine.calls("btrfs"))
    machine.timerctl("run", "thumbnails")
    machine.printed("timerctl slots")
    machine.printed("timerctl why thumbnails")
    slot, = machine.json("slots")["slots"]
    assert [one["job"] for one in slot["holders"]] == ["scrub"], slot
    assert [one.split(":")[0] for one in slot["waiting"]] == ["thumbnails"], slot
    count = len(machine.calls("updatedb"))
    # It is due, and is skipped and does not wait.
    wait("updatedb is skipped", lambda: "slot-busy" in skips(machine, "locate"))
    assert len(machine.calls("updatedb")) == count and not machine.calls("thumbnails")
    machine.write("notes/release", "", 0o644)
    wait("the others run", lambda: machine.calls("thumbnails") and len(machine.calls("updatedb")) > count + 1)
    assert outcomes(machine, "scrub") == ["exited(0)"] and outcomes(machine, "thumbnails") == ["exited(0)"]
    machine.timerctl("pause", "locate")
    wait("all have ended", lambda: not machine.json("slots")["slots"][0]["holders"])
    assert not os.path.exists(f"{machine.notes}/overlap"), "two of them ran at the same time"


def skips(machine, job):
    """Why runs were skipped."""
    return [one["reason"] for one in machine.json("history", job)["skipped_runs"]]


def invoices(machine):
    """It needs three machines and etcd, so that its commands do not run here."""
    machine.program("invoices")
    machine.main = FLEET
    machine.configure()
    machine.check()
    assert 'fleet = "one"' in machine.text
    # Without the table that the recipe names it is refused.
    machine.main = ""
    machine.configure()
    said = machine.timerd("check", machine.path("etc/timerd/timerd.toml"))
    assert said.returncode == 1 and "fleet" in said.stderr, said
    machine.done = [command for command, _ in machine.recipe.commands]
    assert all(command.startswith("timerctl ") for command in machine.done)


def weekly_report(machine):
    machine.program("weekly-report")
    machine.mail_here()
    machine.start()
    machine.run("weekly-report")
    machine.program("weekly-report", 'seq 1 5000; echo "19 orders"')
    machine.printed("timerctl run weekly-report --wait")
    to, mail = wait("a mail comes", machine.mails)[0]
    assert to == ["anna@example.org", "ben@example.org"], to
    text = mail.get_content()
    # More than the usual 8 KiB.
    assert "19 orders" in text and "\n2\n" in text.replace("\r", ""), text[:2000]
    machine.program("weekly-report", "echo no database; exit 5")
    machine.run("weekly-report", status=5)
    mails = wait("another mail comes", lambda: len(machine.mails()) > 1 and machine.mails())
    assert "exit 5" in mails[1][1]["Subject"] and "no database" in mails[1][1].get_content()
    # None about the run that wrote nothing, and one about the one that failed.
    machine.printed("timerctl notify list")
    messages = machine.json("notify", "list")["messages"]
    assert len(messages) == 2 and len(machine.mails()) == 2, messages


def stock(machine):
    machine.program("fetch-stock", "echo warehouse does not answer; exit 1")
    machine.mail_here()
    machine.start()
    machine.run("stock", status=1)
    machine.run("stock", status=1)
    assert machine.json("notify", "list")["messages"] == [], "there is a message before the third failure"
    machine.run("stock", status=1)
    wait("a mail comes", machine.mails)
    machine.printed("timerctl failures")
    machine.run("stock", status=1)
    machine.program("fetch-stock")
    machine.run("stock")
    mails = wait("another mail comes", lambda: len(machine.mails()) > 1 and machine.mails())
    machine.printed("timerctl notify list")
    third = machine.history("stock")[2]["id"]
    assert third in mails[0][1].get_content(), mails[0][1].get_content()
    assert mails[0][0] == ["ops@example.org"] and "recovered" in mails[1][1]["Subject"], mails[1][1]["Subject"]
    assert len(machine.json("notify", "list")["messages"]) == len(mails) == 2, mails


def replicate(machine):
    web = Web()
    machine.program("replicate", "echo replicated")
    machine.change("https://hc-ping.com/", f"http://127.0.0.1:{web.port}/")
    machine.start()
    machine.printed("timerctl run replicate --wait")
    wait("the pings come", lambda: len(web.requests) == 2)
    found = [re.fullmatch(r"/8d5a6b2e-0000-4000-8000-000000000000/(\w+)\?rid=([0-9a-f-]{36})", one) for one in web.requests]
    assert [one and one[1] for one in found] == ["start", "0"] and found[0][2] == found[1][2], web.requests
    machine.program("replicate", "exit 3")
    machine.run("replicate", status=3)
    wait("the pings come", lambda: len(web.requests) == 4)
    assert "/start?" in web.requests[2] and "/3?" in web.requests[3], web.requests
    machine.printed("timerctl notify test hc-replicate")
    assert len(web.requests) == 5, web.requests


def metrics(machine):
    machine.folder("var/lib/prometheus/node-exporter")
    machine.start()
    machine.run("metrics")
    machine.printed("timerctl run metrics --wait")
    text = machine.read("var/lib/prometheus/node-exporter/timerd.prom")
    success = re.search(r'^timerd_job_last_success_timestamp_seconds\{name="metrics"\} (\S+)$', text, re.M)
    assert success and abs(float(success[1]) - time.time()) < 60, text
    assert os.listdir(machine.path("var/lib/prometheus/node-exporter")) == ["timerd.prom"]
    mode = stat.S_IMODE(os.stat(machine.path("var/lib/prometheus/node-exporter/timerd.prom")).st_mode)
    assert mode == 0o644, oct(mode)


def prices(machine):
    machine.folder("var/lib/shop")
    # It fails, hangs, hangs and ignores SIGTERM, and works.
    machine.program("curl", f"""
        case $(ls "$NOTES" | grep -c '^call.curl') in
        1) echo 'curl: (22) 503' >&2; exit 22 ;;
        2) exec sleep 1000 ;;
        3) trap '' TERM; sleep 1000 & while :; do wait; done ;;
        *) echo 17 >new.csv ;;
        esac""")
    machine.change('"2min"', '"2s"')
    machine.change('"5s"', '"300ms"')
    machine.change('"10s"', '"100ms"')
    machine.start()
    machine.run("prices", status=22)
    wait("the last retry has ended", lambda: len(machine.history("prices")) == 4)
    runs = machine.history("prices")
    assert [run["outcome"] for run in runs] == ["exited(22)", "timed-out", "timed-out", "exited(0)"], runs
    delays = [(when(next["began"]) - when(last["ended"])).total_seconds() for last, next in zip(runs, runs[1:])]
    assert all(delay >= least for delay, least in zip(delays, (0.1, 0.2, 0.4))), delays
    took = [run["elapsed_usec"] / 1e6 for run in runs]
    assert took[1] >= 2 and took[2] >= 2.3, took
    assert machine.read("var/lib/shop/prices.csv") == "17\n"
    assert not names(machine, "--failed")
    call = machine.calls("curl")[0]
    assert call.arguments == ["--fail", "--silent", "--show-error", "--output", "new.csv", "https://example.org/prices.csv"]
    assert call.directory == machine.path("var/lib/shop") and call.user == USER
    machine.printed("timerctl run prices --wait")
    machine.printed("timerctl history prices")
    # Without end, it has failed after three retries.
    machine.program("curl", "exit 7")
    machine.run("prices", status=7)
    wait("the last retry has ended", lambda: len(machine.history("prices")) == 9)
    wait("it has failed", lambda: machine.json("show", "prices")["state"] == "armed")
    assert names(machine, "--failed") == ["prices"] and len(machine.calls("curl")) == 9


def publish(machine):
    secret = "Authorization: Bearer Zn4tRq8x"
    machine.folder("var/lib/shop")
    machine.write("etc/timerd/secrets/status-header", secret + "\n")
    machine.program("curl", """
        for argument; do case $argument in @/*)
            cat "${argument#@}" >"$NOTES/header"
            stat -c %a "${argument#@}" >"$NOTES/mode"
            ! echo more >>"${argument#@}" || exit 2
        ;; esac; done
        until [ -e "$NOTES/release" ]; do sleep 0.02; done
        echo published""")
    machine.start()
    machine.timerctl("run", "publish")
    call, = wait("it runs", lambda: machine.calls("curl"))
    if os.getuid() == 0:
        copy = f"{call.environment['CREDENTIALS_DIRECTORY']}/header"
        said = subprocess.run(["cat", copy], user="daemon", group="daemon", extra_groups=[], capture_output=True, text=True)
        assert said.returncode and "Permission denied" in said.stderr, "another user can read the copy"
    machine.write("notes/release", "", 0o644)
    wait("it has ended", lambda: outcomes(machine, "publish") == ["exited(0)"])
    os.unlink(call.path)
    machine.printed("timerctl run publish --wait")
    call, = machine.calls("curl")
    search(machine, "Zn4tRq8x", call)
    assert machine.read("notes/header") == secret + "\n"
    # What a group may is the limit of its access list here.
    assert machine.read("notes/mode").rstrip() in ("400", "440"), machine.read("notes/mode")
    assert call.user == USER
    header = f"{call.environment['CREDENTIALS_DIRECTORY']}/header"
    assert call.arguments == ["--fail", "--silent", "--header", f"@{header}", "--data", "@status.json",
                              "https://example.org/status"], call.arguments
    assert not os.path.exists(os.path.dirname(header)), "the copy is still there"


def search(machine, secret, call):
    """No command shows the secret, and nothing has saved it."""
    run = machine.history("publish")[-1]
    found = [machine.printed("timerctl show publish"), machine.read("log"), str(vars(call))]
    for arguments in (["show", "publish", "--json"], ["show", run["id"]], ["history", "publish"], ["log", "publish"],
                      ["events"], ["list", "--json"], ["why", "publish"], ["metrics"]):
        found.append(machine.timerctl(*arguments).stdout)
    assert all(found) and not any(secret in one for one in found), "the secret is shown"
    state = subprocess.run(["grep", "-rl", secret, machine.path("state")], capture_output=True, text=True)
    assert state.returncode == 1, f"the secret is in {state.stdout}"


def thumbnailer(machine):
    machine.program("podman", "echo 12 thumbnails")
    machine.start()
    machine.printed("timerctl run thumbnailer --wait")
    assert machine.history("thumbnailer")[0]["output"] == "12 thumbnails\n"
    assert machine.calls("podman")[0].arguments == [
        "run", "--rm", "--replace", "--name", "thumbnailer", "--volume", f"{machine.path('srv/pictures')}:/pictures",
        "registry.example.org/thumbnailer:3", "--all"], machine.calls("podman")[0].arguments
    machine.program("podman", "exit 125")
    machine.run("thumbnailer", status=125)
    # As podman does, it passes SIGTERM on, and ends when the container has ended.
    machine.program("podman", "trap 'echo container stopped; exit 143' TERM; sleep 1000 & wait")
    machine.timerctl("run", "thumbnailer")
    wait("it runs", lambda: len(machine.calls("podman")) == 3)
    machine.printed("timerctl kill thumbnailer")
    wait("it is stopped", lambda: len(machine.history("thumbnailer")) == 3)
    machine.change('"50min"', '"2s"')
    machine.reload()
    machine.run("thumbnailer", status=1)
    runs = machine.history("thumbnailer")
    assert [run["outcome"] for run in runs] == ["exited(0)", "exited(125)", "stopped", "timed-out"], runs
    assert runs[3]["output"] == "container stopped\n", runs[3]
    # An hour after the end of that one, and not after the start of the daemon.
    left = when(machine.json("show", "thumbnailer")["next"]) - when(runs[3]["ended"])
    assert abs(left.total_seconds() - 3600) < 0.2, left


def deploy(machine):
    machine.program("deploy", 'echo "installed $*"')
    machine.start()
    assert "next" not in machine.json("show", "deploy")
    machine.printed("timerctl run deploy --wait -- web --dry-run")
    assert machine.calls("deploy")[0].arguments == ["web", "--dry-run"] and machine.calls("deploy")[0].user == USER
    said = machine.timerctl("run", "deploy", "--", "web; rm -r /", status=1).stderr
    assert "web; rm -r /" in said, said
    said = machine.printed("timerctl history deploy")
    run, = machine.history("deploy")
    assert run["requested_by"] and run["arguments"] == ["web", "--dry-run"], run
    # One at a time: the second one waits.
    machine.program("deploy", 'until [ -e "$NOTES/release" ]; do sleep 0.02; done')
    machine.timerctl("run", "deploy", "--", "api")
    wait("the first one runs", lambda: len(machine.calls("deploy")) == 2)
    machine.timerctl("run", "deploy", "--", "web")
    waits = [run.get("waits") for run in machine.json("show", "deploy")["running"]]
    assert waits == [None, "previous-run"], waits
    assert len(machine.calls("deploy")) == 2
    machine.write("notes/release", "", 0o644)
    wait("both have ended", lambda: len(machine.history("deploy")) == 3)
    first, second = machine.history("deploy")[1:]
    assert first["ended"] <= second["began"] and machine.calls("deploy")[2].arguments == ["web"]


def inbox(machine):
    machine.program("import-inbox", "exit 75")
    machine.mail_here()
    machine.change('"1d"', '"1s"')
    machine.start()
    machine.run("inbox", status=75)
    machine.run("inbox", status=75)
    assert outcomes(machine, "inbox") == ["skipped(exit 75)"] * 2
    assert not names(machine, "--failed")
    machine.printed("timerctl history inbox")
    machine.printed("timerctl show inbox")
    to, mail = wait("a mail comes", machine.mails)[0]
    assert to == ["root"] and "inbox has not succeeded" in mail["Subject"], mail["Subject"]
    machine.program("import-inbox")
    machine.run("inbox")
    mails = wait("another mail comes", lambda: len(machine.mails()) > 1 and machine.mails())
    assert "inbox recovered" in mails[1][1]["Subject"], mails[1][1]["Subject"]


# The page

def sections(text):
    for part in re.split(r"(?m)^## ", text)[1:]:
        heading, _, rest = part.partition("\n")
        yield heading, rest


def check_page(text, recipes):
    """Each recipe has a test, and an entry in the list at the beginning."""
    for recipe in recipes:
        assert callable(globals().get(recipe.name.replace("-", "_"))), f"{recipe.name} has no test"
    assert len(recipes) >= 20
    links = re.findall(r"\]\(#([\w-]+)\)", text.split("\n## ")[0])
    anchors = [re.sub(r"[^\w -]", "", recipe.heading.lower()).replace(" ", "-") for recipe in recipes]
    assert sorted(links) == sorted(anchors), set(links) ^ set(anchors)
    for line in text.splitlines():
        assert len(line) <= 120 or line.startswith("|"), line


def check_together(binaries, work, recipes):
    """All recipes can be used on one machine, as they are on the page. What is not there is warned of, and nothing else:
    in no usual time zone does a change of the clock move one of them."""
    os.makedirs(f"{work}/all/jobs.d")
    for name, text in [("timerd.toml", FLEET)] + [(f"jobs.d/{recipe.name}.toml", recipe.toml) for recipe in recipes]:
        with open(f"{work}/all/{name}", "w") as file:
            file.write(text)
        os.chmod(f"{work}/all/{name}", 0o600)
    for zone in ("UTC", "Europe/London", "Europe/Berlin", "America/New_York", "Australia/Sydney"):
        said = subprocess.run([f"{binaries}/timerd", "check", f"{work}/all/timerd.toml"], env={**os.environ, "TZ": zone},
                              capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
        for line in said.stderr.splitlines():
            code = re.search(r": warning: .*\[([\w-]+)\]$", line)
            assert code and code[1] in EXPLAINED or re.fullmatch(r"\d+ warnings?", line), line


def attempt(binaries, work, recipe, page):
    """Tests one recipe; the error, with the last lines of the daemon, or nothing."""
    machine = Machine(binaries, work, recipe)
    machine.page = page
    try:
        globals()[recipe.name.replace("-", "_")](machine)
        rest = [command for command, _ in recipe.commands if command not in machine.done]
        assert not rest, f"not run: {rest}"
    except Exception as error:
        log = machine.read("log").splitlines()[-20:] if os.path.exists(machine.path("log")) else []
        return error, "\n".join([traceback.format_exc(), "the last lines of the daemon:", *log])
    finally:
        machine.stop()
    return None


def test_mistakes(binaries, work, text, chosen):
    """Each mistake is noticed."""
    passed, failed = 0, 0
    for name, mistakes in MISTAKES.items():
        for number, (old, new) in enumerate(mistakes if not chosen or name in chosen else []):
            heading, part = next(each for each in sections(text) if f"/jobs.d/{name}.toml" in each[1])
            # In the file, and not in the sentences about it.
            place = part.index("```toml")
            wrong = part[:place] + part[place:].replace(old, new, 1)
            assert wrong != part, f"{name}: {old!r} is not in the recipe"
            os.mkdir(f"{work}/{name}-{number}")
            found = attempt(binaries, f"{work}/{name}-{number}", Recipe(heading, wrong), text.replace(part, wrong))
            passed, failed = passed + bool(found), failed + (not found)
            reason = str(found[0]).splitlines()[0][:150] if found and str(found[0]) else found and repr(found[0])
            print(f"{'ok' if found else 'FAILED, nothing noticed'} {name}: {old!r} -> {new!r}: {reason}", flush=True)
    return passed, failed


def test_recipes(binaries, work, text, chosen):
    recipes = [Recipe(heading, part) for heading, part in sections(text)]
    passed, failed = 0, 0
    if not chosen:
        check_page(text, recipes)
        check_together(binaries, work, recipes)
        print("ok the page, and all recipes together", flush=True)
        passed += 1
    for recipe in recipes:
        if chosen and recipe.name not in chosen:
            continue
        began = time.monotonic()
        found = attempt(binaries, work, recipe, text)
        passed, failed = passed + (not found), failed + bool(found)
        print(f"FAILED {recipe.name}: {recipe.heading}\n{found[1]}" if found else
              f"ok {recipe.name}: {recipe.heading} ({time.monotonic() - began:.1f} s)", flush=True)
    return passed, failed


def main(binaries, work, *chosen):
    with open(PAGE) as file:
        text = file.read()
    # Then the daemon is stopped too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    test = test_recipes
    if "--mistakes" in chosen:
        # What does not happen, does not happen for this long.
        test, machine_module.TIMEOUT = test_mistakes, 8
    passed, failed = test(binaries, work, text, [name for name in chosen if name != "--mistakes"])
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
