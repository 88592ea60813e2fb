// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What one event showed of the notifier `w`, which tells about everything that is wrong with a job
/// except failures. Instants and spans are in nanoseconds.
struct WatchEpisode {
    /// One kind of incident of one job.
    struct Key: Hashable {
        var job: Int
        var kind: String
    }

    /// A notification.
    struct Sent {
        var kind: String
        var job: Int
        var run: String?
        var isRepeat: Bool
        var recoveredFrom: [String]
    }

    /// Something that happened to a job.
    enum Happening {
        case started(Int)
        case skipped(Int)
        case ended(Int, hasSucceeded: Bool, hasFailed: Bool, isTooLate: Bool, hasBegun: Bool)
        case renamed(from: Int, to: Int)
        /// Its pause ended, by itself or by a command. It may be paused again, or finished, at the
        /// end of the same event.
        case resumed(Int, byItself: Bool)
    }

    /// A run that has not ended: when it was scheduled and when its process started, by the wall clock.
    struct Run {
        var scheduled: Int64
        var attempt: Int
        var isMissed: Bool
        var began: Int64?
    }

    /// A job after the event: its limits, its phase and its runs, by their identities.
    struct Job {
        var late: Int64?
        /// How much later a missed run may start.
        var catchUp: Int64 = 0
        var long: Int64?
        var stale: Int64?
        var pausedLong: Int64?
        var isArmed = false
        var pausedSince: Int64?
        /// When the pause ends by itself.
        var pausedUntil: Int64?
        var runs: [String: Run] = [:]
    }

    var event = Told.checkpoint
    var wall: Int64 = 0
    /// The clock that counts from the boot, also while the machine sleeps.
    var boot: Int64 = 0
    /// Whether only time passed since the event before in which each timer expires when it is due.
    var isUndisturbed = false
    /// Whether the wall clock was set since the event before.
    var isSet = false
    var happened: [Happening] = []
    var sent: [Sent] = []
    /// The jobs of the configuration that are watched.
    var jobs: [Int: Job] = [:]
    /// The stored incidents after the event, with their counts.
    var open: [Key: Int] = [:]

    /// Whether something of the job happened for which this is true.
    func count(_ isMeant: (Happening) -> Bool) -> Int { happened.count(where: isMeant) }
}
