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
expect_status 4 'the removed job is gone' inside timerctl show tick
expect 'the unchanged job kept its instant' test "$(word slow next | cut -c1-19)" = "$(echo "$next" | cut -c1-19)"
configure <<'TOML'
[job.slow]
command = ["true"]
evry = "1h"
TOML
expect_status 1 'the bad edit is refused' inside systemctl reload timerd
expect_journal 'unknown key "evry" (did you mean "every"?)' -u timerd
expect 'the old jobs are there' test "$(word fresh state)" = armed
expect 'it is still active' test "$(property ActiveState)" = active
inside kill -HUP "$(property MainPID)"
tells_of_the_refusal() { property StatusText | grep -q refused; }
wait_for 10 'the status names the refusal' tells_of_the_refusal
expect 'a pause is accepted' inside timerctl pause fresh
tells_of_both() { property StatusText | grep -q '1 paused.*refused'; }
wait_for 10 'the status still names it when something else has changed' tells_of_both
