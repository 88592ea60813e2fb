// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Something that happened, as it is passed to the agenda.
public enum Event: Sendable {
    /// The configuration was read again. Approximately this many jobs are changed now, and the
    /// others by `reloadMore`.
    case reload(JobSet, portion: Int = .max)
    /// It is time for the next portion of a reload. The shell sends it as long as
    /// `Agenda.isReloading` is true.
    case reloadMore
    /// A one-off job was created. Its name is not in use, and no reload is in progress.
    case include(Job)
    /// These one-off jobs have finished or were cancelled. No reload is in progress.
    case exclude([Job.Name])
    /// The timer of this job expired, or its second one, for retries. One that expired early is set
    /// again.
    case wake(Job.Name)
    /// A user requests something. The result is `Action.answer`.
    case command(JobCommand)
    /// All waiting rows are written. The shell sends it after `Agenda.isHolding` said that firings
    /// wait for this.
    case stored
    /// A fleet decided that a run of a job starts on this machine, and whether it overlaps with
    /// others: it starts at once, or as soon as `max-concurrent` allows it.
    case claimed(ClaimedRun)
    /// In the fleet these jobs are paused together with their active runs, and no others are.
    case runsPaused(Set<Job.Name>)
    /// The rows of these runs were written long after their start was decided. They have not been
    /// started.
    case recorded([Run])
    /// The process of a run started, at this time of the wall clock. The report may be late or
    /// repeated.
    case began(Run.ID, at: WallInstant)
    /// A run ended, at this time of the wall clock; nil: now. It had written output or not.
    case ended(Run.ID, RunOutcome, RunUsage, at: WallInstant? = nil, hasOutput: Bool = false)
    /// The runner has answered a check (`Action.check`) of this number. It may be a late answer.
    case checked(Run.ID, number: UInt64, Condition.Answer)
    /// The runner has noticed that these parts of the machine changed. Runs that wait for a condition
    /// on them are asked again at once.
    case machineChanged(MachineParts)
    /// The timer of `Action.armIncidents` expired.
    case incidentsDue
    /// A user holds this machine, or changes the terms of its hold. The result is `Action.answer`.
    case hold(MachineHold.Terms)
    /// A user releases this machine. The result is `Action.answer`.
    case release(by: Initiator)
    /// The timer of `Action.armHold` expired.
    case holdDue
    /// The wall clock was set, or may have been set.
    case clockChanged
    /// The time zones of the machine were read again: the zones with these names, and the zone of
    /// the machine.
    case zonesChanged([String: ZoneRules], local: ZoneRules?)
    /// It is time to save the elapsed time of the jobs at these positions of the configuration, see
    /// `Agenda.places`.
    case checkpoint(Range<Int> = 0..<Int.max)
    /// The daemon stops. After this event nothing fires.
    case shutdown
}

/// A run that a fleet gave to this machine.
public struct ClaimedRun: Hashable, Sendable {
    /// The run, with the instant at which it was due.
    public var id: Run.ID
    /// How many further firings were missed before it and are combined with it.
    public var missed: Int
    /// The total active time of the job, as the fleet counts it.
    public var active: Duration
    /// Why it was made, its fence, and when it must have started.
    public var claim: Firing.Cause.Claim

    public init(id: Run.ID, missed: Int, active: Duration, claim: Firing.Cause.Claim) {
        self.id = id
        self.missed = missed
        self.active = active
        self.claim = claim
    }
}

/// A user's request about one job. A property that begins with a verb matters only for that verb.
public struct JobCommand: Hashable, Sendable {
    /// What to do. All verbs are idempotent except `run`, `retry` and `kill` with a signal.
    public enum Verb: String, CaseIterable, Hashable, Sendable {
        /// Pause the job and keep its elapsed time.
        case pause
        /// End the pause and continue as `on-resume` says.
        case resume
        /// Restart the timer of a stopped or finished job; no other job changes.
        case start
        /// Stop the timer and discard the elapsed time.
        case stop
        /// Run the job now, independently of its schedule.
        case run
        /// Run it now, if its last run failed.
        case retry
        /// Skip its next `count` firings.
        case skipNext = "skip-next"
        /// End its runs and cancel its waiting retries, or send its runs a signal.
        case kill
    }

    /// When a pause ends by itself, as the user gave it.
    public enum PauseEnd: Hashable, Sendable {
        /// When the wall clock reads this.
        case at(WallInstant)
        /// After this span by the wall clock, counted from the handling of the request.
        case after(Duration)
    }

    public var verb: Verb
    public var job: Job.Name
    /// Who requested it, for the log, and for the pause or the run that it makes.
    public var by: Initiator
    /// For a pause: why, in the user's words; nil if the user did not say, or keeps an earlier
    /// reason.
    public var note: String?
    /// For a pause: when it ends by itself; nil: only when a user resumes the job.
    public var until: PauseEnd?
    /// For a pause: whether the active runs are suspended as well, and their time limits with them.
    public var withRun: Bool
    /// For `skipNext`: how many firings to skip; 0 cancels an earlier request. Not negative.
    public var count: Int
    /// For `resume`: only if the job is still in exactly this pause; nil: in any pause.
    public var onlyPause: SeenPause?
    /// For `kill`: only this run; nil: all active runs, and the waiting retries.
    public var run: Run.ID?
    /// For `kill`: the name of the signal to send, such as `SIGHUP`; nil: end the runs.
    public var signal: String?
    /// For `run`: the variables of this run only.
    public var variables: RunVariables
    /// For `run`: what is appended to the command for this run only.
    public var arguments: RunArguments
    /// For `run`: whether no other job follows the run.
    public var isAlone: Bool
    /// For `run`: whether it starts whatever the condition of the job says.
    public var isForced: Bool
    /// For `run`: whether it starts while the machine is held, as the job of a notifier does.
    public var ignoresHold = false
    /// For `run` of a job of a fleet: the machine that runs it; nil: the one that is asked.
    public var machine: MachineName?

    /// Requests without the values that their verb does not use. A `skipNext` skips one firing.
    public init(
        _ verb: Verb, _ job: Job.Name, by: Initiator, note: String? = nil, until: PauseEnd? = nil,
        withRun: Bool = false, count: Int = 1, run: Run.ID? = nil, signal: String? = nil,
        variables: RunVariables = RunVariables(), arguments: RunArguments = RunArguments(),
        isAlone: Bool = false, isForced: Bool = false,
        machine: MachineName? = nil
    ) {
        self.variables = variables
        self.arguments = arguments
        self.isAlone = isAlone
        self.isForced = isForced
        self.machine = machine
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

    /// Whether the request applies to this pause, in which the job is now.
    public func means(_ pause: Pause) -> Bool { onlyPause.map { $0 == SeenPause(pause) } ?? true }
}

/// A pause as it was shown to a user. If the user then decides to end it, the decision applies to
/// this pause, and not to another pause that may have started meanwhile.
public struct SeenPause: Hashable, Sendable {
    /// When the pause started, by the wall clock.
    public var since: WallInstant
    /// Who paused the job, as it is displayed.
    public var by: String
    /// The reason as it was shown; nil if there was none.
    public var note: String?
    /// The end as it was shown, by the wall clock; nil if there was none.
    public var until: WallInstant?
    /// Whether the active runs are suspended as well.
    public var withRun: Bool

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

    /// The pause as it is shown to users.
    public init(_ pause: Pause) {
        self.init(
            since: pause.since, by: pause.by.description, note: pause.note, until: pause.until,
            withRun: pause.withRun)
    }
}

/// The result of a request, for the user who made it.
public enum Answer: Hashable, Sendable {
    /// It was done as requested, and there is nothing more to say.
    case done
    /// The job was already paused, and the terms of its pause were changed. These are the previous
    /// terms.
    case pauseChanged(from: Pause)
    /// This run was recorded. It starts now or waits.
    case requested(Run.ID)
    /// The first runs are being ended or were sent a signal. The second, which were waiting, were
    /// cancelled.
    case killed([Run.ID], cancelled: [Run.ID])
    /// The job was already in the requested state, as this text explains. Nothing changed.
    case unchanged(String)
    /// It cannot be done, for this reason, which is shown to the user. Nothing changed.
    case refused(String)
    /// No job of this name is in the configuration.
    case noSuchJob

    /// The run that the request recorded; nil for other answers.
    public var run: Run.ID? {
        if case .requested(let run) = self { run } else { nil }
    }
}

/// Something the shell must do, in the order given. Each action contains all it needs, so that the
/// shell does not have to ask the agenda.
///
/// The large cases are boxed: most actions of a start with very many jobs set a timer.
public enum Action: Hashable, Sendable {
    /// Set or move the timer of the job to this instant.
    case arm(Job.Name, AwakeInstant)
    /// Set or move the timer of the job to this time of the wall clock.
    case armAt(Job.Name, WallInstant)
    /// Cancel the timer of the job, whichever clock it uses.
    case disarm(Job.Name)
    /// Set the second timer of the job, for its next retry or check, to this instant.
    case armRetry(Job.Name, AwakeInstant)
    /// Cancel the second timer of the job.
    case disarmRetry(Job.Name)
    /// Write the runs and the records in one transaction, those in `start` as released. Start these
    /// when that is on the disk; if their jobs have relaxed durability, when it is written.
    case begin([Run], start: [Run], records: [JobRecord])
    /// Write that these runs, which were written before and had to wait, are released, and start
    /// them as after `begin`.
    case start([Run])
    /// Start these runs now: that they are released is written already.
    case startReleased([Run])
    /// Ask the runner whether the conditions of these runs are met, when their rows are written. It
    /// starts nothing of them. The answers come as `Event.checked`.
    case check([ConditionCheck])
    /// These runs were written as released, but do not start now: write that they wait again. They
    /// were never sent to a runner.
    case withdraw([Run.ID])
    /// End an active run: ask it to end, and kill it after the grace period. Its end is reported
    /// like any other.
    case end(Run.ID, grace: Duration)
    /// Send the signal with this name to the processes of a started run.
    case signal(Run.ID, String)
    /// Suspend an active run, and its time limit with it.
    case suspend(Run.ID)
    /// Continue a suspended run, and its time limit with it.
    case resume(Run.ID)
    /// Close the row of a run, with the decision whether it failed.
    indirect case close(RunSummary)
    /// Add the notifications to the outbox and write the changes of incidents, in one transaction.
    /// If the action before it writes a run, the end of a run or records, it is the same
    /// transaction, so that there is exactly one notification about what happened.
    case notify([JobNotification], incidents: [IncidentChange])
    /// Set or move the timer for incidents to this time of the wall clock; nil: cancel it.
    case armIncidents(WallInstant?)
    /// Set or move the timer for the end of the hold to this time of the wall clock; nil: cancel it.
    case armHold(WallInstant?)
    /// Write the records. If `durable`, they must be on the disk before the later actions in the
    /// list.
    case save([JobRecord], durable: Bool)
    /// Write the changes of a start or a new configuration in one transaction. If `durable`, they
    /// must be on the disk before the later actions in the list. They are behind a reference,
    /// because each action takes as much memory as the largest, and a start has one for each job.
    indirect case storeJobSet(JobSetChange, durable: Bool)
    /// Write the notice to the log. Boxed, because notices are large.
    indirect case log(Notice)
    /// Answer the request of the event that was just handled. Boxed, because it may be a pause.
    indirect case answer(Answer)
    /// Tell the fleet that this run does not start: its job is not configured any more, or the machine
    /// is held.
    case decline(Run.ID)
}
