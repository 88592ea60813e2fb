# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The runner reads the files itself: a job whose file is deleted is not run any more, although the scheduler
# still has it. The runner also learns of a reload without the scheduler.

fresh
# Or the scheduler would take the job away as well.
printf '\n[daemon]\nauto-reload = false\n' >>"$MACHINE_ROOT/etc/timerd/timerd.toml"
dropped=$MACHINE_ROOT/etc/timerd/jobs.d/dropped.toml
write_job() {
    printf '[job.dropped]\ncommand = ["sh", "-c", "exit %s"]\nevery = "1h"\n' "$1" >"$dropped"
    chmod 644 "$dropped"
}
last() { inside timerctl show dropped --json | grep -o '"outcome":"[^"]*"' | tail -1; }
last_is() { last | grep -q -- "$1"; }
write_job 3
inside timerctl reload
inside timerctl run dropped || true
wait_for 10 'it runs' last_is 'exited(3)'
rm "$dropped"
inside timerctl run dropped || true
wait_for 10 'it is not run any more' last_is 'spawn-failed(ENOENT'
# A job whose file changed runs with its old definition until the reload.
write_job 3
inside timerctl reload
write_job 4
inside timerctl run dropped || true
wait_for 10 'it runs as it was' last_is 'exited(3)'
runner=$(inside systemctl show timerd-runner -p MainPID --value)
inside systemctl reload timerd
inside timerctl run dropped || true
wait_for 10 'it runs as it is' last_is 'exited(4)'
expect 'by the same runner' equals "$runner" inside systemctl show timerd-runner -p MainPID --value
expect 'the runner may be told as well' inside systemctl reload timerd-runner
expect 'and goes on' equals "$runner" inside systemctl show timerd-runner -p MainPID --value
rm "$dropped"
configure <"$MACHINE_HERE/timerd.toml"
inside timerctl reload
