# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The journal alone is enough to compute the time of each job, whatever happens to the jobs. rebuild.py explains
# how, and compares the result with the output of timerctl.

install -m 644 "$MACHINE_HERE/rebuild.py" "$MACHINE_ROOT/root/rebuild.py"
rebuilt() { inside /usr/bin/python3 /root/rebuild.py --check; }
# within TEXT: its last output contains this.
agrees() { rebuilt >"$MACHINE_WORK/rebuilt" 2>&1 || fail "$1: $(cat "$MACHINE_WORK/rebuilt")"; }
passed() { [ "$(microseconds)" -ge $(($1 + $2 * 1000)) ]; }
pass() { wait_for 10 "$1 ms" passed "$(microseconds)" "$1"; }

fresh
agrees 'at the first start'
configure <<'TOML'
[job.tick]
command = ["true"]
every = "1s"
[job.hourly]
command = ["true"]
every = "1h"
[job.up]
command = ["true"]
every = "1h"
count = "uptime"
[job.on]
command = ["true"]
every = "1h"
count = "boottime"
[job.wall]
command = ["true"]
every = "1h"
count = "wall"
[job.once]
command = ["true"]
after = "1500ms"
[job.daily]
command = ["true"]
calendar = "daily"
[job.held]
command = ["true"]
every = "1h"
paused = true
[job.gone]
command = ["true"]
every = "1h"
TOML
inside systemctl reload timerd
agrees 'after a reload'
inside timerctl pause tick hourly up --note 'disk swap' >/dev/null
inside timerctl pause on --for 700ms >/dev/null
inside timerctl stop daily >/dev/null
agrees 'in a pause'
pass 1000
agrees 'after a pause that ended by itself'
inside timerctl resume tick hourly up held >/dev/null
inside timerctl start daily >/dev/null
inside timerctl run wall >/dev/null
pass 1000
agrees 'after resuming'

for time in 1 2; do
    pass 300
    inside kill -KILL "$(property MainPID)"
    wait_for 20 'restarted' restarted "$time"
    agrees "after kill $time"
done

# One is removed, one is new, one counts by another clock, and the first comes back.
sed -i 's/^\[job.gone\]/[job.new]/; s/^count = "uptime"/count = "active"/' "$MACHINE_ROOT/etc/timerd/timerd.toml"
inside systemctl reload timerd
agrees 'after another reload'
pass 300
sed -i 's/^\[job.new\]/[job.gone]/' "$MACHINE_ROOT/etc/timerd/timerd.toml"
inside systemctl reload timerd
agrees 'after one came back'

inside systemctl stop timerd
pass 300
inside systemctl start timerd
agrees 'after a stop'
inside systemctl enable timerd
reboot_machine
wait_for 20 'the daemon' inside timerctl list
agrees 'after a reboot'
inside systemctl disable timerd

# While no time counts, the result is exact to the microsecond.
inside timerctl pause --all >/dev/null
agrees 'while all are paused'
to_the_microsecond() { sed -n 's/^hourly: paused, \([0-9]*\) µs; from the journal paused, \([0-9]*\) to \([0-9]*\) µs$/\1 \2 \3/p' "$MACHINE_WORK/rebuilt"; }
expect "no more and no less ($(to_the_microsecond))" \
    sh -c 'test $# = 3 && test "$1" -gt 0 && test "$2" = "$3" && test $(($1 - $2)) -le 2 && test $(($2 - $1)) -le 2' sh \
    $(to_the_microsecond)
# When all saved records are deleted, there is still the journal: it is not empty.
expect 'much was foretold' sh -c 'test "$(sed -n "s/^\([0-9]*\) statements.*/\1/p" "$1" | tail -1)" -ge 60' sh "$MACHINE_WORK/rebuilt"
