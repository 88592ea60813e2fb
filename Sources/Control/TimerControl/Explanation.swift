// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Explains why a job has not run, when it will run, and what could prevent that.
public struct Explanation {
    /// The most important one first, which is the answer to the question.
    public private(set) var reasons: [WhyReply.Reason] = []
    /// How many runs that hold a slot are named.
    private static let holdersMax = 3
    /// The reasons for people, in the same order.
    public var sentences: [String] { reasons.map(\.text) }
    let reply: WhyReply
    let show: (String) -> String
    /// Whether the sentences say how long it is until an instant, or since then.
    let saysDistance: Bool

    /// Explains the data of the daemon.
    ///
    /// - Parameters:
    ///   - saysDistance: whether the sentences say how long it is until an instant, or since then. A reader who keeps
    ///     them takes `at` for that, because these words are soon wrong.
    ///   - instant: formats an instant of RFC 3339.
    public init(
        _ reply: WhyReply, saysDistance: Bool = true, instant: @escaping (String) -> String
    ) {
        self.reply = reply
        self.saysDistance = saysDistance
        show = instant
        if let rejected = reply.rejection { explain(rejected) }
        guard let status = reply.status else { return }
        explainFleet(of: status)
        explainState(of: status)
        explainWindow(of: status)
        explainDates(of: status)
        explainChain(of: status)
        explainRuns(of: status)
        explainLast(of: status)
        explainIncidents(of: status)
        guard status.state == "armed" || status.state == "retrying" else { return }
        explainHindrances(of: status)
    }

    mutating func add(
        _ code: WhyReply.Reason.Code, _ sentence: String, at instant: String? = nil,
        run: String? = nil
    ) {
        reasons.append(.init(code, sentence, at: instant, run: run))
    }

    // MARK: - Runs

    private mutating func explainRuns(of job: JobStatus) {
        for run in job.running { explain(run, of: job) }
    }

    private mutating func explain(_ run: RunStatus, of job: JobStatus) {
        let place = run.machine.map { " on \(Printable.text($0))" } ?? ""
        switch run.waits {
        case "capacity":
            add(
                .waitsForCapacity,
                "\(Self.named(run)) waits for max-concurrent: \(reply.activeRuns) of at most "
                    + "\(reply.maxConcurrent) runs are active.", run: run.id)
        case "slot": explainSlot(of: run)
        case "check":
            add(
                .waitsForCondition,
                "\(Self.named(run)) is about to start, and its condition is being checked.",
                run: run.id)
        case "condition": explainCondition(of: run, isPaused: job.state == "paused")
        case "previous-run" where job.state == "paused":
            add(.waitsForResume, "\(Self.named(run)) waits for the end of the pause.", run: run.id)
        case "previous-run":
            add(
                .waitsForPreviousRun, "\(Self.named(run)) waits for the previous run to end.",
                run: run.id)
        case "window":
            let at = run.startsAt.map { ", which opens at \(show($0))\(away($0))" } ?? ""
            add(
                .waitsForWindow, "\(Self.named(run)) waits for its window\(at).",
                at: run.startsAt, run: run.id)
        case "catch-up-delay" where job.state == "paused":
            add(.waitsForResume, "\(Self.named(run)) waits for the end of the pause.", run: run.id)
        case "catch-up-delay":
            let at = run.startsAt.map { " at \(show($0))\(away($0))" } ?? ""
            add(
                .waitsForCatchUpDelay,
                "\(Self.named(run)) was missed, and is caught up\(at) (catch-up-delay). "
                    + "`timerctl run \(job.job)` runs it now, and `timerctl kill \(job.job)` cancels it.",
                at: run.startsAt, run: run.id)
        case "retry-delay" where job.state == "paused":
            add(
                .waitsForResume,
                "The next attempt, run \(run.id), waits for the end of the pause.", run: run.id)
        case "retry-delay":
            let at = run.startsAt.map { " at \(show($0))\(away($0))" } ?? ""
            add(
                .waitsForRetryDelay,
                "Its last run failed; the next attempt, run \(run.id), starts\(at). "
                    + "`timerctl run \(job.job)` runs it now, and `timerctl kill \(job.job)` "
                    + "cancels that attempt.", at: run.startsAt, run: run.id)
        default:
            guard let began = run.began else {
                return add(.starting, "\(Self.named(run)) is being started\(place).", run: run.id)
            }
            add(
                .running,
                "\(Self.named(run)) has been running\(place) since \(show(began))\(away(began)).",
                at: began, run: run.id)
        }
    }

    /// The beginning of a sentence about a run, with what it was requested with.
    private static func named(_ run: RunStatus) -> String {
        let with = run.arguments.map { ", with \(Printable.text(RunArguments.shown($0)))," } ?? ""
        return "Run \(run.id)\(with)"
    }

    private mutating func explainCondition(of run: RunStatus, isPaused: Bool) {
        let what = run.unmet.map { ": \(Printable.text($0)) is not met" } ?? ""
        let isHeld = isPaused && run.requestedBy == nil
        let again =
            isHeld
            ? "; it is not checked again before the end of the pause"
            : run.checkedAgain.map { "; it is checked again at \(show($0))\(away($0))" } ?? ""
        let end = run.waitsUntil.map { ", and skipped at \(show($0))\(away($0))" } ?? ""
        add(
            .waitsForCondition, "\(Self.named(run)) waits for its condition\(what)\(again)\(end).",
            at: run.checkedAgain, run: run.id)
    }

    private mutating func explainSlot(of run: RunStatus) {
        guard let slot = reply.slots?.first(where: { $0.slot == run.slot }) else {
            return add(
                .waitsForSlot, "\(Self.named(run)) waits for the slot \(run.slot ?? "?").",
                run: run.id)
        }
        let place = slot.waiting.firstIndex(of: run.id) ?? 0
        let before = place > 0 ? " \(plural(place, "run waits", "runs wait")) before it." : ""
        add(
            .waitsForSlot,
            "\(Self.named(run)) waits for the slot \(slot.slot) (\(slot.max))"
                + holders(of: slot, by: ", which is held by ") + "." + before, run: run.id)
    }

    /// Names the runs that hold a slot, and since when.
    ///
    /// - Parameter words: what comes before the names.
    /// - Returns: the words and the names; an empty text if no run holds the slot.
    func holders(of slot: SlotStatus, by words: String) -> String {
        let holders = slot.holders.prefix(Self.holdersMax).map { holder in
            holder.job + (holder.began.map { " since \(show($0))" } ?? "")
        }
        let more = slot.holders.count - holders.count
        let others = more > 0 ? ", and \(plural(more, "run")) more" : ""
        return holders.isEmpty ? "" : words + holders.joined(separator: ", ") + others
    }

    private mutating func explainLast(of job: JobStatus) {
        if let last = job.last {
            add(
                .lastRun, "Its last run, \(last.id), \(Self.ending(of: last)).", at: last.ended,
                run: last.id)
        } else if job.running.isEmpty {
            add(.neverRan, "It has never run.")
        }
        guard let skip = job.skipped else { return }
        let which =
            skip.skippedCount == 1
            ? "Its run of \(show(skip.scheduled)) was"
            : "\(skip.skippedCount) runs from \(show(skip.scheduled)) on were"
        add(.skipped, "\(which) skipped: \(RunWords.skip(skip.reason)).", at: skip.scheduled)
    }

    /// How a run ended, as the end of a sentence about it.
    private static func ending(of run: RunStatus) -> String {
        let place = run.machine.map { " on \(Printable.text($0))" } ?? ""
        let words = Printable.text(RunWords.ending(of: run) ?? "ended")
        if run.succeeded == true { return words + place }
        return switch run.outcome.flatMap({ RunOutcome($0) })?.sentence {
        case .passive: "was\(place) \(words)"
        case .complete: words + place
        case .ended, nil: "ended\(place): \(words)"
        }
    }

    private mutating func explainIncidents(of job: JobStatus) {
        for incident in job.incidents ?? [] {
            add(
                .incident,
                "Since \(show(incident.since)), \(incident.words) (\(incident.kind)); notifier "
                    + "\(incident.notifier) has a message about it, and `timerctl notify list` says whether it was sent.",
                at: incident.since)
        }
    }

    // MARK: - Words

    /// Such as ` (in 3 h)` or ` (5 min ago)`.
    func away(_ instant: String) -> String {
        guard saysDistance, let instant = WallInstant(rfc3339: instant),
            let now = WallInstant(rfc3339: reply.now)
        else { return "" }
        let away = instant - now
        return away >= .zero
            ? " (in \(span(away.wholeMicroseconds)))"
            : " (\(span(-away.wholeMicroseconds)) ago)"
    }

    func span(_ microseconds: Int64) -> String {
        TimeSpan.roundedText(.microseconds(microseconds))
    }
}

/// What a fleet has to do with it.
extension Explanation {
    mutating func explainFleet(of job: JobStatus) {
        guard let fleet = job.fleet else { return }
        if fleet.stale == true {
            add(
                .fleetAway,
                "This machine has no connection to the fleet: it does not start the job, other machines may, and what "
                    + "follows may have changed; `timerctl fleet` says why.")
        }
        if let problem = fleet.problem {
            add(
                .fleetUnreadable,
                "What the fleet has of it in etcd cannot be read here, so this machine does not start it, and no "
                    + "command for it works here: \(Printable.text(problem)).")
        }
        if let until = fleet.accountedUntil {
            add(
                .fleetClockAhead,
                "The clock of a machine was ahead when it last started: all that is due until \(show(until)) counts as "
                    + "started already, so that nothing starts twice.", at: until)
        }
        if let since = fleet.heldSince {
            let by = fleet.heldBy.map { " by \(Printable.text($0))" } ?? ""
            add(
                .fleetHeld,
                "The whole fleet has been held since \(show(since))\(by); `timerctl fleet release` ends that.",
                at: since)
        }
        if fleet.drifted == true {
            add(
                .fleetDrifted,
                "The fleet uses another definition of it than this machine has, so this machine does not start it; "
                    + "`timerctl fleet define \(job.job)` makes that of this machine the definition of the fleet."
            )
        }
        guard let machines = fleet.eligibleMachines else { return }
        guard let first = machines.first else {
            return add(
                .fleetMachines,
                "No machine that is connected may start it: each is drained, has a wrong clock, another definition, or "
                    + "not all labels in `on`; `timerctl fleet` shows them.")
        }
        let others = machines.dropFirst().map { Printable.text($0) }.joined(separator: ", ")
        add(
            .fleetMachines,
            "Its next run starts on \(Printable.text(first))"
                + (others.isEmpty
                    ? "; no other machine may start it now."
                    : "; if that fails, the next in this order takes over: \(others)."))
    }
}
