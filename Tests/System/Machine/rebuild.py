#!/usr/bin/python3
# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0
"""Works out every job's time from the journal alone.

    rebuild.py            prints the accounts, as of now
    rebuild.py --check    and holds them against what timerctl shows

What it goes by, in the entries of the unit:

    daemon-started, reloaded, shut-down     TIMERD_ACCOUNTS, TIMERD_ACCOUNTS_2, ...: all accounts there are,
                                        `JOB STATE COUNT ACTIVE-USEC ELAPSED-USEC;` each; of very many
                                        jobs TIMERD_ACCOUNTS_LEFT says how many are left out
    fired, skipped, paused, resumed,    the account of TIMERD_JOB: TIMERD_STATE, TIMERD_COUNT,
    started, stopped, finished, ...     TIMERD_ACTIVE_USEC, TIMERD_ELAPSED_USEC
    all of these                        TIMERD_MONOTONIC_USEC, and where it matters TIMERD_BOOTTIME_USEC: what
                                        these clocks said when it was so

From one entry to the next an account grows with its clock while it counts: if its state is armed, and the
daemon is there or its COUNT is not `active`. So each entry can be foretold from those before it, and that is
held against what it says: the journal must agree with itself.
"""

import json
import subprocess
import sys
import time

# The entries that say how accounts stand, by their MESSAGE_ID.
LIFE_BEGAN = "ccfee833880747cd993caeb202c22c66"
RELOADED = "afe471a1bc9f428d87b73cb92da17bb8"
SHUT_DOWN = "3359449f3cf842bcacd3e0bd559bdf34"
OF_ALL = {LIFE_BEGAN, RELOADED, SHUT_DOWN}
RESUMED = "d122d58047494229b6d241623fadce5c"
STOPPED = "132be4a8dcb44c549a01cbc50ca70a08"
STARTED = "c23b8ffa95884236a2bc401b6388143c"
FIRED = "56d8dea798c147f89124d8728be112c8"
OF_ONE = {
    FIRED, RESUMED, STOPPED, STARTED,
    "09a04bd32e6a4926b828ac3bbd56daa7",  # skipped
    "d9a7b41daf174e07a47d762208bdfd26",  # paused
    "688ef428590f49709ee701bb4063a476",  # skip-next-set
    "6f2589a972604722bc16414a46809dc1",  # renamed
    "72e0b45752a64ee68441d841160a4713",  # finished
}
# systemd's own word that the main process of a unit is gone.
PROCESS_EXIT = "98e322203f7a4ed290d09fe03c09fe15"

# All values are cut to whole microseconds.
ROUNDING = 2
# What a job may lose by a kill; and what passes between a kill and systemd's word of it.
LOSS_AT_KILL = 1_000_000
WORD_OF_KILL = 200_000
# How far a firing is decided ahead of the clocks. Its entry is of the instant at which it is due, and what is saved is
# of the clocks, so that a kill can take an account back to before that entry.
DECIDED_AHEAD = 31_000


class Account:
    """One job's account, as of one reading of the clock it counts by."""

    def __init__(self, state, count, active, accrued, clocks, early=0):
        # By how much what was saved with it may be less.
        self.early = early
        self.state, self.count = state, count
        self.active, self.accrued = int(active), int(accrued)
        self.at = self.clock(clocks)

    def clock(self, clocks):
        monotonic, boottime = clocks
        return monotonic if self.count in ("active", "uptime") else boottime

    def grown(self, clocks, is_up):
        """How much was added by then."""
        counts = self.state == "armed" and (is_up or self.count != "active")
        return max(0, self.clock(clocks) - self.at) if counts else 0


class Journal:
    """Everything that the entries say, up to a reading of CLOCK_MONOTONIC in one boot if they are given."""

    def __init__(self, until=None, boot_of_until=None):
        self.until, self.boot_of_until = until, boot_of_until
        self.accounts, self.removed = {}, {}
        self.boot, self.is_up, self.killed_at = None, False, None
        self.faults, self.checked = [], 0

    def read(self, entry):
        kind = entry.get("MESSAGE_ID")
        if kind == PROCESS_EXIT and entry.get("UNIT") == "timerd.service":
            self.killed_at = int(entry["__MONOTONIC_TIMESTAMP"])
        if kind not in OF_ALL | OF_ONE:
            return
        monotonic = int(entry["TIMERD_MONOTONIC_USEC"])
        if self.until is not None and entry["_BOOT_ID"] == self.boot_of_until and monotonic > self.until:
            return
        clocks = monotonic, int(entry.get("TIMERD_BOOTTIME_USEC", monotonic))
        if kind in OF_ALL:
            self.read_all(kind, entry, clocks)
        else:
            told = Account(entry["TIMERD_STATE"], entry["TIMERD_COUNT"], entry["TIMERD_ACTIVE_USEC"],
                           entry["TIMERD_ELAPSED_USEC"], clocks, DECIDED_AHEAD if kind == FIRED else 0)
            self.read_one(kind, entry["TIMERD_JOB"], told, clocks, entry)

    def read_all(self, kind, entry, clocks):
        text, number = entry["TIMERD_ACCOUNTS"], 2
        while (more := entry.get(f"TIMERD_ACCOUNTS_{number}")) is not None:
            text, number = text + more, number + 1
        told = {}
        for line in filter(None, text.split(";")):
            job, *values = line.split(" ")
            told[job] = Account(*values, clocks)
        if kind == LIFE_BEGAN:
            self.begin_life(entry, told, clocks)
        else:
            for job in told.keys() & self.accounts.keys():
                self.foretell(job, told[job], clocks, entry)
        if "TIMERD_ACCOUNTS_LEFT" in entry:
            # Of very many jobs not all are reported; the others continue as they were.
            for job in self.accounts.keys() - told.keys():
                told[job] = left = self.accounts[job]
                if kind == LIFE_BEGAN:
                    left.at = left.clock(clocks)
        for job in self.accounts.keys() - told.keys():
            gone = self.accounts[job]
            gone.active += gone.grown(clocks, self.is_up)
            self.removed[job] = gone
        for job in told.keys() & self.removed.keys():
            # A name that comes back has the account it had.
            self.hold(job, entry, told[job].active, self.removed[job].active, self.removed.pop(job).active)
        self.accounts = told
        self.is_up = kind != SHUT_DOWN

    def begin_life(self, entry, told, clocks):
        """Holds what a new daemon took up against what the last one left."""
        ending = entry["TIMERD_PREVIOUS_EXIT"]
        if ending == "first-start":
            self.__init__(self.until, self.boot_of_until)
        same_boot = self.boot == entry["_BOOT_ID"]
        for job in told.keys() & self.accounts.keys():
            last = self.accounts[job]
            least, most = last.active, last.active + last.grown(clocks, is_up=False)
            if last.count != "active" and last.state == "armed":
                # Its clock went on, in another boot from zero on, and the calendar's over all of it.
                least, most = (most, most) if same_boot else (last.active, None)
            elif ending == "killed" and last.state == "armed" and self.killed_at is None:
                # A stop that could not be written down, as on a full disk: nothing says when it was.
                most = last.active + last.grown(clocks, is_up=True)
            elif ending == "killed" and last.state == "armed":
                gone = self.killed_at
                most = last.active + last.grown((gone, gone), is_up=True)
                least = max(last.active - last.early, most - LOSS_AT_KILL - WORD_OF_KILL)
            elif ending == "reboot":
                most = None
            self.hold(job, entry, told[job].active, least, most)
        self.boot, self.killed_at = entry["_BOOT_ID"], None

    def read_one(self, kind, job, told, clocks, entry):
        if job in self.accounts:
            if told.at < self.accounts[job].at:
                return  # told later than what came after it
            self.foretell(job, told, clocks, entry, is_resumed=kind == RESUMED)
        self.accounts[job] = told

    def foretell(self, job, told, clocks, entry, is_resumed=False):
        last = self.accounts[job]
        active = last.active + last.grown(clocks, self.is_up)
        # A pause that ends by itself ends on time, and the entry comes when that is noticed.
        late = told.at - last.at if is_resumed else 0
        self.hold(job, entry, told.active, active, active + late)

    def hold(self, job, entry, told, least, most):
        self.checked += 1
        if told < least - ROUNDING or most is not None and told > most + ROUNDING:
            self.faults.append(f"{job}: {told} µs, not from {least} to {most}, in: {entry['MESSAGE']}")

    def now(self, clocks):
        """The time records now: for each job its state, its active and its elapsed time."""
        result = {}
        for job, account in self.accounts.items():
            grown = account.grown(clocks, self.is_up)
            result[job] = account.state, account.active + grown, account.accrued + grown
        return result


def clocks():
    return tuple(time.clock_gettime_ns(clock) // 1000 for clock in (time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME))


def rebuild(until=None):
    subprocess.run(["journalctl", "--sync"], check=True)
    command = ["journalctl", "-q", "-o", "json", "--all", "-u", "timerd"]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    entries = [json.loads(line) for line in lines]
    journal = Journal(until, entries[-1]["_BOOT_ID"] if entries else None)
    for entry in entries:
        journal.read(entry)
    return journal


def shown():
    answer = subprocess.run(["timerctl", "list", "--json"], check=True, stdout=subprocess.PIPE).stdout
    return {job["job"]: job for job in json.loads(answer)["jobs"]}


def compare():
    """Each account must lie between what was worked out just before it was shown and just after."""
    before = clocks()
    jobs = shown()
    after = clocks()
    # Read last, so that what fired before the list was made is in it, but without what fired since.
    journal = rebuild(after[0])
    early, late = journal.now(before), journal.now(after)
    faults = list(journal.faults)
    if jobs.keys() != early.keys():
        faults.append(f"other jobs: {sorted(jobs)}, not {sorted(early)}")
    for job in sorted(jobs.keys() & early.keys()):
        state, active, accrued = jobs[job]["state"], jobs[job]["active_usec"], jobs[job]["elapsed_usec"]
        print(f"{job}: {state}, {active} µs; from the journal {early[job][0]}, {early[job][1]} to {late[job][1]} µs")
        if state != early[job][0]:
            faults.append(f"{job}: is {state}, not {early[job][0]}")
        if not early[job][1] - ROUNDING <= active <= late[job][1] + ROUNDING:
            faults.append(f"{job}: active for {active} µs, not {early[job][1]} to {late[job][1]}")
        if not early[job][2] - ROUNDING <= accrued <= late[job][2] + ROUNDING:
            faults.append(f"{job}: accrued {accrued} µs, not {early[job][2]} to {late[job][2]}")
    print(f"{journal.checked} statements of the journal were foretold")
    return faults


def main():
    if "--check" not in sys.argv[1:]:
        for job, (state, active, accrued) in rebuild().now(clocks()).items():
            print(f"{job}: {state}, active for {active} µs, accrued {accrued} µs")
        return
    # A job that fires while the list is made may be in it as it was before or after, and is looked at again.
    for _ in range(5):
        faults = compare()
        if not faults:
            return
    sys.exit("\n".join(faults))


main()
