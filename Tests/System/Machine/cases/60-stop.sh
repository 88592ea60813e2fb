# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# Jobs keep running without the scheduler: its stop is clean and ends none of them, and the next scheduler finds
# them again. The same is true for a runner that was killed. A stop of the runner ends the jobs in an orderly
# way.

fresh
configure <<'TOML'
[job.long]
shell = "trap 'echo ended in order; exit 0' TERM; echo up; while :; do sleep 0.1; done"
every = "1h"
first = "0s"
[job.short]
shell = "sleep 4; echo worked on; exit 7"
every = "1h"
first = "0s"
TOML
inside systemctl reload timerd
wait_for 10 'the run is up' in_journal '^up$' -t long
accrued=$(number long elapsed_usec)

# The scheduler is stopped while one of them ends.
inside systemctl stop timerd timerd.socket
expect 'it ended well' equals success property Result
wait_for 10 'the job is no child of the scheduler' sh -c '! pgrep -f "[e]cho worked on"'
inside systemctl start timerd
expect_journal 'the previous instance stopped cleanly' -u timerd
expect_journal '^worked on$' -t short
expect_journal 'failed: exit 7, after 4' TIMERD_JOB=short TIMERD_EVENT=run-ended
expect 'nothing was lost' test "$(number long elapsed_usec)" -ge "$accrued"
is_running() { inside timerctl show long --json | grep -q '"running":\[{"began"'; }
expect 'the other one runs on' is_running

# The runner is killed: the next one finds its runs again, and reports their ends. For a moment systemd does not know
# that the old one is gone, and a stop then would find no runner that could end a run.
inside systemctl kill --kill-whom=main -s KILL timerd-runner
wait_for 10 'there is a runner again' in_journal 'Connected to a new runner' -u timerd
wait_for 10 'the run is found again' is_running

# The runner is stopped: it ends its runs.
inside systemctl stop timerd-runner
wait_for 10 'no process is left' sh -c '! pgrep -f "[e]cho ended in order"'
inside systemctl start timerd-runner
wait_for 20 'the end of the run is logged' in_journal 'run long:.* \(ended:\|failed:\|is lost\)' TIMERD_JOB=long TIMERD_EVENT=run-ended
