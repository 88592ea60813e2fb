# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A killed daemon is restarted by systemd, and its jobs lose at most a second and gain nothing.

fresh
sleep 3
before=$(number slow accrued_usec)
from=$(date +%s%N)
inside kill -KILL "$(property MainPID)"
wait_for 20 'restarted' sh -c '. "$MACHINE_HERE/lib.sh"; test "$(property NRestarts)" -ge 1 && inside timerctl list'
after=$(number slow accrued_usec)
passed=$((($(date +%s%N) - from) / 1000))
expect "at most a second is lost ($before, then $after)" test "$after" -ge $((before - 1000000))
expect "nothing is gained ($before, then $after in $passed)" test "$after" -le $((before + passed))
expect 'the journal says what was found' in_journal 'the last daemon was killed or crashed' -u timerd
expect 'and what it cost' in_journal 'slow: takes up .* accrued' TIMERD_EVENT=recovered TIMERD_JOB=slow
