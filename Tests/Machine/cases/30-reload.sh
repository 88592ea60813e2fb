# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# `systemctl reload` takes a good edit and waits for it; it fails on a bad one, and nothing changes.

fresh
next=$(word slow next)
configure <<'TOML'
[job.slow]
command = ["true"]
every = "1h"
[job.fresh]
command = ["true"]
every = "2h"
TOML
expect 'the reload is accepted' inside systemctl reload timerd
expect 'the new job is there at once' test "$(word fresh state)" = armed
status=0; inside timerctl show tick || status=$?
expect 'the removed job is gone' test "$status" = 4
expect 'the unchanged job kept its instant' test "$(word slow next | cut -c1-19)" = "$(echo "$next" | cut -c1-19)"
configure <<'TOML'
[job.slow]
command = ["true"]
evry = "1h"
TOML
expect 'the bad edit is refused' sh -c '! "$@"' sh nsenter -t "$(machine_init)" -m -p -u -i -n systemctl reload timerd
expect 'the journal says why' in_journal 'unknown key "evry" (did you mean "every"?)' -u timerd
expect 'the old jobs are there' test "$(word fresh state)" = armed
expect 'it is still active' test "$(property ActiveState)" = active
inside kill -HUP "$(property MainPID)"
wait_for 10 'the status names the refusal' sh -c '. "$MACHINE_HERE/lib.sh"; property StatusText | grep -q refused'
