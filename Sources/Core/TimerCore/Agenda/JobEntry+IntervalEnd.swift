// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The end of a run during a pause, by the wall clock: for a job that counts from the end of its
/// runs, the pause delays nothing before that.
struct EndInPause: Hashable, Sendable {
    /// When the pause started, by which it is identified.
    var pause: WallInstant
    var at: WallInstant
}

/// Intervals that are counted from the end of a run (`from = "end"`). While a run of the job has
/// not ended, the job is not due. When the last of its runs has ended, without a further retry, the
/// interval restarts. A firing without a run, for example one that is skipped, changes nothing: the
/// next one is an interval later.
extension JobEntry {
    /// Whether the interval of the job is counted from the end of its runs.
    var countsFromEnd: Bool { job.from == .end }

    /// Stops the interval until the runs of the job have ended.
    mutating func awaitEnd(at now: Now) {
        guard !awaitsEnd else { return }
        awaitsEnd = true
        sleptBefore = now.slept
    }

    /// Restores the wait for the end of a run. The time in which a job was not in the configuration
    /// never counts.
    mutating func awaitEnd(of record: JobRecord, at now: Now) {
        if case .paused(let pause) = record.phase, let at = record.endedInPause {
            endInPause = EndInPause(pause: pause.since, at: at)
        }
        guard countsFromEnd, record.awaitsEnd else { return }
        awaitsEnd = true
        sleptBefore = record.at.bootID == now.bootID ? record.at.slept : .zero
        if record.removed != nil { ledger = Ledger(active: record.active) }
    }

    /// Restarts the interval at the end of a run, which may have been before this event, and even
    /// before this instance of the daemon started. If it is not known how much of the time since
    /// then counts, the smallest possible time counts, so that a job never gains time.
    ///
    /// - Parameters:
    ///   - ended: when the run ended; nil if that is not known.
    ///   - start: when this instance started.
    ///   - step: by how much the wall clock was set just before this event.
    mutating func restartInterval(
        after ended: WallInstant?, since start: Now, step: Duration, at now: Now
    ) {
        awaitsEnd = false
        // From now on the interval is that of `every`, also if no firing was before this run.
        firings = max(firings, 1)
        if case .paused(let pause) = phase {
            endInPause = EndInPause(pause: pause.since, at: min(ended ?? now.wall, now.wall))
        }
        let passed = ended.map { max(.zero, now.wall - $0 - max(.zero, step)) } ?? .zero
        // While the job is paused, only time after a pause that is over already counts.
        var since = min(countedAfterPause, passed)
        if phase == .armed { since = counted(of: passed, since: start, at: now) }
        ledger.credit(countedAfterPause)
        countedAfterPause = .zero
        let accrued = accrued(at: now)
        ledger.pass(accrued - min(accrued, since), at: counted(at: now))
        maxLoss = .zero
        sleptBefore = .zero
    }

    /// When the interval restarted during the pause that the job is in; nil if it did not.
    var endedInPause: WallInstant? {
        guard case .paused(let pause) = phase else { return nil }
        return endedInPause(of: pause)
    }

    /// The same for this pause. The interval restarted then, even if the job was changed since and
    /// no longer counts from the end of its runs.
    func endedInPause(of pause: Pause) -> WallInstant? {
        guard let endInPause, endInPause.pause == pause.since else { return nil }
        return endInPause.at
    }

    /// How much of the time that passed since the end of a run certainly counts.
    private func counted(of passed: Duration, since start: Now, at now: Now) -> Duration {
        switch job.count {
        case .boottime, .wall: return passed
        case .active, .uptime:
            let awake = max(.zero, passed - (now.slept - sleptBefore))
            // Without a running daemon no active time passes.
            return job.count == .active ? min(awake, counted(at: now) - counted(at: start)) : awake
        }
    }
}

extension Now {
    /// How long the machine has slept in this boot.
    fileprivate var slept: Duration { .nanoseconds(boot.nanoseconds - awake.nanoseconds) }
}

extension Agenda {
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
            guard waits != entry.awaitsEnd else {
                // The timer was set before the run was made.
                if waits, due[slot] != nil { timers += updateTimer(slot, &entry, at: now) }
                continue
            }
            if waits {
                entry.awaitEnd(at: now)
            } else if entry.countsFromEnd {
                entry.restartInterval(
                    after: entry.lastRun?.ended, since: startedAt ?? now, step: lastStep, at: now)
            } else {
                entry.awaitsEnd = false
            }
            timers += updateTimer(slot, &entry, at: now, isNewSchedule: true)
            records.append(entry.record(at: now, ahead: ahead, instance: instance))
            entries[slot] = entry
        }
        return (timers, records)
    }

    /// Follows the runs of a job whose interval is counted from their end, or was.
    mutating func followEnds(_ slot: Int, _ entry: JobEntry) {
        if entry.countsFromEnd || entry.awaitsEnd { runs.follow(slot) }
    }
}
