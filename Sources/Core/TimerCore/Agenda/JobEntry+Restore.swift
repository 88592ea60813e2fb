// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension JobEntry {
    /// Takes over what the record contains. The time since it was saved is added elsewhere.
    ///
    /// - Parameter hold: the hold of the machine; nil while it is not held.
    mutating func restore(_ record: JobRecord, under hold: MachineHold?, at now: Now) {
        ledger = Ledger(active: record.active, accrued: record.accrued)
        maxLoss = record.maxLoss
        skips = record.skips
        tally = record.tally
        clockEpoch = record.clockEpoch
        phase = hold == nil ? record.phase.withoutHold : record.phase
        firings = record.firings
        lastScheduled = record.lastScheduled
        configuredPaused = record.configuredPaused
        // Occurrences since the record was taken are missed, except while the job was not in the
        // configuration. A record from the far future was taken with a wrong clock; occurrences
        // after a correction back are new firings.
        let last =
            record.processedThrough ?? max(record.lastScheduled ?? record.at.wall, record.at.wall)
        progress.restart(after: record.removed == nil ? last : max(last, now.wall))
        if let hold, case .paused(let pause) = phase, pause == hold.pause(),
            case .wall = job.schedule
        {
            // Nothing was saved of the job when the hold began.
            progress.pass(startedThrough(hold.since.wall))
        }
        applyClockCorrection(since: record, at: now)
        if case .paused(let pause) = phase { noteEnd(of: pause, since: record, at: now) }
        // When the daemon starts, the schedule continues without catching up what the pause
        // skipped.
        if applyPause(configured: job.paused, at: now) != nil {
            progress.pass(now.wall)
        }
        leaveFinishedIfRecurring(at: now)
        awaitEnd(of: record, at: now)
    }

    /// Applies a correction of the wall clock since the record was taken. Within one boot the other
    /// clock shows the correction, and the result is as if the daemon had seen it. After a reboot a
    /// correction is assumed only if the record is so far in the future that its time was wrong.
    private mutating func applyClockCorrection(since record: JobRecord, at now: Now) {
        let passed = now.boot - record.at.boot
        if record.at.bootID == now.bootID {
            let step = (now.wall - record.at.wall) - passed
            if step.length >= Agenda.correctionMin {
                return correctOccurrences(
                    to: record.removed == nil
                        ? processed(by: record, step, at: now) : now.wall,
                    isBackward: step < .zero)
            }
        }
        guard processedThrough - now.wall >= Agenda.correctionMin else { return }
        correctOccurrences(to: now.wall, isBackward: true)
    }

    /// Up to which instant of the new time the occurrences were processed: what the job missed while the
    /// daemon was away is found by the new time. A firing that was decided ahead of the clocks is
    /// processed, although its record is of the clocks.
    private func processed(by record: JobRecord, _ step: Duration, at now: Now) -> WallInstant {
        let taken = now.wall - max(.zero, now.boot - record.at.boot)
        guard let through = record.processedThrough, through > record.at.wall,
            through - record.at.wall <= Agenda.aheadMax
        else { return taken }
        return max(taken, through + step)
    }

    /// Calculates the time that counted since a pause ended by itself while no daemon ran. The
    /// pause itself is ended when its timer expires, which is at once. If the machine slept or a
    /// clock was set, it is not known how much time was after the end. Then the smallest possible
    /// time counts, so that a job never gains time.
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

    /// Applies `paused` of the configuration, but only if its value changed: a pause or resume by a
    /// user is kept as long as the configuration says the same as before.
    ///
    /// - Returns: the pause that ended; then the job is armed.
    mutating func applyPause(configured configuredPaused: Bool, at now: Now) -> Pause? {
        guard configuredPaused != self.configuredPaused else { return nil }
        self.configuredPaused = configuredPaused
        switch (phase, configuredPaused) {
        case (.armed, true): begin(Pause(since: now.wall, by: .configuration), at: now)
        case (.paused(let pause), true) where pause.isOfHold:
            phase = .paused(Pause(since: pause.since, by: .configuration, withRun: pause.withRun))
        case (.paused(let pause), false) where pause.by == .configuration:
            phase = .armed
            return pause
        case (.armed, false), (.paused, _), (.stopped, _), (.finished, _): break
        }
        return nil
    }

    /// If a job that fires once has already fired and its new schedule repeats, its timer restarts.
    mutating func leaveFinishedIfRecurring(at now: Now) {
        switch job.schedule {
        case .after, .onBoot: return
        case .wall(let schedule)
        where occurrence == nil && schedule.next(after: processedThrough) == nil:
            return
        case .every, .wall, .onDemand: break
        }
        guard phase == .finished, !isSpent else { return }
        phase = .armed
        firings = 0
        dropAccrued(at: now)
    }
}
