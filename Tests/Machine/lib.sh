# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
#
# What the cases use. They run on the host, with `set -eu`, and reach into the machine with `inside`.

# The machine's PID 1, as the host numbers it: the only child of nspawn.
machine_init() {
    pgrep -P "$(cat "$MACHINE_WORK/nspawn.pid" 2>/dev/null || echo 0)" | head -1
}

# Runs a command in the machine, without the right to set the clock, which is the host's.
inside() {
    local init
    init=$(machine_init) && [ -n "$init" ] || { echo 'the machine is down' >&2; return 1; }
    nsenter -t "$init" -m -p -u -i -n -- \
        setpriv --bounding-set -sys_time --inh-caps -sys_time -- \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}

wait_for_boot() {
    local deadline=$(($(date +%s) + 60)) state
    while [ "$(date +%s)" -lt "$deadline" ]; do
        state=$(inside systemctl is-system-running 2>/dev/null) || true
        case $state in running | degraded) return 0 ;; esac
        sleep 0.2
    done
    echo "the machine did not boot: ${state:-no answer}" >&2
    return 1
}

# Reboots the machine and waits until it is up again.
reboot_machine() {
    local before
    before=$(inside cat /proc/sys/kernel/random/boot_id)
    inside systemctl reboot 2>/dev/null || true
    wait_for 60 'a new boot' new_boot "$before"
    wait_for_boot
}

new_boot() { [ "$(inside cat /proc/sys/kernel/random/boot_id 2>/dev/null)" != "$1" ] && machine_init >/dev/null; }

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

# wait_for SECONDS WHAT COMMAND...: the command must succeed by then.
wait_for() {
    local deadline=$(($(date +%s) + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$deadline" ] || fail "waited in vain: $what ($*)"
        sleep 0.1
    done
}

# in_journal PATTERN MATCH...: an entry of this boot that matches has a message like the pattern.
in_journal() {
    local pattern=$1
    shift
    inside journalctl -q --no-pager -b -o cat "$@" | grep -q -- "$pattern"
}

# property NAME: a property of the service.
property() { inside systemctl show timerd -p "$1" --value; }

# number JOB KEY: a number in what timerctl shows of a job.
number() { inside timerctl show "$1" --json | grep -o "\"$2\":[0-9]*" | head -1 | cut -d: -f2; }

# word JOB KEY: a text in it.
word() { inside timerctl show "$1" --json | grep -o "\"$2\":\"[^\"]*\"" | head -1 | cut -d: -f2- | tr -d '"'; }

# configure: the machine's configuration, from standard input.
configure() { cat >"$MACHINE_ROOT/etc/timerd/timerd.toml"; chmod 644 "$MACHINE_ROOT/etc/timerd/timerd.toml"; }

# fresh: the daemon as if it were just installed, with the configuration of the tests.
fresh() {
    inside systemctl stop timerd
    inside systemctl reset-failed timerd 2>/dev/null || true
    inside rm -rf /var/lib/timerd /etc/systemd/system/timerd.service.d
    inside systemctl daemon-reload
    configure <"$MACHINE_HERE/timerd.toml"
    inside systemctl start timerd
}
