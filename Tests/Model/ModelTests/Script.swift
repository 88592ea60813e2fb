// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One case: a set of jobs, and the events.
struct Script {
    var jobs: [PlainJob] = []
    var steps: [Step] = []
    var runsMax = 64
    /// The limit of each slot.
    var slots: [Int] = []
    /// The seed for the jitter of the jobs, and for how long runs take and how they end.
    var seed: UInt64 = 0
    /// The reading of the wall clock at the start.
    var wall: Int64 = 0
}

/// One event of the machine or the daemon.
enum Step: Equatable {
    case pass(Int64)
    /// Time passes while the daemon is blocked.
    case block(Int64)
    /// The machine sleeps. If `quiet`, the next command comes before the report of the sleep.
    case sleep(Int64, quiet: Bool)
    /// The wall clock is set.
    case set(Int64, quiet: Bool)
    /// The daemon ends, and starts again after the gaps. Its last checkpoint was this long before
    /// the end.
    case down(Death, sinceCheckpoint: Int64, [Gap], runsLiveOn: Bool)
    /// `until` is relative: this much later.
    case command(PlainVerb, Int, until: Int64?, withRun: Bool, count: Int)
    case checkpoint
    /// What is mounted changes, which conditions ask about.
    case mount
    /// The configuration is edited: a job is changed, added or removed.
    case edit(PlainJob)
    case remove(Int)
    case reload
}

/// What happens to the machine while no daemon runs.
enum Gap: Equatable {
    case awake(Int64)
    case asleep(Int64)
    case set(Int64)
    /// The machine is switched off and on again; the wall clock may be wrong afterwards.
    case reboot(Int64, isWrongBy: Int64)
}

extension Script {
    /// The case as text, one line for each step.
    var text: String {
        var lines = [
            "seed \(seed), at most \(runsMax) runs, slots \(slots), it is \(Script.span(wall))"
        ]
        for job in jobs { lines.append("  job " + Script.text(of: job)) }
        for step in steps { lines.append("  " + Script.text(of: step)) }
        return lines.joined(separator: "\n")
    }

    static func letter(_ job: Int) -> String { String(UnicodeScalar(UInt8(97 + job))) }

    static func span(_ nanoseconds: Int64) -> String {
        let sign = nanoseconds < 0 ? "-" : ""
        let microseconds = String(abs(nanoseconds) % Unit.second / Unit.microsecond)
        let whole = "\(sign)\(abs(nanoseconds) / Unit.second)"
        guard microseconds != "0" else { return whole + "s" }
        return whole + "." + String(repeating: "0", count: 6 - microseconds.count) + microseconds
            + "s"
    }

    private static func text(of job: PlainJob) -> String {
        let plain = PlainJob()
        var words = [letter(job.name) + ":"]
        switch job.kind {
        case .every, .after: words.append("\(job.kind) \(span(job.span)) of \(job.basis) time")
        case .onBoot: words.append("\(span(job.span)) after the boot")
        case .slots:
            words.append(
                "every \(span(job.span)) of the day, from \(span(job.phase)), \(job.basis) time")
        case .at: words.append("at " + job.instants.map(span).joined(separator: ", "))
        }
        if let first = job.first { words.append("first \(span(first))") }
        if job.paused { words.append("paused") }
        if job.onMissed != .runOnce { words.append("on-missed \(job.onMissed)") }
        if let deadline = job.deadline { words.append("deadline \(span(deadline))") }
        if let resume = job.onResume { words.append("on-resume \(resume)") }
        if job.concurrency != .forbid { words.append("\(job.concurrency)") }
        if let most = job.concurrencyMax { words.append("at most \(most)") }
        if job.accuracy > 0 { words.append("accuracy \(span(job.accuracy))") }
        if job.catchUpDelay > 0 { words.append("catch-up-delay \(span(job.catchUpDelay))") }
        if job.randomDelay > 0 { words.append("random-delay \(span(job.randomDelay))") }
        if job.randomOffset > 0 { words.append("random-offset \(span(job.randomOffset))") }
        if job.retries > 0 {
            words.append(
                "\(job.retries) retries after \(span(job.retryDelay)), times "
                    + "\(job.backoffHalves)/2, at most \(span(job.retryMax))")
        }
        if job.isFromEnd { words.append("from the end") }
        let limits = [
            ("late", job.lateAfter), ("long", job.longAfter), ("stale", job.staleAfter),
            ("paused", job.pausedAfter),
        ]
        for case (let name, let span?) in limits {
            words.append("\(name)-after \(self.span(span))")
        }
        if job.two != plain.two { words.append("2 is a \(job.two)") }
        for use in job.slots { words.append("takes \(use.weight) of slot \(use.slot)") }
        if job.skipsBusy { words.append("on-busy-slot skip") }
        if let condition = job.condition {
            words.append("condition \(condition.number) within \(span(condition.waitMax))")
        }
        if let old = job.renamedFrom { words.append("renamed-from \(letter(old))") }
        return words.joined(separator: " ")
    }

    private static func text(of step: Step) -> String {
        switch step {
        case .pass(let time): "pass \(span(time))"
        case .block(let time): "the daemon stands still for \(span(time))"
        case .sleep(let time, let quiet): "sleep \(span(time))\(quiet ? ", quietly" : "")"
        case .set(let time, let quiet): "set the clock by \(span(time))\(quiet ? ", quietly" : "")"
        case .down(let death, let since, let gaps, let runsLiveOn):
            "\(death) \(span(since)) after a checkpoint; "
                + gaps.map { text(of: $0) }.joined(separator: ", ")
                + (runsLiveOn ? "; runs live on" : "") + "; start"
        case .command(let verb, let job, let until, let withRun, let count):
            "\(verb) \(letter(job))" + (until.map { " until in \(span($0))" } ?? "")
                + (withRun ? " with its run" : "") + (verb == .skipNext ? " \(count)" : "")
        case .checkpoint: "checkpoint"
        case .mount: "mounts change"
        case .edit(let job): "edit " + text(of: job)
        case .remove(let job): "remove \(letter(job))"
        case .reload: "reload"
        }
    }

    private static func text(of gap: Gap) -> String {
        switch gap {
        case .awake(let time): "\(span(time)) go by"
        case .asleep(let time): "sleep \(span(time))"
        case .set(let time): "set the clock by \(span(time))"
        case .reboot(let time, let wrong):
            "off for \(span(time))" + (wrong == 0 ? "" : ", wrong by \(span(wrong))")
        }
    }
}

extension Seen {
    /// The step as text.
    var text: String {
        var words = ["\(kind) \(Script.letter(job))"]
        if label != 0 { words.append("of \(Script.span(label))") }
        switch kind {
        case .account:
            words.append(
                "accrued \(Script.span(value)), active \(Script.span(more)), phase \(attempt), "
                    + "\(reason) to be skipped")
        case .close: words.append("attempt \(attempt) \(PlainOutcome(rawValue: value) ?? .fine)")
        case .skipped: words.append("\(value), reason \(reason)")
        case .row, .fired: words.append("attempt \(attempt), \(value) folded in")
        case .check: words.append("attempt \(attempt), number \(value)")
        case .start, .end, .suspend, .resume: words.append("attempt \(attempt)")
        case .resumed, .erased, .nonsense: break
        case .answer: words.append("\(value)")
        }
        return words.joined(separator: " ")
    }
}
