# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
#
# Functions for the cases. They run on the host, with `set -eu`, and run commands in the machine with `inside`.
# They use only what dash supports, so that a case can read this file in a `sh -c`, too.

# install_timerd DIRECTORY: puts timerd into the machine, from the binaries in the directory.
install_timerd() {
    make -s -C "$MACHINE_HERE/../../.." install DESTDIR="$MACHINE_ROOT" PREFIX=/usr BIN="$1" >/dev/null
}

# The machine's PID 1, as the host numbers it. Until nspawn has set the container up, its child is still in
# the host's own namespaces, where a `systemctl poweroff` would be the host's: only a systemd that is PID 1
# of a namespace of its own will do.
machine_init() {
    local pid
    for pid in $(pgrep -P "$(cat "$MACHINE_WORK/nspawn.pid" 2>/dev/null || echo 0)"); do
        if awk '/^Name:/ { name = $2 } /^NSpid:/ { inner = NF > 2 ? $NF : 0 }
                END { exit !(name == "systemd" && inner == 1) }' "/proc/$pid/status" 2>/dev/null; then
            echo "$pid"
            return 0
        fi
    done
    return 1
}

# Runs a command in the machine. nsenter keeps CAP_SYS_TIME, and the clock is the host's: without the right
# to set it. (What the machine's own systemd starts never had it; nspawn takes it away.)
inside() {
    local init timens=
    init=$(machine_init) || { echo 'the machine is down' >&2; return 1; }
    [ ! -e /proc/self/ns/time ] || timens=-T
    # shellcheck disable=SC2086  # an option or nothing
    nsenter -t "$init" -m -p -u -i -n $timens -- \
        setpriv --bounding-set -sys_time --inh-caps -sys_time -- \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}

# holds_clock_right: whether a /proc/PID/status on standard input has CAP_SYS_TIME, bit 25, in any of its
# sets, the one that bounds what it can ever get included (capabilities(7)).
holds_clock_right() {
    local name mask
    while read -r name mask; do
        case $name in Cap*) [ $((0x$mask >> 25 & 1)) = 0 ] || return 0 ;; esac
    done
    return 1
}

wait_for_boot() {
    local deadline=$(($(date +%s) + 60)) state=
    while [ "$(date +%s)" -lt "$deadline" ]; do
        state=$(inside systemctl is-system-running 2>/dev/null) || true
        case $state in running | degraded)
            machine_init >"$MACHINE_WORK/init" || true
            return 0
            ;;
        esac
        sleep 0.1
    done
    echo "the machine did not boot: ${state:-no answer}" >&2
    return 1
}

boot_id() { inside cat /proc/sys/kernel/random/boot_id; }

# Reboots the machine and waits until it is up again. Nothing may be in it from outside while it ends, so this is
# asked for with a signal (systemd(1)): systemd-shutdown stops and continues all processes, nsenter stops itself
# when its command stops, and nobody outside continues it. The machine would then wait for its command for ever.
reboot_machine() {
    local before init
    before=$(boot_id)
    init=$(machine_init)
    /bin/kill -s RTMIN+5 "$init"
    wait_for 90 'the end of the old boot' is_gone "$init"
    wait_for 60 'a new boot' new_boot "$before"
    wait_for_boot
}

# is_gone PID: whether there is no such process on the host.
is_gone() { ! kill -0 "$1" 2>/dev/null; }

new_boot() {
    local now
    now=$(boot_id 2>/dev/null) && [ -n "$now" ] && [ "$now" != "$1" ]
}

fail() {
    echo "$*" >&2
    exit 1
}

# expect WHAT COMMAND...: the command must succeed.
expect() {
    local what=$1
    shift
    "$@" || fail "expected: $what ($*)"
}

# expect_status STATUS WHAT COMMAND...: the command must end with this status.
expect_status() {
    local expected=$1 what=$2 status=0
    shift 2
    "$@" || status=$?
    [ "$status" = "$expected" ] || fail "expected: $what, status $expected; it was $status ($*)"
}

# wait_for SECONDS WHAT COMMAND...: the command must succeed by then. It is run again and again, so what it
# looks at must be looked up in it, by a function, and not in its arguments.
wait_for() {
    local deadline=$(($(date +%s) + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$deadline" ] || fail "waited in vain: $what ($*)"
        sleep 0.1
    done
}

# equals VALUE COMMAND...: the command prints just this.
equals() {
    local value=$1
    shift
    [ "$("$@")" = "$value" ]
}

# at_least NUMBER COMMAND...: the command prints a number as large or larger.
at_least() {
    local number=$1
    shift
    [ "$("$@")" -ge "$number" ]
}

# in_journal PATTERN MATCH...: an entry since `fresh` that matches has a message like the pattern.
in_journal() {
    local pattern=$1
    shift
    journal -o cat "$@" | grep -q -- "$pattern"
}

# expect_journal PATTERN MATCH...: there is such an entry, or will be within moments, because no program waits
# for the journal.
expect_journal() { wait_for 5 'a journal entry' in_journal "$@"; }

# journal MATCH...: the entries since `fresh`, over reboots. Entries of earlier cases do not count. They are
# selected by time: with matches, --after-cursor skips the first entry that matches.
journal() {
    inside journalctl -q --no-pager --since="@$(cat "$MACHINE_WORK/since")" "$@"
}

# property NAME: a property of the service.
property() { inside systemctl show timerd -p "$1" --value; }

# The daemon was restarted by systemd this often, and answers.
restarted() { [ "$(property NRestarts)" -ge "$1" ] && inside timerctl list; }

# number JOB KEY: a number in the output of timerctl about a job.
number() { inside timerctl show "$1" --json | grep -o "\"$2\":[0-9]*" | head -1 | cut -d: -f2; }

# word JOB KEY: a text in it.
word() { inside timerctl show "$1" --json | grep -o "\"$2\":\"[^\"]*\"" | head -1 | cut -d: -f2- | tr -d '"'; }

# microseconds: the wall clock, since the epoch.
microseconds() { echo $(($(date +%s%N) / 1000)); }

# configure: the machine's configuration, from standard input.
configure() { cat >"$MACHINE_ROOT/etc/timerd/timerd.toml"; chmod 644 "$MACHINE_ROOT/etc/timerd/timerd.toml"; }

# guide FILE HEADING: the commands in a section of a page of docs/, as they are printed there, one a line.
guide() {
    awk -v heading="## $2" '/^## / { here = $0 == heading; next }
        /^ *```/ { fenced = !fenced; next }
        here && fenced { sub(/^ +/, ""); sub(/^# /, ""); sub(/  +# .*/, ""); print }' "$MACHINE_HERE/../../../docs/$1"
}

# fresh: the daemon as if it were just installed, with the configuration of the tests.
fresh() {
    inside systemctl stop timerd.socket timerd timerd-runner
    inside systemctl reset-failed timerd timerd-runner 2>/dev/null || true
    # With the heartbeat, or the daemon would miss the state that it shows to have been there.
    inside rm -rf /var/lib/timerd /run/timerd/daemon/heartbeat /etc/systemd/system/timerd.service.d
    inside systemctl daemon-reload
    configure <"$MACHINE_HERE/timerd.toml"
    date +%s.%6N >"$MACHINE_WORK/since"
    inside systemctl start timerd
}
