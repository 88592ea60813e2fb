# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The scheduler and the runner are stopped, in either order, and started: the run that was active was stopped, and it
# does not start a second time. Nor does it if the runner's records are gone as well.

fresh
configure <<'TOML'
[job.once]
shell = 'echo "$TIMERD_RUN_ID" >>/root/starts; sleep 300'
every = "6h"
TOML
inside systemctl reload timerd

# Whether the last run has this result.
has_ended() { inside timerctl history once --json | grep -o '"outcome":"[^"]*"' | head -n 1 | grep -q "$wanted"; }
is_over() { ! pgrep -f '[s]leep 300'; }

for order in 'timerd.socket timerd timerd-runner' 'timerd-runner timerd.socket timerd' forgotten; do
    inside rm -f /root/starts
    inside timerctl run once
    wait_for 10 'the run is up' inside test -s /root/starts
    if [ "$order" = forgotten ]; then
        inside systemctl kill --kill-whom=main -s KILL timerd timerd-runner
        inside systemctl stop timerd.socket timerd timerd-runner
        inside pkill -f '[s]leep 300' || true
        inside rm -rf /run/timerd-runner /run/timerd/daemon
        wanted='lost(\(daemon\|runner\))'
    else
        for unit in $order; do inside systemctl stop "$unit"; done
        wanted=stopped
    fi
    inside systemctl start timerd.socket timerd timerd-runner
    wait_for 20 "the result after: $order" has_ended
    expect "one start after: $order" equals 1 inside sh -c 'wc -l </root/starts'
    expect "no run is active after: $order" is_over
done
