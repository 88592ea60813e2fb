# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# Text that tries to control the terminal on which it is shown, or to look like another log entry: it is shown
# as text and has no other effect.

install -m 644 "$MACHINE_HERE/harmless.py" "$MACHINE_ROOT/root/harmless.py"
install -m 644 "$MACHINE_HERE/../../../Sources/Scheduler/TimerLog/Log/EventKind.swift" "$MACHINE_ROOT/root/EventKind.swift"
# is_harmless KIND COMMAND...: checks the output of the command.
is_harmless() {
    local kind=$1
    shift
    # The output of a command that fails is checked too.
    { inside "$@" 2>&1 || true; } | inside /usr/bin/python3 /root/harmless.py "$kind"
}
# on_terminal COMMAND: the output of the command on a terminal.
on_terminal() { is_harmless terminal script -qec "$1" /dev/null; }
in_entries() { is_harmless journal journalctl -q --no-pager -a -o export "$@"; }

expect_status 1 'what steers a terminal is seen' on_terminal "printf '\033[2J'" 2>/dev/null
expect_status 1 'the second half of the controls as well' on_terminal "printf '\302\233'" 2>/dev/null
expect 'what does not is not' on_terminal "printf 'täglich\n'"

fresh
cat >"$MACHINE_ROOT/root/evil" <<'SCRIPT'
printf '\033[2J\033]0;owned\007 \302\233 2J\n'
printf 'over\rwritten\b\b\v\f\n'
printf 'MESSAGE=forged\nPRIORITY=0\nTIMERD_EVENT=forged\n_UID=0\nFORGED=1\n\n'
printf '\377\376 \303\050 \355\240\200 \0 nul\n'
printf 'a \342\200\256 b \342\200\250 c \342\201\246 d\n'
head -c 102400 /dev/zero | tr '\0' x
echo
exit 3
SCRIPT
configure <<'TOML'
[job.evil]
description = "A \u001b[31m \u0007 \u009b2J \u202e \u2028 text\n      State: forged"
command = ["sh", "/root/evil", "\u001b]0;owned\u0007\nState: forged"]
every = "1h"
[job.tail]
shell = "sh /root/evil"
every = "1h"
log = "failures"
[job.crooked]
command = ["/no/such\u001b[31m\nTIMERD_EVENT=forged\n", "x"]
every = "1h"
[job.lost]
command = ["true"]
every = "1h"
environment-file = "/no/such\u001b[31m\nTIMERD_EVENT=forged"
[job.nowhere]
command = ["true"]
every = "1h"
working-directory = "/no/such\u001b[31m\n"
TOML
inside systemctl reload timerd
note=$(printf 'a \033[31m\007 \302\233 \342\200\256 note\nTIMERD_EVENT=forged\n      State: forged')
expect_status 1 'a note with control characters is refused' inside timerctl pause evil --note "$note" 2>/dev/null
note=$(printf 'a \342\200\256 note \342\200\250 TIMERD_EVENT=forged      State: forged')
inside timerctl pause evil --note "$note" >/dev/null
inside timerctl run --all >/dev/null || true
for job in evil tail crooked lost nowhere; do
    wait_for 10 "the end of $job" in_journal . TIMERD_JOB=$job TIMERD_EVENT=run-ended
done

expect 'all of them is in the journal, as text' in_entries --since="@$(cat "$MACHINE_WORK/since")" _COMM=timerd _TRANSPORT=journal
# A line of 100 KiB comes in several pieces, and nothing is lost.
pieces() { journal -t evil -o cat | grep '^x*$' | tr -d '\n' | wc -c; }
expect 'a long line is there' equals 102400 pieces
longest() { journal -t evil -o cat | awk '{ if (length > most) most = length } END { print most }'; }
expect 'in pieces' equals 8192 longest
expect 'a journal that is only slower than all this lost nothing of it' equals '' journal TIMERD_EVENT=log-dropped
expect 'there is no forged event' equals '' journal TIMERD_EVENT=forged

# timerctl itself prints these colors.
for command in 'list' 'list --columns job,state,by,until,note' 'upcoming'; do
    expect "timerctl $command on a terminal" on_terminal "timerctl $command --color never"
done
for form in json jsonl csv names; do
    expect "timerctl list as $form" on_terminal "timerctl list -o $form"
done
for command in 'show evil' 'why evil' 'history' 'history evil --lines 100' 'log evil' 'log tail' 'show crooked' \
    'why crooked' 'show lost' 'why lost' 'why nowhere' 'next evil' 'resume evil' 'reload --dry-run'; do
    expect "timerctl $command on a terminal" on_terminal "timerctl $command --color never --no-pager"
    expect "and as JSON" on_terminal "timerctl $command --json"
done
forged() { inside timerctl show evil | grep -c '^ *State:'; }
expect 'no line of it is forged' equals 1 forged
expect 'journalctl -x on a terminal' on_terminal "journalctl -x -q --no-pager --since=@$(cat "$MACHINE_WORK/since") -u timerd"
expect 'systemctl status on a terminal' on_terminal 'systemctl status --no-pager timerd'

# Errors in a configuration, and errors in commands.
printf '[job."a\\u001b[31m\\n"]\nshell = "\033[2J"\nevery = "\033[31m"\n' | configure
expect 'the errors of a reload' on_terminal 'timerctl reload'
expect 'the errors of a check' on_terminal 'timerd check /etc/timerd/timerd.toml'
expect 'the entries of it' in_entries --since="@$(cat "$MACHINE_WORK/since")" _COMM=timerd _TRANSPORT=journal
escape=$(printf '\033[31m')
expect 'a name that is none' on_terminal "timerctl show 'a$escape'"
expect 'a socket that is none' on_terminal "timerctl list --color never --socket '/no/such$escape'"
expect 'a file that is none' on_terminal "timerd check '/no/such$escape'"
