# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A job by the calendar clock fires at its times, in its zone.

fresh
configure <<'TOML'
[job.second]
command = ["true"]
calendar = "*:*:0/1"
timezone = "Asia/Kathmandu"
[job.cron]
command = ["true"]
cron = "30 2 * * 1-5"
timezone = "Europe/Berlin"
TOML
expect 'the reload is accepted' inside systemctl reload timerd
wait_for 10 'it fires on the full second' in_journal '\.000000Z' TIMERD_JOB=second TIMERD_EVENT=fired
expect 'the zone is shown' test "$(word cron timezone)" = Europe/Berlin
expect 'the next one is by systemd too' test "$(inside timerctl next cron -n 1 --json | grep -o '20[0-9TZ:-]*Z')" = \
    "$(inside systemd-analyze calendar 'Mon..Fri 02:30 Europe/Berlin' | grep -o '[0-9-]* [0-9:]* UTC' | tail -1 | sed 's/ UTC/Z/; s/ /T/')"
