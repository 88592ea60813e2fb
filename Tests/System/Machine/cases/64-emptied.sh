# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# Someone empties the runtime directories: both processes say so and make their files again, a deleted socket of systemd is
# made by the command that the log names, and a run that is still active when both are killed is found without any record.

fresh
configure <<'TOML'
[job.long]
shell = 'echo "$TIMERD_RUN_ID $$" >>/root/starts; exec sleep 4711'
every = "1s"
log = "failures"
[job.held]
command = ["true"]
every = "1h"
TOML
inside rm -f /root/starts
inside systemctl reload timerd
wait_for 10 'the run is up' inside test -s /root/starts
run=$(inside sh -c 'cut -d " " -f 2 /root/starts')
starts() { inside sh -c 'wc -l </root/starts'; }
lives() { inside pgrep -fx 'sleep 4711'; }
is_running() { inside timerctl show long --json | grep -q '"running":\[{'; }
processes() { property MainPID; inside systemctl show timerd-runner -p MainPID --value; }
# has FILE...: all of them.
has() { for file; do inside test -e "$file" || return; done; }
daemon_files='/run/timerd/daemon/heartbeat /run/timerd/daemon/scheduler.lock /run/timerd/daemon/web.sock'
runner_files='/run/timerd-runner/runner.sock /run/timerd-runner/runs/registry /run/timerd-runner/credentials'

before=$(processes)
inside find /run/timerd/daemon /run/timerd-runner -mindepth 1 -delete
# shellcheck disable=SC2086  # lists of files
wait_for 10 'they are there again' has $daemon_files $runner_files
expect_journal 'Deleted while timerd uses it, and made again: .*heartbeat' -u timerd
expect_journal 'deleted while this runner uses it, and made again: .*registry' -u timerd-runner
expect 'commands reach the daemon, and runs the runner' inside timerctl run held --wait
expect 'the processes are those of before' equals "$before" processes
expect 'the run is the same' equals "$run" lives

# After that a kill of both costs no more than before.
held=$(number held elapsed_usec)
inside systemctl kill --kill-whom=main -s KILL timerd timerd-runner
wait_for 20 'restarted' restarted 1
expect 'the run continues' is_running
expect 'as the same process' equals "$run" lives
expect 'at most a second is lost' at_least "$((held - 1000000))" number held elapsed_usec

# Nothing is left but the processes of the run.
inside systemctl stop timerd.socket timerd
# systemd waits before it starts a killed runner again.
# shellcheck disable=SC2016  # for the shell in the machine
inside sh -c 'kill -KILL "$(systemctl show timerd-runner -p MainPID --value)"
    find /run/timerd/daemon /run/timerd-runner -mindepth 1 -delete'
inside systemctl start timerd.socket timerd timerd-runner
wait_for 20 'the run is found' is_running
expect 'it is the same' equals "$run" lives
expect 'nothing started beside it' equals 1 starts
inside timerctl kill long >/dev/null
wait_for 20 'then the job starts again' sh -c "! test \"\$(cat '$MACHINE_ROOT/root/starts' | wc -l)\" = 1"

# What systemd has made, systemd must make again.
inside rm /run/timerd/control.sock
again='systemctl stop timerd.socket timerd && systemctl start timerd.socket timerd'
expect_journal "control.sock: systemd listens there; make it again with \`$again\`" -u timerd
inside sh -c "$again"
expect 'then commands reach the daemon' inside timerctl list
inside timerctl pause long >/dev/null
inside timerctl kill long >/dev/null || true
