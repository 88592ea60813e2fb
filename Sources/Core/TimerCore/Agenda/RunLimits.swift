// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Jobs that are finished after a number of runs (`max-runs`, `max-successes`).
///
/// The count is a part of the record of the job, which is written with the run that counts.
extension JobEntry {
    /// Whether it has had as many runs as it may have. While it has, its schedule makes no run.
    var isSpent: Bool {
        // Few jobs have anything uncommon, and nothing that has not run is spent.
        guard let tally = uncommon?.wrappedValue.tally, let limit = job.limit else { return false }
        return limit.isReached(by: tally)
    }

    /// Counts a run that was made, unless a user requested it.
    ///
    /// - Returns: whether it was the last one.
    mutating func count(_ run: Run) -> Bool {
        guard job.limit != nil, !run.firing.isRequested(attempt: run.id.attempt) else {
            return false
        }
        tally.runs += 1
        return isSpent
    }

    /// Counts a run that ended, if it succeeded.
    ///
    /// - Returns: whether that changes its record.
    mutating func countSuccess(_ run: RunSummary) -> Bool {
        guard job.limit?.successes != nil, run.result == .success else { return false }
        tally.successes += 1
        return true
    }
}

extension Agenda {
    /// Counts the end of a run, which may finish its job.
    ///
    /// - Returns: what to write together with the end.
    mutating func countEnd(
        of run: RunSummary, _ slot: Int, _ entry: inout JobEntry, at now: Now,
        into batch: inout Batch
    ) -> [Action] {
        guard entry.countSuccess(run) else { return [] }
        let wasArmed = entry.phase == .armed
        if entry.isSpent {
            batch.timers += updateTimer(slot, &entry, at: now)
            if wasArmed, entry.phase == .finished { batch.notices.append(.log(entry.finished)) }
        }
        return [.save([entry.record(at: now, ahead: ahead, instance: instance)], durable: false)]
    }
}
