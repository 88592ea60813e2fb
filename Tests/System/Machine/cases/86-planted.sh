# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# Another object in the place of one of the daemon's files, as an attacker would leave it to have another file
# read or written: it is refused with its name, and the file behind it does not change.

inside useradd stranger 2>/dev/null || true
every_kind="a symbolic link,a hard link,a FIFO,a directory,a stranger's file,a file for its group,a file for all users"
links='a symbolic link,a hard link'
directories="a symbolic link,a FIFO,a stranger's directory,a directory for its group"

# plant KIND PATH OWNER: creates an object that does not belong there. The file behind it has the same owner, so
# that permissions do not prevent a write, and is on the same file system.
plant() {
    # shellcheck disable=SC2016  # for the shell in the machine
    inside sh -eu -c '
        case $2 in /run/*) trap=/run/victim ;; *) trap=/var/tmp/victim ;; esac
        rm -rf "$2" "$trap"
        mkdir -p "${2%/*}"
        install -o "$3" -g "$3" -m 600 /dev/null "$trap"
        echo precious >"$trap"
        case $1 in
        "a symbolic link") ln -s "$trap" "$2" ;;
        "a hard link") ln "$trap" "$2" ;;
        "a FIFO") mkfifo -m 600 "$2"; chown "$3:" "$2" ;;
        "a directory") install -d -o "$3" "$2" ;;
        "a directory for its group") install -d -o "$3" -g "$3" -m 770 "$2" ;;
        "a file for its group") install -o "$3" -g "$3" -m 660 /dev/null "$2" ;;
        "a file for all users") install -o "$3" -g "$3" -m 606 /dev/null "$2" ;;
        "a stranger'\''s file") install -o stranger -m 666 /dev/null "$2" ;;
        "a stranger'\''s directory") install -d -o stranger "$2" ;;
        esac
        stat -c "%u %g %a %y" "$trap" >"$trap.stat"' plant "$1" "$2" "$3"
    date +%s.%6N >"$MACHINE_WORK/since"
}
# pull_up PATH [VICTIM]: removes it, if the file behind it has not changed.
pull_up() {
    # shellcheck disable=SC2016  # for the shell in the machine
    inside sh -eu -c '
        case ${2-$1} in /run/*) trap=/run/victim ;; *) trap=/var/tmp/victim ;; esac
        test "$(cat "$trap")" = precious
        stat -c "%u %g %a %y" "$trap" | cmp - "$trap.stat"
        rm -rf "$1" "$trap" "$trap.stat"' pull_up "$@"
}
# each KINDS COMMAND...: runs the command with each of the kinds as last argument.
each() {
    local kinds=$1 kind
    shift
    local IFS=,
    for kind in $kinds; do "$@" "$kind"; done
}
# refuses UNIT OWNER PATH KIND: with this object in its place the unit does not start, and the error has its
# path.
refuses() {
    local unit=$1 owner=$2 path=$3 kind=$4 status=0
    plant "$kind" "$path" "$owner"
    inside systemctl start "$unit" 2>/dev/null || status=$?
    [ "$status" != 0 ] || fail "$path: $kind is accepted"
    expect_journal "annot start: $path: " -u "$unit"
    inside systemctl stop "$unit" 2>/dev/null
    expect "$path: what $kind leads to is as it was" pull_up "$path"
}
# reload_refuses PATH KIND: with this object in its place the whole configuration is refused.
reload_refuses() {
    local path=$1 kind=$2
    plant "$kind" "$path" root
    expect_status 1 "$path: $kind is refused" inside timerctl reload 2>/dev/null
    expect_journal "^$path: " -u timerd
    expect 'the jobs are as they were' equals "$(printf 'tick\nslow')" inside timerctl list --names
    expect "$path: what $kind leads to is as it was" pull_up "$path"
}
# run_refuses PATH KIND: a run that would read its environment from this object is not started.
run_refuses() {
    local path=$1 kind=$2
    plant "$kind" "$path" stranger
    inside timerctl run careful >/dev/null || true
    wait_for 10 "$path: $kind is refused" \
        in_journal "could not start: .*read the environment file $path" TIMERD_JOB=careful TIMERD_EVENT=run-ended
    expect "$path: what $kind leads to is as it was" pull_up "$path"
}

# The runner's files.
fresh
inside systemctl stop timerd.socket timerd timerd-runner
each "$links,a FIFO,a directory,a file for all users" refuses timerd-runner root /run/timerd-runner/runner.sock
each "$links,a file for all users" refuses timerd-runner root /run/timerd-runner/runner.lock
each "$directories" refuses timerd-runner root /run/timerd-runner/runs
# Invalid marks cause no failure.
inside mkdir -p -m 700 /run/timerd-runner/runs
plant 'a symbolic link' /run/timerd-runner/runs/tick:20260101T000000.000000Z:1 root
inside mkfifo /run/timerd-runner/runs/tick:20260101T000001.000000Z:1
inside systemctl start timerd-runner
expect 'what a mark leads to is as it was' pull_up /run/timerd-runner/runs/tick:20260101T000000.000000Z:1

# The files of the scheduler.
inside systemctl stop timerd
each "$every_kind" refuses timerd timerd /var/lib/timerd/timerd.db
each "$links,a stranger's file" refuses timerd timerd /var/lib/timerd/timerd.db-wal
each "$links" refuses timerd timerd /var/lib/timerd/timerd.db-shm
each "$links" refuses timerd timerd /var/lib/timerd/timerd.db-journal
each "$links" refuses timerd timerd /var/lib/timerd/timerd.lock
each "$every_kind" refuses timerd timerd /run/timerd/daemon/heartbeat
# The database was removed with the object in its place. Without its marker this is a first start.
inside rm -rf /var/lib/timerd /run/timerd/daemon/heartbeat
inside systemctl reset-failed timerd
inside systemctl start timerd

# systemd creates the control socket, and removes the object there, not its target.
for kind in 'a symbolic link' 'a hard link' 'a FIFO' "a stranger's file"; do
    inside systemctl stop timerd.socket timerd
    plant "$kind" /run/timerd/control.sock timerd
    # The units have a limit of starts in a short time.
    inside systemctl reset-failed timerd.socket timerd
    inside systemctl start timerd.socket timerd
    expect "over $kind, it answers" inside timerctl list --names
    expect "what $kind leads to is as it was" pull_up /nowhere /run/victim
done

# A directory that is a link is refused.
for directory in /run/timerd/daemon /var/lib/timerd; do
    inside systemctl stop timerd.socket timerd
    inside rm -rf "$directory" /var/tmp/elsewhere
    inside install -d -o timerd /var/tmp/elsewhere
    inside ln -s /var/tmp/elsewhere "$directory"
    inside systemctl reset-failed timerd.socket timerd
    expect_status 1 "$directory: a link is refused" inside systemctl start timerd 2>/dev/null
    inside systemctl stop timerd.socket timerd 2>/dev/null
    expect 'and nothing of the account is written through it' inside test ! -e /var/tmp/elsewhere/timerd.db
    inside rm "$directory"
done
inside systemctl reset-failed timerd.socket timerd
inside systemctl start timerd.socket timerd

# The configuration.
each "$every_kind" reload_refuses /etc/timerd/jobs.d/planted.toml
inside rmdir /etc/timerd/jobs.d
each "$directories" reload_refuses /etc/timerd/jobs.d
inside mkdir -p /etc/timerd/jobs.d
each "$every_kind" reload_refuses /etc/timerd/timerd.toml

# The files with the environment of a run.
configure <<'TOML'
[job.careful]
command = ["true"]
every = "1h"
environment-file = "/etc/timerd/environment"
TOML
inside systemctl reload timerd
each "$every_kind" run_refuses /etc/timerd/environment
# A job of another user may have a file of that user.
inside install -o stranger -m 600 /dev/null /var/tmp/environment
printf '[job.theirs]\ncommand = ["true"]\nevery = "1h"\nuser = "stranger"\nenvironment-file = "/var/tmp/environment"\n' \
    >>"$MACHINE_ROOT/etc/timerd/timerd.toml"
inside systemctl reload timerd
inside timerctl run theirs || true
wait_for 10 "the user's own file is read" in_journal 'succeeded in' TIMERD_JOB=theirs TIMERD_EVENT=run-ended
inside install -m 640 /dev/null /etc/timerd/environment
inside timerctl run careful || true
wait_for 10 'a file of its own is read' in_journal 'succeeded in' TIMERD_JOB=careful TIMERD_EVENT=run-ended
