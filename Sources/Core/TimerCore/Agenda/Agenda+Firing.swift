// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// Fires all jobs that are due by now, no matter which timer expired, so that all runs of one wake-up
    /// start in one batch.
    mutating func wake(_ job: Job.Name, at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        var batch = fireDue(at: now)
        // A timer that expired early is set to the same instant again, without calculating it from
        // the current time.
        if let slot = slot(of: job), !batch.fired.contains(slot) {
            if let alarm = alarms[slot] { batch.timers.append(alarm.action(for: job)) }
            if let instant = alarms.retry(of: slot) {
                batch.timers.append(.armRetry(job, instant))
            }
        }
        return batch.actions
    }

    /// Fires everything that is due by now. If that is ahead of the clocks, what may still change
    /// until then waits for its own instant.
    mutating func fireDue(at now: Now) -> Batch {
        var batch = Batch()
        var early: [Int] = []
        // Jobs that are due but could still wait (`accuracy`) fire in this wake-up too, which saves a
        // wake-up of their own.
        while let slot = alarms.nextDue(at: now) {
            if isTooEarly(slot, at: now) {
                early.append(slot)
                alarms.remove(slot)
            } else {
                fire(slot, at: now, into: &batch)
            }
        }
        for slot in early {
            guard var entry = entries[slot] else { continue }
            batch.fired.insert(slot)
            batch.timers += updateTimer(slot, &entry, at: now)
        }
        while let slot = alarms.nextRetry(at: now) {
            release(slot, at: now, into: &batch)
            runDueChain(slot, at: now, into: &batch)
        }
        return batch
    }

    /// Whether the job is due only by a reading that is ahead of the clocks, and must not fire as
    /// of that.
    private func isTooEarly(_ slot: Int, at now: Now) -> Bool {
        guard ahead > .zero, let entry = entries[slot], !mayFireAhead(slot, entry) else {
            return false
        }
        return alarms[slot].map { $0.left(at: now) > .zero - ahead } ?? false
    }

    /// Whether the next firing of this job may be decided a moment before it is due. Not if a run
    /// is active that can prevent it and may end until then; and neither the end of a pause nor a
    /// firing that is the fleet's.
    public func mayFireAhead(_ job: Job.Name) -> Bool {
        guard let slot = slot(of: job), let entry = entries[slot] else { return false }
        return mayFireAhead(slot, entry)
    }

    private func mayFireAhead(_ slot: Int, _ entry: JobEntry) -> Bool {
        // A run that holds a slot may end until then, and a condition is one of the instant itself.
        guard entry.phase == .armed, !entry.isShared, entry.job.policy.slots.isEmpty,
            !entry.job.execution.hasCondition,
            case .start = admission(of: .due, slot, entry)
        else { return false }
        return true
    }

    /// Takes one job out of the queues and fires it, or ends its pause.
    mutating func fire(_ slot: Int, at now: Now, into batch: inout Batch) {
        guard var entry = entries[slot] else {
            alarms.remove(slot)
            return
        }
        batch.fired.insert(slot)
        if isToBeHeld(slot, entry, at: now) { return holdUp(slot) }
        let wasHeld = hold.release(slot)
        if case .paused(let pause) = entry.phase {
            if pause.isOfHold {
                // Its timer was set before the hold.
                batch.timers += updateTimer(slot, &entry, at: now)
                return
            }
            unpause(slot, &entry, pause, by: .pauseEnd, at: now, into: &batch)
            batch.records.append(entry.record(at: now, ahead: ahead, instance: instance))
            entries[slot] = entry
            return
        }
        if entry.awaitsWindow(at: now.wall) {
            // It closed while the job could not fire, or what counts by another clock was early.
            alarms.remove(slot)
            batch.timers += updateTimer(slot, &entry, at: now)
            return
        }
        let points: DueOccurrences? =
            if case .wall(let schedule) = entry.job.schedule {
                entry.passOccurrences(of: schedule, at: now)
            } else {
                entry.passGridPoints(at: now)
            }
        guard let points else {
            // The two clocks are read one after the other and differ a little, so nothing was due.
            // The timer is set again, a moment later.
            alarms.remove(slot)
            batch.timers += updateTimer(slot, &entry, at: now, notBefore: now)
            entries[slot] = entry
            return
        }
        if case .after = entry.job.schedule { entry.phase = .finished }
        // The timer is updated first, so that the notices name the right next firing. But a job that
        // counts from the end of its runs only has a timer if no run is made.
        if !entry.countsFromEnd { batch.timers += updateTimer(slot, &entry, at: now) }
        if let points = entry.allowed(points) {
            make(points, slot, &entry, wasHeld: wasHeld, at: now, into: &batch)
        }
        if entry.countsFromEnd { batch.timers += updateTimer(slot, &entry, at: now) }
        if entry.phase == .finished { batch.notices.append(.log(entry.finished)) }
        batch.records.append(entry.record(at: now, ahead: ahead, instance: instance))
        entries[slot] = entry
    }

    /// Makes firings of the occurrences that are due, as the policy of the job says.
    ///
    /// - Parameter wasHeld: whether these firings were delayed because a run of the job was not
    ///   recorded yet. Then they are caught up after that run.
    private mutating func make(
        _ passed: DueOccurrences, _ slot: Int, _ entry: inout JobEntry, wasHeld: Bool, at now: Now,
        into batch: inout Batch
    ) {
        // Not all of the policy is copied: this is done at each firing.
        let accuracy = entry.job.policy.accuracy
        var points = passed
        if let ageMax = entry.job.policy.ageMax {
            let old = points.count(olderThan: ageMax)
            if old > 0 { skipOverdue(old, of: points, slot, &entry, at: now, into: &batch) }
            guard let rest = points.dropping(old) else { return }
            points = rest
        }
        let missed = countMissed(points, accuracy: accuracy, wasHeld: wasHeld, at: now)
        let catchUp = entry.job.policy.catchUp(
            of: points.count, missed: missed, isDelayed: wasHeld)
        switch catchUp {
        case .each(let surplus):
            makeEach(
                points, missed: missed, surplus: surplus, slot, &entry, wasHeld: wasHeld, at: now,
                into: &batch)
        case .together:
            makeOne(
                points, slot, &entry, wasHeld: wasHeld, at: now,
                cause: missed > 0 ? .catchUp : .schedule, into: &batch)
        case .skipMissed:
            let firing = entry.firing(points[0], missed: missed - 1, at: now)
            skip(firing, .missed, &entry, at: now, into: &batch)
            guard let rest = points.dropping(missed) else { return }
            makeOne(rest, slot, &entry, wasHeld: wasHeld, at: now, into: &batch)
        }
    }

    /// Makes one firing for all these occurrences: the first one is its scheduled instant, and the
    /// others count as missed.
    private mutating func makeOne(
        _ points: DueOccurrences, _ slot: Int, _ entry: inout JobEntry, wasHeld: Bool, at now: Now,
        cause: Firing.Cause = .schedule, into batch: inout Batch
    ) {
        let firing = entry.firing(points[0], missed: points.count - 1, at: now, cause: cause)
        let late = max(.zero, points[0].age - entry.job.policy.accuracy)
        let candidate: Candidate = cause == .catchUp ? .missed : .due
        begin(
            firing, late: late, slot, &entry, as: wasHeld ? .caughtUp(after: nil) : candidate,
            at: now, into: &batch)
    }

    /// Makes one firing for each of these occurrences, except for the first ones that are too many.
    ///
    /// - Parameter missed: how many of the first were missed.
    private mutating func makeEach(
        _ passed: DueOccurrences, missed: Int, surplus: Int, _ slot: Int, _ entry: inout JobEntry,
        wasHeld: Bool, at now: Now, into batch: inout Batch
    ) {
        if surplus > 0 {
            let firing = entry.firing(passed[0], missed: surplus - 1, at: now)
            skip(firing, .catchUpMax, &entry, at: now, into: &batch)
        }
        guard let points = passed.dropping(surplus) else { return }
        // With `forbid`, a run from before prevents all of these firings, unless they were delayed
        // because of it. One of these firings does not prevent the next one: the next one waits.
        let before = wasHeld ? nil : runs[slot].last { !$0.isDelayed }
        let candidate = Candidate.caughtUp(after: before?.id)
        for index in 0..<points.count {
            let firing = entry.firing(
                points[index], missed: 0, at: now,
                cause: index < missed - surplus ? .catchUp : .schedule)
            if before != nil,
                case .skip(let obstacle) = entry.job.policy.admission(
                    of: candidate, beside: runs[slot])
            {
                skip(firing, obstacle.skipReason, &entry, at: now, into: &batch)
                continue
            }
            begin(
                firing, late: points[index].age, slot, &entry, as: candidate, at: now,
                into: &batch)
        }
    }

    /// Skips the occurrences that are older than the starting deadline, and records that.
    private mutating func skipOverdue(
        _ count: Int, of points: DueOccurrences, _ slot: Int, _ entry: inout JobEntry, at now: Now,
        into batch: inout Batch
    ) {
        let firing = entry.firing(points[count - 1], missed: count - 1, at: now)
        skipOverdue(firing, slot, &entry, at: now, into: &batch)
    }

    /// Skips a firing that is older than the starting deadline, which is recorded as a run that failed.
    mutating func skipOverdue(
        _ firing: Firing, _ slot: Int, _ entry: inout JobEntry, at now: Now,
        into batch: inout Batch
    ) {
        let run = entry.run(firing)
        batch.runs.append(run)
        closeOverdue(run, slot, &entry, at: now, into: &batch)
    }

    mutating func skip(
        _ firing: Firing, _ reason: Notice.SkipReason, _ entry: inout JobEntry, at now: Now,
        into batch: inout Batch
    ) {
        counts.skips.add(reason)
        entry.outcomes.add(firing, reason, at: now.wall)
        batch.watch(notices(of: firing, reason, &entry))
        batch.notices.append(.log(.skipped(firing, reason)))
    }

    /// How many of the first occurrences were missed, which means that they were due while nothing
    /// could fire. Occurrences in a range that the wall clock was set past were not missed.
    private func countMissed(
        _ points: DueOccurrences, accuracy: Duration, wasHeld: Bool, at now: Now
    ) -> Int {
        let bound = Lateness.missedAge(
            sinceDowntime: now.boot - clocks.downtimeEnd.boot, wasHeld: wasHeld)
        let count = points.count(olderThan: bound + accuracy)
        guard count > 0, let skippedWallRange = clocks.skippedWallRange,
            skippedWallRange.through <= now.wall
        else {
            return count
        }
        func due(_ index: Int) -> WallInstant { now.wall - points[index].age }
        // More than `DueOccurrences.max` occurrences are always a grid, so they are ordered by age. A
        // binary search is needed because there may be billions of them.
        if count > DueOccurrences.max {
            var (first, end) = (0, count)
            while first < end {
                let middle = first + (end - first) / 2
                if due(middle) > skippedWallRange.after { end = middle } else { first = middle + 1 }
            }
            return first < count && due(first) <= skippedWallRange.through ? first : count
        }
        return (0..<count).first { index in
            due(index) > skippedWallRange.after && due(index) <= skippedWallRange.through
        } ?? count
    }
}

extension JobEntry {
    /// The firing of one occurrence, with a scheduled time that no earlier firing of the job has.
    mutating func firing(
        _ point: DueOccurrences.Point, missed: Int, at now: Now, cause: Firing.Cause = .schedule
    ) -> Firing {
        Firing(
            id: Firing.ID(job: job.name, scheduled: schedule(at: point.scheduled)), missed: missed,
            active: active(at: now), cause: cause)
    }
}
