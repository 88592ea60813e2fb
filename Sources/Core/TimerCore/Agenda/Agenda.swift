// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// All jobs of one configuration, with their ledgers, due times and runs. All scheduling decisions
/// are made here.
///
/// The agenda is a value that never reads a clock, opens a file or starts a process. The shell
/// passes it each event together with one reading of the clocks, and executes the returned actions
/// in their order. All readings of one daemon instance must be of one boot, and CLOCK_MONOTONIC
/// must never decrease between them.
public struct Agenda: Sendable {
    /// By how much the reading of an event may be ahead of the clocks.
    public static let aheadMax: Duration = .milliseconds(31)

    /// How many runs may be active at the same time; further runs wait in the order in which they
    /// were due.
    public let concurrentRunsMax: Int
    /// The seed of the jitter. It never changes on one machine.
    let seed: UInt64

    /// The number of this start of the daemon.
    public internal(set) var instance: DaemonInstance.ID = 0
    /// Whether the shutdown was handled. After it, nothing fires.
    public internal(set) var isShutDown = false
    /// How many of the jobs are one-off jobs, so that their limit is checked without a loop.
    public internal(set) var oneOffs = 0
    /// The jobs by slot. The slot of a removed job is used again.
    var entries: [JobEntry?] = []
    var freeSlots: [Int] = []
    var slots = SlotIndex()
    /// The slots in the order of the configuration. During a reload this is the old order, followed
    /// by the new jobs, and the slots of removed jobs are empty.
    var jobSlots: [Int] = []
    /// The reload that is in progress; nil if none is.
    var reloading: Reloading?
    /// When the timers of armed jobs expire by CLOCK_MONOTONIC: the latest instant at which the
    /// jobs may fire.
    var due = AlarmQueue<AwakeInstant>()
    /// When timers by the wall clock expire, including those for the ends of pauses.
    var wallDue = AlarmQueue<WallInstant>()
    /// When a retry of a job is due.
    var retryDue = DueQueue<AwakeInstant>()
    /// The readings of the clocks at the last event and at the one before it.
    var lastNow: Now?
    var previousNow: Now?
    /// By how much these were ahead of the clocks.
    var lastAhead: Duration = .zero
    var previousAhead: Duration = .zero
    /// By how much the wall clock was set just before the last event.
    var lastStep: Duration = .zero
    /// When this daemon instance started; nil before `load`.
    var startedAt: Now?
    /// Until when nothing could fire: the start of this daemon instance, or the end of the last
    /// sleep of the machine.
    var downtimeEnd: Now?
    /// The range that the wall clock was last set past, if it was set forward by less than a
    /// correction.
    var skippedWallRange: (after: WallInstant, through: WallInstant)?
    /// The jobs that were removed from the configuration, in case they return.
    var archived: [Job.Name: ArchivedJob] = [:]
    /// How many events were handled. Runs keep the number of the event that decided them, so that
    /// the shell can tell which of them are recorded (`storedThrough`).
    public private(set) var eventNumber: UInt64 = 0
    /// The runs that were decided up to this event are recorded and started. The shell updates it
    /// before each event.
    public var storedThrough: UInt64 = .max
    /// By how much the reading of the next event is ahead of the clocks; from zero to `aheadMax`. The shell
    /// decides about a firing shortly before it is due, as of the instant at which it is due, so
    /// that the process of the run is ready then. It updates this before each event.
    public var ahead: Duration = .zero
    /// The slots of jobs that are due and wait until an earlier run of the job is recorded. Before
    /// that it is not known whether the earlier run can start.
    var heldUp: Set<Int> = []
    /// The runs that were recorded and have not ended, of all jobs.
    var runs = RunTable()
    /// The runs that are suspended because the fleet paused their jobs together with them; nil until
    /// the fleet is known: an earlier instance may have suspended some.
    var suspendedByFleet: Set<Run.ID>?
    /// How many ledgers are open. While there is one, heartbeats and checkpoints are needed.
    var counting = 0
    /// The notifiers, and which jobs must be checked for notifications.
    var watching = Watching()
    /// What is counted of all jobs together since the daemon started.
    public internal(set) var counts = AgendaCounts()

    private init(concurrentRunsMax: Int, seed: UInt64) {
        self.concurrentRunsMax = max(1, concurrentRunsMax)
        self.seed = seed
    }

    /// Creates the agenda of a daemon that starts, with the first actions of the daemon. There is
    /// no other way to create an agenda, so no event can reach an agenda that does not know its
    /// jobs yet.
    ///
    /// - Parameters:
    ///   - jobSet: the configuration.
    ///   - past: the state that the previous daemon saved.
    ///   - concurrentRunsMax: how many runs may be active at the same time; at least 1.
    ///   - seed: the seed of the jitter; always the same on one machine.
    /// - Complexity: O(*n* log *n*) in the number of jobs.
    public static func load(
        _ jobSet: JobSet, _ past: RecoveredState, concurrentRunsMax: Int, seed: UInt64 = 0,
        at now: Now
    ) -> (agenda: Agenda, actions: [Action]) {
        var agenda = Agenda(concurrentRunsMax: concurrentRunsMax, seed: seed)
        agenda.lastNow = now
        let actions = agenda.load(jobSet, past, at: now)
        return (agenda, actions)
    }

    /// Handles one event as of one reading of the clocks.
    ///
    /// - Returns: the actions to execute, in this order.
    /// - Complexity: O(*d* log *n*) for a wake-up with *d* due jobs among *n*, O(log *n*) for a
    ///   command or the end of a run, O(*p* log *n*) for a portion of *p* jobs of a reload or a
    ///   checkpoint, and O(*n* log *n*) for the other events.
    public mutating func handle(_ event: Event, at now: Now) -> [Action] {
        eventNumber += 1
        let stepped = noteClocks(at: now)
        var decided = decide(event, at: now)
        let (timers, records) = settleIntervals(at: now)
        if !timers.isEmpty { decided += timers }
        if !records.isEmpty { decided.append(.save(records, durable: false)) }
        let actions = stepped.isEmpty ? decided : stepped + decided
        guard watching.count > 0 || watching.armed != nil else { return actions }
        return actions + checkWatched(after: event)
    }

    private mutating func decide(_ event: Event, at now: Now) -> [Action] {
        switch event {
        case .reload(let jobSet, let portion): reload(jobSet, portion: portion, at: now)
        case .reloadMore: reloadMore(at: now)
        case .include(let job): include(job, at: now)
        case .exclude(let jobs): exclude(jobs, at: now)
        case .wake(let job): wake(job, at: now)
        case .order(let order): execute(order, at: now)
        case .stored: noteStored(at: now)
        case .claimed(let run): startClaimed(run, at: now)
        case .runsPaused(let jobs): suspendRuns(ofOnly: jobs)
        case .recorded(let runs): noteRecorded(runs, at: now)
        case .began(let run, let instant): noteBegin(of: run, at: instant)
        case .ended(let run, let outcome, let usage, let end, let hasOutput):
            noteEnd(
                of: run, outcome, usage, ended: end ?? now.wall, hasOutput: hasOutput, at: now)
        case .incidentsDue: []
        case .clockChanged: applyClockChange(at: now)
        case .zonesChanged(let zones, let local): applyZoneChange(zones, local: local, at: now)
        case .checkpoint(let places): checkpoint(of: places, at: now)
        case .shutdown: shutDown(at: now)
        }
    }

    /// The slot of a job; nil if there is no job of this name.
    func slot(of job: Job.Name) -> Int? { slots.slot(of: job, in: entries) }

    /// The job that a run belongs to. When a job is renamed, its runs keep the identity they were
    /// started with, which contains the old name.
    /// - Complexity: O(1).
    public func owner(of run: Run.ID) -> Job.Name { runs.job(of: run) }

    /// The slot of the job that a run belongs to; nil if the job is not in the configuration.
    func slot(of run: Run.ID) -> Int? { slot(of: owner(of: run)) }

    /// A run without a process, which is over by the event that is being handled.
    func summary(of run: Run.ID, _ outcome: RunOutcome, failed: Bool) -> RunSummary {
        RunSummary(id: run, ended: lastNow?.wall, outcome: outcome, failed: failed)
    }

    /// Whether the time of any job counts, so that heartbeats and checkpoints are needed.
    public var isCounting: Bool { counting > 0 }

    /// Whether firings wait for the store. Then the shell must send `stored` when all rows are
    /// written.
    public var isHolding: Bool { !heldUp.isEmpty }

    /// The number of jobs whose firings wait for the store.
    public var heldCount: Int { heldUp.count }

    /// The number of runs that were started and have not ended, or that wait for `max-concurrent`.
    public var pendingRuns: Int { runs.startedCount + runs.capacityCount }

    /// The number of runs that were started and have not ended.
    public var liveRuns: Int { runs.startedCount }
}

/// A job that was removed from the configuration.
struct ArchivedJob: Sendable {
    var record: JobRecord
    /// Nil while no run of the job has ended and none was skipped.
    var boxedOutcomes: Boxed<JobOutcomes>?

    var outcomes: JobOutcomes {
        get { boxedOutcomes?.wrappedValue ?? JobOutcomes() }
        set { boxedOutcomes = Boxed(wrappedValue: newValue) }
    }
}
