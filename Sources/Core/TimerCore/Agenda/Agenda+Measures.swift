// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The numbers of one job that its metrics show, as of one reading of the clocks.
public struct JobMeasures: Sendable {
    /// The definition that applies now; `name` and `count` become labels.
    public var job: Job
    public var phase: Phase
    /// The number of its runs that were started and have not ended.
    public var live: Int
    /// When it fires next at the latest, if nothing changes until then: with its `accuracy`. It is
    /// in the past if the job should have fired already. Nil while nothing counts.
    public var next: WallInstant?
    /// The time that is left until the next firing; nil if none is scheduled.
    public var remaining: Duration?
    public var active: Duration
    /// The latest run that ended, also of an earlier instance; nil if none is known.
    public var lastRun: RunSummary?
    /// When a run last succeeded, also before this daemon started.
    public var lastSuccess: WallInstant?
    /// The runs that ended, and the retries, since the daemon started.
    public var runs: RunCounts
    /// The firings that were skipped since the daemon started.
    public var skips: SkipCounts
    /// How long its runs took; nil if the job does not ask for it, and before the first of them.
    public var durations: Histogram?
}

/// How many jobs are in each state, and how many runs wait, of some jobs.
public struct StateCounts: Hashable, Sendable {
    public internal(set) var armed = 0
    public internal(set) var paused = 0
    public internal(set) var stopped = 0
    public internal(set) var finished = 0
    /// The runs that wait for the previous run, or for the end of a pause.
    public internal(set) var waitingForPreviousRun = 0
    /// The runs that wait for the delay of a retry.
    public internal(set) var waitingForRetry = 0

    public init() {}
}

extension Agenda {
    /// What metrics say of at most `count` jobs, starting at this position of the configuration.
    /// - Complexity: O(`count`).
    public func measures(from place: Int, count: Int, at now: Now) -> [JobMeasures] {
        jobSlots.dropFirst(place).prefix(count).compactMap { slot in
            entries[slot]?.measures(at: now, live: runs[slot].count(where: \.state.takesPlace))
        }
    }

    /// Adds the states of at most `count` jobs, starting at this position of the configuration.
    ///
    /// - Returns: how many jobs there were.
    /// - Complexity: O(`count`).
    public func countStates(from place: Int, count: Int, into counts: inout StateCounts) -> Int {
        let some = jobSlots.dropFirst(place).prefix(count)
        for slot in some {
            switch entries[slot]?.phase {
            case .armed: counts.armed += 1
            case .paused: counts.paused += 1
            case .stopped: counts.stopped += 1
            case .finished: counts.finished += 1
            case nil: break
            }
            for run in runs[slot] {
                switch run.wait {
                case .previousRun: counts.waitingForPreviousRun += 1
                case .retryDelay: counts.waitingForRetry += 1
                case .capacity, nil: break
                }
            }
        }
        return some.count
    }

    /// The number of runs that wait for `max-concurrent`.
    public var waitingForCapacity: Int { runs.capacityCount }
}

extension JobEntry {
    fileprivate func measures(at now: Now, live: Int) -> JobMeasures {
        let outcomes = outcomes
        return JobMeasures(
            job: job, phase: phase, live: live, next: latestFiring(at: now),
            remaining: remaining(at: now), active: active(at: now), lastRun: outcomes.last,
            lastSuccess: outcomes.lastSuccess, runs: outcomes.counts, skips: outcomes.skipCounts,
            durations: outcomes.durations)
    }

    private func latestFiring(at now: Now) -> WallInstant? {
        let accuracy = job.policy.accuracy
        if phase == .armed, ledger.isOpen, let dueTarget {
            return now.wall + (dueTarget - accrued(at: now)) + accuracy
        }
        return next(at: now).map { $0 + accuracy }
    }
}

extension Schedule {
    /// How much time is between two firings: the interval, which is counted time, or for a schedule
    /// by the wall clock the longest of the two gaps before `instant` and the one around it. Nil
    /// for a schedule that does not repeat.
    /// - Complexity: that of three searches for an occurrence.
    public func interval(at instant: WallInstant) -> Duration? {
        switch self {
        case .every(let span): return span
        case .after, .onBoot: return nil
        case .wall(let schedule):
            guard at == nil, let next = schedule.next(after: instant),
                let last = schedule.previous(before: next)
            else { return nil }
            let gap = next - last
            return schedule.previous(before: last).map { max(gap, last - $0) } ?? gap
        }
    }
}
