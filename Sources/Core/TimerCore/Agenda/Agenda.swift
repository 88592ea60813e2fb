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
    public let instance: DaemonInstance.ID

    /// By how much the reading of the next event is ahead of the clocks; from zero to `aheadMax`. The shell
    /// decides about a firing shortly before it is due, as of the instant at which it is due, so
    /// that the process of the run is ready then. It updates this before each event.
    public var ahead: Duration = .zero
    var stage = Stage.running
    var clocks: ClockHistory
    /// The jobs, by the slots that the other tables and queues name them by.
    var entries = JobTable()
    var alarms = JobAlarms()
    var hold = StoreHold()
    /// The runs that were recorded and have not ended, of all jobs.
    var runs = RunTable()
    var chains = Chains()
    var suspension = FleetSuspension()
    var watching = Watching()
    var archive = JobArchive()
    /// What is counted of all jobs together since the daemon started.
    public internal(set) var counts = AgendaCounts()

    /// What the agenda is busy with.
    enum Stage: Sendable {
        case running
        /// A new configuration is applied portion by portion, and due jobs fire between them.
        case reloading(Reloading)
        /// The shutdown was handled. From then on nothing fires.
        case shutDown
    }

    private init(
        concurrentRunsMax: Int, seed: UInt64, instance: DaemonInstance.ID, at now: Now
    ) {
        self.concurrentRunsMax = max(1, concurrentRunsMax)
        self.seed = seed
        self.instance = instance
        clocks = ClockHistory(start: now)
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
        var agenda = Agenda(
            concurrentRunsMax: concurrentRunsMax, seed: seed, instance: past.instance, at: now)
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
        hold.beginEvent()
        var stepped = noteClocks(at: now)
        if entries.isHeld { stepped += endHoldIfOver(at: now) }
        var decided = decide(event, at: now)
        startFollowers(at: now, after: &decided)
        decided += admitWaiting(at: now)
        decided += admitWaitingForSlots(at: now)
        let (timers, records) = settleIntervals(at: now)
        if !timers.isEmpty { decided += timers }
        if !records.isEmpty { decided.append(.save(records, durable: false)) }
        let actions = stepped.isEmpty ? decided : stepped + decided
        guard !watching.isIdle else { return actions }
        return actions + checkWatched(after: event)
    }

    private mutating func decide(_ event: Event, at now: Now) -> [Action] {
        switch event {
        case .reload(let jobSet, let portion): reload(jobSet, portion: portion, at: now)
        case .reloadMore: reloadMore(at: now)
        case .include(let job): include(job, at: now)
        case .exclude(let jobs): exclude(jobs, at: now)
        case .wake(let job): wake(job, at: now)
        case .command(let command): execute(command, at: now)
        case .stored: noteStored(at: now)
        case .claimed(let run): startClaimed(run, at: now)
        case .runsPaused(let jobs): suspendRuns(ofOnly: jobs)
        case .recorded(let runs): noteRecorded(runs, at: now)
        case .began(let run, let instant): noteBegin(of: run, at: instant)
        case .ended(let run, let outcome, let usage, let end, let hasOutput):
            noteEnd(
                of: run, outcome, usage, ended: end ?? now.wall, hasOutput: hasOutput, at: now)
        case .checked(let run, let number, let answer):
            noteChecked(run, number: number, answer, at: now)
        case .machineChanged(let parts): noteMachineChange(parts, at: now)
        case .incidentsDue: []
        // It was early: the hold would have ended before this.
        case .holdDue: holdAlarm.map { [.armHold($0)] } ?? []
        case .hold(let terms): holdMachine(terms, at: now)
        case .release(let initiator): releaseMachine(by: initiator, at: now)
        case .clockChanged: applyClockChange(at: now)
        case .zonesChanged(let zones, let local): applyZoneChange(zones, local: local, at: now)
        case .checkpoint(let places): checkpoint(of: places, at: now)
        case .shutdown: shutDown(at: now)
        }
    }

    /// The slot of a job; nil if there is no job of this name.
    func slot(of job: Job.Name) -> Int? { entries.slot(of: job) }

    /// The job that a run belongs to. When a job is renamed, its runs keep the identity they were
    /// started with, which contains the old name.
    /// - Complexity: O(1).
    public func owner(of run: Run.ID) -> Job.Name { runs.job(of: run) }

    /// The slot of the job that a run belongs to; nil if the job is not in the configuration.
    func slot(of run: Run.ID) -> Int? { slot(of: owner(of: run)) }

    /// A run without a process, which is over by the event that is being handled.
    func summary(of run: Run.ID, _ outcome: RunOutcome, failed: Bool) -> RunSummary {
        RunSummary(id: run, ended: clocks.last.wall, outcome: outcome, failed: failed)
    }

    /// Whether the shutdown was handled. After it, nothing fires.
    public var isShutDown: Bool { if case .shutDown = stage { true } else { false } }

    /// Whether a reload has started and is not finished.
    public var isReloading: Bool { if case .reloading = stage { true } else { false } }

    /// How many events were handled. Runs keep the number of the event that decided them, so that
    /// the shell can tell which of them are recorded (`storedThrough`).
    public var eventNumber: UInt64 { hold.event }

    /// The runs that were decided up to this event are recorded and started. The shell updates it
    /// before each event.
    public var storedThrough: UInt64 {
        get { hold.storedThrough }
        set { hold.note(storedThrough: newValue) }
    }

    /// Whether firings wait for the store. Then the shell must send `stored` when all rows are
    /// written.
    public var isHolding: Bool { hold.count > 0 }

    /// The number of jobs whose firings wait for the store.
    public var heldCount: Int { hold.count }

    /// Whether the time of any job counts, so that heartbeats and checkpoints are needed.
    public var isCounting: Bool { entries.openLedgers > 0 }

    /// How many of the jobs are one-off jobs, so that their limit is checked without a loop.
    public var oneOffs: Int { entries.oneOffs }

    /// The number of runs that were started and have not ended, or that wait for slots or
    /// `max-concurrent`.
    public var pendingRuns: Int {
        runs.startedCount + runs.capacityCount + runs.slots.waitingCount
    }

    /// The number of runs that were started and have not ended.
    public var liveRuns: Int { runs.startedCount }
}
