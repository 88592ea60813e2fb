// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How active runs are ended early and waiting runs are cancelled.
extension Agenda {
    /// Makes room for a newer run: cancels the waiting runs and ends the active ones.
    mutating func replace(
        _ slot: Int, _ entry: inout JobEntry, by run: Run, into batch: inout Batch
    ) {
        cancelPending(slot, &entry, .replaced, into: &batch)
        for active in runs[slot] where !active.state.isStopping {
            end(
                active, as: .replaced, of: .slot(slot), grace: entry.job.execution.killTimeout,
                into: &batch)
            batch.notices.append(.log(.replacing(active.id, by: run.id)))
        }
    }

    /// Cancels the waiting retries, because a newer run of the job replaces them.
    mutating func replaceRetries(
        _ slot: Int, _ entry: inout JobEntry, by run: Run, into batch: inout Batch
    ) {
        cancelPending(slot, &entry, .replaced, into: &batch, notice: { .replacing($0, by: run.id) })
        {
            $0.isRetry
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

    /// Closes the runs of the job that wait, or a selection of them. They do not count as failed.
    ///
    /// - Parameter notice: the notice for each run; by default that it ended with this outcome.
    mutating func cancelPending(
        _ slot: Int, _ entry: inout JobEntry, _ outcome: RunOutcome, into batch: inout Batch,
        notice: ((Run.ID) -> Notice)? = nil, where isChosen: (ActiveRun) -> Bool = { _ in true }
    ) {
        let cancelled = runs.cancel(slot, as: outcome) { $0.wait != nil && isChosen($0) }
        for run in cancelled {
            let summary = summary(of: run, outcome, failed: false)
            noteEnd(summary, in: &entry)
            batch.ends.append(.close(summary))
            batch.ends += notices(of: summary, slot, &entry)
            batch.notices.append(
                .log(notice?(run) ?? .runEnded(run, outcome, RunUsage(), failed: false)))
        }
        guard !cancelled.isEmpty else { return }
        batch.timers += updateRetryTimer(slot, entry)
    }

    /// Ends the active runs of a job and cancels its waiting retries, or sends the active runs a
    /// signal. A run that waits for the previous run or for `max-concurrent` is cancelled only if
    /// it is named: it belongs to another firing, and a user who ends a run that hangs wants the
    /// waiting runs to start.
    mutating func kill(
        _ slot: Int, _ entry: inout JobEntry, _ order: Order, at now: Now
    ) -> [Action] {
        var batch = Batch()
        let asked = runs[slot].filter { order.run == nil || $0.id == order.run }
        let killTimeout = entry.job.execution.killTimeout
        let (running, isEnding) = endActive(asked, order, of: .slot(slot), into: &batch) { _ in
            killTimeout
        }
        var cancelled: [Run.ID] = []
        if order.signal == nil {
            cancelled = asked.filter { $0.isRetry || (order.run != nil && $0.wait != nil) }
                .map(\.id)
            cancelPending(
                slot, &entry, .stopped, into: &batch, notice: { .cancelled($0, by: order.by) }
            ) { cancelled.contains($0.id) }
        }
        entries[slot] = entry
        guard !running.isEmpty || !cancelled.isEmpty else {
            return [.answer(.unchanged(Self.nothingToEnd(order, isEnding: isEnding)))]
        }
        // Runs that waited behind a cancelled retry may start now.
        release(slot, at: now, into: &batch)
        guard !cancelled.isEmpty else {
            return batch.actions + [.answer(.killed(running, cancelled: []))]
        }
        // The cancellation is on the disk before the answer and the notices.
        let notices = batch.notices
        batch.notices = []
        return batch.actions + [.save([], durable: true)] + notices
            + [.answer(.killed(running, cancelled: cancelled))]
    }

    /// The same for the active runs of a job that was removed while they ran. None of them waits.
    mutating func killRemoved(_ job: Job.Name, _ order: Order) -> [Action] {
        let removed = runs[removed: job]
        guard !removed.isEmpty else { return [.answer(.noSuchJob)] }
        var batch = Batch()
        let asked = removed.filter { order.run == nil || $0.id == order.run }
        let (running, isEnding) = endActive(asked, order, of: .other(job), into: &batch) {
            $0.killTimeout
        }
        guard !running.isEmpty else {
            return [.answer(.unchanged(Self.nothingToEnd(order, isEnding: isEnding)))]
        }
        return batch.actions + [.answer(.killed(running, cancelled: []))]
    }

    /// Ends the active ones of these runs of a job, or sends them a signal.
    ///
    /// - Returns: the runs to which that happened, and whether one is being ended already.
    private mutating func endActive(
        _ asked: [ActiveRun], _ order: Order, of job: RunTable.JobKey, into batch: inout Batch,
        grace: (ActiveRun) -> Duration
    ) -> (running: [Run.ID], isEnding: Bool) {
        var running: [Run.ID] = []
        var isEnding = false
        for run in asked where run.wait == nil {
            if let signal = order.signal {
                guard !isUnrecorded(run) else { continue }
                batch.ends.append(.signal(run.id, signal))
            } else if run.state.isStopping {
                isEnding = true
                continue
            } else {
                end(run, as: .stopped, of: job, grace: grace(run), into: &batch)
            }
            running.append(run.id)
            batch.notices.append(.log(.killed(run.id, by: order.by, signal: order.signal)))
        }
        return (running, isEnding)
    }

    private static func nothingToEnd(_ order: Order, isEnding: Bool) -> String {
        let which = order.run.map { "run \($0)" }
        if isEnding { return "\(which ?? "its run") is being ended already" }
        return which.map { "\($0) is not running" } ?? "no run of it is running"
    }
}
