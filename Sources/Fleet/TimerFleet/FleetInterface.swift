// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What happened to a member of the fleet.
public enum FleetEvent: Sendable {
    /// Time passed. It is sent when `nextWake` says it, when the wall clock was set, and when the
    /// machine was suspended.
    case tick
    /// The store granted a lease; the request for it was sent then.
    case leased(LeaseID, sent: BootInstant)
    /// A keepalive was answered, which was sent then.
    case kept(LeaseID, sent: BootInstant)
    /// An endpoint of the store answered with this `Date`, in seconds, to what was sent then.
    case dated(endpoint: String, date: Int64, sent: WallInstant)
    /// The store does not know the lease any more.
    case leaseLost(LeaseID)
    /// All keys of the fleet were read, and are watched from the next revision on.
    case loaded(FleetSnapshot)
    /// The watch reports the changes up to this revision, in their order, and those after a snapshot
    /// only after it. Nil: the key was deleted.
    case changed(cluster: String, revision: Int64, FleetAnswer.Reads)
    /// The watch ended, or its next revision was compacted.
    case watchLost
    /// A transaction was answered.
    case answered(FleetMember.TransactionID, FleetAnswer)
    /// A transaction was not answered in time. It may have been applied, may be applied later, or
    /// never.
    case unknown(FleetMember.TransactionID)
    /// The run is recorded on this machine.
    case recorded(Run.ID)
    /// The runner started the process of a run.
    case began(Run.ID, at: WallInstant)
    /// The runner did not start it, because its start deadline had passed.
    case unstarted(Run.ID)
    /// The process ended.
    case ended(Run.ID, RunOutcome, at: WallInstant)
    /// A user requests something.
    case command(FleetMember.CommandID, FleetCommand)
    /// A user holds this machine, with its own jobs and those of the fleet, or has released it.
    case heldHere(Bool)
    /// The definitions of the fleet jobs were read; after a reload they replace those of the fleet.
    case configured([FleetJob], isReload: Bool)
}

/// All keys of a fleet at one revision.
public struct FleetSnapshot: Sendable {
    /// The cluster that answered.
    public var cluster: String
    /// The revision.
    public var revision: Int64
    /// What there is. No value is nil.
    public var values: FleetAnswer.Reads
    /// How far the log of the store is; nil: it did not say that.
    public var log: FleetLog?

    /// Creates a snapshot.
    public init(
        cluster: String, revision: Int64, values: FleetAnswer.Reads, log: FleetLog? = nil
    ) {
        self.log = log
        self.cluster = cluster
        self.revision = revision
        self.values = values
    }
}

/// What a user requests of the fleet.
public enum FleetCommand: Hashable, Sendable {
    /// Pause a job, or change the terms of its pause. It is answered when no machine starts it any
    /// more.
    case pause(Job.Name, PauseTerms)
    /// Continue a paused job.
    case resume(Job.Name)
    /// Skip the next firings of a job.
    case skipNext(Job.Name, Int64)
    /// Run a job now on a machine.
    case run(Job.Name, on: MachineName)
    /// Hold the whole fleet. It is answered when no machine starts anything any more.
    case hold(by: String)
    /// End the hold.
    case release(by: String)
    /// Let this machine's definition of a job be that of the fleet. A reload does so for the
    /// definitions that it changes; this is for machines that drifted otherwise, for example because
    /// the daemon was killed after a reload.
    case define(Job.Name)
    /// Remove what the store has of a job that no connected machine is configured with. It is
    /// refused if one is, or if a run of it is not over.
    case forget(Job.Name)
    /// Start nothing on this machine any more.
    case drain
    /// End that.
    case undrain
    /// Form the fleet, or accept a store that is not the one this machine knew.
    case adopt
}

/// What a user requests of a pause. A pause that is already there keeps the terms that are not named.
public struct PauseTerms: Hashable, Sendable {
    /// Who pauses the job.
    public var by: String
    /// The reason.
    public var note: String?
    /// When the pause ends by itself, by the wall clock.
    public var until: WallInstant?
    /// Whether the active runs are suspended as well.
    public var withRun: Bool

    /// Creates a value.
    public init(
        by: String, note: String? = nil, until: WallInstant? = nil, withRun: Bool = false
    ) {
        self.by = by
        self.note = note
        self.until = until
        self.withRun = withRun
    }

    /// Whether the pause would not be over at once.
    func isFuture(at now: WallInstant) -> Bool { until.map { $0 > now } ?? true }

    /// The pause with these terms.
    ///
    /// - Parameter former: the pause in which the job is; nil if it is in none.
    func pause(after former: JobValue.Pause?, at now: WallInstant) -> JobValue.Pause {
        guard let former else {
            return JobValue.Pause(since: now, until: until, by: by, note: note, withRun: withRun)
        }
        var pause = former
        pause.note = note ?? former.note
        pause.until = until ?? former.until
        pause.withRun = withRun || former.withRun
        if pause != former { pause.by = by }
        return pause
    }
}

/// What became of a command.
public enum FleetCommandResult: Hashable, Sendable {
    /// It was done.
    case done
    /// The run was requested; its machine starts it next.
    case requested(Run.ID)
    /// It was refused, for this reason. Nothing changed.
    case refused(String)

    /// Why it was refused; nil if it was not.
    public var refusal: String? { if case .refused(let why) = self { why } else { nil } }
}

/// What is to be done.
public enum FleetAction: Sendable {
    /// Ask the store for a lease.
    case openLease
    /// Prolong it.
    case keepAlive(LeaseID)
    /// Read all keys and watch them.
    case load
    /// Make this transaction, and report its answer or that there was none.
    case send(FleetMember.TransactionID, FleetTransaction)
    /// Write this run into the record of this machine, in the place of what it had of it. For a run
    /// in the state `claimed`, report `recorded`.
    case record(LocalRun)
    /// Remove the run from the record: the store has its end.
    case forget(Run.ID)
    /// Write what is known of the store into the record.
    case remember(IdentityGuard)
    /// Write into it what was seen since then; it replaces what was written of the same jobs.
    case rememberMore(SeenValues)
    /// Start the process of the run before the instant, with this fence.
    case start(Run.ID, fence: Int64, before: BootInstant)
    /// End this run, which is active here: this machine lost the store.
    case end(Run.ID)
    /// Write into the record whether this machine is drained. Then the command is done.
    case drain(Bool, FleetMember.CommandID)
    /// A command was done or refused.
    case done(FleetMember.CommandID, FleetCommandResult)
    /// This is to be logged.
    case tell(FleetNotice)
}

/// Something that users must know.
public enum FleetNotice: Hashable, Sendable {
    /// The store is not the known one: nothing is started until `adopt`.
    case guarded(IdentityGuard.Finding)
    /// A value cannot be read, and so nothing of the store is used.
    case fault(FleetFault)
    /// The value of a key cannot be read, and so nothing is done with this job or this machine.
    case unreadable(FleetKey, FleetFault)
    /// A pause of the job ended by itself.
    case pauseEnded(Job.Name)
    /// The store that was adopted has what the machines remember, and the fleet goes on; or it is held,
    /// because none of them remembers anything.
    case recovered(isHeld: Bool)
    /// This machine was drained before its daemon started, and still is.
    case drained
}

/// A run that this machine claimed, as it should be in the store.
public struct LocalRun: Hashable, Sendable {
    /// The run.
    public var run: Run.ID
    /// Its value.
    public var value: RunValue

    /// Creates a row.
    public init(run: Run.ID, value: RunValue) {
        self.run = run
        self.value = value
    }
}

/// What a machine's own record and its runner's registry say when its daemon starts.
public struct FleetMemory: Sendable {
    /// What was known of the store.
    public var known = IdentityGuard()
    /// The runs whose end is not yet in the store.
    public var runs: [LocalRun] = []
    /// What the runner knows of runs that were handed to it in this boot. A run of this boot that
    /// is missing was not started and never will be.
    public var registry: [Run.ID: RunnerState] = [:]
    /// Whether a user drained this machine.
    public var isDrained = false
    /// What the runner knows of a run.
    public enum RunnerState: Hashable, Sendable {
        case began(WallInstant)
        case unstarted
        case ended(RunOutcome, began: WallInstant, at: WallInstant)
    }

    /// Nothing is known.
    public init() {}
}
