// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Notifications about jobs. Only jobs with `notify` have a `JobWatch`; for others this costs one
/// comparison with nil.
extension Agenda {
    /// Checks a job again at the end of the event, if it has `notify`.
    mutating func noteChange(_ slot: Int, _ entry: JobEntry) {
        if entry.watch != nil { watching.noteChange(slot) }
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
        case .stillRunning, .concurrencyMax, .queueFull, .missed, .catchUpMax, .clockSet,
            .slotBusy, .outsideWindow:
            return advanceWatch(after: .skipped(firing, reason), slot, &entry)
        }
    }

    /// Adds the notifications about a run that is about to start to the batch.
    mutating func noteStart(
        _ run: Run.ID, _ slot: Int, _ entry: inout JobEntry, into batch: inout Batch
    ) {
        if entry.job.window?.stopsAtEnd == true { batch.timers += updateRetryTimer(slot, entry) }
        guard entry.watch != nil else { return }
        batch.watch(advanceWatch(after: .started(run), slot, &entry))
    }

    private mutating func advanceWatch(
        after event: JobWatch.RunEvent?, _ slot: Int, _ entry: inout JobEntry
    ) -> [Action] {
        guard var watch = entry.watch?.wrappedValue else { return [] }
        let before = watch
        let result = watch.update(
            after: event,
            JobWatch.Facts(
                job: entry.job, phase: entry.phase, lastSuccess: entry.outcomes.lastSuccess,
                runs: runs[slot], notifiers: watching.notifiers(of: entry.job), now: clocks.last))
        if watch != before { entry.watch = Boxed(wrappedValue: watch) }
        watching.note(result.notifications)
        watching.setDue(slot, isShutDown ? nil : result.next)
        return result.isEmpty
            ? [] : [.notify(result.notifications, incidents: result.changes)]
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
            watching.begin()
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
        watching.noteChange(slot)
        return []
    }

    /// Forgets the incidents of a job, also in the store, without notifications about their ends.
    mutating func endWatch(_ slot: Int, _ entry: inout JobEntry) -> [Action] {
        guard let watch = entry.watch?.wrappedValue else { return [] }
        watching.end(slot)
        entry.watch = nil
        let changes = watch.incidents.map { IncidentChange.remove($0.id) }
        return changes.isEmpty ? [] : [.notify([], incidents: changes)]
    }

    /// Checks all jobs with `notify` at the end of the event.
    mutating func noteChangeOfAll() {
        guard watching.hasJobs else { return }
        for slot in entries.order where entries[slot]?.watch != nil { watching.noteChange(slot) }
    }

    /// Finds out what is wrong by now with the jobs that the event changed, and with those whose
    /// time has come. Sets the timer for the next time.
    ///
    /// - Parameter event: the event; nil for the start.
    mutating func checkWatched(after event: Event? = nil) -> [Action] {
        let now = clocks.last.wall
        // The timer fired, or it does not know that the clock was set.
        let isUnset: Bool =
            switch event {
            case .incidentsDue, .clockChanged: true
            default: false
            }
        var actions: [Action] = []
        for slot in watching.takeChanged() { actions += check(slot) }
        while let slot = watching.nextDue(at: now) {
            actions += check(slot)
            watching.noteChecked(slot, at: now)
        }
        actions += watching.takeNotices().map { .log($0) }
        if let timer = watching.setTimer(isUnset: isUnset) { actions.append(timer) }
        return actions
    }

    private mutating func check(_ slot: Int) -> [Action] {
        guard var entry = entries[slot], entry.watch != nil else {
            watching.setDue(slot, nil)
            return []
        }
        let actions = advanceWatch(after: nil, slot, &entry)
        entries[slot] = entry
        return actions
    }
}
