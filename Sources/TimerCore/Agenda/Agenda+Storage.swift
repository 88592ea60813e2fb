// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is decided while the store cannot be written, or takes long.
///
/// A run is recorded before it is started, so one that was told to start may not have begun because its row is not
/// written yet. Nothing that comes due may be skipped because of such a run: it is held until the row is written,
/// and is then caught up with. The job's time goes on meanwhile.
extension Agenda {
    /// Whether a run was told to start, or is about to be, before it is known to be on record.
    func isUnrecorded(_ run: ActiveRun) -> Bool { run.event > storedThrough }

    /// Whether what is due of the job is held: it would be judged by a run that may not be able to start. Where runs
    /// may be beside each other there is nothing to judge, and it is held only once the store takes long.
    func isToBeHeld(_ slot: Int, _ entry: JobEntry, at now: Now) -> Bool {
        entry.phase == .armed
            && runs[slot].contains { run in
                isUnrecorded(run)
                    && (entry.job.policy.runsDependOnEachOther
                        || now.wall - run.id.firing.scheduled > Self.darkMax)
            }
    }

    /// Takes a job that is due out of the queues until its runs are on record. Nothing of what is due is passed.
    mutating func hold(_ slot: Int) {
        unqueue(slot)
        heldUp.insert(slot)
    }

    /// Fires the jobs that were held, for everything that has come due meanwhile.
    mutating func noteStored(at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        var batch = Batch()
        for slot in heldUp.sorted() {
            guard let entry = entries[slot], entry.phase == .armed else {
                heldUp.remove(slot)
                continue
            }
            if isToBeHeld(slot, entry, at: now) { continue }
            fire(slot, at: now, into: &batch)
        }
        return batch.actions
    }

    /// Starts the runs whose rows were written late, but for those that were to be ended meanwhile, whose jobs are
    /// paused by now, or whose starting deadline has passed. A daemon that stops leaves them to the next one.
    mutating func noteRecorded(_ recorded: [Run], at now: Now) -> [Action] {
        var batch = Batch()
        for run in recorded {
            switch runs.state(of: run.id, of: jobKey(of: run.id)) {
            case .stopping, .stoppingAtStart: close(run.id, into: &batch)
            case .starting: if !isShutDown { start(run, at: now, into: &batch) }
            case .waiting, .running, .ended, nil: break
            }
        }
        admitWaiting(at: now, into: &batch)
        for slot in Set(recorded.compactMap { slot(of: $0.id) }).sorted() {
            release(slot, at: now, into: &batch)
        }
        return batch.actions
    }

    /// Closes a run that was to be ended before it began.
    private mutating func close(_ run: Run.ID, into batch: inout Batch) {
        let job = owner(of: run)
        guard let change = runs.apply(.cancel(.stopped), to: run, of: jobKey(of: run)),
            case .ended(let outcome) = change.run.state
        else { return }
        runs.forgetJob(of: run)
        noteLastRun(RunSummary(id: run, outcome: outcome), of: job)
        batch.ends.append(.close(run, outcome, RunUsage(), failed: false))
        batch.notices.append(.tell(.runEnded(run, outcome, RunUsage(), failed: false)))
    }
}
