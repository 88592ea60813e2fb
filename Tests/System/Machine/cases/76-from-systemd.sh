# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A timer of systemd becomes a job and later a timer again, with the commands of docs/FROM-SYSTEMD-TIMERS.md as they
# are printed there. Each time of the schedule runs exactly once, also at both switches.

slots=$MACHINE_ROOT/var/tmp/slots
# by WHO: how often it ran the backup.
by() { if [ -e "$slots" ]; then grep -c " $1\$" "$slots" || true; else echo 0; fi; }
# once_more WHO: the moment after a run, when the next one is ten seconds away.
once_more() { wait_for 60 "another run by $1" at_least "$(($(by "$1") + 1))" by "$1"; }
# each_once: no time of the schedule is missing between the first one and the last one, and none is there twice.
each_once() {
    awk '{ slot = $1 - $1 % 10 } NR > 1 && slot != last + 10 { print "after " last " comes " slot; bad = 1 }
        { last = slot } END { exit bad }' "$slots"
}
# follow HEADING: runs the commands of a section of the guide.
follow() {
    local command
    guide FROM-SYSTEMD-TIMERS.md "$1" | while read -r command; do
        inside sh -c "$command" </dev/null || fail "the guide's command fails: $command"
    done
}

fresh
rm -f "$slots"
cat >"$MACHINE_ROOT/usr/local/bin/backup" <<'SH'
#!/bin/sh
echo "$(date +%s) ${TIMERD_JOB:-systemd}" >>/var/tmp/slots
SH
chmod 755 "$MACHINE_ROOT/usr/local/bin/backup"
cat >"$MACHINE_ROOT/etc/systemd/system/backup.timer" <<'UNIT'
[Timer]
OnCalendar=*:*:0/10
AccuracySec=1ms
Persistent=true
[Install]
WantedBy=timers.target
UNIT
cat >"$MACHINE_ROOT/etc/systemd/system/backup.service" <<'UNIT'
[Service]
Type=oneshot
ExecStart=/usr/local/bin/backup
UNIT
inside systemctl daemon-reload
inside systemctl enable --now backup.timer

once_more systemd
once_more systemd
follow 'Switch over'
expect 'the timer is off' equals disabled inside systemctl is-enabled backup.timer
ran=$(by systemd)
once_more backup
once_more backup
expect 'systemd runs it no more' equals "$ran" by systemd
follow 'Switch back'
once_more systemd
once_more systemd
inside systemctl disable --now backup.timer
cat "$slots"
expect 'each time exactly once' each_once
expect_status 4 'the job is gone' inside timerctl show backup
inside rm -f /etc/systemd/system/backup.timer /etc/systemd/system/backup.service /usr/local/bin/backup /var/tmp/slots \
    /etc/timerd/jobs.d/systemd-backup.toml.off
inside systemctl daemon-reload
