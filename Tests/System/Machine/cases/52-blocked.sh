# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A queue that hangs while the rest of the daemon works. If it is the deciding queue, the watchdog kills the
# daemon. If it is the queue that writes to a stalled disk, the daemon waits for it and loses nothing. strace(1)
# holds a thread in a system call.

# hold NAME OPTION...: holds the daemon's threads in this way, until `let_go NAME`.
hold() {
    local name=$1
    shift
    inside systemd-run -q --unit="$name" strace -q -o "/root/$name" "$@"
    wait_for 10 'strace holds it' is_traced
}
# SIGKILL, because strace would wait for a thread that it holds.
let_go() { inside systemctl kill -s KILL "$1"; }
is_traced() { inside sh -c 'grep -q "^TracerPid:.[1-9]" /proc/'"$pid"'/task/*/status'; }
another_daemon() {
    local now
    now=$(property MainPID)
    [ "$now" != 0 ] && [ "$now" != "$pid" ] && inside timerctl list
}
# held: how many of its threads are held in a system call.
held() { inside sh -c 'cat /proc/'"$pid"'/task/*/status' | grep -c '^State:.t'; }

# begin: like a new installation, with a notification for the watchdog every second and a half.
begin() {
    fresh
    inside mkdir -p /etc/systemd/system/timerd.service.d
    inside sh -c 'printf "[Service]\nWatchdogSec=3s\n" >/etc/systemd/system/timerd.service.d/test.conf'
    inside systemctl daemon-reload
    configure
    inside systemctl restart timerd
    pid=$(property MainPID)
}

# A job that does not fire, so that only the watchdog is notified.
begin <<'TOML'
[job.slow]
command = ["true"]
every = "1h"
TOML
tells_what_is_next() { property StatusText | grep -q '^1 job;'; }
wait_for 5 'everything is said' tells_what_is_next

# The thread that sends the next notification for the watchdog is held, and no other. It is the deciding one, so
# no client gets an answer.
hold holder -f -e trace=sendmsg -e inject=sendmsg:delay_enter=60s -p "$pid"
wait_for 5 'one thread is held' equals 1 held
expect_status 124 'no client gets an answer' inside timeout 0.5 timerctl list
expect 'all others work' equals 1 held
wait_for 10 'the watchdog ends it' in_journal 'Watchdog timeout' -u timerd
let_go holder
wait_for 10 'another process' another_daemon
expect_journal 'the previous instance was killed or crashed' -u timerd

# A disk on which each fsync takes longer than that. Commands and the starts of ordinary jobs wait for it; those of jobs
# with relaxed durability and clients that only read do not, and the daemon keeps running.
install -m 644 "$MACHINE_HERE/rebuild.py" "$MACHINE_ROOT/root/rebuild.py"
starts=$MACHINE_ROOT/root/starts
rm -f "$starts"
begin <<'TOML'
[job.slow]
command = ["true"]
every = "1h"
[job.beat]
shell = 'echo "$TIMERD_SCHEDULED $(date +%s.%N)" >>/root/starts'
every = "500ms"
start-durability = "relaxed"
[job.strict]
command = ["true"]
every = "1h"
TOML
runs() { wc -l <"$starts"; }
# syncs: how many syncs of the log were started.
syncs() { inside grep -c 'fdatasync.*timerd.db-wal' /root/slow-disk; }
wait_for 10 'a run' test -s "$starts"
hold slow-disk -f -y -e trace=fsync,fdatasync -e inject=fsync,fdatasync:delay_enter=4s -p "$pid"
before=$(($(runs) + 1))
asked=$(microseconds)
expect 'an order is answered' inside timerctl pause slow --note 'disk swap'
answered=$(($(microseconds) - asked))
expect "once it is on the disk, after $answered us" test "$answered" -ge 3500000
looked=$(microseconds)
expect 'it tells' inside timerctl list >/dev/null
looked=$(($(microseconds) - looked))
expect "at once, after $looked us" test "$looked" -lt 1000000
wait_for 20 'runs go on' at_least $((before + 12)) runs
late() {
    tail -n +"$before" "$starts" | awk '
        { command = "date +%s.%N -d " $1; command | getline due; close(command); if ($2 - due > most) most = $2 - due }
        END { print most }'
}
expect "no firing waits for the disk, nor for the order (the latest by $(late) s)" awk "BEGIN { exit $(late) > 1 }"
wait_for 10 'the disk is asked all the while' at_least 2 syncs
# One of an ordinary job starts as well, once that is on the disk.
expect 'a run that waits for the disk' inside timerctl run strict
has_run() { inside timerctl history strict --json | grep -q '"outcome":"exited(0)"'; }
wait_for 20 'it has run' has_run
expect 'it is the same daemon' equals "$pid" property MainPID
let_go slow-disk

# A disk that refuses to sync. A command is executed, and its answer says that it is not saved; the log says it
# once; nothing else waits.
hold sick-disk -f -y -e trace=fsync,fdatasync -e inject=fsync,fdatasync:error=EIO -p "$pid"
status=0
inside timerctl resume slow 2>"$MACHINE_WORK/refused" || status=$?
expect "the order is not said to be kept ($(cat "$MACHINE_WORK/refused"))" test "$status" = 1
expect 'but to be done' grep -q 'done, but not on the disk yet' "$MACHINE_WORK/refused"
expect 'and it is' equals armed word slow state
# tries: how many syncs were refused.
tries() { inside grep -c 'timerd.db-wal.*EIO' /root/sick-disk; }
before=$(tries)
began=$(microseconds)
wait_for 10 'runs go on' at_least $(($(runs) + 8)) runs
span=$(($(microseconds) - began))
# Each attempt makes two syncs: of the log, and of the log again through a checkpoint.
tried=$(($(tries) - before))
expect "it is tried again each second, not with each of the writes ($tried in $span us)" test "$tried" -le $((2 * span / 900000 + 4))
expect_journal 'a power cut now may lose the latest changes' -u timerd
warnings() { journal -u timerd -o cat | grep -c 'a power cut now may lose'; }
expect 'it is said once' equals 1 warnings
let_go sick-disk
expect 'a disk that is well again keeps orders' inside timerctl pause slow
inside timerctl pause beat >/dev/null
# A run may write its line while this counts.
twice() { cut -d' ' -f1 "$starts" | sort | uniq -d | wc -l; }
expect 'no run was started twice' equals 0 twice
expect 'the accounts are right' inside /usr/bin/python3 /root/rebuild.py --check
inside rm -r /etc/systemd/system/timerd.service.d
inside systemctl daemon-reload
