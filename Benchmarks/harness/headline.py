# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""The table of the project's README: of every case what a reader wants first."""

import statistics

from . import places, report

BEGIN = "<!-- Made by `make bench`; do not edit. -->"
END = "<!-- End of what `make bench` makes. -->"


def milliseconds(figure):
    return report.time(figure * 1e6)


def others(pairs):
    return ", ".join(f"{who} {figure}" for who, figure in pairs) or ""


def burst(rows):
    best = {}
    for row in rows:
        if row["jobs"] == 1000 and not row["who"].startswith("timerd,"):
            best[row["who"]] = min(row["last_ms"], best.get(row["who"], float("inf")))
    ours, bare = best.pop("timerd"), best.pop("bare posix_spawn")
    yield (
        "1000 jobs due at one instant: the last process starts after", milliseconds(ours), milliseconds(bare),
        others((who, milliseconds(figure)) for who, figure in sorted(best.items(), key=lambda item: item[1])))


def punctual(rows):
    for load, words in (("idle", "an idle machine"), ("busy", "a machine with every core busy")):
        late = {row["who"]: (row["median_ms"], row["p99_ms"]) for row in rows if row["load"] == load}
        show = lambda pair: f"{milliseconds(pair[0])}, {milliseconds(pair[1])}"
        yield (
            f"one job each second on {words}: delay of its process, median and 99th percentile",
            show(late.pop("timerd")), show(late.pop("bare timerfd")),
            others((who, show(pair)) for who, pair in late.items()))


def durable(rows):
    rate = lambda who: statistics.median(row["per_s"] for row in rows if row["who"] == who and "per_s" in row)
    yield (
        "runs a second, each recorded before it starts", f"{rate('timerd'):.0f}", f"{rate('bare posix_spawn'):.0f}", "")


def scale(rows):
    armed = {(row["jobs"], row["who"]): row for row in rows if "jobs" in row}
    resident = {who: row["resident_bytes"] for (jobs, who), row in armed.items() if jobs == 1000}
    yield (
        "1000 armed jobs: resident memory of timerd and its runner", report.size(resident["timerd"]), "",
        others((who, report.size(figure)) for who, figure in resident.items() if not who.startswith("timerd")))
    large = armed[max(jobs for jobs, who in armed if who == "timerd"), "timerd"]
    yield (
        f"{large['jobs'] // 1000} 000 armed jobs: private memory of both processes, time from start to ready",
        f"{report.size(large['anonymous_bytes'])}, {report.time(large['ready_s'] * 1e9)}", "", "")
    yield (
        "`timerctl list` of 1000 jobs, from exec to exit", report.time(armed[1000, "timerd"]["list_s"] * 1e9), "", "")


def next_slot(rows):
    mean = {}
    for who in ("timerd", "systemd", "cronsim", "croniter"):
        found = [row["ns"] for row in rows if row["who"] == who and row["class"] == "ordinary"]
        if found:
            mean[who] = statistics.fmean(found)
    yield (
        "computing the next time of an ordinary schedule", report.time(mean.pop("timerd")), "",
        others((who, report.time(figure)) for who, figure in mean.items()))


MAKERS = [("burst", burst), ("punctual", punctual), ("durable", durable), ("scale", scale), ("next", next_slot)]


def write(results):
    """Puts the table into README.md. `results`: of each case the machine it was measured on, and the figures."""
    if any(name not in results for name, _ in MAKERS):
        return
    machine = results["burst"][0]
    rows = [row for name, make in MAKERS for row in make(results[name][1])]
    text = (
        f"{BEGIN}\n\nOn {machine['cores']} cores of an {machine['processor']}, Linux {machine['kernel'].split('-')[0]}; each row "
        "is from one run. The bare loop only waits and calls\n`posix_spawn`; it records nothing.\n\n"
        + report.table(["", "timerd", "bare loop", "others"], rows)
        + "\nAll figures, with the goals: [Benchmarks/RESULTS.md](Benchmarks/RESULTS.md).\n\n" + END)
    path = places.PROJECT / "README.md"
    readme = path.read_text()
    before, rest = readme.split(BEGIN, 1)
    path.write_text(before + text + rest.split(END, 1)[1])
