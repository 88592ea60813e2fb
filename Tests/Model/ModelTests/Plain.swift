// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The types for a set of jobs, the events of the machine and the observations: plain numbers, so
/// that the checker is independent of the code that it checks. All spans and instants are in
/// nanoseconds and whole numbers of microseconds; instants of the wall clock are since 1970.
enum Unit {
    static let microsecond: Int64 = 1000
    static let second: Int64 = 1_000_000_000
    static let hour: Int64 = 3600 * second
}

/// A job, as the configuration would define it.
struct PlainJob: Equatable {
    enum Kind: UInt8 { case every, after, onBoot, slots, at }
    enum Basis: UInt8 { case active, uptime, boottime, wall }
    enum Missed: UInt8 { case runOnce, skip, runAll }
    enum Resume: UInt8 { case keepRemaining, nextSlot, fireIfDue, restart }
    enum Concurrency: UInt8 { case forbid, queue, replace, allow }
    enum Two: UInt8 { case failure, success, skip }

    /// Its name as a number: `a` is 0.
    var name = 0
    var kind = Kind.every
    /// For an interval: its length. For one since the boot: its length, with the basis `boottime`.
    /// For occurrences: their distance.
    var span = 60 * Unit.second
    /// For an interval: the time to the first grid point, if it differs.
    var first: Int64?
    /// For an interval that repeats: whether it is counted from the end of each run.
    var isFromEnd = false
    /// For occurrences: the index in `WallPattern.all`.
    var pattern = 0
    /// For occurrences: their distance from midnight UTC, less than the span.
    var phase: Int64 = 0
    /// For `at`: the instants, ascending.
    var instants: [Int64] = []
    var basis = Basis.active
    var paused = false
    var onMissed = Missed.runOnce
    var deadline: Int64?
    var onResume: Resume?
    var concurrency = Concurrency.forbid
    var concurrencyMax: Int?
    var accuracy: Int64 = 0
    var randomDelay: Int64 = 0
    var randomOffset: Int64 = 0
    var catchUpDelay: Int64 = 0
    var retries = 0
    var retryDelay = 10 * Unit.second
    /// In halves: 2 means that all delays are as long as the first.
    var backoffHalves: Int64 = 4
    var retryMax = 600 * Unit.second
    /// What an exit code of 2 means.
    var two = Two.failure
    /// When a notifier tells that something is wrong; nil: never.
    var lateAfter: Int64?
    var longAfter: Int64?
    var staleAfter: Int64?
    var pausedAfter: Int64?
    var renamedFrom: Int?
    /// What each run takes of the slots, which are numbers from 0.
    var slots: [Use] = []
    /// Whether a firing is skipped while one of them is taken.
    var skipsBusy = false
    /// What is checked when a run is about to start; nil: nothing.
    var condition: Condition?

    struct Condition: Equatable {
        /// Which one it is: another number is another condition.
        var number = 1
        /// How long a run waits for it; 0: it is skipped at once.
        var waitMax: Int64 = 0
    }

    struct Use: Equatable {
        var slot: Int
        var weight: Int
    }

    var restartsAtEnd: Bool { kind == .every && isFromEnd }

    var isCounted: Bool { kind == .every || kind == .after || kind == .onBoot }

    /// Whether two definitions have the same occurrences.
    func hasSchedule(of other: PlainJob) -> Bool {
        kind == other.kind && (kind == .at || span == other.span) && instants == other.instants
            && (kind != .slots || pattern == other.pattern)
    }

    /// How long after the end of this attempt the next one starts.
    func retryDelay(after attempt: Int) -> Int64 {
        var delay = retryDelay
        for _ in 1..<max(1, attempt) {
            delay = delay * backoffHalves / 2
            if delay >= retryMax { return retryMax }
        }
        return min(delay, retryMax)
    }
}

/// How a run ended.
enum PlainOutcome: Int64 {
    case fine, failed, two, signalled, timedOut, spawnFailed, replaced, stopped, windowEnded
    case lostReboot, lostDaemon, lostRunner, lostDeadline
    case skipped

    func isSuccess(_ job: PlainJob?) -> Bool {
        self == .fine || (self == .two && job?.two == .success)
    }

    /// What is recorded of a run of this job that ended so.
    func recorded(for job: PlainJob?) -> PlainOutcome {
        self == .two && job?.two == .skip ? .skipped : self
    }

    /// Whether a retry may follow.
    func isRetried(_ job: PlainJob) -> Bool {
        switch self {
        case .failed, .two, .signalled, .timedOut, .spawnFailed: !isSuccess(job)
        case .fine, .replaced, .stopped, .windowEnded, .lostReboot, .lostDaemon, .lostRunner,
            .lostDeadline, .skipped:
            false
        }
    }
}

/// A command of a user.
enum PlainVerb: UInt8 { case pause, resume, start, stop, run, force, skipNext, kill }

/// What a check of a condition found.
enum PlainAnswer: UInt8 { case yes, no, failed }

/// An event that was passed to the daemon.
enum Told: Equatable {
    /// An instance starts with this set of jobs.
    case load([PlainJob])
    case reload([PlainJob])
    case wake(Int)
    /// The same, but a moment before: as of the instant at which it is due.
    case wakeAhead(Int)
    /// The process of a run of this job started.
    case began(Int)
    /// The timer for incidents expired.
    case incidentsDue
    case command(PlainVerb, Int, until: Int64?, withRun: Bool, count: Int)
    case ended(Int, label: Int64, attempt: Int, PlainOutcome)
    /// The check with this number, in the order in which they were asked for, is answered.
    case checked(Int64, PlainAnswer)
    case clockChanged
    /// What is mounted has changed.
    case mountsChanged
    case checkpoint
    case shutdown
}

/// How time passed.
enum Passing: UInt8 {
    /// The machine is awake, and the daemon, if it runs, handles every timer at once.
    case awake
    /// The machine is awake, and the daemon is running but blocked.
    case blocked
    case asleep
    /// The machine is switched off.
    case off
    /// No time passes: the wall clock is set.
    case step
}

/// How an instance ends.
enum Death: UInt8 {
    case stopped, killed, powerCut
}

/// One line of the timeline.
enum Line {
    case passed(Passing, Int64)
    /// An event was passed to the daemon, with the observations that followed: a range of
    /// `Timeline.seen`.
    case told(Told, seen: Range<Int>)
    /// The daemon has ended; whether the processes of its runs continue.
    case died(Death, runsLiveOn: Bool)
    /// The machine restarts: the clocks start at zero, except the wall clock.
    case booted
}

/// One observed action of the daemon.
struct Seen: Equatable {
    enum Kind: UInt8 {
        /// A run was recorded; `value` is the number of firings that are combined with it.
        case row
        case start
        /// The condition of a run is to be checked; `value` is the number of the check.
        case check
        /// A run was asked to end, was suspended, or was continued.
        case end, suspend, resume
        /// A row was closed; `value` is the outcome.
        case close
        /// A notice: a firing was due, firings were skipped (`value` of them, because of `reason`),
        /// or a pause ended.
        case fired, skipped, resumed
        /// A time record was written: `value` is the elapsed time, `more` the total, `attempt` the
        /// phase, and `reason` the number of firings that will be skipped.
        case account
        /// A command was answered; `value` is the answer.
        case answer
        /// The record of a job was removed.
        case erased
        /// A run was recorded or started twice, or a timer expires endlessly.
        case nonsense
    }
    enum Reason {
        static let stillRunning = 1
        static let queueFull = 2
        static let missed = 3
        static let catchUpMax = 4
        static let deadline = 5
        static let byOrder = 6
        static let concurrencyMax = 7
        static let clockSet = 8
        static let slotBusy = 9
        static let outsideWindow = 10
    }
    enum Answer {
        static let done: Int64 = 1
        static let unchanged: Int64 = 2
        static let refused: Int64 = 3
        static let noSuchJob: Int64 = 4
    }

    var kind: Kind
    var job = 0
    var label: Int64 = 0
    var attempt = 0
    var value: Int64 = 0
    var more: Int64 = 0
    var reason = 0
}

/// All events and observations, in order.
struct Timeline {
    var lines: [Line] = []
    var seen: [Seen] = []
    /// What each event showed of the messages about jobs.
    var episodes: [Episode] = []
    /// What each event showed of incidents that depend on the time, and of skipped firings.
    var watches: [WatchEpisode] = []
    /// The readings of the clocks at the start.
    var wall: Int64 = 0
    var awake: Int64 = 0
    var runsMax = 1
    /// The limit of each slot.
    var slots: [Int] = []
    var seed: UInt64 = 0
}
