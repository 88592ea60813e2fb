// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How active runs are ended early and waiting runs are cancelled, and what is noted of a run that is
/// over.
extension Agenda {
    /// Makes room for a newer run: cancels the waiting runs and ends the active ones.
    mutating func replace(
        _ slot: Int, _ entry: inout JobEntry, by run: Run, into batch: inout Batch
    ) {
        runs.passPlace(slot, to: run)
        cancelPending(slot, &entry, .replaced, into: &batch)
        for active in runs[slot] where !active.state.isStopping {
            end(
                active, as: .replaced, of: .slot(slot), grace: entry.job.execution.killTimeout,
                into: &batch)
            batch.notices.append(.log(.replacing(active.id, by: run.id)))
        }
    }

    /// Cancels the runs that wait for their delay, because a newer run of the job replaces them.
    mutating func replaceDelayed(
        _ slot: Int, _ entry: inout JobEntry, by run: Run, into batch: inout Batch
    ) {
        cancelPending(slot, &entry, .replaced, into: &batch, notice: { .replacing($0, by: run.id) })
        {
            $0.isDelayed
        }
    }

    /// Asks a started run to end. This outcome is recorded, however the process ends.
    ///
    /// - Parameter grace: how long it may take before it is killed.
    mutating func end(
        _ run: ActiveRun, as outcome: RunOutcome, of job: RunTable.JobKey, grace: Duration,
        into batch: inout Batch
    ) {
        let stop = RunTransition.stop(outcome, isRecorded: !isUnrecorded(run))
        // A run whose row is not written yet is ended after it has started.
        guard let change = runs.apply(stop, to: run.id, of: job),
            case .stopping = change.run.state
        else { return }
        batch.ends.append(.end(run.id, grace: grace))
    }

    /// Closes a run that waited past its starting deadline. A fleet decides itself about its runs.
    mutating func expire(
        _ run: Run, _ slot: Int, _ entry: inout JobEntry, at now: Now, into batch: inout Batch
    ) -> Bool {
        guard run.firing.cause.claim == nil,
            run.job.policy.isTooLate(
                attempt: run.id.attempt,
                age: now.wall - entry.start(of: run.id.firing.scheduled),
                isCaughtUp: run.firing.cause == .catchUp)
        else { return false }
        _ = runs.apply(.cancel(.lost(.deadline)), to: run.id, of: .slot(slot))
        closeOverdue(run, slot, &entry, at: now, into: &batch)
        return true
    }

    /// Closes a run that is older than the starting deadline. It counts as failed, and its firing as
    /// skipped.
    mutating func closeOverdue(
        _ run: Run, _ slot: Int, _ entry: inout JobEntry, at now: Now, into batch: inout Batch
    ) {
        let summary = summary(of: run.id, .lost(.deadline), failed: true)
        noteEnd(summary, run.firing.cause, in: &entry)
        batch.ends.append(.close(summary))
        batch.ends += notices(of: summary, slot, &entry)
        skip(run.firing, .deadline, &entry, at: now, into: &batch)
    }

    /// Closes the runs of the job that wait, or a selection of them. They do not count as failed.
    ///
    /// - Parameter notice: the notice for each run; by default that it ended with this outcome.
    mutating func cancelPending(
        _ slot: Int, _ entry: inout JobEntry, _ outcome: RunOutcome, into batch: inout Batch,
        notice: ((Run.ID) -> Notice)? = nil, where isChosen: (ActiveRun) -> Bool = { _ in true }
    ) {
        let cancelled = runs.cancel(slot, as: outcome) { $0.wait != nil && isChosen($0) }
        for active in cancelled {
            let run = active.id
            let summary = summary(of: run, outcome, failed: false)
            noteEnd(summary, active.firing.cause, in: &entry)
            batch.ends.append(.close(summary))
            batch.ends += notices(of: summary, slot, &entry)
            batch.notices.append(
                .log(notice?(run) ?? .runEnded(run, outcome, RunUsage(), failed: false)))
        }
        guard !cancelled.isEmpty else { return }
        // This event may have asked for a check of one of them.
        if !batch.checks.isEmpty {
            let runs = Set(cancelled.map(\.id))
            batch.checks.removeAll { runs.contains($0.run.id) }
        }
        batch.timers += updateRetryTimer(slot, entry)
    }

    /// Records the end of a run of a job of the configuration. Each run that is closed comes here
    /// once, or to `noteEnd(_:of:)`.
    ///
    /// - Parameter willRetry: whether another attempt follows it. Then no other job does.
    mutating func noteEnd(
        _ run: RunSummary, _ cause: Firing.Cause, willRetry: Bool = false,
        in entry: inout JobEntry
    ) {
        if !willRetry { chains.note(run, of: entry.job.name, cause) }
        counts.runs.add(run.result)
        entry.outcomes.add(run, withDuration: entry.job.hasDurationHistogram)
    }

    /// The same for a run whose job may not be in the configuration any more.
    mutating func noteEnd(_ run: RunSummary, _ cause: Firing.Cause, of job: Job.Name) {
        if let slot = slot(of: job), var entry = entries[slot] {
            noteEnd(run, cause, in: &entry)
            entries[slot] = entry
        } else {
            counts.runs.add(run.result)
            archive.noteEnd(run, of: job)
        }
    }
}
