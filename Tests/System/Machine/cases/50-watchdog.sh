# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The watchdog kills a daemon that hangs, and systemd restarts it; a daemon that works is not killed.

# How long after the start the last notification for the watchdog came, in microseconds.
last_sign() {
    echo $(($(property WatchdogTimestampMonotonic) - $(property ExecMainStartTimestampMonotonic)))
}
another_daemon() {
    local now
    now=$(property MainPID)
    [ "$now" != 0 ] && [ "$now" != "$pid" ] && inside timerctl list
}

fresh
inside mkdir -p /etc/systemd/system/timerd.service.d
inside sh -c 'printf "[Service]\nWatchdogSec=1s\n" >/etc/systemd/system/timerd.service.d/test.conf'
inside systemctl daemon-reload
inside systemctl restart timerd
pid=$(property MainPID)
wait_for 20 'notifications over three intervals' at_least 3000000 last_sign
expect 'it is kept alive by them' equals "$pid" property MainPID
inside kill -STOP "$pid"
wait_for 20 'another process' another_daemon
expect_journal 'Watchdog timeout' -u timerd
expect_journal 'the previous instance was killed or crashed' -u timerd
inside rm -r /etc/systemd/system/timerd.service.d
inside systemctl daemon-reload
