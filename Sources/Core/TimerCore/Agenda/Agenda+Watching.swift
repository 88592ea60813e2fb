// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What the agenda knows about the notifications of all jobs.
struct Watching: Sendable {
    /// The notifiers of the configuration, by the names that jobs give in `notify`.
    var notifiers: [Notifier.Name: Notifier] = [:]
    /// The slots of jobs with `notify` that an event changed and that were not checked since.
    var changed: [Int] = []
    /// When something may be wrong with a job although nothing happens to it.
    var due = DueQueue<WallInstant>()
    /// When the shell's timer for incidents expires; nil if it is not set.
    var armed: WallInstant?
    /// The number of jobs with a watch. While it is zero, events skip all of this.
    var count = 0
    /// The stored incidents of jobs that are not loaded yet.
    var recovered: [Job.Name: [IncidentRecord]] = [:]
    /// What the log says about incidents at the end of the event.
    var notices: [Notice] = []

    mutating func use(_ notifiers: [Notifier]) {
        self.notifiers = Dictionary(uniqueKeysWithValues: notifiers.map { ($0.name, $0) })
    }
}

/// Notifications about jobs. Only jobs with `notify` have a `JobWatch`; for others this costs one
/// comparison with nil.
extension Agenda {
    /// Checks a job again at the end of the event, if it has `notify`.
    mutating func noteChange(_ slot: Int, _ entry: JobEntry) {
        if entry.watch != nil { watching.changed.append(slot) }
    }

    /// The notifications about the end of a run, for the transaction that closes it.
    ///
    /// - Parameters:
    ///   - willRetry: whether the same firing is tried again.
    ///   - hasOutput: whether the run had written output.
    mutating func notices(
        of run: RunSummary, _ slot: Int, _ entry: inout JobEntry, willRetry: Bool = false,
        hasOutput: Bool = false
    ) -> [Action] {
        guard entry.watch != nil else { return [] }
        return advanceWatch(
            after: .ended(run, willRetry: willRetry, hasOutput: hasOutput), slot, &entry)
    }

    /// The same for a run whose job may not be in the configuration any more. Then there are none.
    mutating func notices(of run: RunSummary, of job: Job.Name) -> [Action] {
        guard let slot = slot(of: job), var entry = entries[slot], entry.watch != nil else {
            return []
        }
        defer { entries[slot] = entry }
        return notices(of: run, slot, &entry)
    }

    /// The actions for notifications about a skipped firing; none if the job has no `notify`.
    mutating func notices(
        of firing: Firing, _ reason: Notice.SkipReason, _ entry: inout JobEntry
    ) -> [Action] {
        guard entry.watch != nil, let slot = slot(of: entry.job.name) else { return [] }
        switch reason {
        // A user requested it, or the run that was too late ends as lost.
        case .byOrder, .deadline: return []
        case .stillRunning, .concurrencyMax, .queueFull, .missed, .catchUpMax, .clockSet:
            return advanceWatch(after: .skipped(firing, reason), slot, &entry)
        }
    }

    /// Adds the notifications about a run that is about to start to the batch.
    mutating func noteStart(
        _ run: Run.ID, _ slot: Int, _ entry: inout JobEntry, into batch: inout Batch
    ) {
        guard entry.watch != nil else { return }
        batch.watch(advanceWatch(after: .started(run), slot, &entry))
    }

    private mutating func advanceWatch(
        after event: JobWatch.RunEvent?, _ slot: Int, _ entry: inout JobEntry
    ) -> [Action] {
        guard var watch = entry.watch?.wrappedValue, let now = lastNow else { return [] }
        let before = watch
        let result = watch.update(
            after: event,
            JobWatch.Facts(
                job: entry.job, phase: entry.phase, lastSuccess: entry.outcomes.lastSuccess,
                runs: runs[slot],
                notifiers: entry.job.policy.notify.compactMap { watching.notifiers[$0] }, now: now))
        if watch != before { entry.watch = Boxed(wrappedValue: watch) }
        watching.notices += result.notifications.compactMap { .init(about: $0) }
        if !isShutDown, let next = result.next {
            watching.due.set(slot, due: next)
        } else {
            watching.due.remove(slot)
        }
        return result.isEmpty
            ? [] : [.notify(result.notifications, incidents: result.changes)]
    }

    /// The stored incidents of a job that had one of these names, under its current name.
    mutating func takeIncidents(of names: Set<Job.Name>, for job: Job.Name) -> [IncidentRecord] {
        guard !watching.recovered.isEmpty else { return [] }
        return names.flatMap { watching.recovered.removeValue(forKey: $0) ?? [] }
            .map { $0.renamed(job) }
    }

    /// Begins or ends watching a job after its definition changed.
    ///
    /// - Parameters:
    ///   - incidents: the stored incidents of the job.
    ///   - record: the record from which the job was restored.
    /// - Returns: the ends of the incidents of a job that is not watched any more.
    mutating func updateWatch(
        _ slot: Int, _ entry: inout JobEntry, incidents: [IncidentRecord] = [],
        from record: JobRecord? = nil, at now: Now
    ) -> [Action] {
        guard !entry.job.policy.notify.isEmpty else { return endWatch(slot, &entry) }
        if entry.watch == nil {
            watching.count += 1
            let since = record?.watchedSince ?? entry.outcomes.lastSuccess ?? now.wall
            // The time without a daemon counts if the job was armed before it, even if it is paused
            // from now on.
            let saved = record.flatMap { $0.phase == .armed ? nil : min($0.at.wall, now.wall) }
            var watch = JobWatch(
                incidents: incidents, watchedSince: since, inactiveSince: saved ?? now.wall)
            if entry.phase == .armed {
                if let record, record.phase != .armed {
                    // It became armed while no daemon ran, or because of the restart.
                    watch.watchedSince = watch.watchedSince(
                        lastSuccess: entry.outcomes.lastSuccess,
                        at: record.phase.pauseEnd(before: now.wall))
                }
                watch.inactiveSince = nil
            }
            entry.watch = Boxed(wrappedValue: watch)
        }
        watching.changed.append(slot)
        return []
    }

    /// Forgets the incidents of a job, also in the store, without notifications about their ends.
    mutating func endWatch(_ slot: Int, _ entry: inout JobEntry) -> [Action] {
        guard let watch = entry.watch?.wrappedValue else { return [] }
        watching.count -= 1
        watching.due.remove(slot)
        entry.watch = nil
        let changes = watch.incidents.map { IncidentChange.remove($0.id) }
        return changes.isEmpty ? [] : [.notify([], incidents: changes)]
    }

    /// Checks all jobs with `notify` at the end of the event.
    mutating func noteChangeOfAll() {
        guard watching.count > 0 else { return }
        for slot in jobSlots where entries[slot]?.watch != nil { watching.changed.append(slot) }
    }

    /// Finds out what is wrong by now with the jobs that the event changed, and with those whose
    /// time has come. Sets the timer for the next time.
    ///
    /// - Parameter event: the event; nil for the start.
    mutating func checkWatched(after event: Event? = nil) -> [Action] {
        guard let now = lastNow else { return [] }
        // The timer fired, or it does not know that the clock was set.
        let isUnset: Bool =
            switch event {
            case .incidentsDue, .clockChanged: true
            default: false
            }
        var actions: [Action] = []
        if !watching.changed.isEmpty {
            let changed = Set(watching.changed).sorted()
            watching.changed = []
            for slot in changed { actions += check(slot) }
        }
        while let first = watching.due.first, first.due <= now.wall {
            actions += check(first.slot)
            // Each check handles what is due, so the next one is later; otherwise this would go on
            // for ever.
            if let next = watching.due[first.slot], next <= now.wall {
                watching.due.set(first.slot, due: now.wall + .microseconds(1))
            }
        }
        actions += watching.notices.map { .log($0) }
        watching.notices = []
        let next = watching.due.first?.due
        if next != watching.armed || (isUnset && next != nil) {
            watching.armed = next
            actions.append(.armIncidents(next))
        }
        return actions
    }

    private mutating func check(_ slot: Int) -> [Action] {
        guard var entry = entries[slot], entry.watch != nil else {
            watching.due.remove(slot)
            return []
        }
        let actions = advanceWatch(after: nil, slot, &entry)
        entries[slot] = entry
        return actions
    }
}
