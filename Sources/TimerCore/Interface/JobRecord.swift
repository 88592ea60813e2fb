// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Where a job stands. Whether a run of it lives is apart from this.
public enum Phase: Hashable, Sendable {
    /// Its time counts and its timer is set.
    case armed
    /// Its time stands still and nothing of it is lost. Behind a reference: few jobs are paused, and every
    /// job has room for a phase.
    indirect case paused(Pause)
    /// It was stopped by order: no timer, nothing accrued, until it is started.
    case stopped
    /// It fired for the last time.
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
}

/// Who paused a job, when, and why. Kept in the store, not in the configuration, so that no reload and no
/// configuration tool undoes it.
public struct Pause: Hashable, Sendable {
    /// Since when, on the calendar clock.
    public var since: WallInstant
    /// By whom.
    public var by: Author
    /// What they wrote about it.
    public var note: String?
    /// When it ends by itself, on the calendar clock; nil: when somebody resumes the job.
    public var until: WallInstant?
    /// Whether runs that lived stand still as well.
    public var withRun: Bool

    /// A pause as described.
    public init(
        since: WallInstant, by: Author, note: String? = nil, until: WallInstant? = nil,
        withRun: Bool = false
    ) {
        self.since = since
        self.by = by
        self.note = note
        self.until = until
        self.withRun = withRun
    }
}

/// On whose word something was done.
public enum Author: Hashable, Sendable, CustomStringConvertible {
    /// `paused = true` in the configuration.
    case configuration
    /// The user of this name, or `uid N` for one without.
    case user(String)
    /// The end of the pause itself.
    case pauseEnd
    /// The wall clock, when it was corrected.
    case clockCorrection

    public var description: String {
        switch self {
        case .configuration: "the configuration"
        case .user(let name): name
        case .pauseEnd: "the end of the pause"
        case .clockCorrection: "the corrected clock"
        }
    }
}

/// What the store keeps of a job: its ledger as of one reading of the clocks, and where it stands. It
/// belongs to the job's name and outlives changes of its definition.
public struct JobRecord: Hashable, Sendable {
    /// Whose record it is.
    public var job: Job.Name
    /// Where the job stood.
    public var phase: Phase
    /// Its active time in all.
    public var active: Duration
    /// Its active time since the last grid point.
    public var accrued: Duration
    /// Whether its time went on counting after `at`.
    public var isCounting: Bool
    /// How many firings it had in its present round; the round begins with `start`.
    public var firings: Int
    /// The scheduled instant of its last firing.
    public var lastScheduled: WallInstant?
    /// What the configuration said of `paused` last.
    public var configuredPaused: Bool
    /// When the configuration lost the job; nil while it names it.
    public var removed: WallInstant?
    /// The reading of the clocks the record holds for.
    public var at: Now
    /// The life of the daemon that took it.
    public var life: Life.ID
    /// What counted as its time.
    public var basis: TimeBasis
    /// How much of the accrued time, at most, is missing for want of a witness.
    public var uncertain: Duration
    /// How many further firings are to be let go by order.
    public var skips: Int
    /// Up to when the occurrences of the calendar clock are dealt with; nil in a record of a version that did not
    /// keep it.
    public var seen: WallInstant?
    /// How often the calendar clock was corrected backwards, to tell the occurrences of one reading from those of
    /// another.
    public var corrections: Int
    /// Whether the firing that the job has once in each boot is still to come in the boot of `at`.
    public var isDueThisBoot: Bool

    /// A record as described.
    public init(
        job: Job.Name, phase: Phase, active: Duration, accrued: Duration, isCounting: Bool,
        firings: Int, lastScheduled: WallInstant?, configuredPaused: Bool, removed: WallInstant?,
        at: Now, life: Life.ID, basis: TimeBasis = .active, uncertain: Duration = .zero,
        skips: Int = 0, seen: WallInstant? = nil, corrections: Int = 0, isDueThisBoot: Bool = false
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
        self.life = life
        self.basis = basis
        self.uncertain = uncertain
        self.skips = skips
        self.seen = seen
        self.corrections = corrections
        self.isDueThisBoot = isDueThisBoot
    }
}
