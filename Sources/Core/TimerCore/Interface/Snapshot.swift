// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The complete state of the agenda at one reading of the clocks, for status queries.
public struct Snapshot: Hashable, Sendable {
    /// The clocks as of which all values are given.
    public var at: Now
    /// The jobs in the order of the configuration.
    public var jobs: [JobSnapshot]
    /// The hold of the machine; nil while it is not held.
    public var hold: MachineHold?

    public init(at: Now, jobs: [JobSnapshot], hold: MachineHold? = nil) {
        self.at = at
        self.jobs = jobs
        self.hold = hold
    }
}

/// The state of one job at one reading of the clocks.
public struct JobSnapshot: Hashable, Sendable {
    /// The clocks as of which all values are given.
    public var at: Now
    /// The definition of the last reload.
    public var job: Job
    public var phase: Phase
    /// Its active time in total, also before the last grid point.
    public var active: Duration
    /// Its active time since the last grid point.
    public var accrued: Duration
    /// The active time that is left until the next firing; nil if none is scheduled.
    public var remaining: Duration?
    /// When the next firing is due if nothing changes until then; nil while nothing counts.
    public var next: WallInstant?
    /// When the next point of its interval is, which the window may delay; nil if nothing limits its
    /// points, and while nothing counts.
    public var nextPoint: WallInstant?
    /// By how much all times of its schedule are shifted (`random-offset`).
    public var offset: Duration
    /// The scheduled instant of the last firing; nil if it never fired.
    public var lastScheduled: WallInstant?
    /// How many firings it had since its timer was last restarted.
    public var firings: Int
    /// The runs that have not ended, oldest first.
    public var live: [ActiveRun]
    /// The slots that its runs wait for.
    public var awaitedSlots: [Run.ID: RunSlot.Name] = [:]
    /// What it waits for if it follows other jobs; nil if it follows none.
    public var chain: ChainView?
    /// How many runs it had, if their number is limited.
    public var tally = RunTally()
    /// The jobs that follow it.
    public var followers: [Job.Name] = []
    /// The latest run that ended, also of an earlier instance; nil if none is known.
    public var lastRun: RunSummary?
    /// What was skipped latest; nil if nothing of the history was.
    public var lastSkip: LastSkip?
    /// How many of the next firings will be skipped because a user requested it.
    public var skips: Int
    /// The maximum part of the elapsed time that may not have been counted because of a crash.
    public var maxLoss: Duration
    /// When its time record was last saved, by the wall clock.
    public var checkpoint: WallInstant
    /// The incidents with a notification that are not over, in the order in which they
    /// began.
    public var incidents: [IncidentRecord] = []
    /// What the fleet knows of it; nil for a job of this machine alone, or if that is not known yet.
    public var fleet: FleetJobView?
}
