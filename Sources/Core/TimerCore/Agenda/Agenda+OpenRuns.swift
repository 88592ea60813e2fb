// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// Decides about the runs that had not ended when the previous instance ended. A run that was
    /// released may have done its work, so it is never started again: it is lost, unless the runner
    /// still has it. A runner that does not know it proves nothing: it may have lost its memory. A
    /// run that was not released starts now, or waits as it did before, also after a reboot.
    mutating func recoverRuns(
        of past: RecoveredState, at now: Now, into change: inout JobSetChange
    ) -> (actions: [Action], start: [Run]) {
        var batch = Batch()
        var found = past.openRuns
        if !change.renamed.isEmpty { follow(&change.renamed, in: &found) }
        // The runs that are still running are added first, because they count for `concurrency` and
        // `max-concurrent`.
        for open in found where open.isLive { reattach(open, into: &batch) }
        var recovered: [Int] = []
        for open in found where !open.isLive {
            if isStartable(open), let slot = slot(of: open.job),
                let entry = entries[slot], entry.phase != .stopped
            {
                recover(open, slot, entry, at: now, into: &batch)
                recovered.append(slot)
            } else {
                lose(open, as: past.loss(of: open, at: now), into: &batch)
            }
        }
        for slot in recovered { release(slot, at: now, into: &batch) }
        return (batch.decided + batch.timers + batch.notices, batch.start)
    }

    /// Whether a run waits and may start now. A run of a fleet may not: another machine can have
    /// taken its place.
    private func isStartable(_ open: RecoveredState.OpenRun) -> Bool {
        !open.isLive && !open.isReleased && !open.firing.cause.variables.areLost
            && open.firing.cause.claim == nil
    }

    /// Assigns the runs of renamed jobs to the new names. Runs that have not started yet also get
    /// the new name.
    private func follow(
        _ renamings: inout [Renaming], in runs: inout [RecoveredState.OpenRun]
    ) {
        let places = Dictionary(renamings.indices.map { (renamings[$0].from, $0) }) { $1 }
        for index in runs.indices {
            guard let place = places[runs[index].job] else { continue }
            let new = renamings[place].to
            runs[index].job = new
            guard isStartable(runs[index]) else { continue }
            renamings[place].waiting.append(runs[index].id)
            runs[index].id = runs[index].id.renamed(new)
            runs[index].firing.id = runs[index].id.firing
        }
    }

    private mutating func lose(
        _ open: RecoveredState.OpenRun, as outcome: RunOutcome, into batch: inout Batch
    ) {
        let summary = summary(of: open.id, outcome, failed: true)
        noteEnd(summary, of: open.job)
        batch.ends.append(.close(summary))
        batch.ends += notices(of: summary, of: open.job)
        batch.notices.append(.log(.runEnded(open.id, outcome, RunUsage(), failed: true)))
    }

    /// Adds a run that kept running across the restart to the active runs.
    private mutating func reattach(_ open: RecoveredState.OpenRun, into batch: inout Batch) {
        batch.notices.append(.log(.runReattached(open.id)))
        let slot = slot(of: open.job)
        let run = ActiveRun(
            id: open.id, firing: open.firing, job: slot.flatMap { entries[$0]?.boxedJob },
            .running(since: open.recorded))
        runs.reattach(run, to: open.job, slot: slot)
    }

    /// Starts a run that waited, or lets it wait again: for the delay of a
    /// retry, for the previous run, or for the end of a pause.
    private mutating func recover(
        _ open: RecoveredState.OpenRun, _ slot: Int, _ entry: JobEntry, at now: Now,
        into batch: inout Batch
    ) {
        let run = entry.run(open.firing, attempt: open.id.attempt)
        var wait = RunState.Wait.previousRun
        if run.id.attempt > 1 {
            let delay = entry.job.policy.retry.delay(after: run.id.attempt - 1)
            let waited = max(.zero, now.wall - open.recorded)
            wait = .retryDelay(until: now.awake + max(.zero, delay - waited))
        }
        runs.add(ActiveRun(run, .waiting(wait)), of: .slot(slot))
        batch.notices.append(.log(.runRecovered(run.id)))
    }
}

extension RecoveredState {
    /// The state without what may have happened since, if it is an older one: occurrences up to now
    /// count as handled, and runs that waited may have started. Otherwise a run could start a second
    /// time.
    func withoutUncertainty(at now: Now) -> RecoveredState {
        guard isRestored else { return self }
        var state = self
        for index in records.indices {
            let through = records[index].processedThrough ?? now.wall
            state.records[index].processedThrough = max(through, now.wall)
        }
        for index in openRuns.indices { state.openRuns[index].isReleased = true }
        return state
    }

    /// What became of a run that neither runs nor starts now. After a clean stop everything that was
    /// released had been sent, so that it is the runner that does not know it any more.
    fileprivate func loss(of open: OpenRun, at now: Now) -> RunOutcome {
        if open.firing.cause.claim != nil, !open.isReleased { return .lost(.unstarted) }
        guard open.bootID == now.bootID else { return .lost(.reboot) }
        return .lost(open.isReleased && previousExit(at: now) == .clean ? .runner : .daemon)
    }
}
