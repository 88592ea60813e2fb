// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How runs are ended before their time, and those that wait are cancelled.
extension Agenda {
    /// Makes room for a newer run: those that wait are cancelled, those that run are ended.
    mutating func replace(
        _ slot: Int, _ entry: inout Entry, by run: Run, into batch: inout Batch
    ) {
        guard !entry.live.isEmpty else { return }
        callOff(slot, &entry, .replaced, into: &batch)
        for summary in entry.live where ending[summary.id] == nil {
            end(summary, as: .replaced, entry, into: &batch)
            batch.notices.append(.tell(.replacing(summary.id, by: run.id)))
        }
    }

    /// Cancels the further attempts that wait: a newer run of the job takes their place.
    mutating func replaceRetries(
        _ slot: Int, _ entry: inout Entry, by run: Run, into batch: inout Batch
    ) {
        callOff(slot, &entry, .replaced, into: &batch, notice: { .replacing($0, by: run.id) }) {
            $0.isRetry
        }
    }

    /// Asks a run to end that was told to start. How it ends is recorded as this, whatever is told of it.
    mutating func end(
        _ summary: RunSummary, as outcome: RunOutcome, _ entry: Entry, into batch: inout Batch
    ) {
        ending[summary.id] = outcome
        guard !isUnrecorded(summary) else {
            // There is nothing to be ended yet.
            live[summary.id]?.endsWhenBegun = true
            return
        }
        batch.ends.append(.end(summary.id, grace: entry.job.execution.killTimeout))
    }

    /// Closes the runs of the job that wait for something, or those of them that are chosen. None of them failed.
    ///
    /// - Parameter notice: what is told of each; by default that it ended so.
    mutating func callOff(
        _ slot: Int, _ entry: inout Entry, _ outcome: RunOutcome, into batch: inout Batch,
        notice: ((Run.ID) -> Notice)? = nil, where isChosen: (RunSummary) -> Bool = { _ in true }
    ) {
        var closed: Set<Run.ID> = []
        for summary in entry.live where summary.wait != nil && isChosen(summary) {
            closed.insert(summary.id)
            if summary.wait == .place { calledOff.insert(summary.id) }
            batch.ends.append(.close(summary.id, outcome, RunUsage(), failed: false))
            batch.notices.append(
                .tell(
                    notice?(summary.id)
                        ?? .runEnded(summary.id, outcome, RunUsage(), failed: false)))
            entry.lastRun = RunSummary(id: summary.id, outcome: outcome)
        }
        guard !closed.isEmpty else { return }
        entry.live.removeAll { closed.contains($0.id) }
        entry.held.removeAll { closed.contains($0.run.id) }
        batch.timers += settleRetry(slot, entry)
    }

    /// Ends the runs of a job and cancels further attempts that wait, or sends its runs a signal. Of a job's runs
    /// that wait for their turn or for a place, only the one that is named is cancelled: they belong to other
    /// firings, and somebody who ends a run that hangs wants them to begin.
    mutating func kill(
        _ slot: Int, _ entry: inout Entry, _ order: Order, at now: Now
    ) -> [Action] {
        var batch = Batch()
        var running: [Run.ID] = []
        var isEnding = false
        let asked = entry.live.filter { order.run == nil || $0.id == order.run }
        for summary in asked where summary.wait == nil {
            if let signal = order.signal {
                guard !isUnrecorded(summary) else { continue }
                batch.ends.append(.signal(summary.id, signal))
            } else if ending[summary.id] != nil {
                isEnding = true
                continue
            } else {
                end(summary, as: .stopped, entry, into: &batch)
            }
            running.append(summary.id)
            batch.notices.append(.tell(.killed(summary.id, by: order.by, signal: order.signal)))
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
