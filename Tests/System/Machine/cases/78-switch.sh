# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# `timerctl import --all --switch` moves crontabs and timers to timerd and `--back` moves them back, with a SIGKILL of
# timerctl before each of its changes and after those of crontab(1) and systemd, kills of the daemon in between, and a
# reboot in the middle. Each time of each schedule runs exactly once, except while the machine is down.
# Takes at most 400 s.

slots=$MACHINE_ROOT/var/tmp/slots
minutely='anna odd over bert'
often='ten still'
sources='--only anna --only /etc/cron.d/over --only ten.timer --only still.timer'
# by WHO NAME: how often it ran the job.
by() { if [ -e "$slots" ]; then grep -c " $1 $2\$" "$slots" || true; else echo 0; fi; }
# each_has_run WHO COUNT: it ran each job so often.
each_has_run() {
    local name
    for name in $minutely $often; do [ "$(by "$1" "$name")" -ge "$2" ] || return; done
}
down='0 0'
# each_once NAME PERIOD: no time between its first run and its last one is missing, unless the machine was down then,
# and none is there twice.
each_once() {
    awk -v name="$1" -v period="$2" -v down="$down" 'BEGIN { split(down, off) } $3 != name { next }
        { slot = $1 - $1 % period }
        last && slot == last { print name ": twice at " slot; bad = 1 }
        last && slot > last + period && !(last + period <= off[2] && slot - period >= off[1] - period) {
            print name ": after " last " comes " slot; bad = 1 }
        { last = slot; runs++ } END { exit bad || runs < 3 }' "$slots"
}
all_once() {
    local name
    sort -n -s -k 1,1 -o "$slots.sorted" "$slots"
    cat "$slots.sorted" >"$slots"
    for name in $minutely; do each_once "$name" 60 || return; done
    for name in $often; do each_once "$name" 10 || return; done
}
# between_times: waits for a second in which nothing is due, so that a restart of the daemon misses nothing.
is_between_times() { case $(($(date +%s) % 10)) in 3 | 4 | 5) ;; *) return 1 ;; esac; }
kill_daemon() {
    wait_for 15 'a moment between two times' is_between_times
    inside systemctl kill -s KILL timerd
    wait_for 10 'timerd again' inside timerctl list
}
# step OPTION: makes one change of a file, and is killed before the next one; 0 if nothing was left to do.
step() {
    inside strace -qq -o /dev/null -e trace=renameat -e inject=renameat:signal=KILL:when=2 \
        timerctl import --all "$1" --yes $sources
}
# killed_after OPTION COMMAND...: kills timerctl as soon as the command succeeds. Each change of a file is delayed, so
# that this is before the next one.
killed_after() {
    local option=$1 tick
    shift
    inside strace -qq -o /dev/null -e trace=renameat -e inject=renameat:delay_enter=1500000 \
        timerctl import --all "$option" --yes $sources >"$MACHINE_WORK/said" 2>&1 &
    for tick in $(seq 400); do
        if "$@" >/dev/null 2>&1; then
            inside pkill -KILL -x timerctl || true
            wait || true
            return 0
        fi
        sleep 0.1
    done
    cat "$MACHINE_WORK/said"
    fail "waited in vain: $*"
}
spool=$MACHINE_ROOT/var/spool/cron/crontabs/anna
marked() { grep -q '^#timerd# ' "$1"; }
unmarked() { ! marked "$1"; }
is_off() { equals inactive inside systemctl is-active "$1"; }
is_on() { inside systemctl -q is-active "$1"; }
all_off() { marked "$spool" && marked "$MACHINE_ROOT/etc/cron.d/over" && is_off still.timer && is_off ten.timer \
    && equals masked inside systemctl is-enabled still.timer && equals disabled inside systemctl is-enabled ten.timer; }
guarded() { grep -q '# guard$' "$MACHINE_ROOT/etc/timerd/jobs.d/$1.toml"; }
all_guarded() {
    local file
    for file in crontab-anna cron.d-over systemd-ten systemd-still; do guarded "$file" || return; done
}
timer() { printf '[Timer]\nOnCalendar=*:*:0/10\nAccuracySec=1ms\n%s' "$1"; }
service() { printf '[Service]\nType=oneshot\nExecStart=/usr/local/bin/slot-%s\n' "$1"; }

fresh
# So that the daemon has loaded nothing that a killed timerctl has written, unless it says so.
printf '[daemon]\nauto-reload = false\n' | cat - "$MACHINE_HERE/timerd.toml" | configure
inside systemctl stop cron
inside systemctl restart timerd
cat >"$MACHINE_ROOT/usr/local/bin/slot" <<'SH'
#!/bin/sh
if [ "${TIMERD_JOB:-}" ]; then who=timerd; else who=other; fi
echo "$(date +%s) $who ${0##*slot-}" >>/var/tmp/slots
SH
chmod 755 "$MACHINE_ROOT/usr/local/bin/slot"
for name in $minutely $often; do inside ln -sf slot "/usr/local/bin/slot-$name"; done
: >"$slots"
chmod 666 "$slots"
for user in anna bert; do inside useradd "$user" 2>/dev/null || true; done
# What a shell would take for a command is only a text.
table=$(printf '%s\n' 'MAILTO=""' '# Each minute.' '* * * * * /usr/local/bin/slot-anna' \
    "  *  * * * *	/usr/local/bin/slot-odd '\"; touch /var/tmp/injected; \"\$(touch /var/tmp/injected)' # \\% \`id\`")
echo "$table" | inside crontab -u anna -
printf 'MAILTO=""\n* * * * * root /usr/local/bin/slot-over\n* * * * * bert /usr/local/bin/slot-bert\n' \
    >"$MACHINE_ROOT/etc/cron.d/over"
cp -p "$MACHINE_ROOT/etc/cron.d/over" "$MACHINE_WORK/table"
units=$MACHINE_ROOT/usr/lib/systemd/system
timer 'Persistent=true
[Install]
WantedBy=timers.target
' >"$units/ten.timer"
timer '' >"$units/still.timer"
for name in ten still; do service "$name" >"$units/$name.service"; done
inside ln -sf ../still.timer /usr/lib/systemd/system/timers.target.wants/still.timer
inside systemctl daemon-reload
inside systemctl enable --now ten.timer
inside systemctl start still.timer cron
# What cannot be switched stays as it is, and says why: a file that cron ignores because it is a user's, one that the
# user of a job cannot read, and a timer that is due all the time.
printf '* * * * * root touch /var/tmp/injected\n' >"$MACHINE_ROOT/etc/cron.d/planted"
inside chown bert /etc/cron.d/planted
printf '* * * * * bert true\n' >"$MACHINE_ROOT/etc/cron.d/secret"
chmod 600 "$MACHINE_ROOT/etc/cron.d/secret"
timer '' | sed 's|0/10|0/3|' >"$units/never.timer"
printf '[Service]\nExecStart=/bin/true\n' >"$units/never.service"
inside systemctl daemon-reload
inside systemctl start never.timer
expect_status 1 'three of them are not switched' inside timerctl import --all --switch --yes \
    --only /etc/cron.d/planted --only /etc/cron.d/secret --only never.timer >"$MACHINE_WORK/said"
for line in '^/etc/cron.d/planted: not switched.*belongs to uid' '^/etc/cron.d/secret: .*user bert .*cannot find out' \
    '^never.timer: .*a run is due at each moment'; do
    expect 'the reason' grep -q "$line" "$MACHINE_WORK/said"
done
expect 'nothing is left of them' sh -c '! ls "$1"/etc/timerd/jobs.d/*.toml' sh "$MACHINE_ROOT"
expect_status 4 'no job either' inside timerctl show never
expect 'the file is as it was' grep -qx '\* \* \* \* \* bert true' "$MACHINE_ROOT/etc/cron.d/secret"
expect 'the timer is active' is_on never.timer
inside systemctl stop never.timer
inside rm -f /etc/cron.d/planted /etc/cron.d/secret
wait_for 90 'cron and systemd run all of it' each_has_run other 1

# One file each time. Nothing is switched.
for kills in 1 2 3; do
    step --switch && fail 'step: nothing was left to do'
done
killed_after --switch all_guarded
for name in $minutely; do expect 'cron runs it' test "$(by timerd "$name")" = 0; done
kill_daemon
# All sources are off, and all jobs have guards.
killed_after --switch all_off
expect 'all jobs have guards' all_guarded
inside systemctl enable timerd
down=$(date +%s)
reboot_machine
wait_for 20 'timerd' inside timerctl list
down="$down $(date +%s)"
ran=$(by timerd ten)
wait_for 30 'timerd runs it after the boot' at_least "$((ran + 1))" by timerd ten
# The guards go, one file each time.
until step --switch; do
    kills=$((kills + 1))
    [ "$kills" -lt 30 ] || fail 'step: it makes no progress'
done
expect 'there were steps' test "$kills" = 6
expect 'no job has a guard' sh -c '! grep "# guard$" "$1"/etc/timerd/jobs.d/*.toml' sh "$MACHINE_ROOT"
expect 'the timer without [Install] is masked' equals masked inside systemctl is-enabled still.timer
expect 'the other one is disabled' equals disabled inside systemctl is-enabled ten.timer
expect 'others cannot read the crontab' \
    equals '640 timerd' inside stat -c '%a %G' /etc/timerd/jobs.d/crontab-anna.toml
inside timerctl import --all --switch --yes $sources >"$MACHINE_WORK/said"
expect 'nothing is left to do' grep -q '^the crontab of anna: 2 jobs, switched before$' "$MACHINE_WORK/said"
ran=$(by timerd ten)
wait_for 30 'timerd runs it without guards' at_least "$((ran + 1))" by timerd ten
wait_for 90 'timerd runs all of it' each_has_run timerd 1

ran=$(by other ten)
for kills in 1 2 3; do
    step --back && fail 'step: nothing was left to do'
done
kill_daemon
killed_after --back unmarked "$spool"
killed_after --back is_on ten.timer
kill_daemon
until step --back; do
    kills=$((kills + 1))
    [ "$kills" -lt 30 ] || fail 'step: it makes no progress'
done
expect 'the table is as it was' sh -c 'test "$1" = "$2"' sh "$table" "$(inside crontab -u anna -l)"
expect 'so is the file' cmp "$MACHINE_WORK/table" "$MACHINE_ROOT/etc/cron.d/over"
expect 'the jobs are gone' sh -c '! ls "$1"/etc/timerd/jobs.d/*.toml' sh "$MACHINE_ROOT"
expect 'the timer is enabled' equals enabled inside systemctl is-enabled ten.timer
expect 'the other one is static' equals static inside systemctl is-enabled still.timer
cron_ran=$(by other anna)
wait_for 90 'cron runs it again' at_least "$((cron_ran + 1))" by other anna
wait_for 30 'systemd runs it again' at_least "$((ran + 2))" by other ten
inside systemctl stop cron ten.timer still.timer
cat "$slots"
expect 'each time exactly once' all_once
expect 'no text became a command' test ! -e "$MACHINE_ROOT/var/tmp/injected"

# Someone switches a line and a timer on again by hand, and adds a line. The next --switch corrects that, and --back keeps
# what is new.
two='--only anna --only ten.timer'
inside systemctl start ten.timer
inside timerctl import --all --switch --yes $two || true
{ inside crontab -u anna -l | sed '0,/^#timerd# /s///'; echo '# mine'; } >"$MACHINE_WORK/edited"
inside crontab -u anna - <"$MACHINE_WORK/edited"
inside systemctl enable --now ten.timer
inside timerctl import --all --switch --yes $two
expect 'the timer is off' is_off ten.timer
expect 'for good' equals disabled inside systemctl is-enabled ten.timer
expect 'both lines are off' equals 2 grep -c '^#timerd# ' "$spool"
expect 'no job has a guard' sh -c '! grep "# guard$" "$1"/etc/timerd/jobs.d/*.toml' sh "$MACHINE_ROOT"
inside timerctl import --all --back --yes
expect 'the line is kept' sh -c 'test "$1" = "$2"' sh "$(printf '%s\n# mine' "$table")" "$(inside crontab -u anna -l)"
expect 'the timer is on' is_on ten.timer
expect_status 4 'the job is gone' inside timerctl show ten

inside systemctl disable --now ten.timer
inside systemctl disable timerd
inside crontab -u anna -r
for user in anna bert; do inside userdel "$user"; done
inside sh -c 'rm -f /usr/local/bin/slot* /etc/cron.d/over /var/tmp/slots* /etc/timerd/jobs.d/*.off \
    /usr/lib/systemd/system/timers.target.wants/still.timer /usr/lib/systemd/system/ten.* /usr/lib/systemd/system/still.* \
    /usr/lib/systemd/system/never.*'
inside systemctl daemon-reload
