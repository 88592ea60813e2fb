// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A new configuration that replaces the current one, some jobs at a time.
struct Reloading: Sendable {
    let jobSet: JobSet
    /// How much work one step does: a job that is only compared costs 1, a job that changes costs
    /// `changeCost`.
    let effort: Int
    /// The number of positions in the old order, then how many of them were checked and how many of
    /// the new jobs were applied.
    let places: Int
    var checked = 0
    var applied = 0
    /// The slots in the order of the new configuration, of the jobs that were compared so far.
    var jobSlots: [Int] = []
    /// The slots of removed jobs. They can be used again when the old order is not needed any more.
    var freed: [Int] = []
    var added: [Job.Name] = []
    var changed: [Job.Name] = []
    var removed: [Job.Name] = []
    /// Whether jobs with `notify` must be checked although their definitions are the same.
    var changesNotifiers = false
    /// Whether a portion returned actions. If not, the store needs no flush at the end.
    var hasActed = false

    /// Approximately how many jobs can be compared in the time that one change takes.
    static let changeCost = 8

    init(_ jobSet: JobSet, portion: Int, places: Int) {
        self.jobSet = jobSet
        // The limit prevents an overflow; there are never this many jobs.
        effort = max(1, min(portion, 1 << 32)) * Self.changeCost
        self.places = places
    }

    var isDone: Bool { checked == places && applied == jobSet.jobs.count }
}

/// The result of one step of a reload.
private struct ReloadStep {
    var change = JobSetChange()
    var batch = Batch()
    /// The timers of new jobs, and the notices about them.
    var added: [Action] = []

    var actions: [Action] {
        // The renaming is written first, so that later writes for a run find its job under the new
        // name.
        (change.isEmpty ? [] : [.storeJobSet(change, durable: false)]) + added + batch.actions
    }
}

extension Agenda {
    /// Whether a reload has started and is not finished.
    public var isReloading: Bool { reloading != nil }

    /// Starts to use a new configuration. Jobs are identified by name, and a job with an unchanged
    /// definition keeps its timer to the nanosecond.
    ///
    /// A reload of very many jobs is divided into portions, and due jobs fire between them. Each
    /// job has its old definition until its portion, and its new one afterwards. Removed and
    /// renamed jobs come first, so that their names are free before new jobs use them.
    mutating func reload(_ jobSet: JobSet, portion: Int, at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        var actions: [Action] = []
        // A reload that is still running is finished before the new one starts.
        while isReloading { actions += reloadMore(at: now) }
        reloading = Reloading(jobSet, portion: portion, places: jobSlots.count)
        let before = watching.notifiers
        watching.use(jobSet.notifiers)
        reloading?.changesNotifiers = watching.notifiers != before
        return actions + reloadMore(at: now)
    }

    /// Executes the next portion of a reload, if there is one.
    mutating func reloadMore(at now: Now) -> [Action] {
        guard !isShutDown, var state = reloading else { return [] }
        // The state is moved out, so that its arrays are changed in place and not copied.
        reloading = nil
        var step = ReloadStep()
        var effort = state.effort
        while effort > 0, state.checked < state.places {
            let slot = jobSlots[state.checked]
            state.checked += 1
            effort -= leave(slot, &state, &step, at: now) ? Reloading.changeCost : 1
        }
        while effort > 0, !state.isDone {
            let job = state.jobSet.jobs[state.applied]
            state.applied += 1
            effort -= apply(job, &state, &step, at: now) ? Reloading.changeCost : 1
        }
        let actions = step.actions
        if !actions.isEmpty { state.hasActed = true }
        guard state.isDone else {
            reloading = state
            return actions
        }
        return actions + finish(state)
    }

    private mutating func finish(_ state: Reloading) -> [Action] {
        jobSlots = state.jobSlots
        freeSlots += state.freed
        let kept = jobSlots.count - state.added.count - state.changed.count
        let notice = Action.log(
            .reloaded(
                added: state.added, changed: state.changed, removed: state.removed, kept: kept))
        return (state.hasActed ? [.save([], durable: true)] : []) + [notice]
    }

    /// Renames a job, if a job of the new configuration says that it had this name, or removes it,
    /// if the new configuration does not name it.
    /// - Returns: whether anything changed.
    private mutating func leave(
        _ slot: Int, _ state: inout Reloading, _ step: inout ReloadStep, at now: Now
    ) -> Bool {
        guard let job = entries[slot]?.job, !state.jobSet.names.contains(job.name) else {
            return false
        }
        state.removed.append(job.name)
        if let successor = successor(of: job.name, in: state.jobSet) {
            state.added.append(successor.name)
            rename(slot, to: successor.name, at: now, into: &step.change, &step.batch)
            // The definition changes in the same step as the name, so that the job never fires with
            // the name of one and the definition of the other.
            replace(slot, with: successor, at: now, into: &step.change, &step.batch)
        } else {
            remove(slot, at: now, into: &step.change, &step.batch)
            state.freed.append(slot)
        }
        return true
    }

    /// Adds a job, or replaces its definition.
    /// - Returns: whether anything changed.
    private mutating func apply(
        _ job: Job, _ state: inout Reloading, _ step: inout ReloadStep, at now: Now
    ) -> Bool {
        if let slot = slot(of: job.name) {
            state.jobSlots.append(slot)
            if state.changesNotifiers, let entry = entries[slot] { noteChange(slot, entry) }
            guard let entry = entries[slot], entry.job != job else { return false }
            state.changed.append(job.name)
            replace(slot, with: job, at: now, into: &step.change, &step.batch)
            return true
        }
        state.added.append(job.name)
        step.added += add(job, at: now, into: &step.change)
        guard let slot = slot(of: job.name) else { return true }
        state.jobSlots.append(slot)
        if let record = entries[slot]?.record(at: now, ahead: ahead, instance: instance) {
            step.change.records.append(record)
        }
        return true
    }

    /// The job that takes over the state of this one: this name is not in the configuration any
    /// more, and the new job says that it had this name and has no state of its own.
    private func successor(of job: Job.Name, in jobSet: JobSet) -> Job? {
        guard let index = jobSet.renames[job] else { return nil }
        let successor = jobSet.jobs[index]
        return slot(of: successor.name) == nil && archived[successor.name] == nil ? successor : nil
    }

    /// Renames a job. It keeps its state, its active and waiting runs, and the result of its last
    /// run.
    private mutating func rename(
        _ slot: Int, to name: Job.Name, at now: Now, into change: inout JobSetChange,
        _ batch: inout Batch
    ) {
        guard var entry = entries[slot] else { return }
        let old = entry.job.name
        removeTimer(slot, of: old, into: &batch)
        if retryDue[slot] != nil {
            retryDue.remove(slot)
            batch.timers.append(.disarmRetry(old))
        }
        slots.remove(old, in: entries)
        entry.job.name = name
        if var watch = entry.watch?.wrappedValue {
            watch.rename(name)
            entry.watch = Boxed(wrappedValue: watch)
        }
        // The name is a part of what the jitter is computed from.
        entry.jitter = Jitter(seed: seed, job: name)
        entry.dropOccurrence()
        var renaming = Renaming(from: old, to: name)
        renaming.waiting = runs.rename(slot, to: name)
        change.renamed.append(renaming)
        change.records.append(entry.record(at: now, ahead: ahead, instance: instance))
        entries[slot] = entry
        slots.insert(slot, in: entries)
        // An earlier job of the new name may have left runs that have not ended.
        runs.attach([name], to: slot, job: name)
        batch.notices.append(.log(.renamed(name, from: old)))
    }

    /// Replaces the definition of a job. Its elapsed time is kept and counts towards the new
    /// interval. If it is already longer than that, the job is due at once.
    private mutating func replace(
        _ slot: Int, with job: Job, at now: Now, into change: inout JobSetChange,
        _ batch: inout Batch
    ) {
        guard var entry = entries[slot] else { return }
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
            entry.occurrence = nil
            entry.processedThrough = now.wall
        }
        if entry.job.count != job.count {
            // From here on, time is counted by another clock.
            if entry.ledger.isOpen { counting -= 1 }
            entry.ledger.close(at: entry.counted(at: now))
        }
        oneOffs += (job.isOneOff ? 1 : 0) - (entry.job.isOneOff ? 1 : 0)
        entry.job = job
        if entry.isShared || job.fleet != nil { changeShared(slot, &entry, at: now, into: &batch) }
        followEnds(slot, entry)
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
    }

    /// Removes the job and keeps its record. Its active runs continue. Its slot cannot be used
    /// again yet.
    mutating func remove(
        _ slot: Int, at now: Now, into change: inout JobSetChange, _ batch: inout Batch
    ) {
        guard var entry = entries[slot] else { return }
        if entry.job.isOneOff { oneOffs -= 1 }
        removeTimer(slot, of: entry.job.name, into: &batch)
        heldUp.remove(slot)
        if entry.ledger.isOpen { counting -= 1 }
        entry.ledger.close(at: entry.counted(at: now))
        if case .paused(let pause) = entry.phase, pause.withRun {
            batch.ends += startedRuns(slot).map { .resume($0) }
        }
        cancelPending(slot, &entry, .stopped, into: &batch)
        runs.detach(slot, job: entry.job.name)
        let record = entry.record(at: now, ahead: ahead, instance: instance, removed: now.wall)
        change.records.append(record)
        batch.watch(endWatch(slot, &entry))
        archived[entry.job.name] = ArchivedJob(record: record, boxedOutcomes: entry.boxedOutcomes)
        slots.remove(entry.job.name, in: entries)
        entries[slot] = nil
    }

    private mutating func removeTimer(
        _ slot: Int, of job: Job.Name, into batch: inout Batch
    ) {
        let hadTimer = due[slot] != nil || wallDue[slot] != nil
        unqueue(slot)
        if hadTimer { batch.timers.append(.disarm(job)) }
    }
}
