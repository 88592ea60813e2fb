// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What happens to the schedule of a job when its pause begins and when it ends.
extension JobEntry {
    /// Begins a pause now. Occurrences up to now are not part of it, also one that waits to fire. One
    /// that waits for the window has not come yet.
    mutating func begin(_ pause: Pause, at now: Now) {
        phase = .paused(pause)
        if case .wall = job.schedule { progress.pass(startedThrough(now.wall)) }
    }

    /// Continues the schedule after a pause, as `on-resume` says.
    ///
    /// - Returns: the firing that is due at once, if `on-resume` says so and the job would have
    ///   fired during the pause.
    mutating func resumeSchedule(after pause: Pause, by initiator: Initiator, at now: Now)
        -> Firing?
    {
        let policy = job.policy.onResume
        // If a pause ended by itself, occurrences after its end are not part of the pause.
        let last = initiator == .pauseEnd ? min(pause.until ?? now.wall, now.wall) : now.wall
        guard case .wall(let schedule) = job.schedule else {
            return resumeCounting(after: pause, policy ?? .keepRemaining, at: now)
        }
        // `pause.since` does not tell which occurrences are part of the pause: if the wall clock was
        // set back since, it is later than some of them.
        let since = processedThrough
        // What waits for the window has not come.
        let end = startedThrough(last)
        progress.pass(end)
        guard policy == .fireIfDue, let first = occurrence(after: since, schedule), first <= end
        else {
            return nil
        }
        var missed = 0
        var at = first
        while missed < DueOccurrences.max, let next = occurrence(after: at, schedule), next <= end {
            missed += 1
            at = next
        }
        firings += missed + 1
        let scheduled = first + .microseconds(clockEpoch)
        let point = DueOccurrences.Point(scheduled: scheduled, age: .zero)
        return firing(point, missed: missed, at: now, cause: .resume)
    }

    private mutating func resumeCounting(
        after pause: Pause, _ policy: Policy.Resume, at now: Now
    ) -> Firing? {
        switch policy {
        case .keepRemaining, .nextSlot: return nil
        case .restart:
            dropAccrued(at: now)
            return nil
        case .fireIfDue:
            let paused = passed(since: pause, until: now.wall, at: now)
            guard let dueTarget, accrued(at: now) + paused >= dueTarget else { return nil }
            dropAccrued(at: now)
            firings += 1
            isDueThisBoot = false
            let point = DueOccurrences.Point(scheduled: now.wall, age: .zero)
            return firing(point, missed: 0, at: now, cause: .resume)
        }
    }
}
