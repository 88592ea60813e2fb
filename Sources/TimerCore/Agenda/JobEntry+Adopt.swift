// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension JobEntry {
    /// Takes up the account a record holds.
    mutating func adopt(_ record: JobRecord, at now: Now) {
        ledger = Ledger(active: record.active, accrued: record.accrued)
        uncertain = record.uncertain
        skips = record.skips
        corrections = record.corrections
        phase = record.phase
        firings = record.firings
        lastScheduled = record.lastScheduled
        configuredPaused = record.configuredPaused
        // What passed since is missed, but for the time in which the configuration did not name the job. A
        // reading far in the future was wrong, and occurrences that are there again are other firings.
        let last = record.seen ?? max(record.lastScheduled ?? record.at.wall, record.at.wall)
        seen = record.removed == nil ? last : max(last, now.wall)
        followCorrection(since: record, at: now)
        if case .paused(let pause) = phase { noteEnd(of: pause, since: record, at: now) }
        // A life that begins takes its schedule up without looking back at what the pause held.
        if follow(configuredPaused: job.paused, at: now) != nil { seen = max(seen, now.wall) }
        leaveFinishedIfRecurring(at: now)
    }

    /// Follows a correction of the wall clock since the record was taken: as if the daemon had seen it, where one
    /// boot's clocks tell of it, and else only if the record lies so far in the future that its time was wrong.
    private mutating func followCorrection(since record: JobRecord, at now: Now) {
        let passed = now.boot - record.at.boot
        if record.at.bootID == now.bootID {
            let step = (now.wall - record.at.wall) - passed
            if step.length >= Agenda.correctionMin {
                // What the daemon missed since it was gone, it missed by the new time.
                let since = record.removed == nil ? now.wall - max(.zero, passed) : now.wall
                return correctOccurrences(to: since, isBackward: step < .zero)
            }
        }
        guard seen - now.wall >= Agenda.correctionMin else { return }
        correctOccurrences(to: now.wall, isBackward: true)
    }

    /// What counted since a pause ended by itself while no daemon ran. The pause is ended when its timer
    /// rings, at once. Where a sleep or a set clock leaves it open how much lies after the end, it is the
    /// least there can be: time is never gained.
    private mutating func noteEnd(of pause: Pause, since record: JobRecord, at now: Now) {
        guard let until = pause.until, until <= now.wall, record.removed == nil else { return }
        let isSameBoot = record.at.bootID == now.bootID
        let booted = isSameBoot ? now.boot - record.at.boot : now.sinceBoot.boot
        let awake = isSameBoot ? now.awake - record.at.awake : now.sinceBoot.awake
        let step = isSameBoot ? (now.wall - record.at.wall) - booted : .zero
        let passed = now.wall - max(until, record.at.wall) - max(.zero, step)
        switch record.basis {
        case .active: break
        case .uptime: countedAfterPause = min(passed, booted) - (booted - awake)
        case .boottime: countedAfterPause = min(passed, booted)
        case .wall: countedAfterPause = isSameBoot ? min(passed, booted) : passed
        }
        countedAfterPause = max(.zero, countedAfterPause)
    }

    /// Follows `paused` in the configuration where it changed, and only there: what was ordered at run
    /// time holds against a configuration that says what it said before.
    ///
    /// - Returns: the pause that is over by it; the job is armed then.
    mutating func follow(configuredPaused: Bool, at now: Now) -> Pause? {
        guard configuredPaused != self.configuredPaused else { return nil }
        self.configuredPaused = configuredPaused
        switch (phase, configuredPaused) {
        case (.armed, true): phase = .paused(Pause(since: now.wall, by: .configuration))
        case (.paused(let pause), false) where pause.by == .configuration:
            phase = .armed
            return pause
        case (.armed, false), (.paused, _), (.stopped, _), (.finished, _): break
        }
        return nil
    }

    /// A job that was to fire once and fired, and whose schedule recurs now, begins at zero.
    mutating func leaveFinishedIfRecurring(at now: Now) {
        switch job.schedule {
        case .after, .onBoot: return
        case .wall(let schedule) where occurrence == nil && schedule.next(after: seen) == nil:
            return
        case .every, .wall: break
        }
        guard phase == .finished else { return }
        phase = .armed
        firings = 0
        dropAccrued(at: now)
    }
}
