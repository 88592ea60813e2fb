# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The disk with the saved state is full when the daemon starts: it starts, reports this, and holds all firings
# until there is room. Then it continues, also on a small disk, whose size is smaller than the log of the
# database may become. On a disk that is full again it stops cleanly and soon.

state=/var/lib/timerd
starts=$MACHINE_ROOT/root/starts
# fill: uses all free space, to the last byte.
fill() { inside sh -c "cat /dev/zero >$state/filler 2>/dev/null; cat /dev/zero >>$state/filler 2>/dev/null; true"; }
make_room() { inside rm "$state/filler"; }
runs() { if [ -e "$starts" ]; then wc -l <"$starts"; else echo 0; fi; }
told() { journal -u timerd -o cat | grep -c -- "$1" || true; }
status_line() { property StatusText; }
says_full() { status_line | grep -q 'runs wait, since the state cannot be saved'; }

fresh
inside systemctl stop timerd.socket timerd
inside rm -rf "$state" /run/timerd/daemon/heartbeat
rm -f "$starts"
inside mkdir -p "$state"
inside mount -t tmpfs -o size=512k tmpfs "$state"
inside chown timerd: "$state"
configure <<'TOML'
[job.beat]
shell = 'echo "$TIMERD_SCHEDULED" >>/root/starts'
every = "100ms"
[job.slow]
command = ["true"]
every = "1h"
TOML
fill
date +%s.%6N >"$MACHINE_WORK/since"
inside systemctl start timerd.socket timerd
expect_journal 'no run starts until there is space' -u timerd
expect_journal 'jobs that become due wait' -u timerd
wait_for 10 'time counts again' at_least 2000000 number slow elapsed_usec
expect 'no run was started' equals 0 runs
wait_for 5 'the status line says why' says_full

make_room
wait_for 10 'runs start' at_least 1 runs
expect_journal 'The saved state can be written again' -u timerd
# More commits than the disk has pages.
wait_for 60 'they go on' at_least 150 runs
expect 'the disk was said to be full once' equals 1 told 'jobs that become due wait'

# Full again, and nothing more can be written: the space in the log of the database is used first.
fill
sleep_until_full() { [ "$(told 'jobs that become due wait')" -ge 2 ]; }
wait_for 60 'said to be full again' sleep_until_full
before=$(microseconds)
inside systemctl stop timerd.socket timerd
took=$(($(microseconds) - before))
expect "it stops soon ($took µs)" test "$took" -lt 15000000
expect 'and cleanly' equals success property Result
expect_journal 'The state could not be saved since' -u timerd
make_room
inside systemctl start timerd.socket timerd
at=$(runs)
wait_for 10 'the next one continues' at_least $((at + 3)) runs
inside timerctl pause beat >/dev/null
# A run may write its line while this counts.
twice() { sort "$starts" | uniq -d | wc -l; }
expect 'none was started twice' equals 0 twice
inside systemctl stop timerd.socket timerd
inside umount "$state"
inside rm -rf "$state" /run/timerd/daemon/heartbeat
