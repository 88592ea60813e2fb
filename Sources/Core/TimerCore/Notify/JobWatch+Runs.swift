// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Notifications about starts and ends of runs and about skipped firings.
extension JobWatch {
    /// The starts of runs of a job with a shorter interval are not pinged.
    static let pingedStartMin: Duration = .seconds(30)

    private func notifiesOfStarts(_ notifier: Notifier, _ job: Job) -> Bool {
        guard notifier.on.contains(.start) else { return false }
        // Services drop more than five pings in a minute; the ends matter more.
        if notifier.transport.isPing, case .every(let span) = job.schedule {
            return span >= Self.pingedStartMin
        }
        return true
    }

    /// A run is about to start, so firings are not skipped any more.
    mutating func noteStart(_ run: Run.ID, _ facts: Facts, into result: inout Result) {
        for notifier in facts.notifiers {
            if notifiesOfStarts(notifier, facts.job) {
                var notification = facts.notification(.start, notifier)
                notification.run = run
                result.notifications.append(notification)
            }
            end(.skipped, notifier, isWell: true, into: &result)
        }
    }

    /// Counts a skipped firing in the incident of each notifier that asks for `skipped`.
    mutating func noteSkip(
        _ firing: Firing, _ reason: Notice.SkipReason, _ facts: Facts, into result: inout Result
    ) {
        for notifier in facts.notifiers where notifier.on.contains(.skipped) {
            count(.skipped, notifier, facts, into: &result) {
                $0.run = Run.ID(firing: firing.id)
                $0.skipReason = reason.word
            }
        }
    }

    /// Notifies of the end of a run, and counts or ends incidents about failures.
    mutating func noteEnd(
        _ run: RunSummary, _ facts: Facts, willRetry: Bool, hasOutput: Bool,
        into result: inout Result
    ) {
        runTimes[run.id] = nil
        // A retry follows a failed attempt, so the firing failed if a newer run replaced the retry.
        let isFinal = run.failed && !willRetry
        let hasFailed = isFinal || (run.outcome == .replaced && run.id.attempt > 1)
        for notifier in facts.notifiers {
            let count = result.notifications.count
            if notifier.transport.isPing {
                ping(run, notifier, facts, willRetry: willRetry, into: &result)
            } else if run.result == .success {
                end(.failure, notifier, isWell: true, into: &result)
                end(.lost, notifier, isWell: true, into: &result)
                if notifier.on.contains(.success) {
                    result.notifications.append(facts.notification(.success, notifier, run))
                }
            } else if hasFailed {
                countFailure(run, notifier, facts, into: &result)
            }
            if hasOutput, notifier.on.contains(.output), result.notifications.count == count {
                result.notifications.append(facts.notification(.output, notifier, run))
            }
        }
    }

    /// A service that is pinged counts by itself, so each end is sent.
    private func ping(
        _ run: RunSummary, _ notifier: Notifier, _ facts: Facts, willRetry: Bool,
        into result: inout Result
    ) {
        let kind: NotificationKind
        if run.failed {
            kind = .failure
        } else if run.result == .success {
            kind = .success
        } else {
            return
        }
        guard notifier.on.contains(kind) else { return }
        var notification = facts.notification(kind, notifier, run)
        notification.willRetry = willRetry
        result.notifications.append(notification)
    }

    private mutating func countFailure(
        _ run: RunSummary, _ notifier: Notifier, _ facts: Facts, into result: inout Result
    ) {
        let kind: NotificationKind
        if notifier.on.contains(.failure) {
            kind = .failure
        } else if case .lost = run.outcome, notifier.on.contains(.lost) {
            kind = .lost
        } else if run.outcome == .lost(.deadline), notifier.on.contains(.skipped) {
            kind = .skipped
        } else {
            return
        }
        count(kind, notifier, facts, into: &result) {
            $0.run = run.id
            $0.outcome = run.outcome
            $0.usage = run.usage
            if kind == .skipped { $0.skipReason = Notice.SkipReason.deadline.word }
        }
    }
}
