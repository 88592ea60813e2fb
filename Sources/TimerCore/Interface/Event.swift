// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What happened, as the agenda is told it.
public enum Event: Sendable {
    /// The configuration was read again. About so many jobs are changed now, and the others by `reloadMore`.
    case reload(Roster, portion: Int = .max)
    /// It is time for the next portion of a reload, for as long as `Agenda.isReloading`.
    case reloadMore
    /// A timer of this job rang.
    case wake(Job.Name)
    /// Somebody orders something.
    case order(Order)
    /// The store has caught up, after `Agenda.isHolding` said that firings wait for it.
    case stored
    /// The rows of these runs were written long after they were told to start, and they have not been started.
    case recorded([Run])
    /// The process of a run started, at this time of the calendar clock. It may be told late, and twice.
    case began(Run.ID, at: WallInstant)
    /// A run ended.
    case ended(Run.ID, RunOutcome, RunUsage)
    /// The calendar clock was set, or may have been.
    case clockChanged
    /// The machine's time zones were read again: those of these names, and the machine's own.
    case zonesChanged([String: ZoneRules], local: ZoneRules?)
    /// It is time to write down what accrued: of the jobs in these places of the configuration, see `Agenda.places`.
    case checkpoint(Range<Int> = 0..<Int.max)
    /// The daemon stops: nothing fires any more.
    case shutdown
}

/// What somebody orders of a job.
public struct Order: Hashable, Sendable {
    /// What is to be done. Each is idempotent but `run` and signals.
    public enum Verb: String, CaseIterable, Hashable, Sendable {
        /// Hold the job and keep what accrued.
        case pause
        /// Go on from the remaining time.
        case resume
        /// Begin at zero.
        case start
        /// End the timer and drop what accrued.
        case stop
        /// Run it now, apart from its schedule.
        case run
        /// Skip its next firings.
        case skipNext = "skip-next"
        /// End its runs and cancel a further attempt that waits, or send its runs a signal.
        case kill
    }

    /// When a pause ends by itself.
    public enum PauseEnd: Hashable, Sendable {
        /// When the calendar clock reads this.
        case at(WallInstant)
        /// So much later by the calendar clock.
        case after(Duration)
    }

    /// What is to be done.
    public var verb: Verb
    /// Of which job.
    public var job: Job.Name
    /// Who orders it.
    public var by: Author
    /// What they say about it.
    public var note: String?
    /// Of a pause: when it ends by itself; nil: when somebody resumes the job.
    public var until: PauseEnd?
    /// Of a pause: whether runs that live stand still as well, and their time limits with them.
    public var withRun: Bool
    /// Of `skipNext`: how many firings are skipped; 0 takes an earlier order back. Not negative.
    public var count: Int
    /// Of `resume`: only if the job is in exactly this pause; nil: whatever pause it is in.
    public var onlyPause: SeenPause?
    /// Of `kill`: only this run; nil: all that are running, and further attempts that wait.
    public var run: Run.ID?
    /// Of `kill`: the name of the signal to send, such as `SIGHUP`; nil: end the runs.
    public var signal: String?

    /// An order as described.
    public init(
        _ verb: Verb, _ job: Job.Name, by: Author, note: String? = nil, until: PauseEnd? = nil,
        withRun: Bool = false, count: Int = 1, run: Run.ID? = nil, signal: String? = nil
    ) {
        self.verb = verb
        self.job = job
        self.by = by
        self.note = note
        self.until = until
        self.withRun = withRun
        self.count = count
        self.run = run
        self.signal = signal
    }

    /// Whether it is about the pause that the job is in.
    func means(_ pause: Pause) -> Bool { onlyPause.map { $0 == SeenPause(pause) } ?? true }
}

/// A pause as somebody saw it. Who decides on it later, such as whether to end it, means this pause, and not another
/// one that the job may be in by then.
public struct SeenPause: Hashable, Sendable {
    /// Since when.
    public var since: WallInstant
    /// Who paused it, as it is shown.
    public var by: String
    /// What they wrote about it.
    public var note: String?
    /// When it ends by itself.
    public var until: WallInstant?
    /// Whether active runs are suspended as well.
    public var withRun: Bool

    /// A pause as described.
    public init(
        since: WallInstant, by: String, note: String? = nil, until: WallInstant? = nil,
        withRun: Bool = false
    ) {
        self.since = since
        self.by = by
        self.note = note
        self.until = until
        self.withRun = withRun
    }

    /// The pause that a job is in.
    public init(_ pause: Pause) {
        self.init(
            since: pause.since, by: pause.by.description, note: pause.note, until: pause.until,
            withRun: pause.withRun)
    }
}

/// What came of an order.
public enum Answer: Hashable, Sendable {
    /// It was done.
    case done
    /// The job was paused before, and its pause has other terms now: these are the former ones.
    case pauseChanged(from: Pause)
    /// These runs are being ended or were sent a signal, and these, which waited, are cancelled.
    case killed([Run.ID], cancelled: [Run.ID])
    /// It was so already; nothing changed.
    case unchanged(String)
    /// It cannot be done, and why.
    case refused(String)
    /// The roster has no such job.
    case noSuchJob
}

/// Something the shell must do, in the order given. Each stands for itself: doing one needs no look at
/// the agenda.
public enum Action: Hashable, Sendable {
    /// Set the job's timer to ring at this instant, or move it there.
    case arm(Job.Name, AwakeInstant)
    /// Set the job's timer to ring when the calendar clock reads this, or move it there.
    case armAt(Job.Name, WallInstant)
    /// Take the job's timer away.
    case disarm(Job.Name)
    /// Set the job's second timer, that of its next further attempt, to ring at this instant.
    case armRetry(Job.Name, AwakeInstant)
    /// Take the job's second timer away.
    case disarmRetry(Job.Name)
    /// Write the runs and the records in one transaction; when it is kept, start the runs in `start`.
    case begin([Run], start: [Run], records: [JobRecord])
    /// Start runs that were written before and waited for a place.
    case start([Run])
    /// End a run that lives: ask it, and after the grace force it. Its end is told as any other's.
    case end(Run.ID, grace: Duration)
    /// Send the processes of a run that was started the signal of this name.
    case signal(Run.ID, String)
    /// Let a run that lives stand still, and its time limit with it.
    case suspend(Run.ID)
    /// Let it go on.
    case resume(Run.ID)
    /// Close the row of a run, with the verdict whether it failed.
    case close(Run.ID, RunOutcome, RunUsage, failed: Bool)
    /// Write the records; if `durable`, before anything later in the list is done.
    case save([JobRecord], durable: Bool)
    /// Write what a new configuration changes, in one transaction; if `durable`, before anything later in the
    /// list is done.
    case adopt(RosterChange, durable: Bool)
    /// Say it in the log.
    case tell(Notice)
    /// Answer the order that was just handled.
    case answer(Answer)
}
