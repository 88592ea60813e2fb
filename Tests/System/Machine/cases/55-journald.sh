# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A journal that is suspended, killed or stopped delays no firing. Entries that it could not accept are counted,
# and it gets one entry about them when it is back.

seconds_frozen=10
# Enough to fill the queue of the journal's socket long before it continues.
lines=100
starts=$MACHINE_ROOT/root/starts

# One line for each run: when it was due, and the time of the clock in its process.
fresh
rm -f "$starts"
configure <<TOML
[job.beat]
shell = 'echo "\$TIMERD_SCHEDULED \$(date +%s.%N)" >>/root/starts; seq $lines'
every = "1s"
TOML

runs() { wc -l <"$starts"; }
told() { journal TIMERD_JOB=beat "TIMERD_EVENT=$1" -o cat | wc -l; }
# reports: how many entries about dropped entries there are, and their sum.
reports() { journal TIMERD_EVENT=log-dropped -o export | sed -n 's/^TIMERD_DROPPED=//p'; }
number_of_reports() { reports | wc -l; }
dropped() { reports | awk '{ sum += $1 } END { print sum + 0 }'; }
# Each run has an entry for its start, its output and its end.
is_complete() {
    local entries=$(($(told fired) + $(told output) + $(told run-ended)))
    [ $((entries + $(dropped))) = $(($(runs) * (lines + 2))) ]
}
# all_on_time WHEN: no run since the last call was late, and none is missing in between.
looked=0
all_on_time() {
    tail -n +$((looked + 1)) "$starts" | awk -v when="$1" '
        function fail(what) { print when ": " what ": " $0 > "/dev/stderr"; exit failed = 1 }
        {
            command = "date +%s.%N -d " $1
            command | getline due
            close(command)
            if ($2 - due > 1) fail("late by " $2 - due " s")
            if (last && due - last > 1.5) fail(due - last " s after the one before")
            last = due
        }
        END { exit failed || !last }'
    looked=$(runs)
}
# go_on COUNT: waits until this many more runs have started.
go_on() { wait_for 30 "$1 more runs" at_least $(($(runs) + $1)) runs; }
quiet() {
    inside timerctl pause beat >/dev/null
    wait_for 20 'every entry is logged or counted' is_complete
}

inside systemctl reload timerd
wait_for 10 'a run' test -s "$starts"
go_on 2

journald=$(inside systemctl show systemd-journald -p MainPID --value)
inside kill -STOP "$journald"
go_on $seconds_frozen
inside kill -CONT "$journald"
expect 'no firing is late while the journal is frozen' all_on_time frozen
expect_journal 'log entries were dropped while the journal did not take any' TIMERD_EVENT=log-dropped
go_on 2
quiet
expect 'the journal hears of it once' equals 1 number_of_reports
expect 'and of what it did not get' at_least 100 dropped

# systemd restarts it, and the socket keeps the entries that are sent meanwhile.
inside timerctl resume beat
looked=$(runs)
go_on 1
inside systemctl kill --kill-whom=main -s KILL systemd-journald
go_on 3
expect 'no firing is late while the journal is killed' all_on_time killed
expect 'the journal is back' inside systemctl is-active systemd-journald

# Stopped together with its sockets.
away='systemd-journald.service systemd-journald.socket systemd-journald-dev-log.socket systemd-journald-audit.socket'
# shellcheck disable=SC2086  # a list of names
inside systemctl stop $away
expect_status 3 'the journal is away' inside systemctl is-active systemd-journald systemd-journald.socket
go_on 4
inside systemctl start systemd-journald.socket systemd-journald-dev-log.socket systemd-journald
wait_for 10 'the journal hears of it' at_least 2 number_of_reports
go_on 2
expect 'no firing is late while the journal is away' all_on_time away
expect 'the journal hears of it once' equals 2 number_of_reports

# The messages of the runner do not use a stream that broke with the journal.
inside systemctl stop timerd.socket timerd
inside python3 -c 'import socket
connection = socket.socket(socket.AF_UNIX)
connection.connect("/run/timerd-runner/runner.sock")
connection.sendall(b"\1\0\0\0\xff")
connection.recv(1000)'
expect_journal 'sent an invalid request' -u timerd-runner
