# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# Control groups: the runner and each run have their own, and processes that a run leaves behind are killed. A
# job that forks without end prevents no other job from starting, and is killed completely. The runner is
# restarted while runs are active, as often as it is killed.

runner() { inside systemctl show timerd-runner -p MainPID --value; }
# group_of PID: its group of version 2, as the machine's systemd names it.
group_of() { inside sed -n 's#^0::.*\(/timerd\.slice/\)#\1#p' "/proc/$1/cgroup"; }
status_of() { inside systemctl show timerd-runner -p "$1" --value; }
# The one process that sleeps for this time, and how many processes a user has.
sleeper() { inside pgrep -xf "sleep $1"; }
count_of() { inside pgrep -c -u "$1" || true; }
fewer_than() {
    local most=$1
    shift
    [ "$("$@")" -lt "$most" ]
}

fresh
inside useradd bomber 2>/dev/null || true
cat >"$MACHINE_ROOT/var/tmp/bomb.py" <<'PYTHON'
import os, time
while True:
    try:
        if os.fork() == 0 and os.fork() == 0:
            os.setsid()
    except OSError:
        time.sleep(0.2)
PYTHON
chmod 644 "$MACHINE_ROOT/var/tmp/bomb.py"
configure <<'TOML'
[job.long]
command = ["sleep", "4711"]
every = "1h"
[job.leaver]
shell = "setsid sleep 4712 & exit 0"
every = "1h"
[job.starter]
shell = "setsid sleep 4713 & exit 0"
every = "1h"
kill-leftovers = false
[job.bomb]
command = ["python3", "/var/tmp/bomb.py"]
working-directory = "/"
every = "1h"
user = "bomber"
limits = { nproc = 200 }
kill-timeout = "1s"
[job.root]
command = ["true"]
every = "1h"
[job.other]
command = ["true"]
every = "1h"
user = "nobody"
TOML
inside systemctl reload timerd

# The groups.
inside timerctl run long >/dev/null
wait_for 20 'the run' sleeper 4711
service=$(inside systemctl show timerd-runner -p ControlGroup --value)
expect 'the runner has a group of its own' equals "$service/timerd-runner" group_of "$(runner)"
expect 'a run has one beside it' sh -c 'case $1 in "$2"/timerd-run-*) ;; *) exit 1 ;; esac' sh \
    "$(group_of "$(sleeper 4711)")" "$service"
expect 'systemd counts both as of the service' sh -c 'echo "$1" | grep -q 4711' sh \
    "$(inside systemctl status --no-pager -n 0 timerd-runner)"

# It is killed, and each time the next one finds the run again, and has its own group.
long=$(sleeper 4711)
for round in 1 2 3 4 5; do
    before=$(runner)
    inside kill -KILL "$before"
    another() { [ "$(runner)" != "$before" ] && [ "$(status_of SubState)" = running ]; }
    wait_for 60 "runner $round" another
    expect 'the run continues' equals "$long" sleeper 4711
    expect 'no start of it failed' equals success status_of Result
done
expect 'the new one has the group of the first' equals "$service/timerd-runner" group_of "$(runner)"
taken() { journal -u timerd -o cat TIMERD_JOB=long | grep -c 'lost' || true; }
expect 'nothing is lost of it' equals 0 taken

# Processes that a run leaves behind are killed, unless the job's configuration says otherwise.
inside timerctl run leaver >/dev/null
wait_for 20 'its end' in_journal . TIMERD_JOB=leaver TIMERD_EVENT=run-ended
wait_for 20 'one line says what is ended' \
    in_journal 'leaver: run .* left 1 process behind, .*: sleep ([0-9]*)$' TIMERD_JOB=leaver TIMERD_EVENT=leftovers-ended
gone() { ! sleeper "$1"; }
wait_for 20 'it is gone' gone 4712
inside timerctl run starter >/dev/null
wait_for 20 'its end' in_journal . TIMERD_JOB=starter TIMERD_EVENT=run-ended
kept=$(sleeper 4713)
# Another run, whose leftover processes are killed meanwhile.
inside timerctl run leaver >/dev/null
wait_for 20 'a second one' sleeper 4712
wait_for 20 'it is gone as well' gone 4712
expect 'what the job keeps is there' equals "$kept" sleeper 4713

# A fork bomb with a session for each process, as large as the limit of processes of its user.
inside timerctl run bomb >/dev/null
wait_for 60 'all the processes it may have' at_least 190 count_of bomber
for job in root other; do
    since=$(date +%s%N)
    inside timerctl run $job >/dev/null
    wait_for 20 "$job runs beside it" in_journal 'succeeded in' TIMERD_JOB=$job TIMERD_EVENT=run-ended
    echo "$job ran in $(awk -v from="$since" -v to="$(date +%s%N)" 'BEGIN { printf "%.1f", (to - from) / 1e9 }') s"
done
inside timerctl kill bomb >/dev/null
wait_for 60 'its end' in_journal 'bomb: .*stopped' TIMERD_JOB=bomb TIMERD_EVENT=run-ended
wait_for 60 'nothing of it is left' fewer_than 1 count_of bomber

# A runner that cannot create threads, as after a fork bomb, can be stopped and ends its runs.
inside systemd-run -q --unit=lean -p Type=notify -p KillMode=process -p User=bomber -p RuntimeDirectory=lean \
    timerd-runner --config /etc/timerd/timerd.toml --runtime /run/lean
inside setpriv --reuid bomber --regid bomber --clear-groups prlimit --nproc=1:1 --pid "$(inside systemctl show lean -p MainPID --value)"
expect 'it can be stopped' inside timeout 60 systemctl stop lean

# A restart ends the runs, but not the processes that a job keeps. The runner starts while they are in the
# service.
inside systemctl restart timerd-runner
expect 'it runs' equals running status_of SubState
expect 'the run is over' gone 4711
expect 'what the job keeps is still there' equals "$kept" sleeper 4713
inside timerctl run root >/dev/null
twice() { [ "$(journal -o cat TIMERD_JOB=root TIMERD_EVENT=run-ended | wc -l)" = 2 ]; }
wait_for 20 'it runs jobs' twice
inside kill "$kept"
inside rm /var/tmp/bomb.py
