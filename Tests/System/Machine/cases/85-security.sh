# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The scheduler needs no privilege and has none.

fresh
# Without the settings that this machine needs for its boot id, which take some of the protection away.
exposure=$(inside sh -c 'mv /etc/systemd/system/service.d /root && systemctl daemon-reload
    systemd-analyze security --no-pager timerd.service
    mv /root/service.d /etc/systemd/system && systemctl daemon-reload' \
    | awk '/Overall exposure level/ { print $(NF - 2) }')
expect "the exposure is 1.0 at most ($exposure)" awk "BEGIN { exit !(\"$exposure\" != \"\" && $exposure <= 1.0) }"
main=$(property MainPID)
expect 'its user is timerd' equals timerd inside ps -o user= -p "$main"
expect 'it has no capability' equals 0000000000000000 inside awk '/^CapEff/ { print $2 }' "/proc/$main/status"
expect 'it has no children' test -z "$(inside ps -o pid= --ppid "$main")"
# systemd sets the owner of the sockets by their paths, so no other user may create a link there.
for socket in /run/timerd/control.sock /run/timerd-runner/runner.sock; do
    expect "$socket is a socket" inside test -S "$socket"
    expect "and in a directory of root's" equals 'root:root 755' inside stat -c '%U:%G %a' "${socket%/*}"
done
expect 'what the daemon writes is in one of its own' equals 'timerd:timerd 755' inside stat -c '%U:%G %a' /run/timerd/daemon
# Only root and the daemon's user may change anything; members of its group have read access.
inside useradd looker 2>/dev/null || true
inside usermod -aG timerd looker
inside useradd stranger 2>/dev/null || true
expect 'the group may look' inside setpriv --reuid looker --init-groups --regid looker timerctl list
expect_status 1 'and not touch' inside setpriv --reuid looker --init-groups --regid looker timerctl pause slow
expect_status 1 'a stranger may not even look' inside setpriv --reuid stranger --init-groups --regid stranger timerctl list
