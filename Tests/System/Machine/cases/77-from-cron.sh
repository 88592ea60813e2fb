# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# Lines of crontabs become jobs, and jobs lines again, with the commands of docs/FROM-CRON.md as they are printed there,
# and Debian's cron on the other side. Each minute runs exactly once. A table has only one of the two switches, so that
# two minutes are enough: those of anna and of /etc/cron.d/over go over to timerd while those of bert and of
# /etc/cron.d/back go back to cron. TIMERD_TEST_LONG=1: the first two go back as well.
# Takes at most 240 s, and 360 s with TIMERD_TEST_LONG.

slots=$MACHINE_ROOT/var/tmp/slots
tables='anna over bert back'
# by WHO TABLE: how often it ran the line of the table.
by() { if [ -e "$slots" ]; then grep -c " $1 $2\$" "$slots" || true; else echo 0; fi; }
# each_once TABLE: none of the minutes between its first run and its last one is missing, and none is there twice.
each_once() {
    awk -v table="$1" '$3 != table { next }
        { minute = int($1 / 60) } last && minute != last + 1 { print "after minute " last " comes " minute; bad = 1 }
        { last = minute; runs++ } END { exit bad || runs < 2 }' "$slots"
}
# in_order TABLE FIRST SECOND: the first one has run it, and then the second one.
in_order() {
    [ "$(sort -n -s -k 1,1 "$slots" | awk -v table="$1" '$3 == table { print $2 }' | uniq | tr '\n' ' ')" = "$2 $3 " ]
}
# table_for NAME [USER]: a crontab whose line 4 runs in each minute.
table_for() {
    printf 'SHELL=/bin/sh\nMAILTO=""\n# Each minute.\n* * * * * %s/usr/local/bin/slot-%s\n' "${2:+$2 }" "$1"
}
# printed PATTERN USER: the command of the guide that contains the pattern, for this user.
printed() { guide FROM-CRON.md 'Switch, without a lost or doubled run' | grep -F -e "$1" | sed "s/anna/$2/g"; }
# switch_of NAME DIRECTION: what --disable-source prints for a file of /etc/cron.d.
switch_of() {
    local direction='^sed'
    [ "$2" = off ] || direction='^# sed'
    inside timerctl import crontab "/etc/cron.d/$1" --disable-source 2>/dev/null | grep "$direction" | sed 's/^# //'
}

[ -x "$MACHINE_ROOT/usr/sbin/cron" ] || fail 'the machine has no cron; see packages in Tests/System/Machine/run'
fresh
# It runs since the boot. If a minute began during what follows, it would read the tables, and not notice the change of
# one in the same second.
inside systemctl stop cron
rm -f "$slots"
cat >"$MACHINE_ROOT/usr/local/bin/slot" <<'SH'
#!/bin/sh
if [ "${TIMERD_JOB:-}" ]; then who=timerd; else who=cron; fi
echo "$(date +%s) $who ${0##*slot-}" >>/var/tmp/slots
SH
chmod 755 "$MACHINE_ROOT/usr/local/bin/slot"
for table in $tables; do inside ln -sf slot "/usr/local/bin/slot-$table"; done
touch "$slots"
chmod 666 "$slots"
for user in anna bert; do
    inside useradd "$user" 2>/dev/null || true
    table_for "$user" | inside crontab -u "$user" -
done
for name in over back; do table_for "$name" root >"$MACHINE_ROOT/etc/cron.d/$name"; done

# The lines of bert and of `back` are jobs from the beginning.
imports() { expect_status "$1" "$2" inside sh -c "$3"; }
for user in anna bert; do
    # PATH is not set in the table: one note.
    imports 1 'the table becomes jobs' "$(printed '--into' "$user")"
    imports 0 'which timerd accepts' "$(printed 'timerd check' "$user")"
    printed '--disable-source' "$user" | { read -r command; inside sh -c "$command" || true; } >"$MACHINE_WORK/said"
    expect 'the guide has the command that is printed' \
        grep -qF "$(grep -v '^#' "$MACHINE_WORK/said" | sed "s/$user/anna/g")" "$MACHINE_HERE/../../../docs/FROM-CRON.md"
done
for name in over back; do
    imports 1 'so does a file of cron.d' "timerctl import crontab /etc/cron.d/$name --into /root/$name.toml"
done
to_timerd=$(printed 'install -m' anna)
# now COMMAND: the command without its wait for a new minute.
now() { echo "${1#sleep*; }"; }

# If timerd refuses the file, because another job has the name, the lines stay with cron.
inside sed -i.mine 's/^\[job\..*/[job.tick]/' /root/anna.toml
expect_status 1 'a job with a name that is taken is refused' inside sh -c "$(now "$to_timerd")"
expect 'cron still has the line' sh -c 'test "$1" = "$2"' sh "$(table_for anna)" "$(inside crontab -u anna -l)"
inside mv /root/anna.toml.mine /root/anna.toml
expect 'the file is not left behind' inside test ! -e /etc/timerd/jobs.d/anna.toml

# A line that is switched off is none that could be imported, so these are asked for before.
over=$(switch_of over off) over_back=$(switch_of over on) back=$(switch_of back on)
inside sh -c "$(now "$(printed 'install -m' bert)")"
inside sh -c "install -m 644 /root/back.toml /etc/timerd/jobs.d && timerctl reload && $(switch_of back off)"
inside systemctl start cron

# The commands of the guide wait for a new minute. The other tables have their switches in the same one.
inside sh -c "$to_timerd; install -m 644 /root/over.toml /etc/timerd/jobs.d && timerctl reload && $over
    $(now "$(printed 'mv $f $f.off' bert)"); rm /etc/timerd/jobs.d/back.toml && timerctl reload && $back"
ran_by_both() {
    for table in $tables; do
        [ "$(by cron "$table")" -ge 1 ] && [ "$(by timerd "$table")" -ge 1 ] || return
    done
}
wait_for 90 'cron and timerd have run each line' ran_by_both
cat "$slots"
expect 'anna was run by cron, then by timerd' in_order anna cron timerd
expect 'the line of cron.d too' in_order over cron timerd
expect 'bert was run by timerd, then by cron' in_order bert timerd cron
expect 'the line of cron.d too' in_order back timerd cron

if [ "${TIMERD_TEST_LONG:-0}" != 0 ]; then
    to_cron=$(printed 'mv $f $f.off' anna)
    inside sh -c "$to_cron; rm /etc/timerd/jobs.d/over.toml && timerctl reload && $over_back"
    ran_again() { [ "$(by cron anna)" -ge 2 ] && [ "$(by cron over)" -ge 2 ]; }
    wait_for 90 'cron runs them again' ran_again
    cat "$slots"
fi
inside systemctl stop cron
for table in $tables; do expect "each minute of $table exactly once" each_once "$table"; done
for user in anna bert; do
    inside crontab -u "$user" -r
    inside userdel "$user"
done
rm -f "$MACHINE_ROOT"/usr/local/bin/slot*
inside rm -f /etc/cron.d/over /etc/cron.d/back /var/tmp/slots /root/anna.toml /root/bert.toml \
    /root/over.toml /root/back.toml /etc/timerd/jobs.d/anna.toml /etc/timerd/jobs.d/bert.toml \
    /etc/timerd/jobs.d/over.toml /etc/timerd/jobs.d/back.toml /etc/timerd/jobs.d/anna.toml.off \
    /etc/timerd/jobs.d/bert.toml.off
