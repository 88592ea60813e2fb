// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl
import TimerCore
import TimerZones

/// The texts in which timerctl prints the values of the API.
enum Text {
    /// The lines of `timerctl show JOB`.
    static func details(_ job: JobStatus, on screen: Screen = Screen()) -> String {
        var lines: [(String, String?)] = [
            ("Job", job.job), ("Description", job.description),
            ("Command", job.shell ?? job.command?.map(quoted).joined(separator: " ")),
            ("Run arguments", job.runArguments.map { $0.map(quoted).joined(separator: ", ") }),
            ("Schedule", schedule(job)),
            ("Follows", job.follows.map { FollowWords.all($0) }),
            ("Condition", job.condition.map(condition)),
            ("Window", job.window.map(window)), ("Not before", job.notBefore.map(instant)),
            ("Not after", job.notAfter.map(instant)),
            ("Max runs", job.maxRuns.map { "\($0), of which it had \(job.countedRuns ?? 0)" }),
            (
                "Max successes",
                job.maxSuccesses.map { "\($0), of which it had \(job.countedSuccesses ?? 0)" }
            ),
            ("State", state(job.state, job.running)),
        ]
        if let pause = job.paused {
            let note = pause.note.map { " (\($0))" } ?? ""
            let end = pause.until.map { ", until \(instant($0))" } ?? ""
            let runs = pause.withRun == true ? ", with its runs" : ""
            lines.append(
                ("Paused", "since \(instant(pause.since)) by \(pause.by)\(note)\(end)\(runs)"))
        }
        lines += [
            ("Next", job.next.map { "\(instant($0))\(distance($0))" }),
            ("Next attempt", job.nextAttempt.map { "\(instant($0))\(distance($0))" }),
            ("Interval", interval(job)),
            ("Will be skipped", job.skips.map { $0 == 1 ? "the next run" : "the next \($0) runs" }),
            ("Settings", settings(job)),
        ]
        for run in job.running {
            let since =
                run.waits.map {
                    job.state == "paused"
                        ? "waits for the end of the pause" : waiting($0, run)
                }
                ?? run.began.map { "started \(instant($0))" } ?? "is being started"
            let what = "\(run.id), \(since)\(place(of: run))"
            lines.append((run.waits == nil ? "Running" : "Waiting", what))
        }
        if let last = job.last {
            lines.append(
                ("Last run", "\(last.id), \(RunWords.end(of: last) ?? "-")\(place(of: last))"))
            lines.append(("", resources(last)))
        }
        if let skip = job.skipped {
            let count = skip.skippedCount == 1 ? "" : ", \(skip.skippedCount) runs"
            lines.append(
                ("Skipped", "\(instant(skip.scheduled))\(count): \(RunWords.skip(skip.reason))"))
        }
        for incident in job.incidents ?? [] {
            lines.append(
                (
                    "Incident",
                    "\(incident.words), since \(instant(incident.since)) (\(incident.kind), message by \(incident.notifier))"
                ))
        }
        if let deleted = job.historyDeleted {
            lines.append(
                (
                    "History",
                    "runs that ended before \(instant(deleted.before)) are deleted (\(deleted.limit))"
                ))
        }
        if let followers = job.followers {
            lines.append(("Followers", followers.joined(separator: ", ")))
        }
        if let fleet = job.fleet { lines.append(("Fleet", self.fleet(fleet))) }
        if let file = job.file {
            lines.append(("Defined in", file + (job.line.map { ":\($0)" } ?? "")))
        }
        lines.append(("Saved", "\(instant(job.checkpoint))\(distance(job.checkpoint))"))
        return TextPairs(lines).lines(columns: screen.columns).joined(separator: "\n")
    }

    /// How much of its interval has passed: `6 h: 4 h 12 min passed, 1 h 48 min left`; nil for a job
    /// that does not count time.
    private static func interval(_ job: JobStatus) -> String? {
        guard let basis = job.count, job.state != "stopped", job.state != "finished",
            let whole = job.everyUsec ?? job.afterUsec ?? job.onBootUsec
        else { return nil }
        let left = job.remainingUsec.map { ", \(span($0)) left" } ?? ""
        let unsure = job.uncertainUsec.map { "; up to \(span($0)) may be missing (crash)" } ?? ""
        let clock =
            switch basis {
            case "active": ""
            case "uptime": ", while the machine is awake"
            case "boottime": ", while the machine is on"
            default: ", by the wall clock"
            }
        return "\(exact(whole))\(clock): \(span(job.elapsedUsec)) passed\(left)\(unsure)"
    }

    /// Such as ` (in 3 h 2 min)` or ` (12 s ago)`.
    private static func distance(_ text: String) -> String {
        guard let instant = WallInstant(rfc3339: text) else { return "" }
        return " (\(distance(instant - Terminal.now)))"
    }

    private static func waiting(_ word: String, _ run: RunStatus) -> String {
        switch word {
        case "capacity": "waits for max-concurrent"
        case "slot": "waits for the slot \(run.slot ?? "?")"
        case "check", "condition": RunWords.wait(run, instant: instant) ?? word
        case "previous-run": "waits for the previous run"
        case "window": "waits for its window"
        default: "starts" + (run.startsAt.map { " at \(instant($0))" } ?? " after a delay")
        }
    }

    /// The keys of the definition that have no line of their own, as `timeout 2h; user backup`.
    private static func settings(_ job: JobStatus) -> String? {
        let others = (job.settings ?? [:]).filter { !ownLines.contains($0.key) }
        guard !others.isEmpty else { return nil }
        return others.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            .joined(separator: "; ")
    }

    /// The keys whose values the other lines of a job say.
    private static let ownLines: Set = [
        "description", "run-arguments", "timezone", "count", "from", "max-runs", "max-successes",
    ]

    private static func condition(_ condition: ConditionStatus) -> String {
        let wait = condition.waitMaxUsec.map { "waits for at most \(exact($0))" } ?? "is skipped"
        return condition.checks.joined(separator: ", ") + "; otherwise a run \(wait)"
    }

    private static func window(_ window: WindowStatus) -> String {
        let state =
            window.opens.map { "closed until \(instant($0))" }
            ?? window.closes.map { "open until \(instant($0))" } ?? "open"
        return "\(window.times.joined(separator: ", ")) in \(window.timezone), \(state); "
            + (window.outside == "skip"
                ? "no runs outside it" : "a run that is due outside it waits")
            + (window.stopsAtEnd == true ? "; its end stops runs" : "")
    }

    /// The line with the result of a command.
    static func command(_ reply: CommandReply, done: String) -> String {
        let job = reply.status
        return command(
            CommandsReply.Result(
                job: job.job, changed: reply.changed, reason: reply.reason,
                formerPause: reply.formerPause, paused: job.paused, state: job.state,
                remainingUsec: job.remainingUsec), done: done)
    }

    /// The line with the result of a command for one of many jobs.
    static func command(_ job: CommandsReply.Result, done: String) -> String {
        guard job.changed else {
            return "\(job.job): nothing to do: \(Printable.text(job.reason ?? job.state ?? ""))"
        }
        let after = job.paused.map { $0.until == nil ? " after it is resumed" : " after that" }
        let left =
            job.remainingUsec.map {
                "; next run \(after == nil ? "in " : "")\(span($0))\(after ?? "")"
            }
            ?? ""
        if let former = job.formerPause, let pause = job.paused {
            return
                "\(job.job): pause changed: \(Printable.text(change(from: former, to: pause)))\(left)"
        }
        let end = done == "paused" ? job.paused?.until.map { " until \(moment($0))" } ?? "" : ""
        return "\(job.job): \(done)\(end)\(left)"
    }

    /// The terms of a pause that changed, each with the former value.
    private static func change(from former: PauseStatus, to pause: PauseStatus) -> String {
        var parts: [String] = []
        if pause.until != former.until {
            let end = pause.until.map { "until \(moment($0))" } ?? "until it is resumed"
            parts.append(
                end + (former.until.map { " (was: until \(instant($0)))" } ?? " (was: no end)"))
        }
        if pause.note != former.note {
            let note = pause.note.map { "note \"\($0)\"" } ?? "no note"
            parts.append(note + (former.note.map { " (was: \"\($0)\")" } ?? " (was: none)"))
        }
        if pause.withRun != former.withRun { parts.append("with its runs (was: without)") }
        return parts.joined(separator: ", ")
    }

    /// The word of the column STATE: an armed job with an active run is `running`, and one whose run
    /// waits for a slot, for max-concurrent, its condition, its window or `catch-up-delay` is
    /// `waiting`.
    static func state(_ state: String, _ runs: [RunStatus]) -> String {
        guard state == "armed" else { return state }
        if areActive(runs) { return "running" }
        let words: Set = ["capacity", "slot", "check", "condition", "window", "catch-up-delay"]
        return runs.contains { $0.waits.map(words.contains) ?? false } ? "waiting" : state
    }

    /// Whether one of them is active or starting; a run that waits does not count.
    static func areActive(_ runs: [RunStatus]) -> Bool { runs.contains { $0.waits == nil } }

    private static func schedule(_ job: JobStatus) -> String? {
        if let every = job.everyUsec {
            return job.from == nil
                ? "every \(exact(every))" : "\(exact(every)) after the end of each run"
        }
        if let after = job.afterUsec { return "once, after \(exact(after))" }
        if let afterBoot = job.onBootUsec { return boot(afterBoot, "each") }
        if let at = job.at {
            return "once, at \(instant(at))" + (job.oneOff == true ? ", as a one-off job" : "")
        }
        if job.onDemand == true { return job.follows == nil ? "on demand" : nil }
        let zone = job.timezone.map { " in \($0)" } ?? ""
        if let calendar = job.calendar {
            return "calendar \(calendar.joined(separator: "; "))\(zone)\(dates(job))"
        }
        return job.cron.map { "cron \($0.joined(separator: "; "))\(zone)\(dates(job))" }
    }

    /// What limits the dates of a schedule, such as `, except on holidays`.
    private static func dates(_ job: JobStatus) -> String {
        let lists = [
            job.everyNth.map {
                ", every \(ordinal($0)) date, counted from \(job.countedFrom ?? "-")"
            },
            job.except.map { ", except on \($0.joined(separator: ", "))" },
            job.onlyOn.map { ", only on \($0.joined(separator: ", "))" },
        ]
        return lists.compactMap { $0 }.joined()
    }

    /// Such as `2nd`.
    private static func ordinal(_ number: Int) -> String {
        let isTeen = (11...13).contains(number % 100)
        let ends = [1: "st", 2: "nd", 3: "rd"]
        return "\(number)\((isTeen ? nil : ends[number % 10]) ?? "th")"
    }

    private static func resources(_ run: RunStatus) -> String? {
        guard run.began != nil, let elapsed = run.elapsedUsec, let user = run.userUsec,
            let system = run.systemUsec
        else { return nil }
        let memory = run.peakBytes.map { ", peak memory \(size($0))" } ?? ""
        return "took \(span(elapsed)), CPU \(span(user + system))\(memory)"
    }

    private static func quoted(_ word: String) -> String {
        let plain = word.utf8.allSatisfy {
            $0 > 32 && $0 < 127 && !"\"'\\$`*?;&|<>()".utf8.contains($0)
        }
        if plain, !word.isEmpty { return word }
        return "'"
            + word.split(separator: "'", omittingEmptySubsequences: false).joined(
                separator: "'\\''") + "'"
    }
}
