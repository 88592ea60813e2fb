# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# Starts and failures that an administrator meets: a command for a stopped daemon starts it, a second daemon
# refuses to start, a failure is reported, and a configuration that cannot be read is not tried for ever.

fresh
# The socket starts the daemon, but not for commands that only read.
inside systemctl stop timerd
expect_status 3 'it is stopped' inside systemctl is-active -q timerd
expect_status 3 'a list says so' inside timerctl list 2>"$MACHINE_WORK/stopped"
expect "in these words ($(cat "$MACHINE_WORK/stopped"))" grep -q \
    'timerd is stopped; start it with `systemctl start timerd`' "$MACHINE_WORK/stopped"
expect_status 3 'also for members of the group, who may not touch anything' inside setpriv --reuid=65534 --regid=65534 \
    --groups "$(inside getent group timerd | cut -d: -f3)" -- timerctl show slow
expect_status 3 'it is stopped still' inside systemctl is-active -q timerd
expect 'a command starts it' inside timerctl pause slow
expect 'it runs' inside systemctl is-active -q timerd
expect 'and can be looked at' inside timerctl resume slow

# During a restart, commands that only read wait for the answer.
restarts=0
while [ "$restarts" -lt 10 ]; do
    restarts=$((restarts + 1))
    inside systemctl restart --no-block timerd
    for _ in 1 2 3 4 5; do
        expect 'an answer in the middle of a restart' inside timerctl show slow >/dev/null
    done
done
wait_for 30 'the last restart' equals active property ActiveState
inside systemctl reset-failed timerd

# A second daemon with the same saved state.
main=$(property MainPID)
status=0
inside setpriv --reuid timerd --regid timerd --init-groups -- timerd run --config /etc/timerd/timerd.toml \
    --state /var/lib/timerd --runtime /run/timerd/daemon --runner /run/timerd-runner/runner.sock --log stderr 2>"$MACHINE_WORK/second" \
    || status=$?
expect "a second daemon gives way ($(cat "$MACHINE_WORK/second"))" test "$status" = 1
expect 'and says why' grep -q 'another' "$MACHINE_WORK/second"
expect 'the first one is as it was' equals "$main" property MainPID

# The administrator is notified of a failure.
mkdir -p "$MACHINE_ROOT/etc/systemd/system/timerd.service.d"
printf '[Unit]\nOnFailure=witness.service\n[Service]\nRestart=no\n' \
    >"$MACHINE_ROOT/etc/systemd/system/timerd.service.d/failure.conf"
printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=true\n' >"$MACHINE_ROOT/etc/systemd/system/witness.service"
inside systemctl daemon-reload
inside systemctl stop timerd.socket
inside systemctl restart timerd
inside systemctl kill --kill-whom=main -s KILL timerd
wait_for 10 'the failure is heard of' inside systemctl is-active -q witness
inside rm -r /etc/systemd/system/timerd.service.d /etc/systemd/system/witness.service
inside systemctl daemon-reload
inside systemctl reset-failed timerd

# A configuration that is not TOML: one line has the place, and systemd stops restarting.
printf 'this is [not toml\n' | configure
status=0
inside systemctl start timerd || status=$?
expect 'the start fails' test "$status" != 0
expect 'for good' equals failed property ActiveState
expect 'with a status of its own' equals 78 property ExecMainStatus
expect_journal 'Cannot start: /etc/timerd/timerd.toml:1:' -u timerd
expect 'it was tried once' equals 0 property NRestarts
# Clients do not wait, and the error says where to look.
status=0
inside timerctl list 2>"$MACHINE_WORK/asked" || status=$?
expect "a refusal ($(cat "$MACHINE_WORK/asked"))" test "$status" = 3
expect 'that says where to look' grep -q 'systemctl status timerd' "$MACHINE_WORK/asked"
inside systemctl stop timerd.socket
configure <"$MACHINE_HERE/timerd.toml"
inside systemctl start timerd.socket timerd
expect 'corrected, it starts' inside timerctl list
