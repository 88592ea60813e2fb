// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How a job comes into the agenda, changes its name or its definition, and leaves.
extension Agenda {
    /// Gives the job a slot. It restores the state that is saved for the name of the job, or else
    /// for the name that the job had before.
    ///
    /// - Parameter start: the start of the daemon at which the job is loaded; nil if a reload adds
    ///   the job.
    mutating func add(
        _ job: Job, at now: Now, start: Start? = nil, into change: inout JobSetChange
    ) -> [Action] {
        var entry = JobEntry(new: job, at: now, seed: seed)
        var notices: [Action] = []
        var names: Set<Job.Name> = [job.name]
        var record: JobRecord?
        archive.forgetOneOff(before: job)
        if let found = archive.take(job.name) {
            record = found.record
            entry.restore(found.record, under: entries.hold, at: now)
            entry.boxedOutcomes = found.outcomes
        } else if let old = job.renamedFrom, slot(of: old) == nil,
            let found = archive.take(old)
        {
            record = found.record
            entry.restore(found.record, under: entries.hold, at: now)
            entry.boxedOutcomes = found.outcomes
            names.insert(old)
            change.renamed.append(Renaming(from: old, to: job.name))
            notices = [.log(.renamed(job.name, from: old))]
        }
        entry.follow(BootFiring(after: record, at: start, now), at: now)
        if entry.isShared { entry.share(at: now) }
        let slot = entries.add(entry, isOneOff: job.isOneOff)
        runs.addSlot(slot)
        // If the job was removed for a while, runs from before may still be active.
        runs.attach(names, to: slot, job: job.name)
        followEnds(slot, entry)
        let incidents = watching.takeRecovered(of: names, for: job.name)
        if !job.policy.notify.isEmpty {
            notices += updateWatch(slot, &entry, incidents: incidents, from: record, at: now)
        } else if !incidents.isEmpty {
            notices.append(.notify([], incidents: incidents.map { .remove($0.id) }))
        }
        var timers = updateTimer(slot, &entry, at: now)
        if let record, !record.chain.isEmpty {
            entry.restoreChain(record, renames: chains.renames, at: now)
            entries[slot] = entry
            timers += updateRetryTimer(slot, entry)
        }
        if let record, record.phase == .finished, entry.phase == .armed,
            entry.clockEpoch > record.clockEpoch
        {
            notices.append(.log(entry.scheduledAgain(at: now)))
        }
        return timers + notices
    }

    /// Renames a job. It keeps its state, its active and waiting runs, and the result of its last
    /// run.
    mutating func rename(
        _ slot: Int, to name: Job.Name, at now: Now, into change: inout JobSetChange,
        _ batch: inout Batch
    ) {
        guard var entry = entries[slot] else { return }
        let old = entry.job.name
        removeTimer(slot, of: old, into: &batch)
        if alarms.retry(of: slot) != nil {
            alarms.setRetry(slot, to: nil)
            batch.timers.append(.disarmRetry(old))
        }
        entry.job.name = name
        if var watch = entry.watch?.wrappedValue {
            watch.rename(name)
            entry.watch = Boxed(wrappedValue: watch)
        }
        // The name is a part of what the jitter is computed from.
        entry.jitter = Jitter(seed: seed, job: name)
        entry.dropOccurrence()
        var renaming = Renaming(from: old, to: name)
        // The runner knows them by their old identities.
        takeBackChecks(slot)
        renaming.waiting = runs.rename(slot, to: name)
        change.renamed.append(renaming)
        change.records.append(entry.record(at: now, ahead: ahead, instance: instance))
        entries.rename(slot, to: entry)
        // An earlier job of the new name may have left runs that have not ended.
        runs.attach([name], to: slot, job: name)
        batch.notices.append(.log(.renamed(name, from: old)))
    }

    /// Replaces the definition of a job. Its elapsed time is kept and counts towards the new
    /// interval. If it is already longer than that, the job is due at once.
    mutating func replace(
        _ slot: Int, with job: Job, at now: Now, into change: inout JobSetChange,
        _ batch: inout Batch
    ) {
        guard var entry = entries[slot] else { return }
        let old = entry.job
        let runsBefore = batch.runs.count
        let changesOccurrences =
            entry.job.schedule != job.schedule
            || entry.job.policy.randomOffset != job.policy.randomOffset
        let isNewSchedule =
            changesOccurrences || entry.job.count != job.count || entry.job.first != job.first
        if changesOccurrences {
            // A job that fires a certain time after the boot, and has not fired in this boot, is
            // still due if only that time changed.
            entry.isDueThisBoot =
                entry.isDueThisBoot && entry.job.schedule.isSinceBoot && job.schedule.isSinceBoot
            entry.progress.restart(after: now.wall)
        }
        if entry.job.count != job.count {
            // From here on, time is counted by another clock.
            entries.noteLedger(wasOpen: entry.ledger.isOpen, isOpen: false)
            entry.ledger.close(at: entry.counted(at: now))
        }
        entries.redefine(slot, as: job)
        entry.job = job
        redefineChecked(slot, from: old, to: entry)
        if entry.isShared || job.fleet != nil { changeShared(slot, &entry, at: now, into: &batch) }
        followEnds(slot, entry)
        batch.timers += redefineChain(slot, &entry, at: now)
        batch.watch(updateWatch(slot, &entry, at: now))
        let ended = entry.applyPause(configured: job.paused, at: now)
        entry.leaveFinishedIfRecurring(at: now)
        if let ended {
            // `settleIntervals` does this at the end of the event, after the job would have fired.
            if entry.countsFromEnd, !runs[slot].isEmpty { entry.awaitEnd(at: now) }
            unpause(slot, &entry, ended, by: .configuration, at: now, into: &batch)
        } else {
            batch.timers += updateTimer(slot, &entry, at: now, isNewSchedule: isNewSchedule)
        }
        let record = entry.record(at: now, ahead: ahead, instance: instance)
        entries[slot] = entry
        // A run and the change it makes to the state of its job are written in one transaction.
        if batch.runs.count > runsBefore {
            batch.records.append(record)
        } else {
            change.records.append(record)
        }
        // With the new policy, runs that had to wait may be allowed to start.
        release(slot, at: now, into: &batch)
        if old.window != job.window, let entry = entries[slot] {
            batch.timers += updateRetryTimer(slot, entry)
        }
    }

    /// Removes the job and keeps its record. Its active runs continue. Its slot cannot be used
    /// again yet.
    mutating func remove(
        _ slot: Int, at now: Now, into change: inout JobSetChange, _ batch: inout Batch
    ) {
        guard var entry = entries[slot] else { return }
        removeTimer(slot, of: entry.job.name, into: &batch)
        hold.release(slot)
        entry.ledger.close(at: entry.counted(at: now))
        if case .paused(let pause) = entry.phase, pause.withRun {
            batch.ends += startedRuns(slot).map { .resume($0) }
        }
        entry.phase = entry.phase.withoutHold
        cancelPending(slot, &entry, .stopped, into: &batch)
        runs.detach(slot, job: entry.job.name)
        let record = entry.record(at: now, ahead: ahead, instance: instance, removed: now.wall)
        change.records.append(record)
        batch.watch(endWatch(slot, &entry))
        archive.put(record, entry.boxedOutcomes)
        entries.remove(slot)
    }

    private mutating func removeTimer(
        _ slot: Int, of job: Job.Name, into batch: inout Batch
    ) {
        guard alarms[slot] != nil else { return }
        alarms.remove(slot)
        batch.timers.append(.disarm(job))
    }
}
