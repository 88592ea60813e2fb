# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A stop is clean, ends what runs, and is said to be clean at the next start.

fresh
configure <<'TOML'
[job.long]
shell = "trap 'echo ended in order; exit 0' TERM; echo up; while :; do sleep 0.1; done"
every = "1h"
first = "0s"
TOML
inside systemctl reload timerd
wait_for 10 'the run is up' in_journal '^up$' -t long
accrued=$(number long accrued_usec)
inside systemctl stop timerd
expect 'it ended well' equals success property Result
expect_journal 'ended in order' -t long
expect_journal 'ended with stopped' TIMERD_JOB=long TIMERD_EVENT=run-ended
inside systemctl start timerd
expect_journal 'the last daemon stopped cleanly' -u timerd
expect 'nothing was forfeited' test "$(number long accrued_usec)" -ge "$accrued"
