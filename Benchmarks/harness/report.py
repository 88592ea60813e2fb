# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Makes RESULTS.md and plots/ of the figures in results/."""

import json
import math
import statistics

from . import headline, places, reasons, svg

PLOTS = places.HERE / "plots"
HEAD = """# Results

Made by `make bench`; do not edit. Each table is of one run on one machine, so its ratios hold and its times
are that machine's. What was measured, and how: [README.md](README.md).
"""


def mean(values):
    """The geometric mean, which is what ratios have."""
    return math.exp(statistics.fmean(math.log(value) for value in values))


def time(nanoseconds):
    for unit, length in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= length:
            return f"{nanoseconds / length:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def size(count):
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def code(expression):
    return "`" + expression.replace("|", "\\|") + "`"


def plot(name, picture):
    PLOTS.mkdir(exist_ok=True)
    (PLOTS / f"{name}.svg").write_text(picture)
    return f"\n![{name}](plots/{name}.svg)\n"


class Goals:
    """What was to be reached, and whether it was."""

    def __init__(self):
        self.rows = []

    def most(self, what, figure, limit, show="{:.2f}".format):
        self.add(what, show(figure), f"≤ {show(limit)}", figure <= limit)

    def least(self, what, figure, limit, show="{:.2f}".format):
        self.add(what, show(figure), f"≥ {show(limit)}", figure >= limit)

    def add(self, what, reached, wanted, is_met):
        self.rows.append((what, reached, wanted, "met" if is_met else "**missed**", "" if is_met else reasons.reason(what)))

    def missed(self):
        """A line for each goal that was missed, with why."""
        for what, reached, wanted, word, why in self.rows:
            if word != "met":
                yield f"missed: {what}: {reached}, wanted {wanted}" + (f" ({why})" if why else "")


def next_slot(figures, goals):
    slowest = [row for row in figures if row["class"] == "slowest"]
    rows = [row for row in figures if row["class"] != "slowest"]
    ours = {(row["grammar"], row["zone"], row["expression"]): row for row in rows if row["who"] == "timerd"}
    groups = {}
    for row in rows:
        who = row["who"] + (f" ({row['grammar']})" if row["who"] == "timerd" else "")
        groups.setdefault((row["class"], row["zone"], who), []).append(row)
    lines = []
    for (kind, zone, who), found in groups.items():
        pairs = [(row, ours[row["grammar"], row["zone"], row["expression"]]) for row in found]
        ratio = mean([row["ns"] / mine["ns"] for row, mine in pairs])
        same = sum(row["slots"] == mine["slots"] for row, mine in pairs)
        slowest_call = max(row.get("worst_ns", 0) for row in found)
        lines.append((
            kind, zone, who, len(found), time(statistics.fmean(row["ns"] for row in found)),
            time(slowest_call) if slowest_call else "", f"{ratio:.1f}",
            "" if who.startswith("timerd") else f"{same} of {len(found)}"))
    lines.sort(key=lambda row: (row[0], row[1]))
    calendar = [row["ns"] for row in ours.values() if row["class"] == "ordinary"]
    goals.most("next: ordinary schedules, mean of a call", statistics.fmean(calendar), 1000, time)
    worst = max(row["worst_ns"] for row in [*ours.values(), *slowest])
    goals.most("next: the slowest call of all", worst, 100_000, time)
    text = table(
        ["class", "zone", "who", "expressions", "mean of a call", "slowest call", "time by timerd's", "same slots"],
        lines)
    for row in slowest:
        text += (
            f"\nOver all {row['zones']} zones of the machine, timerd's slowest call took {time(row['worst_ns'])}: "
            f"{code(row['expression'])} in {row['zone']}.\n")
    zone = "Europe/Berlin"
    by_text = {}
    for row in rows:
        if row["zone"] == zone:
            by_text.setdefault((row["grammar"], row["class"], row["expression"]), {})[row["who"]] = row["ns"]
    for grammar, others in (("calendar", ["systemd"]), ("cron", ["croniter", "cronsim"])):
        text += f"\nEach {grammar} expression in {zone}, mean of a call:\n\n" + table(
            ["class", "expression", "timerd", *others],
            [(kind, code(expression), *(time(found[who]) if who in found else "" for who in ["timerd", *others]))
             for (of, kind, expression), found in by_text.items() if of == grammar])
    bars = []
    for who in ("timerd (calendar)", "timerd (cron)", "systemd", "cronsim", "croniter",
                "systemd (zone in the expression)"):
        found = groups.get(("ordinary", zone, who))
        if found:
            bars.append((who, statistics.fmean(row["ns"] for row in found)))
    return text + plot("next", svg.bars(f"One next slot, ordinary schedules, {zone}", "nanoseconds", bars))


def agenda(figures, goals):
    top = [row for row in figures if row["jobs"] == max(row["jobs"] for row in figures)]
    goals.most("agenda: one wake among 100 000 jobs, median", max(row["wake_ns"] for row in top), 5000, time)
    goals.most("agenda: load of 100 000 jobs", max(row["load_ns"] for row in top), 1e9, time)
    series = []
    for kind in ("every", "calendar"):
        points = [(row["jobs"], row["wake_ns"]) for row in figures if row["kind"] == kind]
        series.append((f"wake, {kind}", points))
        points = [(row["jobs"], row["load_ns"] / row["jobs"]) for row in figures if row["kind"] == kind]
        series.append((f"load, {kind}, per job", points))
    return table(
        ["schedule", "jobs", "load", "per job", "wake", "99 %", "end of a run", "look at one", "look at all"],
        [(row["kind"], row["jobs"], time(row["load_ns"]), time(row["load_ns"] / row["jobs"]),
          time(row["wake_ns"]), time(row["wake_p99_ns"]), time(row["end_ns"]),
          time(row["snapshot_one_ns"]), time(row["snapshot_all_ns"])) for row in figures]
    ) + plot("agenda", svg.lines("The agenda as the jobs grow", "jobs", "nanoseconds", series))


# By how much the last start of so many jobs may be later than that of the bare loop.
BURST_GOALS = {1: 1.0, 10: 1.35, 100: 1.35, 1000: 1.45}


def burst(figures, goals):
    groups = {}
    for row in figures:
        groups.setdefault((row["jobs"], row["who"]), []).append(row)
    # The table shows the best round, to which nothing else has added anything; the goals are about the median.
    best = {key: min(rows, key=lambda row: row["last_ms"]) for key, rows in groups.items()}
    last = {key: row["last_ms"] for key, row in best.items()}
    rows = []
    for (jobs, who), found in sorted(best.items(), key=lambda item: (item[0][0], last[item[0]])):
        middle = statistics.median(row["last_ms"] for row in groups[jobs, who])
        busy = [row["busy_us"] for row in groups[jobs, who] if jobs == 1000 and "busy_us" in row]
        rows.append((
            jobs, who, *(f"{found[key]:.1f}" for key in ("first_ms", "median_ms", "p99_ms", "last_ms")),
            f"{last[jobs, who] / last[jobs, 'bare posix_spawn']:.2f}",
            f"{middle:.1f} of {len(groups[jobs, who])}",
            time(statistics.median(busy) * 1000) if busy else ""))
    middle = lambda jobs, who, key: statistics.median(row[key] for row in groups[jobs, who])
    for jobs, limit in BURST_GOALS.items():
        if jobs == 1:
            goals.most(
                "burst: start of 1, by APScheduler's, medians",
                middle(1, "timerd", "last_ms") / middle(1, "APScheduler", "last_ms"), 1)
        goals.most(
            f"burst: last of {jobs}, by the bare loop's, medians",
            middle(jobs, "timerd", "last_ms") / middle(jobs, "bare posix_spawn", "last_ms"), limit)
    peers = [last[1000, who] for jobs, who in last if jobs == 1000 and not who.startswith(("timerd", "bare"))]
    goals.most("burst: last of 1000, by the best peer's", last[1000, "timerd"] / min(peers), 0.4)
    series = {}
    for (jobs, who), value in sorted(last.items()):
        if "," not in who:
            series.setdefault(who, []).append((jobs, value))
    return table(
        ["jobs", "who", "first, ms", "median, ms", "99 %, ms", "last, ms", "last by the limit's",
         "median round's last", "all processors' time each"], rows
    ) + plot("burst", svg.lines(
        "Jobs due at one instant: the last start", "jobs", "milliseconds after it was due", list(series.items())))


MIB = 1 << 20


def mib(count):
    return f"{count / MIB:.1f} MiB"


def weight(figures, goals):
    """The programs, and what a job costs in each of the two that stay."""
    text = ""
    limits = {"timerd": 24, "timerd-runner": 18, "timerctl": 18}
    for row in (row for row in figures if "program" in row):
        goals.most(f"size: {row['program']}", row["bytes"], limits[row["program"]] * MIB, mib)
        text += f"{row['program']}: {mib(row['bytes'])}. "
    for row in (row for row in figures if "installed_bytes" in row):
        text += (
            f"The Debian package is of {mib(row['package_bytes'])} and takes {mib(row['installed_bytes'])} once it is "
            "installed. ")
    for row in (row for row in figures if "clean_build_s" in row):
        text += f"A release build from nothing took {time(row['clean_build_s'] * 1e9)}."
    for row in (row for row in figures if "few_jobs" in row):
        goals.most(f"list: {row['few_jobs']} jobs, exec to exit", row["list_s"] * 1e9, 40e6, time)
    bases = {"timerd": 4 * MIB, "timerd-runner": 2 * MIB}
    each = {"timerd": 1024, "timerd-runner": 0.3 * 1024}
    held = [row for row in figures if "processes" in row]
    for name, base in bases.items():
        found = [(row["jobs"], row["processes"][name]) for row in held]
        most = max(count["anonymous_bytes"] - base - each[name] * jobs for jobs, count in found)
        goals.most(
            f"memory: {name} beyond {mib(base)} and {each[name] / 1024:.2g} KiB a job", max(0, most), 0, size)
        limit = {"timerd": 24, "timerd-runner": 14}[name] * MIB
        goals.most(
            f"memory: {name} resident with 1000 jobs",
            max(count["resident_bytes"] for jobs, count in found if jobs == 1000), limit, mib)
    few = [row for row in figures if "few_jobs" in row]
    return text + "\n\n" + table(
        ["jobs", "`list`", "`list --names`", "`list --json`", "`true`"],
        [(row["few_jobs"], *(time(row[key] * 1e9) for key in ("list_s", "names_s", "json_s", "true_s")))
         for row in few]) + "\n" + table(
        ["jobs", "who", *(f"{name}, {what}" for name in bases for what in ("anonymous", "resident"))],
        [(row["jobs"], row["who"], *(size(row["processes"][name][key]) for name in bases
                                     for key in ("anonymous_bytes", "resident_bytes"))) for row in held]) + "\n"


def scale(figures, goals):
    armed = [row for row in figures if "jobs" in row]
    text = weight(figures, goals) + "Both processes together, and the peers:\n\n" + table(
        ["jobs", "who", "start to ready", "anonymous", "resident", "`list`", "`show`", "resident after `list`"],
        [(row["jobs"], row["who"], time(row["ready_s"] * 1e9) if "ready_s" in row else "",
          size(row["anonymous_bytes"]), size(row["resident_bytes"]),
          time(row["list_s"] * 1e9) if "list_s" in row else "", time(row["show_s"] * 1e9) if "show_s" in row else "",
          size(row["after_list_resident_bytes"]) if "list_s" in row else "")
         for row in sorted(armed, key=lambda row: row["jobs"])])
    ready = {row["jobs"]: row["ready_s"] for row in armed if row["who"] == "timerd"}
    few, many = sorted(ready)[-2:]
    goals.most(f"scale: start to ready of {many} jobs", ready[many], 1.0, "{:.2f} s".format)
    goals.most(
        f"scale: start of {many} jobs, by that of {few}", ready[many] / ready[few],
        many * math.log(many) / (few * math.log(few)))
    idle = [row for row in figures if "idle_jobs" in row]
    for row in idle:
        if row["who"] == "timerd":
            # Two signs of life a second, each of which wakes Dispatch's timer thread and the worker.
            goals.most("idle: wake-ups a second while time counts", row["wakeups"] / row["seconds"], 5)
        elif row["who"].startswith("timerd"):
            goals.most("idle: wake-ups while none does", row["wakeups"], 0, str)
    text += "\nIdle, with 1000 jobs of which none is due:\n\n" + table(
        ["who", "seconds", "wake-ups", "processor time", "written", "system calls", "of which"],
        [(row["who"], row["seconds"], row["wakeups"], time(row["cpu_s"] * 1e9),
          size(row["written_bytes"]) if "written_bytes" in row else "", row.get("syscalls", ""),
          ", ".join(f"{name} {count}" for name, count in sorted(
              row.get("calls", {}).items(), key=lambda item: -item[1])[:5])) for row in idle])
    points = [(row["jobs"], row["anonymous_bytes"] / 1e6) for row in armed if row["who"] == "timerd"]
    ready = [(jobs, seconds * 1000) for jobs, seconds in ready.items()]
    return text + plot("scale", svg.lines(
        "Armed jobs", "jobs", "milliseconds, megabytes",
        [("start to ready, ms", ready), ("anonymous memory, MB", points)]))


def cost(figures, goals):
    """The median round of each, and the median of the rounds' ratios, whose both sides are of the same seconds."""
    groups = {}
    for row in figures:
        groups.setdefault((row["jobs"], row["who"]), []).append(row)
    middle = lambda key, part: statistics.median(part(row) for row in groups[key])
    own, all = lambda row: row["own_us"], lambda row: row["own_us"] + row["job_us"]
    rows, ratios = [], []
    for jobs, who in sorted(groups):
        bare = jobs, "bare DispatchSourceTimers"
        ratio = statistics.median(all(row) / all(other) for row, other in zip(groups[jobs, who], groups[bare]))
        ratios.append(ratio)
        rows.append((
            jobs, who, f"{middle((jobs, who), lambda row: row['per_s']):.0f}",
            *(time(middle((jobs, who), part) * 1000) for part in (own, lambda row: row["job_us"], all)),
            f"{middle((jobs, who), own) / middle(bare, own):.1f}", f"{ratio:.2f}"))
    goals.most("cost: a firing with its process, by bare DispatchSourceTimers'", max(ratios), 1.9)
    least, most = min(jobs for jobs, _ in groups), max(jobs for jobs, _ in groups)
    goals.most(
        f"cost: a firing among {most} armed jobs, by one among {least}",
        middle((most, "timerd"), own) / middle((least, "timerd"), own), math.log(most) / math.log(least))
    return "500 firings a second of each, one every 2 ms, among so many armed jobs:\n\n" + table(
        ["jobs", "who", "firings a second", "scheduler's time each", "process's time each", "both",
         "scheduler's by bare", "both by bare"], rows)



# What PausableTimers may take at most, by what bare timers take.
TIMER_GOALS = {
    "memory": 0.65, "make": 0.4, "one": 1.25, "together": 1.1, "apart": 1.7, "apart-tolerant": 0.35}


def timers(figures, goals):
    """The median of the rounds of each."""
    groups = {}
    for row in figures:
        word = row["what"].split()[0]
        for key, name in (("bytes", word), ("ns", "make" if word == "memory" else word)):
            if key in row:
                groups.setdefault((name, row["who"]), []).append(row[key])
    middle = {key: statistics.median(values) for key, values in groups.items()}
    rows = []
    for name, limit in TIMER_GOALS.items():
        show = (lambda value: f"{value:.0f} B") if name == "memory" else time
        ratio = middle[name, "ours"] / middle[name, "bare"]
        goals.most(f"timers: {name}, by bare timers'", ratio, limit)
        rows.append((name, show(middle[name, "bare"]), show(middle[name, "ours"]), f"{ratio:.2f}"))
    rates = {(row["what"], row["who"]): row for row in figures if row["what"].startswith("rate")}
    frames = []
    for (what, who), row in rates.items():
        rate = int(what.split()[1])
        frames.append((
            f"{rate} Hz", who, time(row["median_late_ns"]), f"{row['missed']} of {row['frames']}",
            f"{row['rate']:.3f} Hz"))
        if who == "ours":
            bare = rates[what, "bare"]
            goals.most(
                f"timers: {rate} Hz, median lateness by bare timers'",
                row["median_late_ns"] / max(1, bare["median_late_ns"]), 1.3)
            goals.most(f"timers: {rate} Hz, missed frames", row["missed"] / row["frames"], 0.001, "{:.4f}".format)
            goals.most(f"timers: {rate} Hz, error of the rate", abs(row["rate"] / rate - 1), 0.001, "{:.5f}".format)
    left, = (row["bytes"] for row in figures if row["what"].startswith("churn"))
    # Results of before this was measured have no such row.
    kept = [row["bytes"] for row in figures if row["what"].startswith("left")]
    woken, = (row["wake_ups"] for row in figures if row["what"].startswith("paused"))
    goals.most("timers: bytes left after 1 000 000 were made and released", left, 64 * 1024, "{:.0f}".format)
    for bytes_left in kept:
        goals.most("timers: bytes left of 100 000 that were released while one lives", bytes_left, 1024 * 1024, "{:.0f}".format)
    goals.most("timers: wake-ups of 1000 paused timers in 10 s", woken, 0, "{:.0f}".format)
    return (
        "Heap of one of 100 000 timers and processor time to make one; processor time of a tick of one timer at "
        "1 kHz, of 1000 due together, of 100 at 100 Hz out of phase, and of those with a tolerance of 10 %:\n\n"
        + table(["", "bare DispatchSourceTimers", "PausableTimers", "ratio"], rows)
        + "\nFrames:\n\n" + table(["rate", "who", "lateness, median", "missed", "achieved"], frames))


def punctual(figures, goals):
    bare = {row["load"]: row for row in figures if row["who"] == "bare timerfd"}
    for row in figures:
        if row["who"] == "timerd":
            for key, word, limit in (("median_ms", "median", 1.5), ("p99_ms", "99 %", 1.3)):
                goals.most(
                    f"punctual: {word}, {row['load']}, by the bare timer's", row[key] / bare[row["load"]][key], limit)
    rows = [(row["load"], row["who"], row["firings"], *(f"{row[key]:.2f}" for key in
             ("median_ms", "p99_ms", "max_ms")), f"{row['median_ms'] / bare[row['load']]['median_ms']:.2f}",
             f"{row['p99_ms'] / bare[row['load']]['p99_ms']:.2f}") for row in figures]
    bars = [(f"{row['who']}, {row['load']}", row["median_ms"]) for row in figures]
    return table(
        ["machine", "who", "firings", "median, ms", "99 %, ms", "most, ms", "median by bare", "99 % by bare"], rows
    ) + plot("punctual", svg.bars("One job each second: median lateness of its start", "milliseconds", bars))


def durable(figures, goals):
    bare = statistics.median(row["per_s"] for row in figures if row["who"] == "bare posix_spawn")
    rows = [("bare posix_spawn", f"{bare:.0f}", "1.00", "", "")]
    for who in sorted({row["who"] for row in figures if "limit_per_s" in row}):
        full = [row for row in figures if row["who"] == who and "limit_per_s" in row]
        middle = lambda key: statistics.median(row[key] for row in full)
        live = who.removeprefix("timerd")
        ratio = statistics.median(row["per_s"] / row["limit_per_s"] for row in full)
        goals.least(f"durable: firings a second{live}, by the bare limit's, median of the rounds", ratio, 0.75)
        rows.append((
            f"timerd, every run recorded{live}", f"{middle('per_s'):.0f}", f"{ratio:.2f}",
            time(middle("cpu_us_per_firing") * 1000), size(middle("bytes_per_firing"))))
    text = table(["who", "runs a second", "by the limit's", "processor time each", "written each"], rows)
    steady = [row for row in figures if "offered_per_s" in row]
    return text + "\nAt a rate it keeps up with:\n\n" + table(
        ["firings due a second", "recorded a second", "written each", "fsyncs a second"],
        [(row["offered_per_s"], f"{row['steady_per_s']:.0f}", size(row["bytes_per_firing"]),
          f"{row['fsyncs_per_s']:.1f}") for row in steady])


def clients_text(clients):
    return ", ".join(f"{count} {CLIENTS[kind]}" for kind, count in clients.items()) or "none"


CLIENTS = {
    "lists": "listing all jobs without end", "silent": "that begin a request and go no further",
    "deaf": "that ask and do not read", "nonsense": "that send noise"}


def control(figures, goals):
    reload = next(row for row in figures if row["what"] == "reload")
    text = (
        f"A reload of {reload['jobs']} jobs of which one was changed takes {time(reload['median_s'] * 1e9)}, from exec "
        f"to exit of `timerctl reload`. Of all the jobs' next firings {len(reload['moved'])} moved by it "
        f"({', '.join(code(name) for name in reload['moved'])}), and the kernel's timers were set "
        f"{reload['timer_sets']} times.\n\n"
        "500 firings a second among 10 000 jobs, with clients of the control socket at work:\n\n")
    goals.most("control: timers that moved by a reload of one job", len(reload["moved"]), 1, str)
    firing = [row for row in figures if row["what"] == "firing"]
    alone = next(row for row in firing if not row["clients"])
    for row in firing:
        if row["clients"]:
            goals.most(
                f"control: 99 % of lateness, {clients_text(row['clients'])}, by that with none",
                row["p99_ms"] / alone["p99_ms"], 2)
    return text + table(
        ["clients", "firings", "of", "median, ms", "99 %, ms", "most, ms", "lists", "list, median", "list, 99 %",
         "resident"],
        [(clients_text(row["clients"]), row["firings"], row["expected"],
          *(f"{row[key]:.2f}" for key in ("median_ms", "p99_ms", "max_ms")), row.get("lists", ""),
          *(time(row[key] * 1e9) if key in row else "" for key in ("list_median_s", "list_p99_s")),
          size(row["resident_bytes"])) for row in firing])


def top(figures, goals):
    """What it costs to watch all jobs in a terminal."""
    alone, *terminals = figures
    for row in terminals:
        goals.most(
            f"top: of one processor, {row['columns']} columns, {alone['jobs']} jobs", row["top"], 0.05,
            "{:.1%}".format)
    text = (
        f"`timerctl top` with {alone['jobs']} jobs, of which some fire; parts of one processor. Without it, the daemon "
        f"and its runner take {alone['alone']:.1%}.\n\n")
    return text + table(
        ["columns", "top", "daemon and runner", "drawn, each second"],
        [(row["columns"], f"{row['top']:.1%}", f"{row['daemon']:.1%}", size(row["bytes_each_second"]))
         for row in terminals])


def growth(figures, goals):
    """What is done to very many jobs or rows, and how late the others are."""
    names = {
        "reload": lambda row: f"reload, {row['changed']} of {row['jobs']} jobs changed",
        "checkpoint": lambda row: f"checkpoints of {row['jobs']} jobs",
        "start and stop": lambda row: f"after a start with {row['jobs']} jobs",
        "prune": lambda row: f"{row['rows']} old runs pruned",
    }
    watched = [row for row in figures if "late_max_ms" in row]
    lines = []
    for row in watched:
        name = names.get(row["what"], lambda row: f"`{row['what']}`, {row['jobs']} jobs")(row)
        # The jobs that are watched wait for a place as well when all jobs run.
        if row["what"] != "run --all":
            goals.most(f"growth: latest firing, {name}", row["late_max_ms"] / 1000, 0.1, "{:.3f} s".format)
        lines.append((
            name, f"{row['took_s']:.2f} s" if "took_s" in row else "", f"{row['late_median_ms']:.1f}",
            f"{row['late_max_ms']:.0f}", f"{row['answer_max_ms']:.0f}"))
        if row["what"] == "reload" and (row["jobs"], row["changed"]) == (100_000, 1):
            goals.most("growth: reload of one job among 100 000", row["took_s"], 0.5, "{:.2f} s".format)
        if row["what"] == "list":
            goals.most("growth: longest answer beside a list", row["answer_max_ms"], 10, "{:.0f} ms".format)
    text = table(["what", "took", "lateness, median, ms", "most, ms", "longest answer, ms"], lines)
    for row in figures:
        if row["what"] == "start and stop":
            text += f"\n{row['jobs']} jobs: ready after {row['ready_s']:.2f} s, stopped in {row['stop_s']:.2f} s.\n"
        elif row["what"] == "prune":
            text += (
                f"\n{row['rows']} old runs: ready after {row['ready_s']:.2f} s; the database shrank from "
                f"{size(row['bytes_before'])} to {size(row['bytes_after'])}.\n")
        elif "extensions" in row:
            text += (
                f"\n{row['jobs']} jobs: ready after {row['ready_s']:.1f} s, with {row['extensions']} requests for more "
                f"time and {size(row['anonymous_bytes'])} in both processes; a list of {row['listed']} took "
                f"{row['took_s']:.1f} s; stopped in {row['stop_s']:.1f} s with status {row['stop_status']}.\n")
            name = f"{row['jobs']} jobs"
            goals.most(f"growth: ready with {name}", row["ready_s"], 10, "{:.1f} s".format)
            goals.most(f"growth: memory of both with {name}", row["anonymous_bytes"], 1.2e9, size)
            goals.least(f"growth: lines of a list of {name}", row["listed"], row["jobs"], str)
            goals.most(f"growth: stop with {name}", row["stop_s"], 5, "{:.1f} s".format)
    return text


def page(figures, goals):
    """What it costs that people look."""
    for row in figures:
        if row["what"] == "goal":
            goals.most(f"page: {row['of']}", row["figure"], row["goal"])
    bursts = {}
    for row in figures:
        if row["what"] == "burst":
            bursts.setdefault(row["browsers"], []).append(row["last_ms"])
    text = "1000 jobs due at one instant, while browsers follow the events through the web server:\n\n" + table(
        ["browsers", "last, best round, ms", "last, median round, ms", "rounds"],
        [(count, f"{min(last):.1f}", f"{statistics.median(last):.1f}", len(last)) for count, last in bursts.items()])
    idle = [row for row in figures if row["what"] == "idle"]
    text += "\nWake-ups of an idle daemon and its runner:\n\n" + table(
        ["with", "a second"], [(row["with"], f"{row['per_s']:.2f}") for row in idle])
    scrapes = [row for row in figures if row["what"] == "scrape"]
    for row in figures:
        if row["what"] == "calendar":
            text += (
                f"\nThe calendar of a job with {row['rows']} runs: {time(row['first_s'] * 1e9)} at first, "
                f"{time(row['median_s'] * 1e9)} in the middle.\n")
    alone, = (row for row in scrapes if not row["scrapes"])
    scraped, = (row for row in scrapes if row["scrapes"])
    return text + f"\nJobs that run once a second, among {alone['jobs']}:\n\n" + table(
        ["scrapes", "firings", "median, ms", "99 %, ms", "most, ms", "a scrape, median", "its size"],
        [(row["scrapes"] or "none", row["firings"], *(f"{row[key]:.2f}" for key in ("median_ms", "p99_ms", "max_ms")),
          time(row["scrape_median_s"] * 1e9) if row["scrapes"] else "", size(row["bytes"]) if row["scrapes"] else "")
         for row in (alone, scraped)])


def notify(figures, goals):
    """What notifications cost a burst."""
    for row in figures:
        if row["what"] == "goal":
            goals.most(f"notify: {row['of']}", row["figure"], row["goal"])
    bursts = {}
    for row in figures:
        if row["what"] == "burst":
            bursts.setdefault(row["how"], []).append(row["last_ms"])
    text = "1000 jobs due at one instant, whose runs are told to a receiver that takes connections and never answers:\n\n"
    return text + table(
        ["notifier of the jobs", "last, best round, ms", "last, median round, ms", "rounds"],
        [(how, f"{min(last):.1f}", f"{statistics.median(last):.1f}", len(last)) for how, last in bursts.items()])


def profile(figures, goals):
    """The microseconds of one run; of each part what it is spent on, down to one of them."""
    groups = {}
    for row in figures:
        spent = groups.setdefault((row["who"], row["whose"]), {})
        spent[row["what"]] = spent.get(row["what"], 0) + row["us"]
    rows = []
    for who in dict.fromkeys(who for who, _ in groups):
        parts = {whose: spent for (of, whose), spent in groups.items() if of == who}
        rows.append((who, "**all**", f"{sum(sum(spent.values()) for spent in parts.values()):.0f}", ""))
        for whose, spent in sorted(parts.items(), key=lambda part: -sum(part[1].values())):
            most = [(what, us) for what, us in sorted(spent.items(), key=lambda item: -item[1]) if us >= 1]
            rows.append((
                who, whose, f"{sum(spent.values()):.0f}", ", ".join(f"{what} {us:.0f}" for what, us in most)))
    return "Of 1000 jobs due at one instant, all processors together:\n\n" + table(
        ["who", "part", "µs a run", "of which"], rows)


SECTIONS = [
    ("next", "The next slot of a schedule", next_slot), ("agenda", "The agenda", agenda),
    ("burst", "Many jobs due at one instant", burst), ("scale", "Many armed jobs", scale),
    ("cost", "What a firing costs", cost),
    ("punctual", "One job each second", punctual), ("durable", "Recorded firings", durable),
    ("timers", "Timers inside a program", timers), ("control", "Looking and changing", control),
    ("top", "The screen of timerctl top", top),
    ("growth", "Very many jobs at once", growth), ("page", "People who look", page),
    ("notify", "Notifications", notify),
    ("profile", "Where the time of a run goes", profile)]


def write():
    goals = Goals()
    sections = []
    results = {}
    for name, title, make in SECTIONS:
        path = places.RESULTS / f"{name}.jsonl"
        if not path.exists():
            continue
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        machine = rows[0]["machine"]
        results[name] = machine, rows[1:]
        sections.append(
            f"## `{name}`: {title}\n\n{machine['at']}, commit {machine['commit']}, {machine['processor']}, "
            f"{machine['cores']} cores, Linux {machine['kernel']}; load of the machine before "
            f"{machine['load']}.\n\n{make(rows[1:], goals)}")
    text = HEAD + "\n" + table(["goal", "reached", "wanted", "", "why"], goals.rows) + "\n" + "\n".join(sections)
    (places.HERE / "RESULTS.md").write_text(text)
    headline.write(results)
    return goals
