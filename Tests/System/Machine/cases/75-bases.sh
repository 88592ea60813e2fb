# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# Four jobs with the four bases of time, over a stopped daemon, a pause and a reboot of the machine.

fresh
for count in active uptime boottime wall; do
    printf '[job.%s]\ncommand = ["true"]\nevery = "1h"\ncount = "%s"\n' "$count" "$count"
done | configure
inside systemctl reload timerd
inside systemctl enable timerd
wait_for 10 'some time has elapsed' at_least 1000000 number wall elapsed_usec
# passed FROM SECONDS: this much time has passed since then.
passed() { [ "$(microseconds)" -ge $(($1 + $2 * 1000000)) ]; }

# The daemon is stopped for 3 s: only active time does not advance. The values are from a moment between two
# readings of the clock.
before=$(number active elapsed_usec)
inside systemctl stop timerd
stopped=$(microseconds)
wait_for 10 'three seconds' passed "$stopped" 3
inside systemctl start timerd
after=$(number active elapsed_usec)
expect 'active time did not advance' test $((after - before)) -lt 2500000
for count in uptime boottime wall; do
    expect "$count advanced" test "$(number $count elapsed_usec)" -ge $((before + 3000000))
done
expect_journal 'Started with 4 jobs; the previous instance stopped cleanly' TIMERD_EVENT=daemon-started

# A pause stops all four.
inside timerctl pause --all --note 'disk swap'
held=$(number wall elapsed_usec)
active=$(number active elapsed_usec)
now=$(microseconds)
wait_for 10 'a second' passed "$now" 1
expect 'nothing counts while it is paused' equals "$held" number wall elapsed_usec
inside timerctl resume --all --yes

# The machine is switched off and on: by the wall clock all of this time has passed.
before=$(microseconds)
reboot_machine
wait_for 20 'the daemon' inside timerctl list
told=$(number wall elapsed_usec)
after=$(microseconds)
expect "all time counts ($held, then $told)" test "$told" -ge $((held + (after - before) / 2))
expect "no more than passed ($held, then $told)" test "$told" -le $((held + after - now))
told=$(number active elapsed_usec)
expect "active time did not ($active, then $told)" test "$told" -lt $((active + after - before))
inside systemctl disable timerd
