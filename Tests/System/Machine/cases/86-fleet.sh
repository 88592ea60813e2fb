# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The process that is connected to etcd: it runs only if the scheduler connects to its socket, with a user of its own
# and without any right but the network.

fresh
make -s -C "$MACHINE_HERE/../../.." install-fleet DESTDIR="$MACHINE_ROOT" PREFIX=/usr BIN="$MACHINE_BIN" >/dev/null
inside systemd-sysusers
inside systemctl daemon-reload
fleet() { inside systemctl show timerd-fleet.service -p "$1" --value; }
# Without the settings that this machine needs for its boot id, which take some of the protection away.
exposure=$(inside sh -c 'mv /etc/systemd/system/service.d /root && systemctl daemon-reload
    systemd-analyze security --no-pager timerd-fleet.service
    mv /root/service.d /etc/systemd/system && systemctl daemon-reload' \
    | awk '/Overall exposure level/ { print $(NF - 2) }')
expect 'the units are well-formed' inside systemd-analyze verify --man=no timerd-fleet.service timerd-fleet.socket
expect "its exposure is 1.5 at most ($exposure)" awk "BEGIN { exit !(\"$exposure\" != \"\" && $exposure <= 1.5) }"
inside systemctl start timerd-fleet.socket
expect 'there is no process before the first connection' equals 0 fleet MainPID
expect 'its socket is for the scheduler alone' equals 'timerd 600' \
    inside stat -c '%U %a' /run/timerd-fleet/fleet.sock
expect 'and in a directory of root' equals 'root:root 755' inside stat -c '%U:%G %a' /run/timerd-fleet

# connect USER: connects to the socket and closes the connection.
connect() {
    inside setpriv --reuid "$1" --regid "$1" --clear-groups python3 -c \
        'import socket; socket.socket(socket.AF_UNIX).connect("/run/timerd-fleet/fleet.sock")'
}
active() { equals active fleet ActiveState; }
inside useradd stranger 2>/dev/null || true
expect_status 1 'another user cannot connect' connect stranger
expect 'and starts nothing' equals 0 fleet MainPID
expect 'the scheduler can' connect timerd
wait_for 20 'which starts it' active
pid=$(fleet MainPID)
expect 'its user is timerd-fleet' equals timerd-fleet inside ps -o user:32= -p "$pid"
expect 'it has no capability' equals 0000000000000000 inside awk '/^CapEff/ { print $2 }' "/proc/$pid/status"
expect 'it is in no other group' equals timerd-fleet inside id -Gn timerd-fleet
expect 'it says what is missing' equals 1 inside sh -c \
    'systemctl status timerd-fleet | grep -c "Status:.*there is no table \[fleet\]"'

# Killed, it is back with the next connection.
inside kill -KILL "$pid"
expect 'the scheduler can connect again' connect timerd
again() { active && ! equals "$pid" fleet MainPID; }
wait_for 20 'and it is back' again
inside systemctl stop timerd-fleet.socket timerd-fleet.service
expect 'it ends cleanly' equals success fleet Result
# The package of timerd is installed and removed later, and leaves nothing.
inside find /usr /run -depth -name 'timerd-fleet*' -not -path '/run/systemd/*' -exec rm -rf {} +
inside systemctl daemon-reload
