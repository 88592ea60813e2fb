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
    /// The missed runs that wait for the delay after which they are caught up.
    public internal(set) var waitingForCatchUp = 0

    public init() {}
}

/// The time record of a job at one reading of the clocks, with everything that is needed to
/// continue it.
public struct JobAccount: Hashable, Sendable {
    /// The current name. The record moves with the job when it is renamed.
    public var job: Job.Name
    /// The state of the job, as `Phase.word`. Only the time of an armed job counts.
    public var state: String
    /// Which clock its time is counted by.
    public var basis: TimeBasis
    /// Its active time in total, also before the last grid point.
    public var active: Duration
    /// Its active time since the last grid point.
    public var accrued: Duration
}
