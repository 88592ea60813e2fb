// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl
import TimerCore
import TimerZones

/// The texts in which timerctl prints the values of the API.
enum Text {
    /// The lines of `timerctl show JOB`.
    static func details(_ job: JobStatus) -> String {
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
        let unsure = job.uncertainUsec.map { ", up to \(span($0)) may be missing" } ?? ""
        lines += [
            ("Next", job.next.map { instant($0) }),
            ("Left", job.remainingUsec.map { span($0) }),
            (
                "Next attempt",
                job.nextAttempt.map { "\(instant($0)) (in \(span(job.nextAttemptUsec)))" }
            ),
            ("Elapsed", job.count.map { "\(span(job.elapsedUsec)) of \($0) time\(unsure)" }),
            ("Active", span(job.activeUsec)), ("Runs due", "\(job.firings)"),
            ("To skip", job.skips.map { "the next \($0)" }),
            ("Policy", job.policy.map { policy($0) }),
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
            lines.append(("Last run", "\(last.id), \(last.outcome ?? "-")\(place(of: last))"))
            lines.append(("", resources(last)))
        }
        if let skip = job.skipped {
            let count = skip.skippedCount == 1 ? "" : ", \(skip.skippedCount) runs"
            lines.append(("Skipped", "\(instant(skip.scheduled))\(count) (\(skip.reason))"))
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
        lines.append(("Saved", "\(instant(job.checkpoint))\(age(job.checkpoint))"))
        let shown = lines.compactMap { name, value in value.map { (name, Printable.text($0)) } }
        let width = shown.map(\.0.count).max() ?? 0
        return shown.map { name, value in
            String(repeating: " ", count: width - name.count) + name
                + (name.isEmpty ? "  " : ": ") + value
        }.joined(separator: "\n")
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

    private static func policy(_ policy: PolicyStatus) -> String {
        func word(_ name: String, _ value: String?) -> String? { value.map { "\(name) \($0)" } }
        func length(_ name: String, _ value: Int64?) -> String? {
            value.map { "\(name) \(span($0))" }
        }
        return [
            word("on-missed", policy.onMissed),
            length("starting-deadline", policy.startingDeadlineUsec),
            word("on-resume", policy.onResume), word("concurrency", policy.concurrency),
            policy.concurrencyMax.map { "concurrency-max \($0)" },
            policy.slotUses.map { "slots " + $0.map(slot).joined(separator: " ") },
            word("on-busy-slot", policy.onBusySlot),
            length("accuracy", policy.accuracyUsec),
            length("random-delay", policy.randomDelayUsec),
            length("catch-up-delay", policy.catchUpDelayUsec),
            length("random-offset", policy.randomOffsetUsec),
            policy.retries.map { "retries \($0)" },
            policy.historyRuns.map { "history-runs \($0)" },
        ].compactMap { $0 }.joined(separator: ", ")
    }

    private static func condition(_ condition: ConditionStatus) -> String {
        let wait = condition.waitMaxUsec.map { "waits for at most \(span($0))" } ?? "is skipped"
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

    private static func slot(_ use: SlotUse) -> String {
        use.weight == 1 ? use.slot : "\(use.slot) (\(use.weight))"
    }

    /// Such as ` (12 s ago)`.
    private static func age(_ text: String) -> String {
        guard let instant = WallInstant(rfc3339: text) else { return "" }
        return " (\(span(max(0, (Terminal.now - instant).wholeMicroseconds))) ago)"
    }

    /// Such as `Sat 2026-11-21 05:38:52 +01:00`, with a fraction only if it is not zero.
    static func local(_ instant: WallInstant, in zone: ZoneRules) -> String {
        let offset = zone.offset(at: instant)
        let shifted = instant + .seconds(offset)
        let days = Int((Double(shifted.secondsSinceEpoch) / 86_400).rounded(.down))
        let weekday = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][((days + 3) % 7 + 7) % 7]
        let text = shifted.rfc3339.dropLast().split(separator: "T").joined(separator: " ")
        let minutes = abs(offset) / 60
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return
            "\(weekday) \(text) \(offset < 0 ? "-" : "+")\(two(minutes / 60)):\(two(minutes % 60))"
    }

    /// The line with the result of a command.
    static func order(_ reply: OrderReply, done: String) -> String {
        let job = reply.status
        return order(
            OrdersReply.Result(
                job: job.job, changed: reply.changed, reason: reply.reason,
                formerPause: reply.formerPause, paused: job.paused, state: job.state,
                remainingUsec: job.remainingUsec), done: done)
    }

    /// The line with the result of a command for one of many jobs.
    static func order(_ job: OrdersReply.Result, done: String) -> String {
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
                ? "every \(span(every))" : "\(span(every)) after the end of each run"
        }
        if let after = job.afterUsec { return "once, after \(span(after))" }
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
        guard let elapsed = run.elapsedUsec, let user = run.userUsec, let system = run.systemUsec
        else { return nil }
        let memory = run.peakBytes.map { ", peak memory \($0 / 1024) KiB" } ?? ""
        return "took \(span(elapsed)), CPU \(span(user + system))\(memory)"
    }

    static func span(_ microseconds: Int64?) -> String {
        guard let microseconds else { return "-" }
        let accuracy: Duration = microseconds >= 60_000_000 ? .seconds(1) : .milliseconds(1)
        return TimeSpan.text(.microseconds(microseconds), accuracy: accuracy)
    }

    /// An instant of the API in the local time zone.
    static func instant(_ text: String?) -> String { text.map { instant($0) } ?? "-" }

    /// An instant of the API in the local time zone.
    static func instant(_ text: String) -> String {
        guard let instant = WallInstant(rfc3339: text) else { return text }
        return local(instant, as: "%Y-%m-%d %H:%M:%S")
    }

    /// An instant with its weekday, its zone and its distance: `Mon 2026-11-23 09:00:00 CET (in 18h
    /// 12min)`.
    static func moment(_ instant: WallInstant, now: WallInstant = Terminal.now) -> String {
        let times = TimeParser(now: now)
        return "\(times.shortText(of: instant)) (\(times.distance(to: instant)))"
    }

    /// The same for an instant of the API.
    static func moment(_ text: String) -> String {
        WallInstant(rfc3339: text).map { moment($0) } ?? text
    }

    /// An instant in the local time zone, as strftime(3) writes it.
    static func local(_ instant: WallInstant, as format: String) -> String {
        var seconds = time_t(instant.secondsSinceEpoch)
        var parts = tm()
        localtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, format, &parts)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
