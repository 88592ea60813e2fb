# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A daemon that stands still is ended by the watchdog and restarted.

fresh
inside mkdir -p /etc/systemd/system/timerd.service.d
inside sh -c 'printf "[Service]\nWatchdogSec=2s\n" >/etc/systemd/system/timerd.service.d/test.conf'
inside systemctl daemon-reload
inside systemctl restart timerd
pid=$(property MainPID)
sleep 5
expect 'it is kept alive by its own signs' test "$(property MainPID)" = "$pid"
inside kill -STOP "$pid"
wait_for 20 'another process' sh -c '. "$MACHINE_HERE/lib.sh"
    test "$(property MainPID)" != 0 && test "$(property MainPID)" != "$1" && inside timerctl list' sh "$pid"
expect 'by the watchdog' in_journal 'Watchdog timeout' -u timerd
inside rm -r /etc/systemd/system/timerd.service.d
inside systemctl daemon-reload
