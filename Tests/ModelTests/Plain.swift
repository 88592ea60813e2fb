// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The words in which a roster, what befell the machine and what was seen of the daemon are written down:
/// plain numbers, so that the checker owes nothing to what it checks. Every span and every instant is in
/// nanoseconds and a whole number of microseconds; the calendar's are since 1970.
enum Unit {
    static let microsecond: Int64 = 1000
    static let second: Int64 = 1_000_000_000
    static let hour: Int64 = 3600 * second
}

/// A job, as the configuration would have it.
struct PlainJob: Equatable {
    enum Kind: UInt8 { case every, after, onBoot, slots, at }
    enum Basis: UInt8 { case active, uptime, boottime, wall }
    enum Missed: UInt8 { case runOnce, skip, runAll }
    enum Resume: UInt8 { case keepRemaining, nextSlot, fireIfDue, restart }
    enum Concurrency: UInt8 { case forbid, queue, replace, allow }

    /// Its name: one letter, `a` for 0.
    var name = 0
    var kind = Kind.every
    /// Of an interval: how long. Of one since the boot: how long, and the basis is `boottime`. Of slots: how far apart.
    var span = 60 * Unit.second
    /// Of an interval: the time to the first grid point, if it is another.
    var first: Int64?
    /// Of slots: which of `WallPattern.all` it is.
    var pattern = 0
    /// Of slots: how far from midnight UTC they are, less than the span.
    var phase: Int64 = 0
    /// Of `at`: the instants, rising.
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
    var retries = 0
    var retryDelay = 10 * Unit.second
    /// In halves: 2 leaves every delay as long as the first.
    var backoffHalves: Int64 = 4
    var retryMax = 600 * Unit.second
    /// Whether an exit code of 2 is a success too.
    var isTwoFine = false
    var renamedFrom: Int?

    var isCounted: Bool { kind == .every || kind == .after || kind == .onBoot }

    /// Whether two definitions have the same slots.
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
    case fine, failed, two, signalled, timedOut, spawnFailed, replaced, stopped
    case lostReboot, lostDaemon, lostDeadline

    func isSuccess(_ job: PlainJob?) -> Bool {
        self == .fine || (self == .two && job?.isTwoFine == true)
    }

    /// Whether a further attempt may follow.
    func isRetried(_ job: PlainJob) -> Bool {
        switch self {
        case .failed, .two, .signalled, .timedOut, .spawnFailed: !isSuccess(job)
        case .fine, .replaced, .stopped, .lostReboot, .lostDaemon, .lostDeadline: false
        }
    }
}

/// What somebody orders.
enum PlainVerb: UInt8 { case pause, resume, start, stop, run, skipNext, kill }

/// What the daemon was told.
enum Told: Equatable {
    /// A life begins with this roster.
    case load([PlainJob])
    case reload([PlainJob])
    case wake(Int)
    case order(PlainVerb, Int, until: Int64?, withRun: Bool, count: Int)
    case ended(Int, label: Int64, attempt: Int, PlainOutcome)
    case clockChanged
    case checkpoint
    case shutdown
}

/// How time went by.
enum Passing: UInt8 {
    /// The machine is awake, and the daemon, if it lives, answers every timer at once.
    case awake
    /// The machine is awake, and the daemon lives and stands still.
    case blocked
    case asleep
    /// The machine is switched off.
    case off
    /// No time goes by: the calendar clock is set.
    case step
}

/// How a life ends.
enum Death: UInt8 {
    case stopped, killed, powerCut
}

/// One line of the timeline.
enum Line {
    case passed(Passing, Int64)
    /// The daemon was told something, and this is what was seen to come of it: a range of `Timeline.seen`.
    case told(Told, seen: Range<Int>)
    /// The daemon is gone; whether the processes of its runs live on.
    case died(Death, runsLiveOn: Bool)
    /// The machine starts anew: the clocks that are not the calendar's begin at zero.
    case booted
}

/// One thing the daemon was seen to do.
struct Seen: Equatable {
    enum Kind: UInt8 {
        /// A run was put on record; `value` is how many firings are folded into it.
        case row
        case start
        /// A run was told to end, to stand still, to go on.
        case end, suspend, resume
        /// A row was closed; `value` is the outcome.
        case close
        /// It was told that a firing came due, was let go (`value` of them, by `reason`), that a pause ended.
        case fired, skipped, resumed
        /// An account was written: `value` is what accrued, `more` the total, `attempt` the phase,
        /// `reason` the firings that are to be let go.
        case account
        /// An order was answered; `value` says how.
        case answer
        /// The record of a job was removed.
        case erased
        /// A run was recorded or told to start twice, or a timer rings without end.
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

/// Everything that befell the machine and the daemon, and what was seen of it, in order.
struct Timeline {
    var lines: [Line] = []
    var seen: [Seen] = []
    /// What the clocks read when it begins.
    var wall: Int64 = 0
    var awake: Int64 = 0
    var runsMax = 1
    var seed: UInt64 = 0
}
