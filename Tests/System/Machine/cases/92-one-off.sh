# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# One-off jobs of the system daemon: only root can create them, and the runner reads their definitions itself.

fresh
as() { inside setpriv --reuid "$1" --init-groups --regid "$1" "${@:2}"; }
said() { "$@" 2>&1 | grep -q -- "$pattern"; }
ran() { inside test -e /run/one-off-ran; }
outcome() { inside timerctl show "$1" --json | grep -q -- "$2"; }
inside rm -f /run/one-off-ran
expect 'root makes one' inside timerctl in 2s -- touch /run/one-off-ran
wait_for 20 'it runs' ran
wait_for 20 'it has ended' outcome touch-1 'exited(0)'
expect 'as root' equals root inside stat -c %U /run/one-off-ran
expect 'its definition belongs to root, and only the scheduler may read it as well' equals 'root:timerd 750' \
    inside stat -c '%U:%G %a' /etc/timerd/one-off.d
inside useradd looker 2>/dev/null || true
# Another case may have purged the package since the user was made, and with it the group.
inside usermod -aG timerd looker
inside useradd stranger 2>/dev/null || true
pattern='only root and the owner of the configuration'
expect 'a member of the group gets the error that it may not' said as looker timerctl in 1h -- true
expect_status 1 'and fails' as looker timerctl in 1h -- true
pattern='permission denied'
expect 'a plain user is refused' said as stranger timerctl in 1h -- true
# The scheduler itself cannot create one.
expect_status 1 'nor may the user of the scheduler' as timerd timerctl in 1h -- true
# Both services are restarted.
expect 'one for later' inside timerctl in 3s --name later -- true
inside systemctl stop timerd timerd-runner
sleep 4
inside systemctl start timerd-runner timerd
wait_for 20 'it runs late' outcome later 'exited(0)'
# A removed job does not run, although the scheduler does not know of the removal.
expect 'one that is removed by hand' inside timerctl in 1h --name removed -- true
inside rm /etc/timerd/one-off.d/removed.toml
inside timerctl run removed || true
wait_for 20 'does not run' outcome removed 'spawn-failed(ENOENT'
expect 'and is cancelled' inside timerctl cancel removed
expect 'and so are the others' inside timerctl cancel later touch-1
expect 'nothing is left' test -z "$(inside ls -A /etc/timerd/one-off.d)"
