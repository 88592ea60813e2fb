// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Intervals that are counted from the end of a run (`from = "end"`). While a run of the job has
/// not ended, the job is not due. When the last of its runs has ended, without a further retry, the
/// interval restarts. A firing without a run, for example one that is skipped, changes nothing: the
/// next one is an interval later.
extension JobEntry {
    /// Whether the interval of the job is counted from the end of its runs.
    var countsFromEnd: Bool { job.from == .end }

    /// Stops the interval until the runs of the job have ended.
    mutating func awaitEnd(at now: Now) {
        endWait.begin(slept: now.slept)
    }

    /// Restores the wait for the end of a run. The time in which a job was not in the configuration
    /// never counts.
    mutating func awaitEnd(of record: JobRecord, at now: Now) {
        if case .paused(let pause) = record.phase, let at = record.endedInPause {
            endWait.noteEnd(at: at, in: pause)
        }
        guard countsFromEnd, record.awaitsEnd else { return }
        endWait.begin(slept: record.at.bootID == now.bootID ? record.at.slept : .zero)
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
        let sleptBefore = endWait.end()
        // From now on the interval is that of `every`, also if no firing was before this run.
        firings = max(firings, 1)
        if case .paused(let pause) = phase {
            endWait.noteEnd(at: min(ended ?? now.wall, now.wall), in: pause)
        }
        let passed = ended.map { max(.zero, now.wall - $0 - max(.zero, step)) } ?? .zero
        // While the job is paused, only time after a pause that is over already counts.
        var since = min(countedAfterPause, passed)
        if phase == .armed {
            since = counted(of: passed, slept: now.slept - sleptBefore, since: start, at: now)
        }
        ledger.credit(countedAfterPause)
        countedAfterPause = .zero
        let accrued = accrued(at: now)
        ledger.pass(accrued - min(accrued, since), at: counted(at: now))
        maxLoss = .zero
    }

    /// When the interval restarted during the pause that the job is in; nil if it did not.
    var endedInPause: WallInstant? {
        guard case .paused(let pause) = phase else { return nil }
        return endedInPause(of: pause)
    }

    /// The same for this pause. The interval restarted then, even if the job was changed since and
    /// no longer counts from the end of its runs.
    func endedInPause(of pause: Pause) -> WallInstant? { endWait.end(in: pause) }

    /// How much of the time that passed since the end of a run certainly counts.
    ///
    /// - Parameter slept: how long the machine slept since the run began.
    private func counted(
        of passed: Duration, slept: Duration, since start: Now, at now: Now
    ) -> Duration {
        switch job.count {
        case .boottime, .wall: return passed
        case .active, .uptime:
            let awake = max(.zero, passed - slept)
            // Without a running daemon no active time passes.
            return job.count == .active ? min(awake, counted(at: now) - counted(at: start)) : awake
        }
    }
}

extension Now {
    /// How long the machine has slept in this boot.
    fileprivate var slept: Duration { .nanoseconds(boot.nanoseconds - awake.nanoseconds) }
}
