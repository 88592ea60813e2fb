// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// Decides about the runs that had not ended when the previous instance ended. A run that was
    /// spawned may have done its work, so it is never started again: it is lost, unless its process
    /// is still running. A run that was certainly not spawned starts now, or waits as it did
    /// before.
    mutating func recoverRuns(
        _ found: [RecoveredState.OpenRun], at now: Now, into change: inout JobSetChange
    ) -> (actions: [Action], start: [Run]) {
        var batch = Batch()
        var found = found
        if !change.renamed.isEmpty { follow(&change.renamed, in: &found, at: now) }
        // The runs that are still running are added first, because they count for `concurrency` and
        // `max-concurrent`.
        for open in found where open.isLive { reattach(open, into: &batch) }
        var recovered: [Int] = []
        for open in found where !open.isLive {
            if isStartable(open, at: now), let slot = slot(of: open.job),
                let entry = entries[slot], entry.phase != .stopped
            {
                recover(open, slot, entry, at: now, into: &batch)
                recovered.append(slot)
            } else {
                lose(open, as: outcome(of: open, at: now), into: &batch)
            }
        }
        for slot in recovered { release(slot, at: now, into: &batch) }
        return (batch.decided + batch.timers + batch.notices, batch.start)
    }

    /// Whether a run was certainly never spawned and may start now. A run of a fleet may not: another
    /// machine can have taken its place.
    private func isStartable(_ open: RecoveredState.OpenRun, at now: Now) -> Bool {
        !open.isLive && !open.wasSpawned && open.bootID == now.bootID
            && !open.firing.cause.variables.areLost && open.firing.cause.claim == nil
    }

    /// What became of a run that neither runs nor starts now.
    private func outcome(of open: RecoveredState.OpenRun, at now: Now) -> RunOutcome {
        guard open.bootID == now.bootID else { return .lost(.reboot) }
        return .lost(open.firing.cause.claim != nil && !open.wasSpawned ? .unstarted : .daemon)
    }

    /// Assigns the runs of renamed jobs to the new names. Runs that have not started yet also get
    /// the new name.
    private func follow(
        _ renamings: inout [Renaming], in runs: inout [RecoveredState.OpenRun], at now: Now
    ) {
        let places = Dictionary(renamings.indices.map { (renamings[$0].from, $0) }) { $1 }
        for index in runs.indices {
            guard let place = places[runs[index].job] else { continue }
            let new = renamings[place].to
            runs[index].job = new
            guard isStartable(runs[index], at: now) else { continue }
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

    /// Starts a recorded run that was never spawned, or lets it wait again: for the delay of a
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
