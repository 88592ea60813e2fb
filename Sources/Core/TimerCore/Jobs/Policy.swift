// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What to do with the firings of a job in cases that the schedule leaves open.
public struct Policy: Hashable, Sendable {
    /// What to do with occurrences that were missed.
    public var onMissed = Missed.runOnce
    /// How old a firing may be when its run starts. An older one is skipped, and this is recorded.
    /// Nil: any age.
    public var startingDeadline: Duration?
    /// What resuming does; nil: `keepRemaining` for `every` and `after`, `nextSlot` for the others.
    public var onResume: Resume?
    /// What to do with a firing while a run of the job is active.
    public var concurrency = Concurrency.forbid
    /// With `allow`: how many runs of the job may be active at the same time, at least 1; a firing
    /// beyond that is skipped. Nil: only the limit for all jobs together applies. A job from a
    /// configuration file always has a number, so that it cannot use the whole limit alone.
    public var concurrencyMax: Int?
    /// What each of its active runs takes of slots; each slot once.
    public var slots: [RunSlot.Use] = []
    /// What to do with a firing while a slot of the job is taken.
    public var onBusySlot = BusySlot.wait
    /// What must be saved, and how safely, before a run starts.
    public var startDurability = StartDurability.strict
    /// How much a firing may be delayed to share a wake-up with others. Not negative.
    public var accuracy = Duration.zero
    /// The maximum random delay of a firing. Each firing gets its own delay. Not negative.
    public var randomDelay = Duration.zero
    /// The maximum random shift of all occurrences. The shift is always the same for one job on one
    /// machine. Not negative.
    public var randomOffset = Duration.zero
    /// Over how long missed runs are spread that are caught up: each waits for a random part of it. Not
    /// negative.
    public var catchUpDelay = Duration.zero
    /// What to do after a failed run; by default nothing.
    public var retry = Retry()
    /// The notifiers for the job, each once.
    public var notify: [Notifier.Name] = []
    /// How long after its scheduled instant a firing that has not started is late; nil: never.
    public var lateAfter: Duration?
    /// How long a run takes before it is long; nil: never.
    public var longAfter: Duration?
    /// How long the job may have no successful run before it is stale; nil: any time.
    public var staleAfter: Duration?
    /// After which time of a pause there is a notification; nil: never.
    public var pausedAfter: Duration?
    /// How many of the newest runs that succeeded the history keeps, and as many of those that failed, and of skipped
    /// firings. At least 1.
    public var historyRuns = historyRunsDefault
    public static let historyRunsDefault = 100_000

    public init() {}

    /// What to do with missed occurrences: no daemon ran, or the machine was asleep or suspended.
    public enum Missed: String, CaseIterable, Hashable, Sendable {
        /// One run for all of them.
        case runOnce = "run-once"
        /// No run.
        case skip
        /// One run for each of them, one after the other, up to `Lateness.catchUpMax`.
        case runAll = "run-all"
    }

    /// What resuming a paused job does with its timer.
    public enum Resume: String, CaseIterable, Hashable, Sendable {
        /// Continue with the remaining time.
        case keepRemaining = "keep-remaining"
        /// Wait for the next occurrence; occurrences during the pause are skipped.
        case nextSlot = "next-slot"
        /// Fire at once if the job would have fired during the pause; otherwise as `keepRemaining`
        /// or `nextSlot`.
        case fireIfDue = "fire-if-due"
        /// Restart the interval.
        case restart
    }

    /// How the start of a run is recorded before its program begins.
    public enum StartDurability: String, CaseIterable, Hashable, Sendable {
        /// It is on the disk (fsync): no run starts twice, not even after a power failure.
        case strict
        /// It is written, and on the disk within a second: a run that started within a second before
        /// a power failure can start again after it. For jobs that are more frequent than their disk.
        case relaxed
    }

    /// What to do with a firing while a run of the job is active.
    public enum Concurrency: String, CaseIterable, Hashable, Sendable {
        /// The firing is skipped.
        case forbid
        /// It waits for the run to end. Only one firing waits; further ones are skipped.
        case queue
        /// The run is ended, and the run of the firing starts after that.
        case replace
        /// Both run.
        case allow
    }

    /// What to do with a firing while a slot of the job is taken.
    public enum BusySlot: String, CaseIterable, Hashable, Sendable {
        /// Its run waits until the slot is free.
        case wait
        /// The firing is skipped.
        case skip
    }

    /// What to do after a failed run: try the same firing again, after a delay.
    public struct Retry: Hashable, Sendable {
        /// How many retries may follow the first attempt. Not negative.
        public var retries = 0
        /// The delay before the second attempt. Not negative.
        public var delay = Duration.seconds(10)
        /// By which factor each delay is longer than the one before it; at least 1.
        public var backoff = 2.0
        /// The limit of the growing delay.
        public var delayMax = Duration.seconds(600)

        /// The defaults: no retries.
        public init() {}
    }
}
