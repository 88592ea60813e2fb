# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# `systemctl start` returns when the timers are set, and `systemctl status` says what is next.

fresh
expect 'active' test "$(property ActiveState)" = active
expect 'it answers at once' inside timerctl list
expect 'READY came from the daemon' test "$(property Type)" = notify
wait_for 5 'a status line' sh -c 'case "$1" in "2 jobs"*"next is "*) ;; *) exit 1 ;; esac' sh "$(property StatusText)"
expect 'the status is shown' sh -c 'echo "$1" | grep -q "Status: \"2 jobs"' sh \
    "$(inside systemctl status timerd --no-pager)"
expect 'the control socket is there' inside test -S /run/timerd/control.sock
expect 'curl reads it' sh -c 'echo "$1" | grep -q "\"job\":\"tick\""' sh \
    "$(inside curl -s --unix-socket /run/timerd/control.sock http://timerd/v1/jobs)"
expect 'its state is its own' test "$(inside stat -c %a /var/lib/timerd)" = 700
