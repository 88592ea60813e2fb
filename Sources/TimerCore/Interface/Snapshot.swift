// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What the agenda looks like at one reading of the clocks: a value, taken whole, for status and control.
public struct Snapshot: Hashable, Sendable {
    /// When it was taken.
    public var at: Now
    /// The jobs in the order of the configuration.
    public var jobs: [JobSnapshot]

    /// A snapshot as described.
    public init(at: Now, jobs: [JobSnapshot]) {
        self.at = at
        self.jobs = jobs
    }
}

/// One job in a snapshot.
public struct JobSnapshot: Hashable, Sendable {
    /// When it was taken.
    public var at: Now
    /// The job's definition.
    public var job: Job
    /// Where it stands.
    public var phase: Phase
    /// Its active time in all.
    public var active: Duration
    /// Its active time since the last grid point.
    public var accrued: Duration
    /// The active time left to the next firing; nil if none is to come.
    public var remaining: Duration?
    /// When the next firing is due if nothing changes until then; nil while nothing counts.
    public var next: WallInstant?
    /// The scheduled instant of the last firing.
    public var lastScheduled: WallInstant?
    /// How many firings it had since it began at zero.
    public var firings: Int
    /// The runs that have not ended, oldest first.
    public var live: [ActiveRun]
    /// The latest run that ended.
    public var lastRun: RunSummary?
    /// The latest firing that was let go, as far as this life remembers.
    public var lastSkip: SkippedFiring?
    /// How many further firings are to be let go by order.
    public var skips: Int
    /// How much of the accrued time, at most, is missing for want of a witness.
    public var uncertain: Duration
    /// When its account was last written down.
    public var checkpoint: WallInstant
}
