// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How runs are ended before their time, and those that wait are cancelled.
extension Agenda {
    /// Makes room for a newer run: those that wait are cancelled, those that run are ended.
    mutating func replace(
        _ slot: Int, _ entry: inout JobEntry, by run: Run, into batch: inout Batch
    ) {
        callOff(slot, &entry, .replaced, into: &batch)
        for active in runs[slot] where !active.state.isStopping {
            end(active, as: .replaced, slot, entry, into: &batch)
            batch.notices.append(.tell(.replacing(active.id, by: run.id)))
        }
    }

    /// Cancels the further attempts that wait: a newer run of the job takes their place.
    mutating func replaceRetries(
        _ slot: Int, _ entry: inout JobEntry, by run: Run, into batch: inout Batch
    ) {
        callOff(slot, &entry, .replaced, into: &batch, notice: { .replacing($0, by: run.id) }) {
            $0.isRetry
        }
    }

    /// Asks a run to end that was told to start. How it ends is recorded as this, whatever is told of it.
    mutating func end(
        _ run: ActiveRun, as outcome: RunOutcome, _ slot: Int, _ entry: JobEntry,
        into batch: inout Batch
    ) {
        let stop = RunTransition.stop(outcome, isRecorded: !isUnrecorded(run))
        // One whose row is not written yet is ended when it has started.
        guard let change = runs.apply(stop, to: run.id, of: .slot(slot)),
            case .stopping = change.run.state
        else { return }
        batch.ends.append(.end(run.id, grace: entry.job.execution.killTimeout))
    }

    /// Closes the runs of the job that wait for something, or those of them that are chosen. None of them failed.
    ///
    /// - Parameter notice: what is told of each; by default that it ended so.
    mutating func callOff(
        _ slot: Int, _ entry: inout JobEntry, _ outcome: RunOutcome, into batch: inout Batch,
        notice: ((Run.ID) -> Notice)? = nil, where isChosen: (ActiveRun) -> Bool = { _ in true }
    ) {
        let cancelled = runs.cancel(slot, as: outcome) { $0.wait != nil && isChosen($0) }
        for run in cancelled {
            batch.ends.append(.close(run, outcome, RunUsage(), failed: false))
            batch.notices.append(
                .tell(notice?(run) ?? .runEnded(run, outcome, RunUsage(), failed: false)))
        }
        guard let last = cancelled.last else { return }
        entry.lastRun = RunSummary(id: last, outcome: outcome)
        batch.timers += updateRetryTimer(slot, entry)
    }

    /// Ends the runs of a job and cancels further attempts that wait, or sends its runs a signal. Of a job's runs
    /// that wait for their turn or for a place, only the one that is named is cancelled: they belong to other
    /// firings, and somebody who ends a run that hangs wants them to begin.
    mutating func kill(
        _ slot: Int, _ entry: inout JobEntry, _ order: Order, at now: Now
    ) -> [Action] {
        var batch = Batch()
        var running: [Run.ID] = []
        var isEnding = false
        let asked = runs[slot].filter { order.run == nil || $0.id == order.run }
        for run in asked where run.wait == nil {
            if let signal = order.signal {
                guard !isUnrecorded(run) else { continue }
                batch.ends.append(.signal(run.id, signal))
            } else if run.state.isStopping {
                isEnding = true
                continue
            } else {
                end(run, as: .stopped, slot, entry, into: &batch)
            }
            running.append(run.id)
            batch.notices.append(.tell(.killed(run.id, by: order.by, signal: order.signal)))
        }
        var cancelled: [Run.ID] = []
        if order.signal == nil {
            cancelled = asked.filter { $0.isRetry || (order.run != nil && $0.wait != nil) }
                .map(\.id)
            callOff(
                slot, &entry, .stopped, into: &batch, notice: { .cancelled($0, by: order.by) }
            ) { cancelled.contains($0.id) }
        }
        entries[slot] = entry
        guard !running.isEmpty || !cancelled.isEmpty else {
            return [.answer(.unchanged(Self.nothingToEnd(order, isEnding: isEnding)))]
        }
        // What waited behind a further attempt need not any more.
        release(slot, at: now, into: &batch)
        guard !cancelled.isEmpty else {
            return batch.actions + [.answer(.killed(running, cancelled: []))]
        }
        // That is on the disk before it is answered.
        let told = batch.notices
        batch.notices = []
        return batch.actions + [.save([], durable: true)] + told
            + [.answer(.killed(running, cancelled: cancelled))]
    }

    private static func nothingToEnd(_ order: Order, isEnding: Bool) -> String {
        let which = order.run.map { "run \($0)" }
        if isEnding { return "\(which ?? "its run") is being ended already" }
        return which.map { "\($0) is not running" } ?? "no run of it is running"
    }
}
