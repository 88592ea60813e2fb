# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""A fleet in which nothing goes wrong."""

import json
import time

from fleet import EACH_SECOND, PREFIX, Fleet, expect, judged, now, percentile
from machine import wait_until
from record import Record, microseconds


def each_firing_once():
    """each firing of three machines starts once, on time, with one transaction for the claim"""
    with Fleet({"tick": EACH_SECOND}) as fleet:
        fleet.wait_for_starts("tick", 20)
        counts = judged(fleet, {"tick": 1})
        late = [start.at - start.due for start in fleet.starts("tick")[2:]]
        # The machine that claims a firing writes its run three times: claimed, running, ended. The others never write it.
        record = Record(fleet.cluster.history(PREFIX), PREFIX)
        writes = [len(values) for key, values in record.runs.items() if values[0][1]["state"] == "claimed"]
        expect(max(writes) <= 3, f"a run was written {max(writes)} times")
        expect(percentile(late, 0.5) < 100_000, f"late by {sorted(late)} us")
        return f"{counts}, late by {percentile(late, 0.5) / 1000:.1f} ms, 99 %: {percentile(late, 0.99) / 1000:.1f} ms"


def many_at_once():
    """of 1000 jobs that are due at once the last is claimed within 0.4 s on a quiet machine"""
    lines = ['fleet = "one"', 'calendar = "*-*-* *:*:00/20"', 'timezone = "UTC"', 'concurrency = "allow"']
    jobs = {f"job{number}": [*lines, "after-start: sleep 60"] for number in range(1000)}
    # Three machines and three etcds share the processors of this one. One process at a time on each machine, which
    # does nothing, leaves them to the claims: each machine of a real fleet has processors of its own.
    with Fleet(jobs, extra="[daemon]\nmax-concurrent = 1") as fleet, fleet.cluster.watched(PREFIX + "run/") as changes:

        def claims():
            """When each claim was decided, and a watch reported it, by its slot."""
            found = {}
            for at, key, value in list(changes):
                if value is not None and json.loads(value)["state"] == "claimed":
                    found.setdefault(key.rpartition("/")[2], {}).setdefault(key, at)
            return {slot: instants for slot, instants in found.items() if len(instants) >= 1000}

        wait_until(lambda: len(claims()) >= 3, "three firings of each job", 150, pause=2)
        spans = [
            (max(instants.values()) - microseconds(slot.rpartition(":")[0])) / 1000 for slot, instants in claims().items()]
        expect(min(spans) <= 400, f"the last claim was decided after {sorted(spans)} ms")
        return f"last claim decided after {min(spans):.0f} ms at best of {len(spans)}"


def pause_is_exact():
    """after a pause is acknowledged nothing starts, and a resume on another machine continues"""
    with Fleet({"tick": EACH_SECOND}) as fleet:
        first, second, third = fleet.machines
        fleet.wait_for_starts("tick", 3)
        for round in range(6):
            pausing, resuming = fleet.machines[round % 3], fleet.machines[(round + 1) % 3]
            pausing.must("pause", "tick")
            paused = now()
            # Whatever was claimed before is started within moments, or never.
            time.sleep(2.5)
            later = [start.run for start in fleet.starts("tick") if start.at > paused + 50_000]
            expect(not later, f"started after the pause: {later}")
            resuming.must("resume", "tick")
            fleet.wait_for_starts("tick", 1)
        return judged(fleet, {"tick": 1})


def commands():
    """run starts a job on the machine that is asked, skip-next skips one firing, and nothing starts during a hold"""
    daily = ['fleet = "one"', 'calendar = "*-*-* 03:00:00"', 'timezone = "UTC"', 'concurrency = "allow"']
    with Fleet({"daily": daily, "tick": EACH_SECOND}) as fleet:
        first, second, third = fleet.machines
        for machine in fleet.machines:
            machine.must("run", "daily")
            wait_until(lambda: any(s.machine == machine.host for s in fleet.starts("daily")), f"a run on {machine.host}")
        first.must("skip-next", "daily")
        expect(fleet.job("daily")["skips"] == 1, f"{fleet.job('daily')}")
        second.must("fleet", "hold")
        held = now()
        time.sleep(3)
        later = [start.run for start in fleet.starts() if start.at > held + 50_000]
        expect(not later, f"started during the hold: {later}")
        third.must("fleet", "release")
        fleet.wait_for_starts("tick", 2)
        return judged(fleet, {"tick": 1})


def every_machine_shows_all():
    """a run on another machine is waited for, and list, why, show and history have it on each machine"""
    jobs = {
        "good": ['fleet = "one"', 'calendar = "*-*-* 03:00:00"', 'timezone = "UTC"'],
        "bad": ['fleet = "one"', 'calendar = "*-*-* 03:00:00"', 'timezone = "UTC"', "after-start: sleep 2; exit 7"],
    }
    with Fleet(jobs) as fleet:
        first, second, third = fleet.machines

        def fit():
            machines = json.loads(first.must("fleet", "--json"))["machines"]
            return len(machines) == 3 and all(machine["fit"] for machine in machines)

        wait_until(fit, "all machines are fit")
        status, _, errors = first.ctl("run", "good", "--on", second.host, "--wait")
        expect(status == 0, f"run --on --wait: {status}, {errors}")
        status, _, errors = first.ctl("run", "bad", "--on", third.host, "--wait")
        expect(status == 7, f"run --on --wait of a run that fails: {status}, {errors}")
        for machine in fleet.machines:
            runs = json.loads(machine.must("history", "--json"))["runs"]
            found = [(run["job"], run["machine"], run["outcome"]) for run in runs]
            expect(
                found == [("bad", third.host, "exited(7)"), ("good", second.host, "exited(0)")],
                f"history on {machine.host}: {found}")
            row = next(job for job in json.loads(machine.must("list", "--json"))["jobs"] if job["job"] == "bad")
            expect(row["last"]["failed"], f"list on {machine.host}: {row}")
            shown = machine.must("show", runs[0]["id"])
            expect("exit 7" in shown, f"show on {machine.host}: {shown}")
            codes = [reason["code"] for reason in json.loads(machine.must("why", "good", "--json"))["reasons"]]
            expect("fleet-machines" in codes, f"why on {machine.host}: {codes}")
        first.must("run", "bad", "--on", third.host)
        wait_until(lambda: len(fleet.starts("bad")) == 2, "a second run")
        status, _, errors = first.ctl("kill", "bad")
        expect(status != 0 and f"is on {third.host}" in errors, f"kill on another machine: {status}, {errors}")
        third.must("kill", "bad")
        first.must("fleet", "hold")
        why = second.must("why", "good")
        expect("The whole fleet has been held since" in why, why)
        first.must("fleet", "release")
        for options, sentence in ((("--on", "host9"), "not connected to the fleet"), (("--env", "A=1"), "variables")):
            status, _, errors = first.ctl("run", "good", *options)
            expect(status != 0 and sentence in errors, f"run {options}: {status}, {errors}")
        return "runs on 3 machines shown on each"


def each_machine():
    """a job with fleet = "each" runs on all machines, also while one of them is gone, and one pause is for all"""
    jobs = {"tick": ['fleet = "each"'] + EACH_SECOND[1:]}
    with Fleet(jobs) as fleet:
        first, second, third = fleet.machines
        names = {machine: f"tick@{machine.host}" for machine in fleet.machines}

        def wait_for_all(machines):
            before = {machine: len(fleet.starts(names[machine])) for machine in machines}
            wait_until(
                lambda: all(len(fleet.starts(names[machine])) >= count + 2 for machine, count in before.items()),
                f"two starts on each of {[machine.host for machine in machines]}")

        wait_for_all(fleet.machines)
        for round in range(3):
            fleet.machines[round].must("pause", "tick", "--note", f"round {round}")
            paused = now()
            # Whatever was claimed before is started within moments, or never.
            time.sleep(2.5)
            later = [start.run for start in fleet.starts() if start.at > paused + 50_000]
            expect(not later, f"started after the pause: {later}")
            for machine in fleet.machines:
                shown = machine.must("show", names[machine])
                expect(f"round {round}" in shown, f"show on {machine.host}: {shown}")
            fleet.machines[(round + 1) % 3].must("resume", "tick")
            wait_for_all(fleet.machines)
        first.must("pause", names[first])
        own = now()
        wait_for_all([second, third])
        later = [start.run for start in fleet.starts(names[first]) if start.at > own + 50_000]
        expect(not later, f"started after the pause of one: {later}")
        first.must("resume", names[first])
        status, _, errors = first.ctl("run", "tick", "--on", second.host, "--wait")
        expect(status == 0, f"run --on --wait: {status}, {errors}")
        status, _, errors = first.ctl("kill", "tick")
        expect(status != 0 and names[first] in errors, f"kill: {status}, {errors}")
        third.crash()
        wait_for_all([first, second])
        second.must("pause", "tick")
        third.start()
        third.when_connected()
        wait_until(lambda: f"member/{third.host}" in fleet.values(), "the machine is there again")
        paused = now()
        time.sleep(2.5)
        later = [start.run for start in fleet.starts() if start.at > paused]
        expect(not later, f"started after the pause, when a machine came back: {later}")
        first.must("resume", "tick")
        wait_for_all(fleet.machines)
        machines = {run["machine"] for run in json.loads(first.must("history", "--json"))["runs"]}
        expect(len(machines) == 3, f"history has the runs of {machines}")
        return judged(fleet, {name: 1 for name in names.values()})


def wrong_clocks():
    """nothing starts earlier than a clock is known to be wrong, and none with one that is 3 s wrong starts anything"""
    jobs = {f"of-{host}": EACH_SECOND + [f'prefer = ["{host}"]'] for host in ("host1", "host2", "host3")}
    with Fleet(jobs, has_clocks=True) as fleet:
        first, second, third = fleet.machines

        def fit(machine):
            return fleet.members()[machine.host]["fit"]

        wait_until(lambda: all(fit(machine) for machine in fleet.machines), "all machines are fit")
        fleet.wait_for_starts("of-host3", 5)
        # The limit is 1 s.
        second.set_clock(0.4)
        third.set_clock(3)
        begin = time.monotonic()
        wait_until(lambda: not fit(third), "a machine whose clock is 3 s ahead is not fit")
        unfit = time.monotonic() - begin
        wait_until(lambda: fleet.members()[second.host].get("skew_ms"), "the new skew of the other one is known")
        wrong = now()
        fleet.wait_for_starts("of-host2", 20)
        starts = [start for start in fleet.starts() if start.at > wrong + 1_000_000]
        early = max(start.due - start.at for start in starts) / 1000
        expect(not [start for start in starts if start.machine == third.host], "the machine with a wrong clock starts")
        low, high = fleet.members()[second.host]["skew_ms"]
        expect(early <= high, f"a run started {early} ms early, and the clock is at most {high} ms ahead")
        expect(low <= 400 <= high, f"0.4 s is not from {low} to {high} ms")
        expect(unfit <= 3 * 10 / 3, f"unfit after {unfit} s, which is more than three keepalives")
        third.set_clock(0)
        wait_until(lambda: fit(third), "the machine is fit again when its clock is right")
        return f"{len(starts)} starts, {early:.0f} ms early at most; unfit after {unfit:.2f} s"


def link_is_lost():
    """another machine takes over from one whose timerd-fleet was killed, until it is back"""
    jobs = {"tick": EACH_SECOND + ['prefer = ["host1"]']}
    with Fleet(jobs, lease=5) as fleet:
        fleet.wait_for_starts("tick", 3)
        fleet.first.kill("timerd-fleet")
        wait_until(lambda: fleet.starts("tick")[-1].machine != "host1", "another machine takes over")
        expect(fleet.first.state() == "away", "host1 does not say that it is away")
        fleet.first.start_fleet()
        wait_until(lambda: fleet.starts("tick")[-1].machine == "host1", "host1 starts it again")
        return judged(fleet, {"tick": 1})


CHECKS = {
    "each-firing-once": each_firing_once,
    "many-at-once": many_at_once,
    "pause-is-exact": pause_is_exact,
    "commands": commands,
    "every-machine-shows-all": every_machine_shows_all,
    "each-machine": each_machine,
    "wrong-clocks": wrong_clocks,
    "link-is-lost": link_is_lost,
}
