// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One job with everything that the agenda knows about it.
struct JobEntry: Sendable {
    /// The definition is behind a reference: entries are copied at each step, and the definition
    /// rarely changes.
    @Boxed var job: Job
    var phase: Phase
    var ledger: Ledger
    // The bytes after the ledger's last one are free.
    var configuredPaused: Bool
    /// Whether a fleet decides when it runs. Then it has no timer, and no time of it counts here.
    var isShared: Bool
    /// The number of firings since the timer of the job was last restarted.
    var firings = 0
    @PackedInstant var lastScheduled: WallInstant? = nil
    /// For a schedule by the wall clock.
    var progress: OccurrenceProgress
    /// Nil while no run of the job has ended.
    var boxedOutcomes: Boxed<JobOutcomes>?
    /// Nil while all these fields have their default values.
    var uncommon: Boxed<UncommonFields>?
    /// What its notifications depend on; nil for a job without `notify`.
    var watch: Boxed<JobWatch>?
    /// When the time record was last passed to the store.
    var checkpoint: WallInstant
    /// The jitter of this job on this machine.
    var jitter: Jitter

    /// A new job, for which the store has no record. Its ledger is empty.
    init(new job: Job, at now: Now, seed: UInt64) {
        _job = Boxed(wrappedValue: job)
        jitter = Jitter(seed: seed, job: job.name)
        phase =
            job.paused ? .paused(Pause(since: now.wall, by: .configuration)) : .armed
        ledger = Ledger()
        configuredPaused = job.paused
        isShared = job.fleet != nil
        checkpoint = now.wall
        progress = OccurrenceProgress(through: now.wall)
        // A one-off job runs even if its time passed before it was loaded.
        if job.isOneOff, let at = job.schedule.at {
            progress.goBack(to: at - .microseconds(1))
        }
    }

    var boxedJob: Boxed<Job> { _job }

    /// All occurrences up to this instant were processed.
    var processedThrough: WallInstant { progress.through }

    /// The next occurrence; nil if there is none, or while the job is not armed.
    var occurrence: WallInstant? { progress.next }

    /// What is known of its runs that ended and its firings that were skipped.
    var outcomes: JobOutcomes {
        get { boxedOutcomes?.wrappedValue ?? JobOutcomes() }
        set { boxedOutcomes = newValue == JobOutcomes() ? nil : Boxed(wrappedValue: newValue) }
    }

    /// The latest run that ended; nil if none is known.
    var lastRun: RunSummary? { outcomes.last }

    /// An attempt at a firing of this job.
    func run(_ firing: Firing, attempt: Int = 1) -> Run {
        Run(firing: firing, attempt: attempt, job: _job)
    }

    /// The reading of the clock that its ledger counts by.
    func counted(at now: Now) -> CountedInstant { now.counted(job.count) }

    func active(at now: Now) -> Duration { ledger.active(asOf: counted(at: now)) }

    /// Negative if a firing was decided ahead of the clocks and is not due yet by `now`.
    func accrued(at now: Now) -> Duration { ledger.accrued(asOf: counted(at: now)) }

    /// By how much all its grid points or occurrences are shifted.
    var offset: Duration {
        let most = job.policy.randomOffset
        return most > .zero ? jitter.draw(ordinal: .max, below: most) : .zero
    }

    /// By how much the firing with this number, or at this occurrence, is delayed.
    func delay(ordinal: Int64) -> Duration {
        let most = job.policy.randomDelay
        return most > .zero ? jitter.draw(ordinal: ordinal, below: most) : .zero
    }

    /// The points at which the job is due; nil for a schedule by the wall clock, if the job is not
    /// due in this boot any more, and while its interval waits for the end of its runs.
    var grid: Grid? {
        switch job.schedule {
        case .every(let span):
            endWait.isWaiting
                ? nil : Grid(first: (job.first ?? span) + offset, span: span, passed: firings)
        case .after(let span):
            Grid(first: span + offset, span: span + offset, passed: firings)
        case .onBoot(let span):
            // Only the first point is used, and a grid must have a span above zero.
            isDueThisBoot ? Grid(first: span + offset, span: .seconds(1)) : nil
        case .wall, .onDemand: nil
        }
    }

    /// The elapsed time at which the next grid point is; nil if there is none.
    var target: Duration? { grid?.next }

    /// The elapsed time at which the next firing is due.
    var dueTarget: Duration? { target.map { $0 + delay(ordinal: Int64(firings)) } }

    /// When the next occurrence is due by the wall clock.
    var dueOccurrence: WallInstant? {
        occurrence.map { start(of: $0, delay: delay(ordinal: $0.microsecondsSinceEpoch)) }
    }

    /// The first occurrence after an instant, with the fixed shift of `random-offset`.
    func occurrence(after instant: WallInstant, _ schedule: WallSchedule) -> WallInstant? {
        let offset = offset
        guard offset > .zero else { return schedule.next(after: instant) }
        return schedule.next(after: instant - offset).map { $0 + offset }
    }

    /// The last occurrence before an instant, with the fixed shift of `random-offset`.
    func occurrence(before instant: WallInstant, _ schedule: WallSchedule) -> WallInstant? {
        let offset = offset
        guard offset > .zero else { return schedule.previous(before: instant) }
        return schedule.previous(before: instant - offset).map { $0 + offset }
    }

    /// The time that is left until the next firing; nil if none is scheduled here.
    func remaining(at now: Now) -> Duration? {
        guard !isShared else { return nil }
        return switch (phase, job.schedule) {
        case (_, .onDemand): nil
        case (.armed, .wall):
            dueOccurrence.map { max(.zero, start(ofDue: $0, at: now) - now.wall) }
        case (.paused, .wall), (.stopped, _), (.finished, _): nil
        case (.armed, _) where job.hasLimitedPoints:
            dueAlarm(at: now).map { max(.zero, $0.left(at: now)) }
        case (.armed, _), (.paused, _): dueTarget.map { max(.zero, $0 - accrued(at: now)) }
        }
    }

    /// Takes a record of the state for the store.
    ///
    /// - Parameters:
    ///   - now: the reading of the event that is handled.
    ///   - ahead: by how much that is ahead of the clocks. The record is of the real instant: nothing
    ///     that is saved may be time that has not passed.
    mutating func record(
        at now: Now, ahead: Duration, instance: DaemonInstance.ID, removed: WallInstant? = nil
    ) -> JobRecord {
        ledger.settle(at: counted(at: now))
        let real = now.advanced(by: .zero - ahead)
        checkpoint = real.wall
        // Time that keeps counting while no daemon runs is known from the clocks alone. That of a job of
        // a fleet is not counted here.
        let countsAway = phase == .armed && job.count != .active && removed == nil && !isShared
        return JobRecord(
            job: job.name, phase: phase,
            active: max(.zero, active(at: real) + countedAfterPause),
            accrued: accrued(at: real) + countedAfterPause,
            isCounting: ledger.isOpen || countsAway, firings: firings,
            lastScheduled: lastScheduled, configuredPaused: configuredPaused, removed: removed,
            at: real, instance: instance, basis: job.count, maxLoss: maxLoss, skips: skips,
            processedThrough: processedThrough(at: real), clockEpoch: clockEpoch,
            isDueThisBoot: isDueThisBoot, awaitsEnd: endWait.isWaiting, endedInPause: endedInPause,
            lastSuccess: boxedOutcomes?.wrappedValue.lastSuccess,
            watchedSince: watch == nil ? nil : watchedSince(at: real.wall), chain: chain.ends,
            tally: tally)
    }

    /// From when on the time without a success counts, for a job with `stale-after`.
    private func watchedSince(at now: WallInstant) -> WallInstant? {
        guard job.policy.staleAfter != nil else { return nil }
        // A daemon may stop before it notices that the pause is over.
        return watch?.wrappedValue.watchedSince(
            lastSuccess: boxedOutcomes?.wrappedValue.lastSuccess, at: phase.pauseEnd(before: now))
    }

    /// Up to which instant all occurrences were processed, for a start or a reload with another
    /// schedule. A range without an occurrence counts as processed. An occurrence that waits to
    /// fire does not.
    private func processedThrough(at now: Now) -> WallInstant {
        guard case .wall = job.schedule else { return max(processedThrough, now.wall) }
        // What was due while it was shared is not caught up when it is a job of this machine again.
        guard !isShared else { return max(processedThrough, now.wall) }
        guard phase == .armed, let occurrence else { return processedThrough }
        return max(processedThrough, min(occurrence - .microseconds(1), now.wall))
    }

    /// The scheduled instant of a firing that is due at `instant`. It is never that of an earlier
    /// firing, even if the clock was set back, because it identifies the firing within the job.
    mutating func schedule(at instant: WallInstant) -> WallInstant {
        // This is limited to the range that the identity of a run can express.
        var scheduled = instant.keepable
        if let lastScheduled, scheduled <= lastScheduled {
            scheduled = lastScheduled + .microseconds(1)
        }
        lastScheduled = scheduled
        return scheduled
    }

    /// Discards the elapsed time, and with it the record of how much may be missing.
    mutating func dropAccrued(at now: Now) {
        ledger.dropAccrued(at: counted(at: now))
        maxLoss = .zero
    }
}

/// Fields that few jobs need. They are behind one reference, so that the entries of most jobs are
/// small.
extension JobEntry {
    struct UncommonFields: Hashable, Sendable {
        var clockEpoch = 0
        var skips = 0
        var maxLoss = Duration.zero
        var countedAfterPause = Duration.zero
        var isDueThisBoot = false
        var endWait = EndWait()
        var chain = ChainWait()
        var tally = RunTally()
    }

    /// How often the wall clock was corrected backwards. It distinguishes occurrences with the same
    /// time before and after a correction.
    var clockEpoch: Int {
        get { uncommon?.wrappedValue.clockEpoch ?? 0 }
        set { if newValue != clockEpoch { change { $0.clockEpoch = newValue } } }
    }

    /// How many of the next firings will be skipped because a user requested it.
    var skips: Int {
        get { uncommon?.wrappedValue.skips ?? 0 }
        set { if newValue != skips { change { $0.skips = newValue } } }
    }

    /// The maximum part of the elapsed time that may not have been counted because of a crash.
    var maxLoss: Duration {
        get { uncommon?.wrappedValue.maxLoss ?? .zero }
        set { if newValue != maxLoss { change { $0.maxLoss = newValue } } }
    }

    /// The time that counted since a pause ended by itself before this daemon instance started.
    var countedAfterPause: Duration {
        get { uncommon?.wrappedValue.countedAfterPause ?? .zero }
        set { if newValue != countedAfterPause { change { $0.countedAfterPause = newValue } } }
    }

    /// Whether the firing of this boot has not happened yet.
    var isDueThisBoot: Bool {
        get { uncommon?.wrappedValue.isDueThisBoot ?? false }
        set { if newValue != isDueThisBoot { change { $0.isDueThisBoot = newValue } } }
    }

    /// What its interval knows of the end of its runs.
    var endWait: EndWait {
        get { uncommon?.wrappedValue.endWait ?? EndWait() }
        set { if newValue != endWait { change { $0.endWait = newValue } } }
    }

    /// The ends of other jobs' runs after which it has not run.
    var chain: ChainWait {
        get { uncommon?.wrappedValue.chain ?? ChainWait() }
        set { if newValue != chain { change { $0.chain = newValue } } }
    }

    /// How many runs it had, if their number is limited.
    var tally: RunTally {
        get { uncommon?.wrappedValue.tally ?? RunTally() }
        set { if newValue != tally { change { $0.tally = newValue } } }
    }

    private mutating func change(_ body: (inout UncommonFields) -> Void) {
        var value = uncommon?.wrappedValue ?? UncommonFields()
        body(&value)
        uncommon = value == UncommonFields() ? nil : Boxed(wrappedValue: value)
    }
}
