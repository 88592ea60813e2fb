# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# Checks that the machine behaves as the other cases expect, with a substitute service instead of timerd.

expect 'PID 1 is systemd' equals systemd inside cat /proc/1/comm
expect 'the journal is up' inside systemctl is-active systemd-journald
expect 'the bus is up' inside busctl --system status >/dev/null
expect 'the units are well-formed' inside systemd-analyze verify --man=no timerd.service timerd-runner.service timerd.socket timerd.slice \
    timerd-web.service timerd-web.socket

# The clock is the host's. The test checks that it cannot be set without trying it, because a successful attempt
# would harm the host. First it checks that the check finds the right where it exists.
echo 'CapBnd: 0000000002000000' | holds_clock_right || fail 'the right to set the clock is not recognized'
if inside cat /proc/self/status | holds_clock_right; then fail 'a command in the machine may set the clock'; fi
if inside cat /proc/1/status | holds_clock_right; then fail "the machine's systemd may set the clock"; fi
if inside systemd-run -q --wait --pipe cat /proc/self/status | holds_clock_right; then
    fail 'a service in the machine may set the clock'
fi

# The host's files are there, and what is written stays in the machine.
marker=/var/lib/stand-in.$$
inside touch "$marker"
expect 'the file is in the machine' inside test -e "$marker"
expect_status 1 'and not on the host' test -e "$marker"

# A service of Type=notify becomes active when it reports that, and not before.
cat >"$MACHINE_ROOT/etc/systemd/system/stand-in.service" <<'UNIT'
[Service]
Type=notify
NotifyAccess=all
ExecStart=/bin/sh -c 'until test -e /etc/stand-in.go; do sleep 0.05; done; echo "stand-in is up"; systemd-notify --ready --status=standing; exec sleep infinity'
Restart=always
RestartSec=100ms
[Install]
WantedBy=multi-user.target
UNIT
stand_in() { inside systemctl show stand-in -p "$1" --value; }
killed_and_restarted() { at_least 1 stand_in NRestarts && equals active stand_in ActiveState; }

inside systemctl daemon-reload
inside systemctl enable stand-in
inside systemctl start --no-block stand-in
wait_for 10 'its process' at_least 1 stand_in MainPID
expect 'it is not active before it is ready' equals activating stand_in ActiveState
inside touch /etc/stand-in.go
wait_for 10 'it is active' equals active stand_in ActiveState
expect 'its status is shown' equals standing stand_in StatusText
inside kill -KILL "$(stand_in MainPID)"
wait_for 10 'a killed service is restarted' killed_and_restarted

# A reboot is another boot with its own clocks, over the same files.
before=$(boot_id)
inside touch /run/stand-in.gone
reboot_machine
expect 'another boot id' new_boot "$before"
expect 'its /run is empty' inside test ! -e /run/stand-in.gone
expect 'its files are kept' inside test -e "$marker"
if [ -e /proc/self/ns/time ]; then
    expect 'CLOCK_MONOTONIC started again' inside awk '{ exit $1 > 60 }' /proc/uptime
fi
wait_for 10 'an enabled service is up again' equals active stand_in ActiveState
expect 'the journal of both boots is there' \
    at_least 2 sh -c '. "$MACHINE_HERE/lib.sh"; inside journalctl -q --list-boots | wc -l'

inside systemctl disable --now stand-in
inside rm -f /etc/systemd/system/stand-in.service /etc/stand-in.go "$marker"
inside systemctl daemon-reload
