// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One job with everything the agenda knows of it.
struct JobEntry: Sendable {
    /// Behind a reference: entries are copied at each step, and the definition hardly ever changes.
    @Boxed var job: Job
    var phase: Phase
    var ledger: Ledger
    /// Firings since the job began at zero.
    var firings = 0
    var lastScheduled: WallInstant?
    /// Of a schedule by the calendar clock: up to when its occurrences are dealt with.
    var seen: WallInstant
    /// Its next occurrence; nil if there is none, or none is to come while it is not armed.
    var occurrence: WallInstant?
    var configuredPaused: Bool
    private var boxedLastRun: Boxed<RunSummary>?
    /// Nil while all of it is as it is in a new job.
    private var rare: Boxed<Rare>?
    /// When the account was last handed out to be written down.
    var checkpoint: WallInstant
    /// The chance of this job on this machine.
    var chance: Chance

    /// A job nobody ever saw before, with nothing counted yet.
    init(new job: Job, at now: Now, seed: UInt64) {
        _job = Boxed(wrappedValue: job)
        chance = Chance(seed: seed, job: job.name)
        phase =
            job.paused ? .paused(Pause(since: now.wall, by: .configuration)) : .armed
        ledger = Ledger()
        configuredPaused = job.paused
        checkpoint = now.wall
        seen = now.wall
    }

    var boxedJob: Boxed<Job> { _job }

    /// The latest run that ended.
    var lastRun: RunSummary? {
        get { boxedLastRun?.wrappedValue }
        set { boxedLastRun = newValue.map { Boxed(wrappedValue: $0) } }
    }

    /// A run of it.
    func run(_ firing: Firing, attempt: Int = 1) -> Run {
        Run(firing: firing, attempt: attempt, job: _job)
    }

    /// The reading of the clock its ledger counts by.
    func counted(at now: Now) -> CountedInstant { now.counted(job.count) }

    func active(at now: Now) -> Duration { ledger.active(at: counted(at: now)) }

    func accrued(at now: Now) -> Duration { ledger.accrued(at: counted(at: now)) }

    /// By how much all its grid points or occurrences are shifted.
    var offset: Duration {
        let most = job.policy.randomOffset
        return most > .zero ? chance.draw(ordinal: .max, below: most) : .zero
    }

    /// By how much the firing of this number, or of this occurrence, is delayed.
    func delay(ordinal: Int64) -> Duration {
        let most = job.policy.randomDelay
        return most > .zero ? chance.draw(ordinal: ordinal, below: most) : .zero
    }

    /// The points at which it is due; nil for a schedule by the calendar clock, and where none is to come.
    var grid: Grid? {
        switch job.schedule {
        case .every(let span):
            Grid(first: (job.first ?? span) + offset, span: span, passed: firings)
        case .after(let span):
            Grid(first: span + offset, span: span + offset, passed: firings)
        case .onBoot(let span):
            // Only the first point is ever looked at, and no grid has a span of zero.
            isDueThisBoot ? Grid(first: span + offset, span: .seconds(1)) : nil
        case .wall: nil
        }
    }

    /// The accrued time at which the next grid point lies; nil where there is none.
    var target: Duration? { grid?.next }

    /// The accrued time at which the next firing is due.
    var dueTarget: Duration? { target.map { $0 + delay(ordinal: Int64(firings)) } }

    /// When the next occurrence is due by the calendar clock.
    var dueOccurrence: WallInstant? {
        occurrence.map { $0 + delay(ordinal: $0.microsecondsSinceEpoch) }
    }

    /// The first occurrence after an instant.
    func occurrence(after instant: WallInstant, _ schedule: WallSchedule) -> WallInstant? {
        let offset = offset
        guard offset > .zero else { return schedule.next(after: instant) }
        return schedule.next(after: instant - offset).map { $0 + offset }
    }

    /// The last occurrence before an instant.
    func occurrence(before instant: WallInstant, _ schedule: WallSchedule) -> WallInstant? {
        let offset = offset
        guard offset > .zero else { return schedule.previous(before: instant) }
        return schedule.previous(before: instant - offset).map { $0 + offset }
    }

    /// What is left to the next firing; nil if none is to come.
    func remaining(at now: Now) -> Duration? {
        switch (phase, job.schedule) {
        case (.armed, .wall): dueOccurrence.map { max(.zero, $0 - now.wall) }
        case (.paused, .wall), (.stopped, _), (.finished, _): nil
        case (.armed, _), (.paused, _): dueTarget.map { max(.zero, $0 - accrued(at: now)) }
        }
    }

    /// Takes the account as of `now` for the store.
    mutating func record(at now: Now, life: Life.ID, removed: WallInstant? = nil) -> JobRecord {
        ledger.settle(at: counted(at: now))
        checkpoint = now.wall
        // What goes on counting without the daemon is known by the clocks alone.
        let countsAway = phase == .armed && job.count != .active && removed == nil
        return JobRecord(
            job: job.name, phase: phase, active: active(at: now) + countedAfterPause,
            accrued: accrued(at: now) + countedAfterPause,
            isCounting: ledger.isOpen || countsAway, firings: firings,
            lastScheduled: lastScheduled, configuredPaused: configuredPaused, removed: removed,
            at: now, life: life, basis: job.count, uncertain: uncertain, skips: skips,
            seen: seen(at: now), corrections: corrections, isDueThisBoot: isDueThisBoot)
    }

    /// Up to when occurrences are dealt with, for a start or a reload with another schedule: what passed
    /// without an occurrence counts as dealt with, and an occurrence that waits to fire does not.
    private func seen(at now: Now) -> WallInstant {
        guard case .wall = job.schedule else { return max(seen, now.wall) }
        guard phase == .armed, let occurrence else { return seen }
        return max(seen, min(occurrence - .microseconds(1), now.wall))
    }

    /// The scheduled instant for a firing due at `instant`: never that of an earlier firing, even if the
    /// clock was set back, since it is what tells two firings of a job apart.
    mutating func schedule(at instant: WallInstant) -> WallInstant {
        // In the range that the identity of a run can name.
        var scheduled = instant.keepable
        if let lastScheduled, scheduled <= lastScheduled {
            scheduled = lastScheduled + .microseconds(1)
        }
        lastScheduled = scheduled
        return scheduled
    }

    /// Forgets what accrued; what may be missing from it with it.
    mutating func dropAccrued(at now: Now) {
        ledger.dropAccrued(at: counted(at: now))
        uncertain = .zero
    }
}

/// What few jobs have anything of, kept behind one reference: of many jobs, most entries are as small as can be.
extension JobEntry {
    private struct Rare: Hashable, Sendable {
        var corrections = 0
        var skips = 0
        var uncertain = Duration.zero
        var countedAfterPause = Duration.zero
        var isDueThisBoot = false
        var lastSkip: SkippedFiring?
    }

    /// How often the calendar clock was corrected, to tell the occurrences of one reading from those of another.
    var corrections: Int {
        get { rare?.wrappedValue.corrections ?? 0 }
        set { if newValue != corrections { change { $0.corrections = newValue } } }
    }

    /// How many further firings are to be let go by order.
    var skips: Int {
        get { rare?.wrappedValue.skips ?? 0 }
        set { if newValue != skips { change { $0.skips = newValue } } }
    }

    /// How much of the accrued time, at most, is missing for want of a witness.
    var uncertain: Duration {
        get { rare?.wrappedValue.uncertain ?? .zero }
        set { if newValue != uncertain { change { $0.uncertain = newValue } } }
    }

    /// What counted of a pause that ended by itself before this life began.
    var countedAfterPause: Duration {
        get { rare?.wrappedValue.countedAfterPause ?? .zero }
        set { if newValue != countedAfterPause { change { $0.countedAfterPause = newValue } } }
    }

    /// Whether the firing that a job has once in each boot is still to come in this one.
    var isDueThisBoot: Bool {
        get { rare?.wrappedValue.isDueThisBoot ?? false }
        set { if newValue != isDueThisBoot { change { $0.isDueThisBoot = newValue } } }
    }

    /// The latest firing that was let go.
    var lastSkip: SkippedFiring? {
        get { rare?.wrappedValue.lastSkip }
        set { if newValue != lastSkip { change { $0.lastSkip = newValue } } }
    }

    private mutating func change(_ body: (inout Rare) -> Void) {
        var value = rare?.wrappedValue ?? Rare()
        body(&value)
        rare = value == Rare() ? nil : Boxed(wrappedValue: value)
    }
}

/// What a job's random delays are drawn from: always the same for one machine, job and firing, so that a
/// restart moves nothing and a simulation tells the truth.
struct Chance: Sendable {
    private let state: UInt64

    init(seed: UInt64, job: Job.Name) {
        // FNV-1a over the name, from the seed on.
        state = job.description.utf8.reduce(seed ^ 0xcbf2_9ce4_8422_2325) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
    }

    /// A span from zero up to, not including, the bound, in whole microseconds.
    func draw(ordinal: Int64, below bound: Duration) -> Duration {
        let microseconds = UInt64(max(0, bound.wholeMicroseconds))
        guard microseconds > 0 else { return .zero }
        return .microseconds(Int64(number(ordinal: ordinal, below: microseconds)))
    }

    /// A number from zero up to, not including, the bound, which is above zero.
    func number(ordinal: Int64, below bound: UInt64) -> UInt64 {
        // The finish of SplitMix64.
        var mixed = state &+ UInt64(bitPattern: ordinal) &* 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        mixed ^= mixed >> 31
        return mixed % bound
    }
}

/// A firing that was let go, as far as it is remembered.
public struct SkippedFiring: Hashable, Sendable {
    /// Which one; the first of several.
    public var firing: Firing
    /// Why.
    public var reason: Notice.SkipReason
    /// When it was let go.
    public var at: WallInstant

    /// A firing that was let go.
    public init(firing: Firing, reason: Notice.SkipReason, at: WallInstant) {
        self.firing = firing
        self.reason = reason
        self.at = at
    }
}
