// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The result of one portion of a reload.
private struct ReloadPortion {
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
        let changesNotifiers = watching.use(jobSet.notifiers)
        runs.configure(jobSet.slots)
        chains.configure(jobSet)
        stage = .reloading(
            Reloading(
                jobSet, portion: portion, places: entries.order.count,
                changesNotifiers: changesNotifiers))
        return actions + reloadMore(at: now)
    }

    /// Executes the next portion of a reload, if there is one.
    mutating func reloadMore(at now: Now) -> [Action] {
        guard case .reloading(var state) = stage else { return [] }
        // The state is moved out, so that its arrays are changed in place and not copied.
        stage = .running
        var portion = ReloadPortion()
        state.beginPortion()
        while let step = state.next() {
            switch step {
            case .check(let place):
                check(entries.order[place], &state, &portion, at: now)
            case .apply(let job): apply(job, &state, &portion, at: now)
            }
        }
        let actions = portion.actions
        if !actions.isEmpty { state.noteActions() }
        guard state.isDone else {
            stage = .reloading(state)
            return actions
        }
        entries.reorder(state.order, freeing: state.freed)
        return actions + (state.hasActed ? [.save([], durable: true)] : []) + [.log(state.notice)]
    }

    /// Renames a job, if a job of the new configuration says that it had this name, or removes it,
    /// if the new configuration does not name it.
    private mutating func check(
        _ slot: Int, _ state: inout Reloading, _ portion: inout ReloadPortion, at now: Now
    ) {
        guard let job = entries[slot]?.job, !state.jobSet.names.contains(job.name) else { return }
        guard let successor = successor(of: job.name, in: state.jobSet) else {
            remove(slot, at: now, into: &portion.change, &portion.batch)
            return state.noteRemoved(job.name, slot)
        }
        rename(slot, to: successor.name, at: now, into: &portion.change, &portion.batch)
        // The definition changes in the same step as the name, so that the job never fires with
        // the name of one and the definition of the other.
        replace(slot, with: successor, at: now, into: &portion.change, &portion.batch)
        state.noteRenamed(job.name, to: successor.name)
    }

    /// Adds a job, or replaces its definition.
    private mutating func apply(
        _ job: Job, _ state: inout Reloading, _ portion: inout ReloadPortion, at now: Now
    ) {
        guard let slot = slot(of: job.name), let entry = entries[slot] else {
            portion.added += add(job, at: now, into: &portion.change)
            guard let slot = slot(of: job.name) else { return }
            if let record = entries.record(slot, at: now, ahead: ahead, instance: instance) {
                portion.change.records.append(record)
            }
            return state.noteAdded(job.name, slot)
        }
        if state.changesNotifiers { noteChange(slot, entry) }
        guard entry.job != job else { return state.noteKept(slot) }
        replace(slot, with: job, at: now, into: &portion.change, &portion.batch)
        state.noteChanged(job.name, slot)
    }

    /// The job that takes over the state of this one: this name is not in the configuration any
    /// more, and the new job says that it had this name and has no state of its own.
    private func successor(of job: Job.Name, in jobSet: JobSet) -> Job? {
        guard let index = jobSet.renames[job] else { return nil }
        let successor = jobSet.jobs[index]
        return slot(of: successor.name) == nil && !archive.contains(successor.name)
            ? successor : nil
    }

    // MARK: - One-off jobs, which are added and removed without a reload

    /// Adds a one-off job. Does nothing if its name is in use, or while a reload is not finished.
    mutating func include(_ job: Job, at now: Now) -> [Action] {
        guard !isShutDown, !isReloading, slot(of: job.name) == nil else { return [] }
        var change = JobSetChange()
        let timers = add(job, at: now, into: &change)
        if let slot = slot(of: job.name),
            let record = entries.record(slot, at: now, ahead: ahead, instance: instance)
        {
            change.records.append(record)
        }
        return [.storeJobSet(change, durable: true)] + timers
    }

    /// Removes one-off jobs and keeps their saved state, as for a job that was removed from the
    /// configuration. Active runs continue. Jobs that are not one-off jobs are not removed.
    mutating func exclude(_ jobs: [Job.Name], at now: Now) -> [Action] {
        guard !isShutDown, !isReloading else { return [] }
        var change = JobSetChange()
        var batch = Batch()
        var freed: Set<Int> = []
        for job in jobs {
            guard let slot = slot(of: job), entries[slot]?.job.isOneOff == true else { continue }
            remove(slot, at: now, into: &change, &batch)
            freed.insert(slot)
        }
        guard !freed.isEmpty else { return [] }
        entries.close(freed)
        return [.storeJobSet(change, durable: true)] + batch.actions
    }
}
