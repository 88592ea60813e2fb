# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A run that waits for a file system starts when that is mounted, and not only when it is checked again; the wait
# survives restarts of both daemons.

ran() { inside test -e /run/condition-ran; }
# The seconds until the condition is checked again.
away() {
    inside timerctl show waits --json | python3 -c '
import datetime, json, sys
runs = json.load(sys.stdin)["running"]
again = runs[0].get("checked_again") if runs else None
print(0 if again is None else int((datetime.datetime.fromisoformat(again.replace("Z", "+00:00"))
    - datetime.datetime.now(datetime.timezone.utc)).total_seconds()))'
}

fresh
inside rm -f /run/condition-ran
inside mkdir -p /srv/disk
inside umount /srv/disk 2>/dev/null || true
configure <<'END'
[job.waits]
command = ["touch", "/run/condition-ran"]
user = "root"
on-demand = true
condition = { mounted = ["/srv/disk"], otherwise = "wait" }
END
inside timerctl reload >/dev/null
expect 'a run is requested' inside timerctl run waits
wait_for 30 'it waits, and is checked again in a while' at_least 6 away
expect 'it has not run' test "$(ran && echo yes || echo no)" = no
inside mount -t tmpfs tmpfs /srv/disk
wait_for 3 'it runs when the file system is mounted' ran
inside umount /srv/disk
inside rm -f /run/condition-ran
expect 'another one is requested' inside timerctl run waits
wait_for 10 'it waits' at_least 1 away
inside systemctl restart timerd timerd-runner
wait_for 40 'it waits after the restart of both' at_least 6 away
inside mount -t tmpfs tmpfs /srv/disk
wait_for 3 'it runs when the file system is mounted' ran
inside umount /srv/disk
inside rm -f /run/condition-ran
