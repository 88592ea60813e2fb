# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# The machine loses its power. The saved state is on a separate disk, to which nothing is written from that
# moment on, and then the machine starts again: commands are kept, at most the runs of the last second are
# missing, none is started twice, and no time is gained.

starts=$MACHINE_ROOT/root/starts
# mount_disk: mounts the disk at the place of the saved state. ext4 runs without its workaround for programs
# that forget to sync.
mount_disk() {
    # shellcheck disable=SC2016  # for the shell in the machine
    inside sh -eu -c '
        [ -e /dev/loop-control ] || mknod /dev/loop-control c 10 237
        for number in $(seq 0 31); do [ -e /dev/loop$number ] || mknod /dev/loop$number b 7 $number; done
        mkdir -p /var/lib/timerd
        mount -o loop,noauto_da_alloc /root/disk /var/lib/timerd
        chown timerd: /var/lib/timerd'
}
# power_cut: from now on nothing more is written, not even the journal of the file system (EXT4_IOC_SHUTDOWN).
power_cut() {
    inside /usr/bin/python3 -c 'import fcntl, os, struct
fcntl.ioctl(os.open("/var/lib/timerd", os.O_RDONLY), 0x8004587D, struct.pack("I", 2))'
}
runs() { wc -l <"$starts"; }
recorded() { inside timerctl history beat --limit 1000 --json | grep -o '"scheduled":"[^"]*"' | cut -d'"' -f4 | sort; }

fresh
inside systemctl stop timerd.socket timerd
inside rm -rf /var/lib/timerd /run/timerd/daemon/heartbeat /root/disk
rm -f "$starts"
inside truncate -s 64M /root/disk
inside mkfs.ext4 -q /root/disk
mount_disk
configure <<'TOML'
[job.beat]
shell = 'echo "$TIMERD_SCHEDULED" >>/root/starts'
every = "200ms"
[job.held]
command = ["true"]
every = "1h"
[job.slow]
command = ["true"]
every = "1h"
TOML
inside systemctl start timerd.socket timerd
wait_for 10 'runs' test -s "$starts"
wait_for 10 'more of them' at_least $(($(runs) + 12)) runs
inside timerctl pause held --note 'disk swap' >/dev/null
held=$(number held elapsed_usec)
wait_for 10 'more of them' at_least $(($(runs) + 12)) runs
told=$(microseconds)
slow=$(number slow elapsed_usec)
power_cut
gone=$(microseconds)
inside systemctl kill -s KILL timerd timerd-runner
reboot_machine
mount_disk
inside systemctl start timerd

expect_journal 'the machine went down without stopping the previous instance' -u timerd
expect 'the pause is kept' equals paused word held state
expect 'with its note' equals 'disk swap' word held note
expect 'and to the microsecond' equals "$held" number held elapsed_usec
after=$(number slow elapsed_usec)
expect "no time is gained ($slow, then $after)" test "$after" -le $((slow + gone - told + $(microseconds) - gone))
# The runs that were due a second and a half before the cut.
awk -v cut="$gone" '{
    command = "date +%s%6N -d " $1
    command | getline due
    close(command)
    if (due < cut - 1500000) print $1
}' "$starts" | sort >"$MACHINE_WORK/due"
recorded >"$MACHINE_WORK/recorded"
expect 'there were some' test -s "$MACHINE_WORK/due"
expect "each is on record, but: $(comm -23 "$MACHINE_WORK/due" "$MACHINE_WORK/recorded")" \
    test -z "$(comm -23 "$MACHINE_WORK/due" "$MACHINE_WORK/recorded")"
wait_for 10 'runs go on' at_least $(($(runs) + 2)) runs
inside timerctl pause beat >/dev/null
# A run may write its line while this counts.
twice() { sort "$starts" | uniq -d | wc -l; }
expect 'none was started twice' equals 0 twice
inside systemctl stop timerd.socket timerd
inside umount /var/lib/timerd
inside rm -rf /var/lib/timerd /run/timerd/daemon/heartbeat /root/disk
