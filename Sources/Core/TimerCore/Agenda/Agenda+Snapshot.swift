// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// The state of all jobs as of `now`.
    /// - Complexity: O(*n*) in the number of jobs.
    public func snapshot(at now: Now) -> Snapshot {
        Snapshot(at: now, jobs: snapshots(from: 0, count: jobSlots.count, at: now))
    }

    /// The state of at most `count` jobs as of `now`, starting at this position of the
    /// configuration.
    /// - Complexity: O(`count`).
    public func snapshots(from place: Int, count: Int, at now: Now) -> [JobSnapshot] {
        jobSlots.dropFirst(place).prefix(count).compactMap { snapshot($0, at: now) }
    }

    /// The state of one job as of `now`; nil if there is no job of this name.
    /// - Complexity: O(1).
    public func snapshot(of job: Job.Name, at now: Now) -> JobSnapshot? {
        slot(of: job).flatMap { snapshot($0, at: now) }
    }

    private func snapshot(_ slot: Int, at now: Now) -> JobSnapshot? {
        entries[slot]?.snapshot(at: now, runs[slot])
    }

    /// The definitions of all jobs, in the order of the configuration.
    /// - Complexity: O(*n*) in the number of jobs.
    public var jobs: [Job] { jobSlots.compactMap { entries[$0]?.job } }

    /// The definition of a job; nil if there is none of the name.
    public func definition(of job: Job.Name) -> Job? { slot(of: job).flatMap { entries[$0]?.job } }

    /// The names of all jobs, in the order of the configuration.
    public var names: [Job.Name] { jobSlots.compactMap { entries[$0]?.job.name } }

    /// How many jobs there are, without looking at them.
    public var jobCount: Int { slots.count }

    /// The job that fires next, and when, as of `now`.
    /// - Complexity: O(1), or O(*n*) in the number of jobs while the end of a pause is earlier than
    ///   all firings by the wall clock.
    public func next(at now: Now) -> (job: Job.Name, instant: WallInstant)? {
        if let first = wallDue.first, entries[first.slot]?.phase.isPaused == true {
            let nexts = jobSlots.compactMap { slot in
                entries[slot].flatMap { entry in
                    entry.next(at: now).map { (entry.job.name, $0) }
                }
            }
            return nexts.min { $0.1 < $1.1 }
        }
        let counted = due.first.flatMap { first in
            entries[first.slot].map { ($0.job.name, now.wall + (first.due - now.awake)) }
        }
        let slot = wallDue.first.flatMap { first in
            entries[first.slot].map { ($0.job.name, first.due) }
        }
        guard let counted, let slot else { return counted ?? slot }
        return counted.1 <= slot.1 ? counted : slot
    }

    /// When the timer of a job expires, by one clock or the other; nil if it is not set.
    /// - Complexity: O(1).
    public func alarm(of job: Job.Name) -> Alarm? {
        slot(of: job).flatMap { alarm(of: $0) }
    }

    private func alarm(of slot: Int) -> Alarm? {
        due[slot].map { .awake($0) } ?? wallDue[slot].map { .wall($0) }
    }

    /// When the retry timer of a job expires; nil if it is not set.
    /// - Complexity: O(1).
    public func retryAlarm(of job: Job.Name) -> AwakeInstant? {
        slot(of: job).flatMap { retryDue[$0] }
    }

    /// When the timer and the retry timer of each of these jobs expire, in the order of the names.
    /// - Complexity: O(*n*) in the number of names.
    public func alarms(
        of jobs: some Collection<Job.Name>
    ) -> [(next: Alarm?, retry: AwakeInstant?)] {
        jobs.map { job in
            guard let slot = slot(of: job) else { return (nil, nil) }
            return (alarm(of: slot), retryDue[slot])
        }
    }

    /// When the timer for incidents expires; nil if it is not set.
    /// - Complexity: O(1).
    public var incidentsAlarm: WallInstant? { isShutDown ? nil : watching.armed }

    /// The job whose timer expires first, and how much time is left if no clock is set and the
    /// machine does not sleep; zero if the timer should have expired already. Nil if no timer is
    /// set.
    /// - Complexity: O(1).
    public func nextRing(at now: Now) -> (job: Job.Name, after: Duration)? {
        let rings = [
            due.first.map { ($0.slot, $0.due - now.awake) },
            wallDue.first.map { ($0.slot, $0.due - now.wall) },
            retryDue.first.map { ($0.slot, $0.due - now.awake) },
        ]
        guard let first = rings.compactMap({ $0 }).min(by: { $0.1 < $1.1 }),
            let job = entries[first.0]?.job.name
        else { return nil }
        return (job, max(.zero, first.1))
    }

    /// How long ago the earliest timer should have expired; nil if no timer is late.
    /// - Complexity: O(1).
    public func lateness(at now: Now) -> Duration? {
        let counted = due.first.map { now.awake - $0.due } ?? .zero
        let slot = wallDue.first.map { now.wall - $0.due } ?? .zero
        let late = max(counted, slot)
        return late > .zero ? late : nil
    }

    /// The number of paused jobs.
    /// - Complexity: O(*n*) in the number of jobs.
    public var pausedCount: Int {
        jobSlots.count { slot in
            if case .paused = entries[slot]?.phase { true } else { false }
        }
    }
}

extension JobEntry {
    fileprivate func snapshot(at now: Now, _ runs: [ActiveRun]) -> JobSnapshot {
        let remaining = remaining(at: now)
        return JobSnapshot(
            at: now, job: job, phase: phase, active: max(.zero, active(at: now)),
            accrued: max(.zero, accrued(at: now)), remaining: remaining,
            next: next(at: now), offset: offset,
            lastScheduled: lastScheduled, firings: firings, live: runs, lastRun: lastRun,
            lastSkip: outcomes.lastSkip, skips: skips, maxLoss: maxLoss, checkpoint: checkpoint,
            incidents: watch?.wrappedValue.notifiedIncidents ?? [])
    }

    /// When the next firing is due if nothing changes until then. For a pause with an end, that is
    /// after the pause, as `on-resume` says.
    func next(at now: Now) -> WallInstant? {
        if case .paused(let pause) = phase {
            return pause.until.flatMap { next(after: pause, $0, now) }
        }
        return dueOccurrence ?? (ledger.isOpen ? remaining(at: now).map { now.wall + $0 } : nil)
    }

    private func next(after pause: Pause, _ until: WallInstant, _ now: Now) -> WallInstant? {
        let end = max(until, now.wall)
        if case .wall(let schedule) = job.schedule {
            if job.policy.onResume == .fireIfDue,
                let first = occurrence(after: processedThrough, schedule), first <= end
            {
                return end
            }
            return occurrence(after: max(processedThrough, end), schedule).map {
                $0 + delay(ordinal: $0.microsecondsSinceEpoch)
            }
        }
        guard let dueTarget else { return nil }
        let left = max(.zero, dueTarget - accrued(at: now))
        switch job.policy.onResume ?? .keepRemaining {
        case .keepRemaining, .nextSlot: return end + left
        case .restart: return end + dueTarget
        case .fireIfDue:
            return passed(since: pause, until: end, at: now) >= left ? end : end + left
        }
    }

    /// How long a pause will have lasted at its end, as far as it delays the job. For a job that
    /// counts from the boot, the time before the boot does not delay it, and for one that counts
    /// from the end of its runs, the time before that end.
    func passed(since pause: Pause, until end: WallInstant, at now: Now) -> Duration {
        let passed = max(.zero, end - (endedInPause(of: pause) ?? pause.since))
        guard job.schedule.isSinceBoot else { return passed }
        return min(passed, .nanoseconds(now.boot.nanoseconds) + (end - now.wall))
    }
}

/// When the timer of a job expires. A job has a timer by one of the two clocks.
public enum Alarm: Hashable, Sendable {
    /// By CLOCK_MONOTONIC, for time that is counted. It does not change when the wall clock is set.
    case awake(AwakeInstant)
    /// When the wall clock reads this.
    case wall(WallInstant)

    /// How much time is left at this reading if no clock is set; negative if it is past.
    public func left(at now: Now) -> Duration {
        switch self {
        case .awake(let instant): instant - now.awake
        case .wall(let instant): instant - now.wall
        }
    }
}
