# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A job that writes without end suppresses the log neither of the daemon nor of another job: the limit belongs
# to the job, and not to the journal's limit for the whole service.

fresh
# The journal's limit for each service; on a large disk it allows six times this number.
limit=$MACHINE_ROOT/etc/systemd/journald.conf.d/zz-limit.conf
mkdir -p "${limit%/*}"
printf '[Journal]\nRateLimitIntervalSec=1h\nRateLimitBurst=100\n' >"$limit"
inside systemctl restart systemd-journald
configure <<'TOML'
[job.loud]
command = ["yes", "a line that comes as often as it can"]
every = "1h"
first = "0s"
[job.quiet]
command = ["echo", "still here"]
every = "1s"
[job.limited]
shell = "seq 5000; echo end"
every = "1h"
log-rate-limit-burst = 1000
TOML
inside systemctl reload timerd
lines() { journal -t "$1" TIMERD_EVENT=output -o cat | wc -l; }
fired() { journal TIMERD_JOB=quiet TIMERD_EVENT=fired -o cat | wc -l; }
wait_for 60 'many more lines than the journal takes of a service' at_least 10000 lines loud
before=$(fired)
wait_for 20 'firings of another job' at_least $((before + 3)) fired
before=$(lines quiet)
wait_for 20 'lines of another job' at_least $((before + 3)) lines quiet

inside timerctl run limited
wait_for 20 'the end of the job that wrote too much' in_journal . TIMERD_JOB=limited TIMERD_EVENT=run-ended
expect 'it has what its limit lets pass' equals 1000 lines limited
expect_journal 'limited: 4001 lines of output of run limited:.* were dropped here: .*raise the limit' \
    TIMERD_JOB=limited TIMERD_EVENT=output-limited TIMERD_DROPPED=4001
kept() { inside timerctl log -o cat limited | grep -x end; }
expect 'the end of its output is kept' equals end kept

wait_for 60 'the word of what the loud job wrote beyond its limit' in_journal 'loud: .* dropped here' \
    TIMERD_JOB=loud TIMERD_EVENT=output-limited
rm "$limit"
inside systemctl restart systemd-journald
