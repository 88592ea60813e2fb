// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A newly read configuration that takes the place of the old one, some jobs at a time.
struct Reloading: Sendable {
    let roster: Roster
    /// How much is done in one step: each job that is looked at counts one, each that is changed `changeCost`.
    let effort: Int
    /// How many places of the old order there are, and how many of these and of the new jobs are dealt with.
    let places: Int
    var checked = 0
    var applied = 0
    /// The slots in the new order.
    var jobSlots: [Int] = []
    /// The slots of the jobs that are gone. They are used again once the old order is.
    var freed: [Int] = []
    var added: [Job.Name] = []
    var changed: [Job.Name] = []
    var removed: [Job.Name] = []
    /// Whether there was anything to be done.
    var hasActed = false

    /// How many jobs can be compared in the time it takes to change one, about.
    static let changeCost = 8

    init(_ roster: Roster, portion: Int, places: Int) {
        self.roster = roster
        // More jobs than this there never are.
        effort = max(1, min(portion, 1 << 32)) * Self.changeCost
        self.places = places
    }

    var isDone: Bool { checked == places && applied == roster.jobs.count }
}

/// What one step of a reload does.
private struct ReloadStep {
    var change = RosterChange()
    var batch = Batch()
    /// The timers of jobs that are new, and what is told of them.
    var added: [Action] = []

    var actions: [Action] {
        // What is to be written of a run finds its job under the new name.
        (change.isEmpty ? [] : [.adopt(change, durable: false)]) + added + batch.actions
    }
}

extension Agenda {
    /// Whether a reload has begun and some of its jobs are not dealt with yet.
    public var isReloading: Bool { reloading != nil }

    /// Takes a newly read configuration: jobs are told apart by name, and one whose definition is the
    /// same keeps its timer to the nanosecond.
    ///
    /// A reload of very many jobs is done in portions, and what comes due is done between them. Each job has its
    /// old definition until its portion, and its new one from then on. First come the jobs that are gone or have
    /// another name, so that a name is free when it is used again.
    mutating func reload(_ roster: Roster, portion: Int, at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        var actions: [Action] = []
        // Of two reloads the first is finished before the second begins.
        while isReloading { actions += reloadMore(at: now) }
        reloading = Reloading(roster, portion: portion, places: jobSlots.count)
        return actions + reloadMore(at: now)
    }

    /// Does the next portion of a reload, if there is one.
    mutating func reloadMore(at now: Now) -> [Action] {
        guard !isShutDown, var state = reloading else { return [] }
        // Its arrays are not to be copied.
        reloading = nil
        var step = ReloadStep()
        var effort = state.effort
        while effort > 0, state.checked < state.places {
            let slot = jobSlots[state.checked]
            state.checked += 1
            effort -= leave(slot, &state, &step, at: now) ? Reloading.changeCost : 1
        }
        while effort > 0, !state.isDone {
            let job = state.roster.jobs[state.applied]
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
        let told = Action.tell(
            .reloaded(
                added: state.added, changed: state.changed, removed: state.removed, kept: kept))
        return (state.hasActed ? [.save([], durable: true)] : []) + [told]
    }

    /// Gives a job the name of its heir, or takes it out, if the new configuration does not name it.
    /// - Returns: whether anything changed.
    private mutating func leave(
        _ slot: Int, _ state: inout Reloading, _ step: inout ReloadStep, at now: Now
    ) -> Bool {
        guard let job = entries[slot]?.job, !state.roster.names.contains(job.name) else {
            return false
        }
        state.removed.append(job.name)
        if let heir = heir(of: job.name, in: state.roster) {
            state.added.append(heir.name)
            rename(slot, to: heir.name, at: now, into: &step.change, &step.batch)
            // At once, so that it never fires under a name and by a definition that do not belong together.
            replace(slot, with: heir, at: now, into: &step.change, &step.batch)
        } else {
            remove(slot, at: now, into: &step.change, &step.batch)
            state.freed.append(slot)
        }
        return true
    }

    /// Adds a job, or puts its definition in the place of its old one.
    /// - Returns: whether anything changed.
    private mutating func apply(
        _ job: Job, _ state: inout Reloading, _ step: inout ReloadStep, at now: Now
    ) -> Bool {
        if let slot = slot(of: job.name) {
            state.jobSlots.append(slot)
            guard let entry = entries[slot], entry.job != job else { return false }
            state.changed.append(job.name)
            replace(slot, with: job, at: now, into: &step.change, &step.batch)
            return true
        }
        state.added.append(job.name)
        step.added += add(job, at: now, into: &step.change)
        guard let slot = slot(of: job.name) else { return true }
        state.jobSlots.append(slot)
        if let record = entries[slot]?.record(at: now, life: life) {
            step.change.records.append(record)
        }
        return true
    }

    /// The job that takes over the state of this one, whose name the configuration does not have any more: it
    /// says so, and has no state of its own.
    private func heir(of job: Job.Name, in roster: Roster) -> Job? {
        guard let index = roster.heirs[job] else { return nil }
        let heir = roster.jobs[index]
        return slot(of: heir.name) == nil && archived[heir.name] == nil ? heir : nil
    }

    /// Gives a job another name: its state, its active and waiting runs and what is known of its last one stay
    /// with it.
    private mutating func rename(
        _ slot: Int, to name: Job.Name, at now: Now, into change: inout RosterChange,
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
        // What chance adds to it is drawn by the name.
        entry.chance = Chance(seed: seed, job: name)
        entry.dropOccurrence()
        var renaming = Renaming(from: old, to: name)
        renaming.waiting = runs.rename(slot, to: name)
        change.renamed.append(renaming)
        change.records.append(entry.record(at: now, life: life))
        entries[slot] = entry
        slots.insert(slot, in: entries)
        // A job of the new name may have left runs that have not ended.
        runs.attach([name], to: slot, job: name)
        batch.notices.append(.tell(.renamed(name, from: old)))
    }

    /// Puts a changed definition in the place of the old one. The account stays: what accrued counts
    /// towards the new interval, and if it is past that already the job is due at once.
    private mutating func replace(
        _ slot: Int, with job: Job, at now: Now, into change: inout RosterChange,
        _ batch: inout Batch
    ) {
        guard var entry = entries[slot] else { return }
        let runsBefore = batch.runs.count
        let changesOccurrences =
            entry.job.schedule != job.schedule
            || entry.job.policy.randomOffset != job.policy.randomOffset
        let isAnew =
            changesOccurrences || entry.job.count != job.count || entry.job.first != job.first
        if changesOccurrences {
            // A job that is to fire so long after the boot is so still if that is another time.
            entry.isDueThisBoot =
                entry.isDueThisBoot && entry.job.schedule.isSinceBoot && job.schedule.isSinceBoot
            entry.occurrence = nil
            entry.seen = now.wall
        }
        if entry.job.count != job.count {
            // What follows counts by another clock.
            if entry.ledger.isOpen { counting -= 1 }
            entry.ledger.close(at: entry.counted(at: now))
        }
        entry.job = job
        let ended = entry.follow(configuredPaused: job.paused, at: now)
        entry.leaveFinishedIfRecurring(at: now)
        if let ended {
            unpause(slot, &entry, ended, by: .configuration, at: now, into: &batch)
        } else {
            batch.timers += updateTimer(slot, &entry, at: now, isAnew: isAnew)
        }
        let record = entry.record(at: now, life: life)
        entries[slot] = entry
        // A run and what it changes of its job's state are written together.
        if batch.runs.count > runsBefore {
            batch.records.append(record)
        } else {
            change.records.append(record)
        }
        // What had to wait by the old policy may not have to by the new one.
        release(slot, at: now, into: &batch)
    }

    /// Takes the job out and keeps its record. A run of it goes on. Its slot is not free yet.
    private mutating func remove(
        _ slot: Int, at now: Now, into change: inout RosterChange, _ batch: inout Batch
    ) {
        guard var entry = entries[slot] else { return }
        removeTimer(slot, of: entry.job.name, into: &batch)
        heldUp.remove(slot)
        if entry.ledger.isOpen { counting -= 1 }
        entry.ledger.close(at: entry.counted(at: now))
        if case .paused(let pause) = entry.phase, pause.withRun {
            batch.ends += toldRuns(slot).map { .resume($0) }
        }
        callOff(slot, &entry, .stopped, into: &batch)
        runs.detach(slot, job: entry.job.name)
        let record = entry.record(at: now, life: life, removed: now.wall)
        change.records.append(record)
        archived[entry.job.name] = ArchivedJob(record: record, lastRun: entry.lastRun)
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
