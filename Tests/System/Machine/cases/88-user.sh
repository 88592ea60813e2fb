# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# A user's own daemon, under the user's own service manager, beside the system's.

inside useradd -m -s /bin/sh walker 2>/dev/null || true
uid=$(inside id -u walker)
home=$MACHINE_ROOT/home/walker
# own COMMAND...: as the user, logged in.
own() {
    inside setpriv --reuid walker --regid walker --init-groups -- \
        env HOME=/home/walker USER=walker XDG_RUNTIME_DIR="/run/user/$uid" "$@"
}
own_property() { own systemctl --user show timerd -p "$1" --value; }
own_journal() { own journalctl -q --no-pager --user --since="@$(cat "$MACHINE_WORK/since")" "$@"; }
in_own_journal() {
    local pattern=$1
    shift
    own_journal -o cat "$@" | grep -q -- "$pattern"
}
own_word() { own timerctl --user show "$1" --json | grep -o "\"$2\":\"[^\"]*\"" | head -1 | cut -d: -f2- | tr -d '"'; }
own_number() { own timerctl --user show "$1" --json | grep -o "\"$2\":[0-9]*" | head -1 | cut -d: -f2; }
own_configure() {
    inside install -d -o walker -g walker /home/walker/.config /home/walker/.config/timerd
    cat >"$home/.config/timerd/timerd.toml"
    inside chown walker: /home/walker/.config/timerd/timerd.toml
    chmod 644 "$home/.config/timerd/timerd.toml"
}

fresh
inside systemctl start "user@$uid.service"
expect 'the units are well-formed' own systemd-analyze verify --user --man=no \
    timerd.service timerd-runner.service timerd.socket timerd.slice timerd-web.service timerd-web.socket

# Without a configuration there is nothing to start, and the one who starts it is told.
expect_status 1 'it is said that nothing was started' own systemctl --user start timerd
expect 'nothing was started' equals inactive own_property ActiveState
expect 'for a reason' equals no own_property AssertResult
expect 'which is shown' sh -c 'echo "$1" | grep -q "asserts failed"' sh \
    "$(own systemctl --user status timerd --no-pager || true)"
expect_status 3 'no daemon answers' own timerctl list
expect 'and how to change that is said' sh -c 'echo "$1" | grep -q "systemctl --user start timerd"' sh \
    "$(own timerctl list 2>&1 || true)"

own_configure <<'TOML'
[job.mine]
shell = 'echo "as $(id -un) in $PWD"; cat /proc/self/cgroup'
every = "1s"
first = "0s"
[job.slow]
command = ["true"]
every = "1h"
TOML
own systemctl --user enable --now timerd 2>/dev/null
expect 'it is active' equals active own_property ActiveState
expect 'it is the user' equals walker inside ps -o user= -p "$(own_property MainPID)"
expect 'its account is where it is without systemd' inside test -s /home/walker/.local/state/timerd/timerd.db
expect 'and is its own' equals 700 inside stat -c %a /home/walker/.local/state/timerd
expect 'its socket is its own' equals 600 inside stat -c %a "/run/user/$uid/timerd/control.sock"
wait_for 10 'a run, as the user at home' in_own_journal '^as walker in /home/walker$' TIMERD_JOB=mine
expect 'the unit is known to the journal' in_own_journal 'mine: succeeded in' -u timerd
expect 'the system sees it too' in_journal 'mine: succeeded in' "_UID=$uid"
tells_what_is_next() { own_property StatusText | grep -q '^2 jobs'; }
wait_for 5 'a status line with counts' tells_what_is_next
slice() { own systemctl --user show timerd-runner -p Slice --value; }
expect 'jobs are in a slice of their own' equals timerd.slice slice
# Each run has a control group, or one line says that none can be created.
no_groups='no control groups for runs: .*not ended with it$'
own_says_none() { own_journal -u timerd-runner -o cat | grep -c "$no_groups"; }
says_none() { journal -u lean -o cat | grep -c "$no_groups"; }
has_group() { in_own_journal '^0::.*/timerd-run-' TIMERD_JOB=mine; }
expect 'control groups' sh -c 'test "$1" = 1' sh "$(has_group && echo 1 || own_says_none)"
inside systemd-run -q --unit=lean -p Type=notify -p User=walker -p RuntimeDirectory=lean \
    timerd-runner --config /home/walker/.config/timerd/timerd.toml --runtime /run/lean --control-groups
expect 'without any it serves as well' inside systemctl is-active -q lean
wait_for 5 'and says so, once' equals 1 says_none
inside systemctl stop lean

# Beside the system's daemon, which belongs to another user.
expect 'the default is the own one' equals "$(printf 'mine\nslow')" own timerctl list --names
expect "root's is the system's" equals "$(printf 'tick\nslow')" inside timerctl list --names
expect_status 1 "the system's is not for all" own timerctl --system list
expect 'but for root' equals "$(printf 'tick\nslow')" inside timerctl --system list --names
expect_status 2 'one of them' own timerctl --user --system list

# The usual commands.
own timerctl --user pause slow --note 'disk swap' >/dev/null
held=$(own_number slow elapsed_usec)
own systemctl --user restart timerd
expect 'paused after a restart' equals paused own_word slow state
expect 'by the user' equals walker own_word slow by
expect 'the elapsed time did not change' equals "$held" own_number slow elapsed_usec
printf '[job.mine]\nshell = "true"\nevry = "1s"\n' | own_configure
expect_status 1 'a bad edit is refused' own systemctl --user reload timerd
own_configure <<'TOML'
[job.slow]
command = ["true"]
every = "1h"
[job.long]
command = ["sleep", "4712"]
every = "1h"
first = "0s"
TOML
expect 'a good one is taken' own systemctl --user reload timerd
expect 'and is in use' equals "$(printf 'slow\nlong')" own timerctl list --names
long_run() { inside pgrep -u walker -f '^sleep 4712$'; }
wait_for 10 'a run is active' long_run
run=$(long_run)
inside kill -KILL "$(own_property MainPID)"
wait_for 10 'it is restarted' own timerctl list
expect 'the run continues' equals "$run" long_run
expect 'paused after a kill' equals paused own_word slow state
expect_status 1 'only the user and root may connect' \
    inside setpriv --reuid nobody --regid nogroup --clear-groups -- \
    timerctl list --socket "/run/user/$uid/timerd/control.sock"
expect 'root may' inside timerctl list --socket "/run/user/$uid/timerd/control.sock"

# One-off jobs: made by the user, run as the user where the user was, and never another user's.
said() { "$@" 2>&1 | grep -q -- "$pattern"; }
own_outcome() { own timerctl show "$1" --json | grep -q -- "$2"; }
at_home() { own sh -c 'cd /home/walker/work && exec "$@"' sh "$@"; }
inside install -d -o walker -g walker /home/walker/work
expect 'the user makes one, without an option' at_home timerctl in 10ms --name here -- sh -c 'id -un; pwd; echo "$HOME"'
wait_for 20 'it runs' own_outcome here 'exited(0)'
pattern='^walker$'
expect 'as the user' said own timerctl log here -o cat
pattern='^/home/walker/work$'
expect 'where the user was' said own timerctl log here -o cat
pattern='^/home/walker$'
expect 'at home' said own timerctl log here -o cat
expect 'its definition is the own one' equals 'walker:walker 755' \
    inside stat -c '%U:%G %a' /home/walker/.config/timerd/one-off.d
expect "it is no job of the system's" sh -c '! echo "$1" | grep -qx here' sh "$(inside timerctl list --names)"
pattern='do this as that user'
expect 'root makes none among the files of another' \
    said inside timerctl --socket "/run/user/$uid/timerd/control.sock" in 1h -- true
pattern='permission denied'
expect 'and the user none in the system' said own timerctl --system in 1h -- true
expect 'one for later' own timerctl at 'tomorrow 03:00' --name later --note 'after work' -- true
expect 'is listed' equals later own timerctl list --names --match 'later*'
expect_status 1 'two cannot have one name' own timerctl in 1h --name later -- true
own systemctl --user restart timerd
expect 'is there after a restart' own_outcome later '"state":"armed"'
expect 'can be cancelled' own timerctl cancel later
expect_status 4 'and is gone' own timerctl show later
# A daemon that is stopped is started by what changes something, and by nothing else.
own systemctl --user start timerd.socket
own systemctl --user stop timerd.service
expect_status 3 'a look starts nothing' own timerctl list
expect 'a one-off job starts the daemon' own timerctl in 1h --name starts -- true
expect 'which is active' equals active own_property ActiveState
expect 'cancelling it is a change as well' own timerctl cancel starts here
expect 'one that comes due at the next login' own timerctl in 2s --name late -- touch /home/walker/late

# The status page of the user's own daemon, beside the system's.
inside install -d -o walker -g walker /home/walker/.config/systemd /home/walker/.config/systemd/user \
    /home/walker/.config/systemd/user/timerd-web.socket.d
printf '[Socket]\nListenStream=\nListenStream=127.0.0.1:8322\n' \
    | inside tee /home/walker/.config/systemd/user/timerd-web.socket.d/port.conf >/dev/null
own systemctl --user daemon-reload
expect 'the page is off by default' equals disabled own systemctl --user is-enabled timerd-web.socket
expect 'and can be started' own systemctl --user start timerd-web.socket
page=http://127.0.0.1:8322
# page_status CURL-ARGUMENT...: the status of the answer.
page_status() { inside curl -s -o /dev/null -w '%{http_code}' --max-time 20 "$@"; }
expect 'it is not shown without a login' equals 401 page_status "$page/v1/jobs"
expect 'the user logs in' equals 303 page_status -c /root/own-page "$(own timerctl --user web --url "$page")"
expect "and sees the user's jobs" sh -c 'echo "$1" | grep -q "\"slow\"" && ! echo "$1" | grep -q "\"tick\""' sh \
    "$(inside curl -s -b /root/own-page "$page/v1/jobs")"
expect 'and changes them' equals 200 page_status -b /root/own-page -H "Origin: $page" \
    -H 'Sec-Fetch-Site: same-origin' -H 'Content-Type: application/json' -d '{"note":"from the page"}' \
    "$page/v1/jobs/slow/pause"
own systemctl --user stop timerd-web.socket timerd-web.service
inside rm -rf /root/own-page /home/walker/.config/systemd/user/timerd-web.socket.d
own systemctl --user daemon-reload

# The own crontab goes over to the own daemon and back.
printf '17 4 * * * own-job\n' | own crontab -
expect_status 1 'it is switched, with a note about PATH' own timerctl import --all --switch --yes
expect 'cron does not run it' sh -c 'echo "$1" | grep -q "^#timerd# 17 4 \* \* \* own-job$"' sh "$(own crontab -l)"
expect 'its daemon does' own timerctl show own-job
expect 'it is switched back' own timerctl import --all --back --yes
expect 'the crontab is as it was' equals '17 4 * * * own-job' own crontab -l
expect_status 4 'the job is gone' own timerctl show own-job
own crontab -r

# The user logs out, and in again.
inside systemctl stop "user@$uid.service"
expect_status 1 'its runs have ended' long_run
sleep 3
expect_status 1 'nothing runs meanwhile' inside test -e /home/walker/late
inside systemctl start "user@$uid.service"
expect 'it is there at the next login' own timerctl list
expect 'with its account' equals "$held" own_number slow elapsed_usec
wait_for 20 'what came due meanwhile runs' own_outcome late 'exited(0)'
expect 'as the user' equals walker inside stat -c %U /home/walker/late
expect 'and is cancelled' own timerctl cancel late
expect 'nothing is left' test -z "$(inside ls -A /home/walker/.config/timerd/one-off.d)"
inside systemctl stop "user@$uid.service"
