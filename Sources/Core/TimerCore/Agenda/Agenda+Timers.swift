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
        switch entry.phase {
        case .armed where !isShutDown && !entry.isShared: entry.ledger.open(at: counted)
        case .armed, .paused, .stopped, .finished: entry.ledger.close(at: counted)
        }
        if case .wall(let schedule) = entry.job.schedule {
            updateOccurrence(&entry, schedule, at: now)
        } else if !isShutDown {
            entry.finishUnlessDueThisBoot(at: now)
        }
        counting += (entry.ledger.isOpen ? 1 : 0) - (wasOpen ? 1 : 0)
        entries[slot] = entry
        noteChange(slot, entry)

        let old = (awake: due[slot], wall: wallDue[slot])
        var new: (awake: AwakeInstant?, wall: WallInstant?) = (nil, nil)
        var early = new
        let accuracy = entry.job.policy.accuracy
        if isShutDown {
            // After the shutdown no timer is set.
        } else if case .paused(let pause) = entry.phase {
            new.wall = pause.until
        } else if let instant = entry.dueInstant(at: now) {
            let first = max(instant, notBefore.map { $0.awake + .nanoseconds(1) } ?? instant)
            early.awake = first
            new.awake = first + accuracy
        } else if entry.phase == .armed, let instant = entry.dueOccurrence {
            early.wall = instant
            new.wall = instant + accuracy
        }
        if accuracy == .zero { early = (nil, nil) }
        // The clocks are read one after the other, so the result varies a little. A difference
        // below 1 ms does not move the timer.
        if let before = old.awake, let after = new.awake, notBefore == nil, !isNewSchedule,
            entry.counted(at: now).nanoseconds != now.awake.nanoseconds,
            before - after < .milliseconds(1), after - before < .milliseconds(1)
        {
            new.awake = before
        }
        return setTimer(of: entry.job.name, slot, from: old, to: new, early)
    }

    private mutating func setTimer(
        of job: Job.Name, _ slot: Int, from old: (awake: AwakeInstant?, wall: WallInstant?),
        to new: (awake: AwakeInstant?, wall: WallInstant?),
        _ early: (awake: AwakeInstant?, wall: WallInstant?)
    ) -> [Action] {
        due.put(slot, latest: new.awake, due: early.awake)
        wallDue.put(slot, latest: new.wall, due: early.wall)
        if let instant = new.awake { return instant == old.awake ? [] : [.arm(job, instant)] }
        if let instant = new.wall { return instant == old.wall ? [] : [.armAt(job, instant)] }
        return old.awake == nil && old.wall == nil ? [] : [.disarm(job)]
    }

    /// Finds the next occurrence of an armed job. A job without one is finished.
    private mutating func updateOccurrence(
        _ entry: inout JobEntry, _ schedule: WallSchedule, at now: Now
    ) {
        guard entry.phase == .armed, !entry.isShared else {
            entry.occurrence = nil
            entry.isDueThisBoot = false
            return
        }
        guard !isShutDown else { return }
        if entry.occurrence == nil {
            entry.occurrence = entry.occurrence(after: entry.processedThrough, schedule)
        }
        guard entry.occurrence == nil else { return }
        entry.phase = .finished
        entry.ledger.close(at: entry.counted(at: now))
    }

    /// Takes the job out of the queues, without cancelling its timer.
    mutating func unqueue(_ slot: Int) {
        due.remove(slot)
        wallDue.remove(slot)
    }

    /// Sets the timer of the next retry of the job.
    mutating func updateRetryTimer(_ slot: Int, _ entry: JobEntry) -> [Action] {
        let old = retryDue[slot]
        var new: AwakeInstant?
        if !isShutDown, !entry.phase.isPaused { new = runs[slot].compactMap(\.retryAt).min() }
        guard new != old else { return [] }
        if let new { retryDue.set(slot, due: new) } else { retryDue.remove(slot) }
        return [new.map { .armRetry(entry.job.name, $0) } ?? .disarmRetry(entry.job.name)]
    }
}

extension JobEntry {
    /// When the next grid point is due by CLOCK_MONOTONIC; nil while nothing counts, and for a
    /// schedule by the wall clock.
    fileprivate func dueInstant(at now: Now) -> AwakeInstant? {
        guard let dueTarget, let instant = ledger.instant(reaching: dueTarget) else { return nil }
        switch job.count {
        case .active, .uptime: return AwakeInstant(nanoseconds: instant.nanoseconds)
        case .boottime, .wall: return now.awake(at: instant, job.count)
        }
    }
}

extension Phase {
    var isPaused: Bool { if case .paused = self { true } else { false } }
}

extension AlarmQueue {
    /// Adds or moves the slot in the queue, or removes it.
    fileprivate mutating func put(_ slot: Int, latest: Instant?, due: Instant?) {
        if let latest { set(slot, latest: latest, due: due) } else { remove(slot) }
    }
}
