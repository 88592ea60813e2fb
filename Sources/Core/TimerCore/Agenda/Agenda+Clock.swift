// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// A change of the wall clock by at least this much is a correction: the time before was wrong.
    /// Occurrences in a skipped range are neither missed nor done, and occurrences that are in the
    /// future again fire again, also those of a finished job. A smaller change is handled like
    /// daylight saving time: after a step forward the skipped occurrences are caught up once, and
    /// after a step back no occurrence fires twice (cron(8) of Debian).
    public static let correctionMin: Duration = .seconds(3 * 3600)
    /// A smaller difference between the clocks is not a step: the clocks are read one after the
    /// other, and NTP slews the wall clock.
    static let stepMin: Duration = .milliseconds(500)

    /// By how much the wall clock was set since the last event, measured against CLOCK_BOOTTIME,
    /// which cannot be set. Nil if it was not set.
    public func step(at now: Now) -> Duration? {
        now.step(since: clocks.last)
    }

    /// Whether a timer may be wrong because the wall clock was set or the machine slept. No timer
    /// expires when that happens.
    public func clocksJumped(at now: Now) -> Bool {
        let change = clocks.change(until: now)
        return change.slept || change.step != nil
    }

    /// Records that the wall clock was set or that the machine slept, and adjusts the timers.
    mutating func noteClocks(at now: Now) -> [Action] {
        let change = clocks.note(now, ahead: ahead)
        var actions: [Action] = []
        if change.slept { actions += applySleep(at: now) }
        if change.slept || change.step != nil { actions += retimeWindows(at: now) }
        guard let step = change.step else { return actions }
        noteChangeOfAll()
        let isCorrection = step.length >= Self.correctionMin
        if isCorrection { actions += correct(by: step, at: now) }
        counts.addStep(isCorrection: isCorrection)
        return actions + [.log(.clockStepped(by: step, isCorrection: isCorrection))]
    }

    /// Sets the timers of jobs again whose time counts while the machine sleeps. The sleep brought
    /// their grid points closer, but CLOCK_MONOTONIC, by which the timers run, did not advance.
    private mutating func applySleep(at now: Now) -> [Action] {
        var timers: [Action] = []
        for slot in entries.order {
            guard var entry = entries[slot], entry.ledger.isOpen,
                entry.job.count == .boottime || entry.job.count == .wall
            else { continue }
            timers += updateTimer(slot, &entry, at: now)
        }
        return timers
    }

    /// Continues from the new time, because the old time was wrong.
    private mutating func correct(by step: Duration, at now: Now) -> [Action] {
        var batch = Batch()
        var records: [JobRecord] = []
        for slot in entries.order {
            guard var entry = entries[slot] else { continue }
            let before = entry
            entry.correctOccurrences(to: now.wall, isBackward: step < .zero)
            if step < .zero, entry.job.schedule.isByWallClock || entry.job.validity != nil {
                entry.leaveFinishedIfRecurring(at: now)
            }
            batch.timers += updateTimer(slot, &entry, at: now)
            switch (before.phase, entry.phase) {
            case (.armed, .finished): noteSetPast(&entry, before, at: now, into: &batch)
            case (.finished, .armed): batch.notices.append(.log(entry.scheduledAgain(at: now)))
            default: break
            }
            // Without this record, a daemon that starts later would search for occurrences after
            // the wrong time.
            records.append(entry.record(at: now, ahead: ahead, instance: instance))
            entries[slot] = entry
        }
        return batch.timers + batch.notices
            + (records.isEmpty ? [] : [.save(records, durable: true)]) + batch.decided
    }

    /// Reports a skipped run of a job whose remaining occurrences were all in the range that the
    /// clock was set past.
    private mutating func noteSetPast(
        _ entry: inout JobEntry, _ before: JobEntry, at now: Now, into batch: inout Batch
    ) {
        guard case .wall(let schedule) = before.job.schedule, let first = before.occurrence else {
            return
        }
        var count = 1
        var last = first
        while count < DueOccurrences.max, let next = before.occurrence(after: last, schedule),
            next <= now.wall
        {
            last = next
            count += 1
        }
        let id = Firing.ID(job: before.job.name, scheduled: first)
        let firing = Firing(id: id, missed: count - 1, active: before.active(at: now))
        skip(firing, .clockSet, &entry, at: now, into: &batch)
        batch.notices.append(.log(before.finished))
    }

    /// Fires what is due by the clocks as they are now, and sets all wall clock timers again.
    mutating func applyClockChange(at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        var actions = fireDue(at: now).actions
        if let end = holdAlarm { actions.append(.armHold(end)) }
        for slot in entries.order {
            guard case .wall(let instant) = alarms[slot], let entry = entries[slot] else {
                continue
            }
            actions.append(.armAt(entry.job.name, instant))
        }
        return actions
    }

    /// The names of all time zones that schedules use, except the zone of the machine.
    /// - Complexity: O(*n*) in the number of jobs.
    public var zoneNames: [String] {
        var names: Set<String> = []
        for slot in entries.order {
            guard let job = entries[slot]?.job else { continue }
            if let zone = job.window?.zone, !zone.isLocal { names.insert(zone.name) }
            guard case .wall(let schedule) = job.schedule else { continue }
            for zone in schedule.zones where !zone.isLocal { names.insert(zone.name) }
        }
        return names.sorted()
    }

    /// Applies the current rules of time zones to the schedules. A schedule whose zones did not
    /// change keeps its timer, and a zone that is not given keeps its rules.
    mutating func applyZoneChange(
        _ zones: [String: ZoneRules], local: ZoneRules?, at now: Now
    ) -> [Action] {
        guard !isShutDown else { return [] }
        var timers: [Action] = []
        var changed: [Job.Name] = []
        for slot in entries.order {
            guard var entry = entries[slot],
                entry.job.replaceZones({ $0.isLocal ? local : zones[$0.name] })
            else { continue }
            if case .wall = entry.job.schedule {
                if !entry.isDueThisBoot {
                    entry.progress.pass(entry.startedThrough(now.wall))
                }
                entry.dropOccurrence()
            }
            timers += updateTimer(slot, &entry, at: now)
            if entry.job.window != nil { timers += updateRetryTimer(slot, entry) }
            entries[slot] = entry
            changed.append(entry.job.name)
        }
        return changed.isEmpty ? [] : timers + [.log(.zonesChanged(changed))]
    }
}

extension Schedule {
    fileprivate var isByWallClock: Bool { if case .wall = self { true } else { false } }
}

extension JobEntry {
    /// The notice about a job for which no more runs are scheduled, in this boot or at all.
    var finished: Notice {
        .finished(
            job.name, firesAtBoot: job.schedule.isOncePerBoot && !isSpent,
            after: isSpent ? job.limit : nil)
    }

    /// Restarts the search for occurrences after an instant of the new time, because the time
    /// before was wrong.
    mutating func correctOccurrences(to instant: WallInstant, isBackward: Bool) {
        // The scheduled times of firings follow the new time too. Otherwise they would be ahead of
        // it for as long as the clock was wrong.
        lastScheduled = nil
        // An occurrence that comes again after the clock was set back is a new firing.
        if isBackward { clockEpoch += 1 }
        progress.restart(after: instant)
        // The firing at boot has no calendar time: it is still due at once, by the new time.
        if isDueThisBoot, !job.schedule.isSinceBoot {
            progress.expect(instant + .microseconds(1))
        }
    }

    /// The notice about a finished job that has occurrences again.
    func scheduledAgain(at now: Now) -> Notice {
        .started(job.name, by: .clockCorrection, remaining: remaining(at: now))
    }
}
