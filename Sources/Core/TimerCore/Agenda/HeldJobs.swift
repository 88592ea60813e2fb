// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a hold of the machine is for a job: a pause that begins with the hold. So elapsed time, runs
/// that wait, notifications and `on-resume` follow the rules of pauses, and a pause and a hold that
/// overlap are one pause.
///
/// A hold is O(1): a job gets its pause when it is next looked at (`JobTable`), or at the end.
extension Phase {
    /// The phase while the machine is not held: a job may have been removed during a hold, or its record
    /// is from an older copy.
    var withoutHold: Phase {
        if case .paused(let pause) = self, pause.isOfHold { .armed } else { self }
    }

    /// The phase while the machine is held.
    ///
    /// - Parameter now: the wall clock at a start of the daemon, which may have missed the end of a
    ///   pause. Nil: the job's own timer ends its pause.
    func under(_ hold: MachineHold, endedBy now: WallInstant? = nil) -> Phase {
        switch self {
        case .armed: return .paused(hold.pause())
        case .paused(let pause):
            guard pause.isOfHold || now.map({ pause.ended(by: $0) }) == true else { return self }
            var pauseOfHold = hold.pause(since: pause.since)
            // Runs that were suspended already stay so until the end.
            pauseOfHold.withRun = pauseOfHold.withRun || pause.withRun
            return .paused(pauseOfHold)
        case .stopped, .finished: return self
        }
    }
}

extension Pause {
    fileprivate func ended(by now: WallInstant) -> Bool { until.map { $0 <= now } ?? false }
}

extension JobEntry {
    /// The job while the machine is held.
    /// - Complexity: O(1).
    func under(_ hold: MachineHold) -> JobEntry {
        switch phase {
        case .armed where !isShared: break
        case .paused(let pause) where pause.isOfHold: break
        case .armed, .paused, .stopped, .finished: return self
        }
        var entry = self
        entry.phase = phase.under(hold)
        guard phase == .armed else { return entry }
        entry.ledger.close(at: hold.since.counted(job.count))
        if case .wall = job.schedule {
            entry.progress.pass(startedThrough(hold.since.wall))
            entry.progress.expect(nil)
            entry.isDueThisBoot = false
        }
        // Its notifications depend on the time that it is not armed.
        if let watch = entry.watch?.wrappedValue, watch.inactiveSince == nil {
            var watch = watch
            watch.inactiveSince = hold.since.wall
            entry.watch = Boxed(wrappedValue: watch)
        }
        return entry
    }
}

extension JobRecord {
    /// The record of a job for a start during a hold. A record from before the hold is continued to its
    /// begin: the daemon ran until then, so all the time between them counts.
    func under(_ hold: MachineHold, at now: Now) -> JobRecord {
        guard removed == nil else { return self }
        var record = self
        record.phase = phase.under(hold, endedBy: now.wall)
        record.isCounting = false
        guard phase == .armed, at.bootID == hold.since.bootID, at.boot < hold.since.boot else {
            return record
        }
        if isCounting, instance == hold.instance || basis != .active {
            let counted = max(.zero, hold.since.counted(basis) - at.counted(basis))
            record.active += counted
            record.accrued += counted
        }
        record.at = hold.since
        return record
    }
}
