// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The state of the job, and when it runs next.
extension Explanation {
    mutating func explain(_ rejected: Rejection) {
        add(
            .configurationError,
            "Its configuration has errors and is not loaded"
                + (reply.status == nil ? ":" : "; the job keeps its earlier definition:"))
        for error in rejected.errors { add(.configurationError, error) }
        add(.configurationError, "Correct it, then run `timerctl reload`.")
    }

    mutating func explainState(of job: JobStatus) {
        switch job.state {
        case "paused": explainPause(of: job)
        case "stopped":
            add(.stopped, "It is stopped; `timerctl start \(job.job)` restarts its timer.")
        case "finished":
            explainEnd(of: job)
        default: explainNext(of: job)
        }
    }

    /// Says that its runs wait for the window, or how long that is open.
    mutating func explainWindow(of job: JobStatus) {
        guard let window = job.window, job.state != "stopped" else { return }
        let times = window.times.joined(separator: ", ") + " in \(window.timezone)"
        if let opens = window.opens {
            add(
                .outsideWindow,
                "Its window (\(times)) is closed until \(show(opens))\(away(opens)): no run starts before, except on "
                    + "request (`timerctl run \(job.job)`).", at: opens)
        } else if let closes = window.closes {
            add(
                .window,
                "Its window (\(times)) is open until \(show(closes))\(away(closes))"
                    + (window.stopsAtEnd == true
                        ? "; runs that are still active then are stopped." : "."),
                at: closes)
        }
    }

    /// Says which time of its schedule has no run, because its dates exclude it.
    mutating func explainDates(of job: JobStatus) {
        guard let excluded = job.excluded, job.state != "stopped" else { return }
        add(
            .excluded,
            "There is no run at \(show(excluded.scheduled))\(away(excluded.scheduled)): "
                + "\(Printable.text(excluded.reason)).", at: excluded.scheduled)
    }

    private mutating func explainEnd(of job: JobStatus) {
        if let end = job.notAfter, end < reply.now {
            return add(
                .noMoreRuns, "No more runs are scheduled: not-after was \(show(end))\(away(end)).",
                at: end)
        }
        if let limit = job.reachedLimit {
            return add(
                .noMoreRuns,
                "No more runs are scheduled: it had \(limit); `timerctl start \(job.job)` counts from "
                    + "zero again.")
        }
        let again = "`timerctl start \(job.job)` restarts its timer"
        guard let after = job.afterBootUsec else {
            return add(.noMoreRuns, "No more runs are scheduled; \(again).")
        }
        let when = after == 0 ? "at" : "\(span(after)) after"
        add(
            .nextBoot,
            "It runs \(when) the next boot of the machine"
                + (job.onBootUsec == nil ? "." : "; \(again) now."))
    }

    private mutating func explainPause(of job: JobStatus) {
        guard let pause = job.paused else { return }
        let note = pause.note.map { " (\(Printable.text($0)))" } ?? ""
        let isHeld = pause.isOfHold
        let ending = isHeld ? "timerctl release" : "timerctl resume \(job.job)"
        let end =
            pause.until.map { "the \(isHeld ? "hold" : "pause") ends at \(show($0))\(away($0))" }
            ?? "it has no end; `\(ending)` ends it"
        add(
            .paused, "It was paused at \(show(pause.since)) by \(pause.by)\(note); \(end).",
            at: pause.until)
        if pause.withRun == true {
            add(.runsSuspended, "Its runs are suspended as well, and so are their timeouts.")
        }
        if let left = job.remainingUsec {
            let after =
                switch job.policy?.onResume {
                case "restart": "resuming restarts its timer"
                case "fire-if-due": "resuming runs it at once if a run became due during the pause"
                default: "\(span(left)) will be left when it is resumed"
                }
            add(.onResume, "It keeps \(span(job.elapsedUsec)) of elapsed time; \(after).")
        } else if let every = job.everyUsec {
            add(
                .onResume,
                "After it is resumed, it runs \(span(every)) after the end of its run.")
        } else if let after = job.onBootUsec {
            add(
                .onResume,
                "No run is left in this boot of the machine: after it is resumed, it runs \(span(after)) after the "
                    + "next boot.")
        } else if job.onDemand == true {
            // What ended during the pause is said below.
        } else if job.policy?.onResume == "fire-if-due" {
            add(.onResume, "Resuming runs it at once if a run became due during the pause.")
        } else {
            add(
                .onResume,
                "After it is resumed it waits for its next scheduled time; runs due during the pause are skipped."
            )
        }
    }

    private mutating func explainNext(of job: JobStatus) {
        guard let next = job.next else {
            if let every = job.everyUsec, job.from != nil, let run = job.running.last {
                return add(
                    .nextRun, "It runs next \(span(every)) after the end of run \(run.id).",
                    run: run.id)
            }
            // After what it runs is said below.
            guard job.onDemand == nil else { return }
            return add(
                .noMoreRuns,
                job.state == "retrying"
                    ? "Its schedule has no later run." : "No run is scheduled.")
        }
        let when = "\(show(next))\(away(next))"
        if let count = job.count, let left = job.remainingUsec, job.window == nil {
            add(
                .nextRun,
                saysDistance
                    ? "It runs next at \(when), after \(span(left)) more of \(Self.time(count)); "
                        + "\(span(job.elapsedUsec)) elapsed so far."
                    : "It runs next at \(when), counting \(Self.time(count)).", at: next)
        } else {
            add(.nextRun, "It runs next at \(when).", at: next)
        }
        if let maxLoss = job.uncertainUsec {
            add(
                .timeNotCounted,
                "Up to \(span(maxLoss)) of its elapsed time may not have been counted (crash or power loss)."
            )
        }
        if let later = job.policy?.accuracyUsec {
            add(.accuracy, "It may run up to \(span(later)) later, to share a wake-up (accuracy).")
        }
    }

    private static func time(_ count: String) -> String {
        count == "active" ? "active time" : count == "wall" ? "wall-clock time" : count
    }
}

extension JobStatus {
    /// The limit that finished it, as the object of a sentence; nil if none did.
    fileprivate var reachedLimit: String? {
        if let most = maxRuns, countedRuns ?? 0 >= most {
            return "\(plural(most, "run", "runs")) (max-runs)"
        }
        guard let most = maxSuccesses, countedSuccesses ?? 0 >= most else { return nil }
        return "\(plural(most, "successful run", "successful runs")) (max-successes)"
    }
}
