// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// Updates the ledger, the queues and the timer for the phase of the entry, and stores the
    /// entry.
    ///
    /// - Parameters:
    ///   - notBefore: if the timer would expire in the past although nothing is due, it is set to
    ///     just after this reading.
    ///   - isNewSchedule: whether the job has another schedule than when its timer was set.
    /// - Returns: the action that changes the timer, if its instant changed.
    mutating func updateTimer(
        _ slot: Int, _ entry: inout JobEntry, at now: Now, notBefore: Now? = nil,
        isNewSchedule: Bool = false
    ) -> [Action] {
        let wasOpen = entry.ledger.isOpen
        let counted = entry.counted(at: now)
        // A job that was added or started during a hold.
        if entries.isHeld, entry.phase == .armed, !entry.isShared, let hold = entries.hold {
            entry.phase = .paused(hold.pause(since: now.wall))
        }
        if entry.isSpent, entry.phase == .armed { entry.phase = .finished }
        switch entry.phase {
        case .armed where !isShutDown && !entry.isShared: entry.ledger.open(at: counted)
        case .armed, .paused, .stopped, .finished: entry.ledger.close(at: counted)
        }
        if case .wall(let schedule) = entry.job.schedule {
            updateOccurrence(&entry, schedule, at: now)
        } else if !isShutDown {
            entry.finishUnlessDueThisBoot(at: now)
            entry.finishIfOver(at: now)
        }
        entries.noteLedger(wasOpen: wasOpen, isOpen: entry.ledger.isOpen)
        entries[slot] = entry
        noteChange(slot, entry)

        let old = alarms[slot]
        var new: Alarm?
        var due: Alarm?
        let accuracy = entry.job.policy.accuracy
        if isShutDown {
            // After the shutdown no timer is set.
        } else if case .paused(let pause) = entry.phase {
            new = pause.isOfHold ? nil : pause.until.map { .wall($0) }
        } else {
            switch entry.dueAlarm(at: now) {
            case .awake(let instant):
                let first = max(instant, notBefore.map { $0.awake + .nanoseconds(1) } ?? instant)
                due = .awake(first)
                new = .awake(first + accuracy)
            case .wall(let instant):
                due = .wall(instant)
                new = .wall(instant + accuracy)
            case nil: break
            }
        }
        if accuracy == .zero { due = nil }
        // The clocks are read one after the other, so the result varies a little. A difference
        // below 1 ms does not move the timer.
        if case .awake(let before) = old, case .awake(let after) = new, notBefore == nil,
            !isNewSchedule, entry.counted(at: now).nanoseconds != now.awake.nanoseconds,
            before - after < .milliseconds(1), after - before < .milliseconds(1)
        {
            new = old
        }
        alarms.set(slot, to: new, due: due)
        guard new != old else { return [] }
        return [new?.action(for: entry.job.name) ?? .disarm(entry.job.name)]
    }

    /// Finds the next occurrence of an armed job. A job without one is finished.
    private mutating func updateOccurrence(
        _ entry: inout JobEntry, _ schedule: WallSchedule, at now: Now
    ) {
        guard entry.phase == .armed, !entry.isShared else {
            entry.progress.expect(nil)
            entry.isDueThisBoot = false
            return
        }
        guard !isShutDown else { return }
        if entry.occurrence == nil {
            entry.progress.expect(entry.occurrence(after: entry.processedThrough, schedule))
        }
        guard entry.occurrence == nil else { return }
        entry.phase = .finished
        entry.ledger.close(at: entry.counted(at: now))
    }

    /// Sets the second timer of the job: of its next retry, of a run after a delay (`follows`), or of the
    /// next check of a condition. In a pause it is only for what a user has requested.
    mutating func updateRetryTimer(_ slot: Int, _ entry: JobEntry) -> [Action] {
        var new: AwakeInstant?
        if !isShutDown, !isSuspended(entry) {
            new = runs[slot].compactMap(\.startsAt).min()
            if let due = entry.chainDue { new = min(new ?? due, due) }
        }
        if !isShutDown { new = windowTimer(slot, entry, next: new) }
        if !isShutDown, runs.conditionCount > 0 {
            let isHeldBack = isHeldBack(entry, at: clocks.last)
            for run in runs[slot] where !isHeldBack || run.isRequested {
                if let at = run.checkedAgainAt { new = min(new ?? at, at) }
            }
        }
        guard new != alarms.retry(of: slot) else { return [] }
        alarms.setRetry(slot, to: new)
        return [new.map { .armRetry(entry.job.name, $0) } ?? .disarmRetry(entry.job.name)]
    }

    /// Updates the intervals of the jobs whose runs changed: those without a run any more restart
    /// their interval, and those that have one wait for its end.
    ///
    /// - Returns: the timers that changed, and the records of these jobs.
    mutating func settleIntervals(at now: Now) -> (timers: [Action], records: [JobRecord]) {
        var timers: [Action] = []
        var records: [JobRecord] = []
        for slot in runs.takeChanged() {
            guard var entry = entries[slot] else { continue }
            let waits = entry.countsFromEnd && !runs[slot].isEmpty
            guard waits != entry.endWait.isWaiting else {
                // The timer was set before the run was made.
                if waits, alarms[slot] != nil {
                    timers += updateTimer(slot, &entry, at: now)
                }
                continue
            }
            if waits {
                entry.awaitEnd(at: now)
            } else if entry.countsFromEnd {
                entry.restartInterval(
                    after: entry.lastRun?.ended, since: clocks.startedAt, step: clocks.lastStep,
                    at: now)
            } else {
                entry.endWait.end()
            }
            timers += updateTimer(slot, &entry, at: now, isNewSchedule: true)
            records.append(entry.record(at: now, ahead: ahead, instance: instance))
            entries[slot] = entry
        }
        return (timers, records)
    }

    /// Follows the runs of a job whose interval is counted from their end, or was.
    mutating func followEnds(_ slot: Int, _ entry: JobEntry) {
        if entry.countsFromEnd || entry.endWait.isWaiting { runs.follow(slot) }
    }
}

extension JobEntry {
    /// When the next firing of an armed job is due: by CLOCK_MONOTONIC for counted time, and by the wall
    /// clock for a schedule by that, and for a firing that waits for the window. Nil if there is none,
    /// or while nothing counts.
    func dueAlarm(at now: Now) -> Alarm? {
        if let instant = dueInstant(at: now) {
            guard job.hasLimitedPoints, let target else { return .awake(instant) }
            return dueAlarm(counted: instant, delay: (dueTarget ?? target) - target, at: now)
        }
        guard phase == .armed, let due = dueOccurrence else { return nil }
        return .wall(start(ofDue: due, at: now))
    }

    /// The same for a job whose next grid point would be due at this instant, after its delay, if nothing
    /// limited its points.
    private func dueAlarm(counted instant: AwakeInstant, delay: Duration, at now: Now) -> Alarm {
        let point = now.wall + (instant - now.awake) - delay
        let skipped = spanOutsideWindow(from: point)
        let due = point + skipped + delay
        let start = start(ofDue: start(of: point + skipped, delay: delay), at: now)
        return start <= due ? .awake(instant + skipped) : .wall(start)
    }

    /// When the next grid point is due by CLOCK_MONOTONIC; nil while nothing counts, and for a
    /// schedule by the wall clock.
    private func dueInstant(at now: Now) -> AwakeInstant? {
        guard let dueTarget, let instant = ledger.instant(reaching: dueTarget) else { return nil }
        switch job.count {
        case .active, .uptime: return AwakeInstant(nanoseconds: instant.nanoseconds)
        case .boottime, .wall: return now.awake(at: instant, job.count)
        }
    }
}

extension Phase {
    package var isPaused: Bool { if case .paused = self { true } else { false } }
}
