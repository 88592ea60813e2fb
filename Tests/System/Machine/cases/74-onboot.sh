# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# `on-boot` and `@reboot` fire once in each boot of the machine: not again after a restart or a kill of the daemon, and
# not in the boot in which the job is added.

runs=$MACHINE_ROOT/root/boots
of() { if [ -e "$runs" ]; then grep -c "^$1 " "$runs" || true; else echo 0; fi; }
up() { awk -v job="$1" '$1 == job { up = $2 } END { print int(up * 1000) }' "$runs"; }

rm -f "$runs"
fresh
inside systemctl stop timerd.socket timerd
inside rm -rf /var/lib/timerd /run/timerd/daemon/heartbeat
jobs='
[defaults]
on-missed = "skip"
environment = { PATH = "/usr/bin:/bin" }
[job.boot]
shell = "echo boot $(cat /proc/uptime) >>/root/boots"
on-boot = "1s"
[job.reboot]
shell = "echo reboot $(cat /proc/uptime) >>/root/boots"
cron = "@reboot"
[job.waits]
shell = "echo waits $(cat /proc/uptime) >>/root/boots"
on-boot = "1h"
'
echo "$jobs" | configure
inside systemctl start timerd.socket timerd
wait_for 10 'what should have fired before fires now' equals 1 of boot
wait_for 10 'and @reboot' equals 1 of reboot
inside systemctl restart timerd
inside systemctl kill -s KILL timerd
wait_for 20 'restarted' restarted 1
expect 'it waits for the next boot' equals finished word boot state
echo "$jobs
[job.late]
shell = \"echo late \$(cat /proc/uptime) >>/root/boots\"
on-boot = \"20s\"" | configure
inside timerctl reload >/dev/null
expect 'a job that is added does so too' equals finished word late state
expect 'timerctl says so' sh -c 'echo "$1" | grep -q "20 s after the next boot of the machine"' sh \
    "$(inside timerctl next late)"
inside timerctl pause waits >/dev/null
expect 'no more runs' equals 2 sh -c "wc -l <$runs"

reboot_machine
inside systemctl start timerd.socket timerd
wait_for 20 'boot fires again' equals 2 of boot
wait_for 20 '@reboot too' equals 2 of reboot
wait_for 40 'and the job that was added' equals 1 of late
expect "not before its time ($(up late) ms after the boot)" test "$(up late)" -ge 20000
expect "and not much later" test "$(up late)" -lt 25000
expect 'the pause is kept, and all of the time' equals 3600000000 number waits remaining_usec
rm -f "$runs"
