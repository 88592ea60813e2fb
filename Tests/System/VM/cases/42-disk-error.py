# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A disk that returns EIO for the database, always and then now and then: nothing answered is lost in a power cut, and all goes on by itself."""

from statedisk import (
    LINEAR,
    STATE,
    WAITS,
    check_once,
    check_pauses,
    check_time,
    goes_on,
    pause,
    start,
    use_table,
    waits,
    with_bad_files,
)

LIMIT = 600  # s


def run(case):
    machine = start(case)
    answered = {"before": pause(case, machine, "before")}
    case.check(answered["before"], "a pause is answered while the disk works")
    first = machine.get("/v1/jobs")

    # What the kernel could not write once it does not write again: a later sync would succeed without it.
    use_table(machine, with_bad_files(machine, "error"))
    waits(machine, 1)
    case.check(not pause(case, machine, "during"), "no command is answered as done that is not on the disk")
    check_time(case, machine, first)
    use_table(machine, LINEAR)
    goes_on(case, machine, answered, "during")
    goes_on(case, machine, answered, "after")
    machine.cut_power()
    machine.start()
    check_pauses(case, machine, answered, "after a power cut")

    # Writes fail for one second in three.
    machine.do("modprobe", "dm_flakey")
    use_table(machine, with_bad_files(machine, "flakey /dev/vdb {begin} 2 1 1 error_writes"))
    waits(machine, len(machine.journal(WAITS)) + 1)
    use_table(machine, LINEAR)
    goes_on(case, machine, answered, "flakey")
    machine.do("systemctl", "stop", "timerd.socket", "timerd", seconds=90)
    sound = machine.do(
        "python3",
        "-c",
        f"import sqlite3; print(sqlite3.connect('{STATE}/timerd.db').execute('PRAGMA integrity_check').fetchone()[0])",
    )
    case.check(sound == "ok", f"the database is sound: {sound}")
    machine.do("systemctl", "start", "timerd.socket", "timerd", seconds=90)
    check_pauses(case, machine, answered, "after a restart")
    check_once(case, machine)
