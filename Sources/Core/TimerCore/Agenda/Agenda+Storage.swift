// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Decisions while the store cannot be written, or is slow.
///
/// A run is recorded before it starts. So even after its start was decided, a run may be unable to
/// start because its row is not written yet. No firing may be skipped because of such a run: the
/// firing is delayed until the row is written and is then caught up. The time of the job keeps
/// counting meanwhile.
extension Agenda {
    /// Whether the start of a run was decided, but the run is not known to be recorded yet.
    func isUnrecorded(_ run: ActiveRun) -> Bool { hold.isUnrecorded(run.event) }

    /// Whether firings of the job are delayed because they depend on a run that may not be able to
    /// start. If runs of the job may be active at the same time, nothing depends on that run, and
    /// the firings are delayed only when the store takes long.
    func isToBeHeld(_ slot: Int, _ entry: JobEntry, at now: Now) -> Bool {
        entry.phase == .armed
            && runs[slot].contains { run in
                isUnrecorded(run)
                    && (entry.job.policy.runsDependOnEachOther
                        || now.wall - run.id.firing.scheduled > Lateness.downtimeMargin)
            }
    }

    /// Takes a job that is due out of the queues until its runs are recorded. Its due occurrences
    /// are kept.
    mutating func holdUp(_ slot: Int) {
        alarms.remove(slot)
        hold.hold(slot)
    }

    /// Fires the delayed jobs, for all occurrences that became due meanwhile.
    mutating func noteStored(at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        var batch = Batch()
        for slot in hold.inOrder {
            guard let entry = entries[slot], entry.phase == .armed else {
                hold.release(slot)
                continue
            }
            if isToBeHeld(slot, entry, at: now) { continue }
            fire(slot, at: now, into: &batch)
        }
        return batch.actions
    }

    /// Starts the runs whose rows were written late, except runs that were ended meanwhile, runs of
    /// jobs that are paused now, and runs whose starting deadline has passed. A daemon that is
    /// stopping leaves them to the next instance. The rows of those that do not start now say that
    /// they wait again, so that no later instance takes them for lost.
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
        let ids = Set(recorded.map(\.id))
        let withdrawn = recorded.map(\.id).filter { waitsAgain($0) }
        // Nothing is written for them again: with a disk that takes as long as this, they would be too
        // late each time.
        let released = batch.start.filter { ids.contains($0.id) }
        batch.start.removeAll { ids.contains($0.id) }
        var actions: [Action] = withdrawn.isEmpty ? [] : [.withdraw(withdrawn)]
        if !released.isEmpty { actions.append(.startReleased(released)) }
        return actions + batch.actions
    }

    /// Whether a run that was written late is left to wait, here or for the next instance.
    private func waitsAgain(_ run: Run.ID) -> Bool {
        switch runs.state(of: run, of: jobKey(of: run)) {
        case .waiting: true
        case .starting: isShutDown
        case .running, .stopping, .stoppingAtStart, .ended, nil: false
        }
    }

    /// Closes a run that was ended before it started.
    private mutating func close(_ run: Run.ID, into batch: inout Batch) {
        let job = owner(of: run)
        guard let change = runs.apply(.cancel(.stopped), to: run, of: jobKey(of: run)),
            case .ended(let outcome) = change.run.state
        else { return }
        runs.forgetJob(of: run)
        let summary = summary(of: run, outcome, failed: false)
        noteEnd(summary, change.run.firing.cause, of: job)
        batch.ends.append(.close(summary))
        batch.ends += notices(of: summary, of: job)
        batch.notices.append(.log(.runEnded(run, outcome, RunUsage(), failed: false)))
    }

    /// The positions of the jobs in the configuration. They change when a reload is finished.
    public var places: Range<Int> { entries.order.indices }

    /// Saves the time records of the jobs at these positions whose time counts.
    mutating func checkpoint(of places: Range<Int>, at now: Now) -> [Action] {
        var records: [JobRecord] = []
        for slot in entries.order[places.clamped(to: entries.order.indices)]
        where entries[slot]?.ledger.isOpen == true {
            if let record = entries.record(slot, at: now, ahead: ahead, instance: instance) {
                records.append(record)
            }
        }
        return records.isEmpty ? [] : [.save(records, durable: false)]
    }

    /// Closes all ledgers and cancels all timers. Active runs continue, and their ends are still
    /// handled.
    mutating func shutDown(at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        let wereCounting = entries.openLedgers
        // The next start applies the rest of a reload.
        stage = .shutDown
        var timers: [Action] = []
        var records: [JobRecord] = []
        for slot in entries.order {
            guard var entry = entries[slot] else { continue }
            takeBackChecks(slot)
            timers += updateTimer(slot, &entry, at: now) + updateRetryTimer(slot, entry)
            records.append(entry.record(at: now, ahead: ahead, instance: instance))
            entries[slot] = entry
        }
        return timers + [
            .save(records, durable: true),
            .log(.shutDown(counting: wereCounting, live: runs.startedCount)),
        ]
    }
}
