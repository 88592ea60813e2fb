// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is wrong with a job after an event, and which notifications follow from it.
extension JobWatch {
    /// The job after the event, as far as notifications depend on it.
    struct Facts {
        var job: Job
        var phase: Phase
        var lastSuccess: WallInstant?
        /// The runs that have not ended.
        var runs: [ActiveRun]
        /// The notifiers that the job names, as far as they are configured.
        var notifiers: [Notifier]
        var now: Now

        /// A notification about the job as it is now.
        ///
        /// - Parameter run: the run that ended, if the notification is about one.
        func notification(
            _ kind: NotificationKind, _ notifier: Notifier, _ run: RunSummary? = nil
        ) -> JobNotification {
            JobNotification(
                notifier: notifier.name, kind: kind, job: job.name, run: run?.id, at: now.wall,
                outcome: run?.outcome, usage: run?.usage)
        }
    }

    /// What happened to a run of the job.
    enum RunEvent {
        /// A run is about to start.
        case started(Run.ID)
        /// A run ended; whether the same firing is tried again, and whether the run had written
        /// output.
        case ended(RunSummary, willRetry: Bool, hasOutput: Bool)
        case skipped(Firing, Notice.SkipReason)
    }

    /// What follows from an event, for the agenda to write and to set its timer for.
    struct Result {
        var notifications: [JobNotification] = []
        var changes: [IncidentChange] = []
        /// When something may be wrong although nothing happens; nil: never.
        var next: WallInstant?
        /// The incidents of each notifier that are over because the problem is solved. One
        /// notification is about all of them.
        var recovered: [Notifier.Name: [IncidentRecord]] = [:]

        var isEmpty: Bool { notifications.isEmpty && changes.isEmpty }
    }

    /// Finds out what is wrong with the job after an event.
    ///
    /// - Parameter event: what happened to a run; nil if time passed or something else about the
    ///   job changed.
    mutating func update(after event: RunEvent?, _ facts: Facts) -> Result {
        var result = Result()
        var ended: RunSummary?
        dropUnconfigured(facts, into: &result)
        switch event {
        case .started(let run): noteStart(run, facts, into: &result)
        case .ended(let run, let willRetry, let hasOutput):
            ended = run
            noteEnd(run, facts, willRetry: willRetry, hasOutput: hasOutput, into: &result)
        case .skipped(let firing, let reason): noteSkip(firing, reason, facts, into: &result)
        case nil: break
        }
        checkTimes(ended, facts, into: &result)
        notifyOfRecoveries(ended, facts, into: &result)
        repeatOpen(facts, into: &result)
        result.next = nextCheck(facts)
        return result
    }

    private func notifyOfRecoveries(
        _ run: RunSummary?, _ facts: Facts, into result: inout Result
    ) {
        for notifier in facts.notifiers where notifier.on.contains(.recovery) {
            guard let ended = result.recovered[notifier.name], !ended.isEmpty else { continue }
            var notification = facts.notification(.recovery, notifier, run)
            notification.since = ended.map(\.since).min()
            notification.failedInARow = ended.first { $0.id.kind == .failure }?.count ?? 0
            notification.recoveredFrom = ended.map(\.id.kind)
            result.notifications.append(notification)
        }
    }
}
