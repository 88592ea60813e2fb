# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A pause survives a restart of the daemon and of the machine, with its user and its note.

fresh
wait_for 10 'some time has elapsed' at_least 1000000 number slow elapsed_usec
expect 'paused' inside timerctl pause slow --note 'disk swap'
accrued=$(number slow elapsed_usec)
since=$(word slow since)
expect 'it says since when' test -n "$since"
inside systemctl restart timerd
expect 'paused after the restart' equals paused word slow state
expect 'the elapsed time did not change' equals "$accrued" number slow elapsed_usec
inside systemctl enable timerd
reboot_machine
wait_for 20 'the daemon' inside timerctl list
expect 'paused after the reboot' test "$(word slow state)" = paused
expect 'the note is kept' test "$(word slow note)" = 'disk swap'
expect 'by whom' test "$(word slow by)" = root
expect 'and since when' equals "$since" word slow since
expect 'not a microsecond of it was lost' test "$(number slow elapsed_usec)" = "$accrued"
expect 'resumed' inside timerctl resume slow
expect 'armed' test "$(word slow state)" = armed
wait_for 10 'it counts again' at_least $((accrued + 100000)) number slow elapsed_usec
inside systemctl disable timerd
