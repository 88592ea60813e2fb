// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The state of a job. It does not say whether a run of the job is active.
public enum Phase: Hashable, Sendable {
    /// Its time counts and its timer is set.
    case armed
    /// Its timer is suspended and its elapsed time is kept. The pause is behind a reference,
    /// because few jobs are paused and every job needs memory for a phase.
    indirect case paused(Pause)
    /// A user stopped it: it has no timer and no elapsed time until it is started.
    case stopped
    /// No more runs are scheduled.
    case finished

    /// The word for it in tables, JSON and the store.
    public var word: String {
        switch self {
        case .armed: "armed"
        case .paused: "paused"
        case .stopped: "stopped"
        case .finished: "finished"
        }
    }

    /// When the pause ended, if its end was before this instant; otherwise this instant.
    func pauseEnd(before now: WallInstant) -> WallInstant {
        guard case .paused(let pause) = self, let until = pause.until else { return now }
        return min(until, now)
    }
}

/// Who paused a job, when, and why. It is kept in the store and not in the configuration, so that
/// neither a reload nor a configuration management tool ends it.
public struct Pause: Hashable, Sendable {
    /// When it began, by the wall clock. It stays when the terms of the pause change.
    public var since: WallInstant
    /// Who paused the job, or changed the terms last.
    public var by: Initiator
    /// The reason that the user gave; nil if there is none.
    public var note: String?
    /// When it ends by itself, by the wall clock; nil: only when a user resumes the job.
    public var until: WallInstant?
    /// Whether runs that were active were suspended as well.
    public var withRun: Bool

    /// A pause that only a user ends, unless `until` is given.
    public init(
        since: WallInstant, by: Initiator, note: String? = nil, until: WallInstant? = nil,
        withRun: Bool = false
    ) {
        self.since = since
        self.by = by
        self.note = note
        self.until = until
        self.withRun = withRun
    }
}

/// A pause that ended, for the history.
public struct PastPause: Hashable, Sendable {
    /// The name that the job has in the history.
    public var job: Job.Name
    /// The pause, with its last terms.
    public var pause: Pause
    /// When it ended, by the wall clock.
    public var ended: WallInstant
    /// Who ended it; `pauseEnd` if it ended by itself.
    public var endedBy: Initiator

    /// Creates a record of a pause that ended. One that ended by itself did so at its end, also if
    /// that was noticed later; after a correction of the clock, none ends before it began.
    public init(job: Job.Name, pause: Pause, by initiator: Initiator, at instant: WallInstant) {
        self.job = job
        self.pause = pause
        let end = initiator == .pauseEnd ? min(pause.until ?? instant, instant) : instant
        ended = max(pause.since, end)
        endedBy = initiator
    }
}

/// Who or what paused a job, or changed it in another way.
public enum Initiator: Hashable, Sendable, CustomStringConvertible {
    /// `paused = true` in the configuration.
    case configuration
    /// The user of this name, or `uid N` for one without.
    case user(String)
    /// The pause itself, which had a time at which it ends.
    case pauseEnd
    /// The wall clock, when it was corrected.
    case clockCorrection
    /// The machine, when it had no connection to its fleet any more.
    case isolation
    /// A hold of the machine (`MachineHold`).
    case hold

    public var description: String {
        switch self {
        case .configuration: "the configuration"
        case .user(let name): name
        case .pauseEnd: "the end of the pause"
        case .clockCorrection: "the corrected clock"
        case .isolation: "the lost connection to the fleet"
        case .hold: "the hold of this machine"
        }
    }
}

/// What the store keeps of a job: its ledger as of one reading of the clocks, and its state. It
/// belongs to the name of the job and is kept when the definition changes.
///
/// A start with very many jobs has several records of each at once, so it takes as few bytes as it
/// can: the flags are together.
public struct JobRecord: Hashable, Sendable {
    /// The name it belongs to, also after the job was removed.
    public var job: Job.Name
    /// The phase at `at`.
    public var phase: Phase
    /// Its active time in total, as of `at`.
    public var active: Duration
    /// Its active time since the last grid point. Negative, by at most `Agenda.aheadMax`, if the record
    /// is of an instant before that grid point, because its firing was decided ahead of the clocks.
    public var accrued: Duration
    /// How many firings it had since its timer was last restarted by `start`.
    public var firings: Int
    /// The scheduled instant of its last firing; nil if it never fired.
    @PackedInstant public var lastScheduled: WallInstant?
    /// When the job was removed from the configuration; nil while it is in the configuration.
    @PackedInstant public var removed: WallInstant?
    /// The reading of the clocks to which the record applies.
    public var at: Now
    /// The daemon instance that took it, whose heartbeats prove that time counted after `at`.
    public var instance: DaemonInstance.ID
    /// The maximum part of the elapsed time that may not have been counted because of a crash.
    public var maxLoss: Duration
    /// How many of the next firings will be skipped because a user requested it.
    public var skips: Int
    /// All occurrences by the wall clock up to this instant were processed. Nil in a record of a
    /// version that did not keep it.
    @PackedInstant public var processedThrough: WallInstant?
    /// How often the wall clock was corrected backwards. It distinguishes occurrences with the same
    /// time before and after a correction.
    public var clockEpoch: Int
    private var rare: Boxed<RareFields>?
    /// When a run of the job last succeeded; nil if that is not known.
    @PackedInstant public var lastSuccess: WallInstant?
    /// From when on the time without a success counts, if the job has `stale-after` and had no
    /// later success; nil if it has none.
    @PackedInstant public var watchedSince: WallInstant?
    /// Whether its time kept counting after `at`.
    public var isCounting: Bool
    /// The last value of `paused` in the configuration.
    public var configuredPaused: Bool
    /// Whether the firing of the boot of `at` had not happened yet, for a job that fires once in
    /// each boot.
    public var isDueThisBoot: Bool
    /// Whether the interval of the job restarts at the end of its runs, which had not ended at
    /// `at`.
    public var awaitsEnd: Bool
    /// Which clock its time was counted by; the job may have another basis now.
    public var basis: TimeBasis

    public init(
        job: Job.Name, phase: Phase, active: Duration, accrued: Duration, isCounting: Bool,
        firings: Int, lastScheduled: WallInstant?, configuredPaused: Bool, removed: WallInstant?,
        at: Now, instance: DaemonInstance.ID, basis: TimeBasis = .active, maxLoss: Duration = .zero,
        skips: Int = 0, processedThrough: WallInstant? = nil, clockEpoch: Int = 0,
        isDueThisBoot: Bool = false, awaitsEnd: Bool = false,
        endedInPause: WallInstant? = nil, lastSuccess: WallInstant? = nil,
        watchedSince: WallInstant? = nil, chain: [ChainEnd] = [], tally: RunTally = RunTally()
    ) {
        self.job = job
        self.phase = phase
        self.active = active
        self.accrued = accrued
        self.isCounting = isCounting
        self.firings = firings
        self.lastScheduled = lastScheduled
        self.configuredPaused = configuredPaused
        self.removed = removed
        self.at = at
        self.instance = instance
        self.basis = basis
        self.maxLoss = maxLoss
        self.skips = skips
        self.processedThrough = processedThrough
        self.clockEpoch = clockEpoch
        self.isDueThisBoot = isDueThisBoot
        self.awaitsEnd = awaitsEnd
        self.lastSuccess = lastSuccess
        self.watchedSince = watchedSince
        if endedInPause != nil || !chain.isEmpty || tally != RunTally() {
            rare = Boxed(
                wrappedValue: RareFields(endedInPause: endedInPause, chain: chain, tally: tally))
        }
    }
}

/// What few records have. It is behind one reference, so that the others need no memory for it.
extension JobRecord {
    private struct RareFields: Hashable, Sendable {
        var endedInPause: WallInstant?
        var chain: [ChainEnd] = []
        var tally = RunTally()
    }

    /// When the interval restarted during the pause that the job is in, by the wall clock; nil if
    /// it did not.
    public var endedInPause: WallInstant? {
        get { rare?.wrappedValue.endedInPause }
        set { change { $0.endedInPause = newValue } }
    }

    /// The ends of other jobs' runs after which it has not run.
    public var chain: [ChainEnd] {
        get { rare?.wrappedValue.chain ?? [] }
        set { change { $0.chain = newValue } }
    }

    /// How many runs it had, if their number is limited.
    public var tally: RunTally {
        get { rare?.wrappedValue.tally ?? RunTally() }
        set { change { $0.tally = newValue } }
    }

    private mutating func change(_ body: (inout RareFields) -> Void) {
        var fields = rare?.wrappedValue ?? RareFields()
        body(&fields)
        rare = fields == RareFields() ? nil : Boxed(wrappedValue: fields)
    }
}
