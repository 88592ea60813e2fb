# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A job with calendar events fires at its times, in its zone.

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
expect 'the next one is by systemd too' test "$(inside timerctl next cron -n 1 --json | grep -o '20[0-9TZ:.-]*Z' | sed 's|[.]000000Z|Z|')" = \
    "$(inside systemd-analyze calendar 'Mon..Fri 02:30 Europe/Berlin' | grep -o '[0-9-]* [0-9:]* UTC' | tail -1 | sed 's/ UTC/Z/; s/ /T/')"

# The machine's own zone changes: the schedules that use it are recomputed, and no others.
configure <<'TOML'
[job.local]
command = ["true"]
cron = "30 2 * * *"
[job.fixed]
command = ["true"]
cron = "30 2 * * *"
timezone = "Europe/Berlin"
TOML
expect 'the reload is accepted' inside systemctl reload timerd
fixed=$(word fixed next)
inside ln -sf /usr/share/zoneinfo/Asia/Tokyo /etc/localtime
wait_for 10 'the change is logged' in_journal 'recomputed the schedules of 1 job (local)' TIMERD_EVENT=zones-changed
expect 'the new zone is shown' test "$(word local timezone)" = Asia/Tokyo
expect 'it fires at 02:30 there' sh -c 'case $1 in *T17:30:00.000000Z) ;; *) exit 1 ;; esac' - "$(word local next)"
expect 'the other one is as it was' test "$(word fixed next)" = "$fixed"
inside rm -f /etc/localtime
zone_is() { [ "$(word local timezone)" = "$1" ]; }
wait_for 10 'without the link it is UTC' zone_is UTC
