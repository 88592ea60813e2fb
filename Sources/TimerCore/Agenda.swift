// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// All jobs of one configuration, their ledgers, what is due and what runs: everything that is decided is
/// decided here.
///
/// The agenda is a value that never asks for the time, touches no file and starts nothing. The shell hands
/// it each event with one reading of the clocks and does what the returned actions say, in their order.
/// All readings within a life must be of one boot, and CLOCK_MONOTONIC never runs backwards between them.
public struct Agenda: Sendable {
    /// How many runs may live at once; further ones wait in the order they came due.
    public let concurrentRunsMax: Int

    var life: Life.ID = 0
    /// Whether the shutdown was handled: nothing fires any more.
    public internal(set) var isShutDown = false
    /// The jobs by slot. A slot freed by a removed job is used again.
    var entries: [Entry?] = []
    var freeSlots: [Int] = []
    var slots: [Job.Name: Int] = [:]
    /// The slots in the order of the configuration.
    var order: [Int] = []
    /// When the armed jobs fire.
    var due = DueQueue<AwakeInstant>()
    /// When those armed by the calendar clock fire.
    var wallDue = DueQueue<WallInstant>()
    /// The reading of the clocks the last event came with.
    var lastNow: Now?
    /// The records of jobs the configuration does not name any more, in case it does again.
    var retired: [Job.Name: JobRecord] = [:]
    /// The runs that were told to start and have not ended, with their jobs.
    var live: [Run.ID: Job.Name] = [:]
    /// The runs that wait for one of the live ones to end.
    var waiting = Fifo<Run>()
    /// How many ledgers are open.
    var counting = 0

    /// An agenda without jobs, to be loaded.
    public init(concurrentRunsMax: Int) {
        self.concurrentRunsMax = max(1, concurrentRunsMax)
    }

    /// Takes what happened, as of one reading of the clocks, and says what is to be done, in order.
    ///
    /// - Complexity: O(*d* log *n*) for a wake with *d* jobs due among *n*, O(log *n*) for an order or
    ///   the end of a run, O(*n* log *n*) for the rest.
    public mutating func handle(_ event: Event, at now: Now) -> [Action] {
        let stepped = noteStep(at: now)
        return stepped + decide(event, at: now)
    }

    private mutating func decide(_ event: Event, at now: Now) -> [Action] {
        switch event {
        case .load(let roster, let recollection): load(roster, recollection, at: now)
        case .reload(let roster): reload(roster, at: now)
        case .wake(let job): wake(job, at: now)
        case .order(let order): obey(order, at: now)
        case .began(let run): noteBegin(of: run, at: now)
        case .ended(let run, let outcome, let usage): noteEnd(of: run, outcome, usage, at: now)
        case .clockChanged: followClock(at: now)
        case .checkpoint: checkpoint(at: now)
        case .shutdown: shutDown(at: now)
        }
    }

    /// Whether any job's time counts, so that heartbeats and checkpoints have something to keep.
    public var isCounting: Bool { counting > 0 }

    /// How many runs live or wait for a place.
    public var pendingRuns: Int { live.count + waiting.count }

    /// How many runs were told to start and have not ended.
    public var liveRuns: Int { live.count }
}

/// One job with everything the agenda knows of it.
struct Entry: Sendable {
    var job: Job
    var phase: Phase
    var ledger: Ledger
    /// Firings since the job began at zero.
    var firings = 0
    var lastScheduled: WallInstant?
    /// Of a schedule by the calendar clock: up to when its slots are dealt with.
    var seen: WallInstant
    /// Its next slot; nil if there is none, or none is to come while it is not armed.
    var slot: WallInstant?
    /// How often the calendar clock was corrected, to tell the slots of one reading from those of another.
    var corrections = 0
    var configuredPaused: Bool
    /// Runs that live or wait, oldest first.
    var live: [RunSummary] = []
    var lastRun: RunSummary?
    /// When the account was last handed out to be written down.
    var checkpoint: WallInstant

    /// A job nobody ever saw before, with nothing counted yet.
    init(new job: Job, at now: Now) {
        self.job = job
        phase =
            job.paused ? .paused(Pause(since: now.wall, by: .configuration)) : .armed
        ledger = Ledger()
        configuredPaused = job.paused
        checkpoint = now.wall
        seen = now.wall
        if case .wall(let schedule) = job.schedule, schedule.isAtReboot { slot = now.wall }
    }

    /// What of the schedule counts time, if any does.
    var span: Duration? {
        switch job.schedule {
        case .every(let span), .after(let span): span
        case .wall: nil
        }
    }

    /// The accrued time at which the next firing is due.
    var target: Duration {
        switch job.schedule {
        case .every(let span): firings == 0 ? job.first ?? span : span
        case .after(let span): span
        case .wall: .zero
        }
    }

    /// What is left of it; nil if no firing is to come.
    func remaining(at now: Now) -> Duration? {
        switch (phase, job.schedule) {
        case (.armed, .wall): slot.map { max(.zero, $0 - now.wall) }
        case (.paused, .wall): nil
        case (.armed, _), (.paused, _): max(.zero, target - ledger.accrued(at: now.awake))
        case (.stopped, _), (.finished, _): nil
        }
    }

    /// Takes the account as of `now` for the store.
    mutating func record(at now: Now, life: Life.ID, removed: WallInstant? = nil) -> JobRecord {
        ledger.settle(at: now.awake)
        checkpoint = now.wall
        return JobRecord(
            job: job.name, phase: phase, active: ledger.active(at: now.awake),
            accrued: ledger.accrued(at: now.awake), isCounting: ledger.isOpen, firings: firings,
            lastScheduled: lastScheduled, configuredPaused: configuredPaused, removed: removed,
            at: now, life: life)
    }

    /// The scheduled instant for a firing due at `instant`: never that of an earlier firing, even if the
    /// clock was set back, since it is what tells two firings of a job apart.
    mutating func schedule(at instant: WallInstant) -> WallInstant {
        var scheduled = instant
        if let lastScheduled, scheduled <= lastScheduled {
            scheduled = lastScheduled + .microseconds(1)
        }
        lastScheduled = scheduled
        return scheduled
    }
}
