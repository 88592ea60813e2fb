# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
# systemd restarts a killed daemon, and its jobs lose at most a second and gain nothing. The case kills it three
# times, because a heartbeat can be right by accident.

# When the present instance of the daemon was started, in microseconds since the epoch.
started() {
    echo $(($(date +%s%N -d "$(inside systemctl show timerd --timestamp=us+utc -p ExecMainStartTimestamp --value)") / 1000))
}

fresh
wait_for 10 'some time has elapsed' at_least 2500000 number slow elapsed_usec
for time in 1 2 3; do
    asked=$(microseconds)
    before=$(number slow elapsed_usec)
    told=$(microseconds)
    inside kill -KILL "$(property MainPID)"
    killed=$(microseconds)
    wait_for 20 'restarted' restarted "$time"
    after=$(number slow elapsed_usec)
    now=$(microseconds)
    # Before the kill it counted from an instant in [asked, told] to an instant in [told, killed]; while the
    # daemon was down, nothing; and since its start at most until now.
    expect "at most a second is lost ($before, then $after)" test "$after" -ge $((before - 1000000))
    expect "nothing is gained ($before, then $after; asked $asked, told $told, killed $killed, now $now)" \
        test "$after" -le $((before + killed - asked + now - $(started)))
done
expect_journal 'the previous instance was killed or crashed' -u timerd
expect_journal 'counting time: up to .* of it is lost for each' TIMERD_EVENT=daemon-started TIMERD_PREVIOUS_EXIT=killed
