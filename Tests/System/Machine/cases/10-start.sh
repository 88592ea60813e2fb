# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# `systemctl start` returns when the timers are set, and `systemctl status` shows the next run.

tells_what_is_next() { property StatusText | grep -q '^2 jobs.*next is '; }

fresh
expect 'active' equals active property ActiveState
expect "it sees the machine's boot, by which it knows reboots" equals "$(boot_id)" \
    inside nsenter -t "$(property MainPID)" -m cat /proc/sys/kernel/random/boot_id
expect 'it answers at once' inside timerctl list
expect 'READY came from the daemon' equals notify property Type
wait_for 5 'a status line with counts' tells_what_is_next
expect 'the status is shown' sh -c 'echo "$1" | grep -q "Status: \"2 jobs"' sh \
    "$(inside systemctl status timerd --no-pager)"
expect 'the control socket is there' inside test -S /run/timerd/control.sock
expect 'curl reads it' sh -c 'echo "$1" | grep -q "\"job\":\"tick\""' sh \
    "$(inside curl -s --unix-socket /run/timerd/control.sock http://timerd/v1/jobs)"
expect 'its state is its own' equals 700 inside stat -c %a /var/lib/timerd

# A daemon that cannot start never becomes active: a configuration that cannot be parsed makes the start fail.
inside systemctl stop timerd
printf '[job.\n' | configure
expect_status 1 'the start fails' inside systemctl start timerd
expect 'it is not active' sh -c 'test "$1" != active' sh "$(property ActiveState)"
expect_journal 'Cannot start' -u timerd
