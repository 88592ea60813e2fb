// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Why a job has not run, when it will, and what could stop it, in sentences for whoever asks.
public struct Explanation {
    /// The sentences, the most important first.
    public private(set) var sentences: [String] = []
    private let reply: WhyReply
    private let show: (String) -> String

    /// Explains what the daemon answered.
    ///
    /// - Parameter instant: how an instant of RFC 3339 is to be shown.
    public init(_ reply: WhyReply, instant: @escaping (String) -> String) {
        self.reply = reply
        show = instant
        if let rejected = reply.rejected { explain(rejected) }
        guard let status = reply.status else { return }
        explainState(of: status)
        explainRuns(of: status)
        explainLast(of: status)
        guard status.state == "armed" || status.state == "retrying" else { return }
        explainHindrances(of: status)
    }

    private mutating func say(_ sentence: String) { sentences.append(sentence) }

    private mutating func explain(_ rejected: Rejection) {
        say(
            "The configuration rejects it, so it is not in force"
                + (reply.status == nil ? ":" : " as it is written now:"))
        for error in rejected.errors { say(error) }
        say("Correct it and `timerctl reload`.")
    }

    // MARK: - The state

    private mutating func explainState(of job: JobStatus) {
        switch job.state {
        case "paused": explainPause(of: job)
        case "stopped":
            say("It is stopped; `timerctl start \(job.job)` begins it at zero.")
        case "finished":
            explainEnd(of: job)
        default: explainNext(of: job)
        }
    }

    private mutating func explainEnd(of job: JobStatus) {
        let again = "`timerctl start \(job.job)` begins it again"
        guard let after = job.afterBootUsec else {
            return say("It has fired for the last time; \(again).")
        }
        let when = after == 0 ? "at" : "\(span(after)) after"
        say(
            "It fires \(when) the next boot of the machine"
                + (job.onBootUsec == nil ? "." : "; \(again) now."))
    }

    private mutating func explainPause(of job: JobStatus) {
        guard let pause = job.paused else { return }
        let note = pause.note.map { " (\(Printable.text($0)))" } ?? ""
        let end =
            pause.until.map { "the pause ends at \(show($0))\(away($0))" }
            ?? "until `timerctl resume \(job.job)`"
        say("It is paused since \(show(pause.since)) by \(pause.by)\(note); \(end).")
        if pause.withRun == true { say("Its runs stand still as well, and their time limits.") }
        if let left = job.remainingUsec {
            let after =
                switch job.policy?.onResume {
                case "restart": "resuming begins it at zero"
                case "fire-if-due": "resuming fires it at once if it would have fired meanwhile"
                default: "\(span(left)) is left when it is resumed"
                }
            say("It keeps \(span(job.accruedUsec)) accrued; \(after).")
        } else if let after = job.onBootUsec {
            say(
                "It has nothing left to do in this boot of the machine: resumed, it fires \(span(after)) after the "
                    + "next one.")
        } else if job.policy?.onResume == "fire-if-due" {
            say("Resuming fires it at once if it would have fired meanwhile.")
        } else {
            say("Resuming waits for its next slot; what passes meanwhile is forgotten.")
        }
    }

    private mutating func explainNext(of job: JobStatus) {
        guard let next = job.next else {
            return say(
                job.state == "retrying"
                    ? "Its schedule has no further firing." : "Nothing is to come.")
        }
        let when = "\(show(next))\(away(next))"
        if let count = job.count, let left = job.remainingUsec {
            say(
                "It fires next at \(when), when \(span(left)) more of \(Self.time(count)) "
                    + "passed; \(span(job.accruedUsec)) accrued.")
        } else {
            say("It fires next at \(when).")
        }
        if let uncertain = job.uncertainUsec {
            say("Of the accrued time at most \(span(uncertain)) is missing, for want of a witness.")
        }
        if let later = job.policy?.accuracyUsec {
            say("It may fire up to \(span(later)) later, to share a wake-up (accuracy).")
        }
    }

    private static func time(_ count: String) -> String {
        count == "active" ? "active time" : count == "wall" ? "wall-clock time" : count
    }

    // MARK: - Runs

    private mutating func explainRuns(of job: JobStatus) {
        for run in job.running {
            switch run.waits {
            case "place":
                say(
                    "Run \(run.run) waits for a place: \(reply.live) of \(reply.maxConcurrent) are taken "
                        + "(max-concurrent).")
            case "turn":
                say(
                    job.state == "paused"
                        ? "Run \(run.run) waits for the end of the pause."
                        : "Run \(run.run) waits for the one before it to end.")
            case "retry":
                let at = run.startsAt.map { " at \(show($0))\(away($0))" } ?? ""
                say(
                    job.state == "paused"
                        ? "A further attempt, run \(run.run), waits for the end of the pause."
                        : "Its last run failed: a further attempt, run \(run.run), starts\(at). "
                            + "`timerctl run \(job.job)` runs it now, and `timerctl kill \(job.job)` "
                            + "cancels that attempt.")
            default:
                say(
                    run.began.map { "Run \(run.run) lives since \(show($0))\(away($0))." }
                        ?? "Run \(run.run) is being started.")
            }
        }
    }

    private mutating func explainLast(of job: JobStatus) {
        if let last = job.last {
            let took = last.elapsedUsec.map { $0 > 0 ? ", after \(span($0))" : "" } ?? ""
            say(
                "Its last run, \(last.run), ended with \(Printable.text(last.outcome ?? "?"))\(took)."
                    + (last.outcome == "lost(deadline)"
                        ? " It was never begun: it was older than starting-deadline." : ""))
        } else if job.running.isEmpty {
            say("It has never run.")
        }
        guard let skip = job.skipped else { return }
        let which =
            skip.count == 1
            ? "Its firing of \(show(skip.scheduled)) was"
            : "\(skip.count) firings from \(show(skip.scheduled)) on were"
        say("\(which) skipped: \(Self.reason(skip.reason)).")
    }

    private static func reason(_ word: String) -> String {
        switch word {
        case "still-running": "its last run had not ended (concurrency)"
        case "concurrency-max":
            "as many of its runs as may run at once had not ended (concurrency-max)"
        case "queue-full": "another one waited already (concurrency)"
        case "missed": "it was missed, and on-missed says skip"
        case "clock-set": "the wall clock was set past it"
        case "catch-up-max": "more were missed than are made up for"
        case "deadline": "it was older than starting-deadline"
        case "by-order": "somebody ordered so (skip-next)"
        default: word
        }
    }

    // MARK: - What could stop it

    private mutating func explainHindrances(of job: JobStatus) {
        if let skips = job.skips {
            say(
                "The next \(skips == 1 ? "firing is" : "\(skips) firings are") skipped by order; "
                    + "`timerctl skip-next \(job.job) 0` takes that back.")
        }
        explainConcurrency(of: job)
        switch job.count {
        case "active":
            say(
                "Its time stands still while the daemon is down and while the machine sleeps or is off."
            )
        case "uptime": say("Its time stands still while the machine sleeps or is off.")
        case "boottime" where job.onBootUsec != nil:
            say("Its time begins at zero with each boot of the machine.")
        case "boottime": say("Its time stands still while the machine is off.")
        default: break
        }
        if let deadline = job.policy?.startingDeadlineUsec {
            say(
                "A firing that cannot start within \(span(deadline)) is skipped (starting-deadline)."
            )
        }
        if reply.live >= reply.maxConcurrent, !job.running.contains(where: { $0.waits == "place" })
        {
            say(
                "All \(reply.maxConcurrent) places for runs are taken now (max-concurrent): it would wait."
            )
        }
    }

    /// What a firing does while runs of the job have not ended.
    private mutating func explainConcurrency(of job: JobStatus) {
        let concurrency = job.policy?.concurrency ?? "forbid"
        if concurrency == "allow" {
            guard let most = job.policy?.concurrencyMax else { return }
            return say(
                "At most \(plural(most, "run")) of it may run at once (concurrency-max): a firing beyond that is "
                    + "skipped.")
        }
        if job.running.contains(where: { $0.waits != "retry" }) {
            switch concurrency {
            case "queue":
                say("A firing while a run is running waits for it; a second one is skipped.")
            case "replace": say("A firing while a run is running ends that run.")
            default:
                say("A firing while a run is running is skipped (concurrency = \"forbid\").")
            }
        } else if job.running.contains(where: { $0.waits == "retry" }) {
            say(
                concurrency == "queue"
                    ? "A firing before that attempt has ended waits for it (concurrency = \"queue\")."
                    : "A firing before that attempt takes its place (concurrency = \"\(concurrency)\")."
            )
        }
    }

    // MARK: - Words

    /// ` (in 3h)` or ` (5min ago)`.
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
