// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// All jobs of one configuration, their ledgers, what is due and what runs: everything that is decided is
/// decided here.
///
/// The agenda is a value that never asks for the time, touches no file and starts nothing. The shell hands
/// it each event with one reading of the clocks and does what the returned actions say, in their order.
/// All readings within a life must be of one boot, and CLOCK_MONOTONIC never runs backwards between them.
public struct Agenda: Sendable {
    /// How many missed firings of one job are made up for at most, one by one.
    public static let catchUpMax = 100
    /// A firing that comes later than this is missed, whatever held it up.
    public static let lateMax: Duration = .seconds(60)
    /// One that was due longer than this before the daemon began, or before the machine woke, is missed.
    public static let darkMax: Duration = .seconds(1)

    /// How many runs may live at once; further ones wait in the order they came due.
    public let concurrentRunsMax: Int
    /// What random delays are drawn by: the same for one machine, for ever.
    let seed: UInt64

    /// The number of this start of the daemon.
    public internal(set) var life: Life.ID = 0
    /// Whether the shutdown was handled: nothing fires any more.
    public internal(set) var isShutDown = false
    /// The jobs by slot. A slot freed by a removed job is used again.
    var entries: [JobEntry?] = []
    var freeSlots: [Int] = []
    var slots = SlotIndex()
    /// The slots in the order of the configuration. During a reload it is the old order, with the jobs that are new
    /// behind it, and slots of jobs that are gone are empty.
    var jobSlots: [Int] = []
    /// A reload that is not finished.
    var reloading: Reloading?
    /// When the armed jobs' timers ring: the latest instant at which they may fire.
    var due = AlarmQueue<AwakeInstant>()
    /// When those armed by the calendar clock ring. Pauses that end are among them.
    var wallDue = AlarmQueue<WallInstant>()
    /// When a further attempt of a job is due.
    var retryDue = DueQueue<AwakeInstant>()
    /// The reading of the clocks the last event came with, and the one before it.
    var lastNow: Now?
    var previousNow: Now?
    /// By how much the calendar clock was set just before the last event.
    var lastStep: Duration = .zero
    /// Until when nothing could fire: the beginning of the life, or the end of the machine's last sleep.
    var darkUntil: Now?
    /// The stretch of the calendar that its clock was last set over, forwards, by less than a correction.
    var steppedOver: (after: WallInstant, through: WallInstant)?
    /// The jobs the configuration does not name any more, in case it does again.
    var archived: [Job.Name: ArchivedJob] = [:]
    /// How many events were handled.
    public private(set) var eventNumber: UInt64 = 0
    /// Through which event the runs it decided on are on record and started. The shell sets it before each event.
    public var storedThrough: UInt64 = .max
    /// The slots of jobs that are due and wait until an earlier run of theirs is on record: whether that run
    /// can start at all is not known before.
    var heldUp: Set<Int> = []
    /// The runs that have not ended.
    var runs = RunTable()
    /// How many ledgers are open.
    var counting = 0

    private init(concurrentRunsMax: Int, seed: UInt64) {
        self.concurrentRunsMax = max(1, concurrentRunsMax)
        self.seed = seed
    }

    /// The agenda of a daemon that starts, and what the daemon has to do first. There is no other way to get
    /// an agenda, so that no event can reach one that does not know its jobs yet.
    ///
    /// - Parameters:
    ///   - roster: the configuration.
    ///   - past: what was saved by the daemon before this one.
    ///   - concurrentRunsMax: how many runs may be active at once; at least 1.
    ///   - seed: what random delays and offsets are drawn by; the same machine should give the same.
    /// - Complexity: O(*n* log *n*) in the number of jobs.
    public static func load(
        _ roster: Roster, _ past: Recollection, concurrentRunsMax: Int, seed: UInt64 = 0,
        at now: Now
    ) -> (agenda: Agenda, actions: [Action]) {
        var agenda = Agenda(concurrentRunsMax: concurrentRunsMax, seed: seed)
        agenda.lastNow = now
        let actions = agenda.load(roster, past, at: now)
        return (agenda, actions)
    }

    /// Takes what happened, as of one reading of the clocks, and says what is to be done, in order.
    ///
    /// - Complexity: O(*d* log *n*) for a wake with *d* jobs due among *n*, O(log *n*) for an order or
    ///   the end of a run, O(*p* log *n*) for a portion of *p* jobs of a reload or a checkpoint, O(*n* log *n*) for
    ///   the rest.
    public mutating func handle(_ event: Event, at now: Now) -> [Action] {
        eventNumber += 1
        let stepped = noteClocks(at: now)
        let decided = decide(event, at: now)
        return stepped.isEmpty ? decided : stepped + decided
    }

    private mutating func decide(_ event: Event, at now: Now) -> [Action] {
        switch event {
        case .reload(let roster, let portion): reload(roster, portion: portion, at: now)
        case .reloadMore: reloadMore(at: now)
        case .wake(let job): wake(job, at: now)
        case .order(let order): obey(order, at: now)
        case .stored: noteStored(at: now)
        case .recorded(let runs): noteRecorded(runs, at: now)
        case .began(let run, let instant): noteBegin(of: run, at: instant)
        case .ended(let run, let outcome, let usage): noteEnd(of: run, outcome, usage, at: now)
        case .clockChanged: followClock(at: now)
        case .zonesChanged(let zones, let local): followZones(zones, local: local, at: now)
        case .checkpoint(let places): checkpoint(of: places, at: now)
        case .shutdown: shutDown(at: now)
        }
    }

    /// Where the entry of a job is; nil if there is none of this name.
    func slot(of job: Job.Name) -> Int? { slots.slot(of: job, in: entries) }

    /// The job that a run belongs to. A run keeps the identity it was started with, and the name in it, when its
    /// job gets another name.
    /// - Complexity: O(1).
    public func owner(of run: Run.ID) -> Job.Name { runs.job(of: run) }

    /// Where the entry of the job is that a run belongs to; nil if the configuration does not name it.
    func slot(of run: Run.ID) -> Int? { slot(of: owner(of: run)) }

    /// Notes the end of a job's latest run, also of a job the configuration does not name any more.
    mutating func noteLastRun(_ run: RunSummary, of job: Job.Name) {
        if let slot = slot(of: job) {
            entries[slot]?.lastRun = run
        } else {
            archived[job]?.lastRun = run
        }
    }

    /// Whether any job's time counts, so that heartbeats and checkpoints have something to keep.
    public var isCounting: Bool { counting > 0 }

    /// Whether firings wait until the store has caught up; then it wants to be told so.
    public var isHolding: Bool { !heldUp.isEmpty }

    /// How many jobs' firings wait so.
    public var heldCount: Int { heldUp.count }

    /// How many runs were told to start and have not ended, or wait for `max-concurrent`.
    public var pendingRuns: Int { runs.startedCount + runs.capacityCount }

    /// How many runs were told to start and have not ended.
    public var liveRuns: Int { runs.startedCount }
}

/// A job that the configuration does not name any more.
struct ArchivedJob: Sendable {
    var record: JobRecord
    private var boxedLastRun: Boxed<RunSummary>?

    init(record: JobRecord, lastRun: RunSummary?) {
        self.record = record
        self.lastRun = lastRun
    }

    var lastRun: RunSummary? {
        get { boxedLastRun?.wrappedValue }
        set { boxedLastRun = newValue.map { Boxed(wrappedValue: $0) } }
    }
}
