// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// From here on a step of the calendar clock is a correction: the new time counts, and what lies between
    /// is neither missed nor done. Occurrences that come again are fired again, also by a job that was finished. Below, it is treated as daylight saving time is: a step forward is
    /// caught up with once, and after one back nothing is done twice (cron(8) of Debian).
    public static let correctionMin: Duration = .seconds(3 * 3600)
    /// Below this a difference of the clocks is no step: they are read one after the other, and slewed.
    static let stepMin: Duration = .milliseconds(500)

    /// By how much the calendar clock was set since the last event: it moved otherwise than the clock that
    /// nobody sets. Nil if it was not.
    public func step(at now: Now) -> Duration? {
        lastNow.flatMap { now.step(since: $0) }
    }

    /// Whether the clocks tell of something no timer rings for: the calendar clock was set, or the machine
    /// slept.
    public func isStirred(at now: Now) -> Bool {
        guard let lastNow, lastNow.bootID == now.bootID else { return false }
        return step(at: now) != nil || now.slept(since: lastNow) >= Self.stepMin
    }

    /// Takes note of a step of the calendar clock and of a sleep of the machine, if there was one.
    mutating func noteClocks(at now: Now) -> [Action] {
        let step = step(at: now)
        lastStep = step ?? .zero
        previousNow = lastNow
        lastNow = now
        guard let previousNow, previousNow.bootID == now.bootID else { return [] }
        var actions: [Action] = []
        if now.slept(since: previousNow) >= Self.stepMin {
            darkUntil = now
            actions += followSleep(at: now)
        }
        guard let step else { return actions }
        let isCorrection = step.length >= Self.correctionMin
        if isCorrection {
            actions += correct(by: step, at: now)
        } else if step > .zero {
            steppedOver = (after: now.wall - step, through: now.wall)
        }
        return actions + [.tell(.clockStepped(by: step, isCorrection: isCorrection))]
    }

    /// Time that counts while the machine sleeps has come nearer to its grid points than the timers know.
    private mutating func followSleep(at now: Now) -> [Action] {
        var timers: [Action] = []
        for slot in jobSlots {
            guard var entry = entries[slot], entry.ledger.isOpen,
                entry.job.count == .boottime || entry.job.count == .wall
            else { continue }
            timers += updateTimer(slot, &entry, at: now)
        }
        return timers
    }

    /// Goes on from the new time, since the old one was wrong.
    private mutating func correct(by step: Duration, at now: Now) -> [Action] {
        steppedOver = nil
        var batch = Batch()
        var records: [JobRecord] = []
        for slot in jobSlots {
            guard var entry = entries[slot] else { continue }
            let before = entry
            entry.correctOccurrences(to: now.wall, isBackward: step < .zero)
            if step < .zero, case .wall = entry.job.schedule {
                entry.leaveFinishedIfRecurring(at: now)
            }
            batch.timers += updateTimer(slot, &entry, at: now)
            switch (before.phase, entry.phase) {
            case (.armed, .finished): noteSetPast(&entry, before, at: now, into: &batch)
            case (.finished, .armed): batch.notices.append(.tell(entry.scheduledAgain(at: now)))
            default: break
            }
            // A daemon that starts later would look for occurrences by the old time.
            records.append(entry.record(at: now, life: life))
            entries[slot] = entry
        }
        return batch.timers + batch.notices
            + (records.isEmpty ? [] : [.save(records, durable: true)])
    }

    /// The clock was set past the last occurrences of a job.
    private func noteSetPast(
        _ entry: inout JobEntry, _ before: JobEntry, at now: Now, into batch: inout Batch
    ) {
        guard case .wall(let schedule) = before.job.schedule, let first = before.occurrence else {
            return
        }
        var count = 1
        var last = first
        while count < Points.max, let next = before.occurrence(after: last, schedule),
            next <= now.wall
        {
            last = next
            count += 1
        }
        let id = Firing.ID(job: before.job.name, scheduled: first)
        let firing = Firing(id: id, missed: count - 1, active: before.active(at: now))
        letGo(firing, .clockSet, &entry, at: now, into: &batch)
        batch.notices.append(.tell(before.finished))
    }

    /// Fires what is due by the clocks as they are now, and sets every timer of the calendar clock again.
    mutating func followClock(at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        var actions = fireDue(at: now).actions
        for slot in jobSlots {
            guard let instant = wallDue[slot], let entry = entries[slot] else { continue }
            actions.append(.armAt(entry.job.name, instant))
        }
        return actions
    }

    /// The names of all zones that schedules go by, the machine's own apart.
    /// - Complexity: O(*n*) in the number of jobs.
    public var zoneNames: [String] {
        var names: Set<String> = []
        for slot in jobSlots {
            guard case .wall(let schedule) = entries[slot]?.job.schedule else { continue }
            for zone in schedule.zones where !zone.isLocal { names.insert(zone.name) }
        }
        return names.sorted()
    }

    /// Has the schedules go by the zones as they are now; one whose zones are the same is not touched. A zone
    /// that is not given stays as it was.
    mutating func followZones(
        _ zones: [String: ZoneRules], local: ZoneRules?, at now: Now
    ) -> [Action] {
        guard !isShutDown else { return [] }
        var timers: [Action] = []
        var changed: [Job.Name] = []
        for slot in jobSlots {
            guard var entry = entries[slot], case .wall(var schedule) = entry.job.schedule,
                schedule.replaceZones({ $0.isLocal ? local : zones[$0.name] })
            else { continue }
            entry.job.schedule = .wall(schedule)
            if !entry.isDueThisBoot { entry.seen = max(entry.seen, now.wall) }
            entry.dropOccurrence()
            timers += updateTimer(slot, &entry, at: now)
            entries[slot] = entry
            changed.append(entry.job.name)
        }
        return changed.isEmpty ? [] : timers + [.tell(.zonesChanged(changed))]
    }

    /// The places of the jobs in the configuration. They change when a reload is finished.
    public var places: Range<Int> { jobSlots.indices }

    /// Writes down the accounts of the jobs in these places whose time counts.
    mutating func checkpoint(of places: Range<Int>, at now: Now) -> [Action] {
        var records: [JobRecord] = []
        for slot in jobSlots[places.clamped(to: jobSlots.indices)]
        where entries[slot]?.ledger.isOpen == true {
            if let record = entries[slot]?.record(at: now, life: life) { records.append(record) }
        }
        return records.isEmpty ? [] : [.save(records, durable: false)]
    }

    /// Closes every ledger and takes every timer down. Runs go on and their ends are still taken.
    mutating func shutDown(at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        let wereCounting = counting
        isShutDown = true
        // The rest of it is what the next start finds.
        reloading = nil
        var timers: [Action] = []
        var records: [JobRecord] = []
        for slot in jobSlots {
            guard var entry = entries[slot] else { continue }
            timers += updateTimer(slot, &entry, at: now) + updateRetryTimer(slot, entry)
            records.append(entry.record(at: now, life: life))
            entries[slot] = entry
        }
        return timers + [
            .save(records, durable: true),
            .tell(.shutDown(counting: wereCounting, live: runs.startedCount)),
        ]
    }
}

extension Now {
    /// By how much the calendar clock was set since an earlier reading: it moved otherwise than the clock that
    /// nobody sets. Nil if it was not, or where no clock can tell.
    func step(since earlier: Now) -> Duration? {
        guard earlier.bootID == bootID else { return nil }
        let step = (wall - earlier.wall) - (boot - earlier.boot)
        return step.length >= Agenda.stepMin ? step : nil
    }
}

extension Duration {
    /// How long it is, whichever way it goes.
    var length: Duration { self < .zero ? .zero - self : self }
}

extension JobEntry {
    /// What is told of a job that has fired for the last time, in this boot or for ever.
    var finished: Notice { .finished(job.name, firesAtBoot: job.schedule.isOncePerBoot) }

    /// Makes the occurrences go on after an instant of the new time, since the time before was wrong.
    mutating func correctOccurrences(to instant: WallInstant, isBackward: Bool) {
        // Labels of firings follow the new time too, or they would stay ahead of it for as long as it was wrong.
        lastScheduled = nil
        // Occurrences that are there again by a clock set back are other firings than the first time.
        if isBackward { corrections += 1 }
        seen = instant
        occurrence = nil
        // Not at a time of the calendar: it is due as it was, by the new time.
        if isDueThisBoot, !job.schedule.isSinceBoot { occurrence = instant + .microseconds(1) }
    }

    /// The notice about a finished job that has occurrences again.
    func scheduledAgain(at now: Now) -> Notice {
        .started(job.name, by: .clockCorrection, remaining: remaining(at: now))
    }
}
