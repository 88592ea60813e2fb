// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Explains why a job has not run, when it will run, and what could prevent that.
public struct Explanation {
    /// The reasons, the most important first.
    public private(set) var reasons: [WhyReply.Reason] = []
    /// The same in sentences.
    public var sentences: [String] { reasons.map(\.text) }
    private let reply: WhyReply
    private let show: (String) -> String

    /// Explains the data of the daemon.
    ///
    /// - Parameter instant: formats an instant of RFC 3339.
    public init(_ reply: WhyReply, instant: @escaping (String) -> String) {
        self.reply = reply
        show = instant
        if let rejected = reply.rejection { explain(rejected) }
        guard let status = reply.status else { return }
        explainState(of: status)
        explainRuns(of: status)
        explainLast(of: status)
        explainIncidents(of: status)
        guard status.state == "armed" || status.state == "retrying" else { return }
        explainHindrances(of: status)
    }

    private mutating func say(
        _ code: WhyReply.Reason.Code, _ sentence: String, at instant: String? = nil,
        run: String? = nil
    ) {
        reasons.append(.init(code, sentence, at: instant, run: run))
    }

    private mutating func explain(_ rejected: Rejection) {
        say(
            .configurationError,
            "Its configuration has errors and is not loaded"
                + (reply.status == nil ? ":" : "; the job keeps its earlier definition:"))
        for error in rejected.errors { say(.configurationError, error) }
        say(.configurationError, "Correct it, then run `timerctl reload`.")
    }

    // MARK: - The state

    private mutating func explainState(of job: JobStatus) {
        switch job.state {
        case "paused": explainPause(of: job)
        case "stopped":
            say(.stopped, "It is stopped; `timerctl start \(job.job)` restarts its timer.")
        case "finished":
            explainEnd(of: job)
        default: explainNext(of: job)
        }
    }

    private mutating func explainEnd(of job: JobStatus) {
        let again = "`timerctl start \(job.job)` restarts its timer"
        guard let after = job.afterBootUsec else {
            return say(.noMoreRuns, "No more runs are scheduled; \(again).")
        }
        let when = after == 0 ? "at" : "\(span(after)) after"
        say(
            .nextBoot,
            "It runs \(when) the next boot of the machine"
                + (job.onBootUsec == nil ? "." : "; \(again) now."))
    }

    private mutating func explainPause(of job: JobStatus) {
        guard let pause = job.paused else { return }
        let note = pause.note.map { " (\(Printable.text($0)))" } ?? ""
        let end =
            pause.until.map { "the pause ends at \(show($0))\(away($0))" }
            ?? "it has no end; `timerctl resume \(job.job)` ends it"
        say(
            .paused, "It was paused at \(show(pause.since)) by \(pause.by)\(note); \(end).",
            at: pause.until)
        if pause.withRun == true {
            say(.runsSuspended, "Its runs are suspended as well, and so are their timeouts.")
        }
        if let left = job.remainingUsec {
            let after =
                switch job.policy?.onResume {
                case "restart": "resuming restarts its timer"
                case "fire-if-due": "resuming runs it at once if a run became due during the pause"
                default: "\(span(left)) will be left when it is resumed"
                }
            say(.onResume, "It keeps \(span(job.elapsedUsec)) of elapsed time; \(after).")
        } else if let every = job.everyUsec {
            say(
                .onResume,
                "After it is resumed, it runs \(span(every)) after the end of its run.")
        } else if let after = job.onBootUsec {
            say(
                .onResume,
                "No run is left in this boot of the machine: after it is resumed, it runs \(span(after)) after the "
                    + "next boot.")
        } else if job.policy?.onResume == "fire-if-due" {
            say(.onResume, "Resuming runs it at once if a run became due during the pause.")
        } else {
            say(
                .onResume,
                "After it is resumed it waits for its next scheduled time; runs due during the pause are skipped."
            )
        }
    }

    private mutating func explainNext(of job: JobStatus) {
        guard let next = job.next else {
            if let every = job.everyUsec, job.from != nil, let run = job.running.last {
                return say(
                    .nextRun, "It runs next \(span(every)) after the end of run \(run.id).",
                    run: run.id)
            }
            return say(
                .noMoreRuns,
                job.state == "retrying"
                    ? "Its schedule has no later run." : "No run is scheduled.")
        }
        let when = "\(show(next))\(away(next))"
        if let count = job.count, let left = job.remainingUsec {
            say(
                .nextRun,
                "It runs next at \(when), after \(span(left)) more of \(Self.time(count)); "
                    + "\(span(job.elapsedUsec)) elapsed so far.", at: next)
        } else {
            say(.nextRun, "It runs next at \(when).", at: next)
        }
        if let maxLoss = job.uncertainUsec {
            say(
                .timeNotCounted,
                "Up to \(span(maxLoss)) of its elapsed time may not have been counted (crash or power loss)."
            )
        }
        if let later = job.policy?.accuracyUsec {
            say(.accuracy, "It may run up to \(span(later)) later, to share a wake-up (accuracy).")
        }
    }

    private static func time(_ count: String) -> String {
        count == "active" ? "active time" : count == "wall" ? "wall-clock time" : count
    }

    // MARK: - Runs

    private mutating func explainRuns(of job: JobStatus) {
        for run in job.running { explain(run, of: job) }
    }

    private mutating func explain(_ run: RunStatus, of job: JobStatus) {
        switch run.waits {
        case "capacity":
            say(
                .waitsForCapacity,
                "Run \(run.id) waits for max-concurrent: \(reply.activeRuns) of at most "
                    + "\(reply.maxConcurrent) runs are active.", run: run.id)
        case "previous-run" where job.state == "paused":
            say(.waitsForResume, "Run \(run.id) waits for the end of the pause.", run: run.id)
        case "previous-run":
            say(
                .waitsForPreviousRun, "Run \(run.id) waits for the previous run to end.",
                run: run.id)
        case "retry-delay" where job.state == "paused":
            say(
                .waitsForResume,
                "The next attempt, run \(run.id), waits for the end of the pause.", run: run.id)
        case "retry-delay":
            let at = run.startsAt.map { " at \(show($0))\(away($0))" } ?? ""
            say(
                .waitsForRetryDelay,
                "Its last run failed; the next attempt, run \(run.id), starts\(at). "
                    + "`timerctl run \(job.job)` runs it now, and `timerctl kill \(job.job)` "
                    + "cancels that attempt.", at: run.startsAt, run: run.id)
        default:
            guard let began = run.began else {
                return say(.starting, "Run \(run.id) is being started.", run: run.id)
            }
            say(
                .running, "Run \(run.id) has been running since \(show(began))\(away(began)).",
                at: began, run: run.id)
        }
    }

    private mutating func explainLast(of job: JobStatus) {
        if let last = job.last {
            let took = last.elapsedUsec.map { $0 > 0 ? ", after \(span($0))" : "" } ?? ""
            say(
                .lastRun,
                "Its last run, \(last.id), ended with \(Printable.text(last.outcome ?? "?"))\(took)."
                    + (last.outcome == "lost(deadline)"
                        ? " It was never started: it was later than starting-deadline allows."
                        : ""),
                at: last.ended, run: last.id)
        } else if job.running.isEmpty {
            say(.neverRan, "It has never run.")
        }
        guard let skip = job.skipped else { return }
        let which =
            skip.skippedCount == 1
            ? "Its run of \(show(skip.scheduled)) was"
            : "\(skip.skippedCount) runs from \(show(skip.scheduled)) on were"
        say(.skipped, "\(which) skipped: \(Self.reason(skip.reason)).", at: skip.scheduled)
    }

    private mutating func explainIncidents(of job: JobStatus) {
        for incident in job.incidents ?? [] {
            say(
                .incident,
                "Since \(show(incident.since)), \(incident.words) (\(incident.kind)); notifier "
                    + "\(incident.notifier) sent a message.", at: incident.since)
        }
    }

    private static func reason(_ word: String) -> String {
        switch word {
        case "still-running": "the previous run was still running (concurrency)"
        case "concurrency-max":
            "as many of its runs as concurrency-max allows were still running"
        case "queue-full": "another run was already waiting (concurrency)"
        case "missed": "it was missed (on-missed = \"skip\")"
        case "clock-set": "the wall clock was set past it"
        case "catch-up-max": "too many runs were missed to catch up with all of them"
        case "deadline": "it was later than starting-deadline allows"
        case "by-order": "as requested (skip-next)"
        default: word
        }
    }

    // MARK: - What could stop it

    private mutating func explainHindrances(of job: JobStatus) {
        if let skips = job.skips {
            say(
                .skipNext,
                "The next \(skips == 1 ? "run" : "\(skips) runs") will be skipped (skip-next); "
                    + "`timerctl skip-next \(job.job) 0` cancels that.")
        }
        explainConcurrency(of: job)
        switch job.count {
        case "active":
            say(
                .timeBasis,
                "Its time does not count while the daemon is down or the machine is asleep or off."
            )
        case "uptime":
            say(.timeBasis, "Its time does not count while the machine is asleep or off.")
        case "boottime" where job.onBootUsec != nil:
            say(.timeBasis, "Its time starts again with each boot of the machine.")
        case "boottime": say(.timeBasis, "Its time does not count while the machine is off.")
        default: break
        }
        if let deadline = job.policy?.startingDeadlineUsec {
            say(
                .startingDeadline,
                "A run that cannot start within \(span(deadline)) is skipped (starting-deadline)."
            )
        }
        if reply.activeRuns >= reply.maxConcurrent,
            !job.running.contains(where: { $0.waits == "capacity" })
        {
            say(
                .maxConcurrent,
                "The limit of \(plural(reply.maxConcurrent, "active run")) is reached (max-concurrent): it would wait."
            )
        }
    }

    /// What happens when the job becomes due while its runs have not ended.
    private mutating func explainConcurrency(of job: JobStatus) {
        // Such a job only becomes due when none of its runs is left.
        if job.from != nil { return }
        let concurrency = job.policy?.concurrency ?? "forbid"
        if concurrency == "allow" {
            guard let most = job.policy?.concurrencyMax else { return }
            return say(
                .concurrencyMax,
                "At most \(plural(most, "run")) of it may be active at once (concurrency-max): a run beyond that is "
                    + "skipped.")
        }
        if job.running.contains(where: { $0.waits != "retry-delay" }) {
            switch concurrency {
            case "queue":
                say(
                    .concurrency,
                    "A run that becomes due while another is running waits for it; a second one is skipped."
                )
            case "replace":
                say(.concurrency, "A run that becomes due while another is running replaces it.")
            default:
                say(
                    .concurrency,
                    "A run that becomes due while another is running is skipped (concurrency = \"forbid\")."
                )
            }
        } else if job.running.contains(where: { $0.waits == "retry-delay" }) {
            say(
                .concurrency,
                concurrency == "queue"
                    ? "A run that becomes due before that attempt has ended waits for it (concurrency = \"queue\")."
                    : "A run that becomes due before that attempt replaces it (concurrency = \"\(concurrency)\")."
            )
        }
    }

    // MARK: - Words

    /// Such as ` (in 3h)` or ` (5min ago)`.
    private func away(_ instant: String) -> String {
        guard let instant = WallInstant(rfc3339: instant), let now = WallInstant(rfc3339: reply.now)
        else { return "" }
        let away = instant - now
        return away >= .zero
            ? " (in \(span(away.wholeMicroseconds)))"
            : " (\(span(-away.wholeMicroseconds)) ago)"
    }

    private func span(_ microseconds: Int64) -> String {
        let accuracy: Duration = microseconds >= 60_000_000 ? .seconds(1) : .milliseconds(1)
        return TimeSpan.text(.microseconds(microseconds), accuracy: accuracy)
    }
}
