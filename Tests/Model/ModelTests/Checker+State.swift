// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A difference between the observations and the definitions.
struct Fault {
    enum Kind: String {
        case missed, extra, early, late, overlapping, whilePaused = "run of a paused or stopped job"
        case wrongCount = "wrong count", wrongLabel = "wrong label", wrongAttempt = "wrong attempt"
        case account = "wrong account", order = "wrong order", answer = "wrong answer"
        case nonsense
        case incident = "wrong messages"
    }

    var kind: Kind
    /// The line of the timeline at which it was found.
    var line = 0
    var text: String
}

extension Checker {
    enum Phase: Int { case armed, paused, stopped, finished }

    enum Wait: Equatable {
        case none, place, slot, turn
        /// The answer to the check with this number.
        case check(Int64)
        /// The next check.
        case condition(Int64)
        case retry(Int64)
        /// The time when a missed run is caught up.
        case catchUp(Int64)
    }

    /// A recorded run that has not ended.
    struct Attempt {
        var number: Int
        /// The job it belongs to, and the job whose name its identity contains: the name at the
        /// time when it started.
        var job: Int
        var name: Int
        var label: Int64
        var attempt: Int
        var missed: Int64
        /// The definition of the job at that time; nil: the run is of an earlier instance, and the
        /// definition is not known.
        var told: PlainJob?
        var wait = Wait.none
        /// Whether a user requested it: a pause of its job does not hold it then.
        var isRequested = false
        /// Whether it was missed, and is caught up.
        var isMissed = false
        /// Whether it starts whatever its condition says.
        var isForced = false
        /// Since when it may wait for its condition, and how often that was not met.
        var since: Int64?
        var answers = 0
        /// Whether what is mounted has changed since the check that is not answered.
        var isOutdated = false
        /// Its place among the runs that wait for capacity; 0 before it has one.
        var order = 0
        var recorded: Int64
        var boot: Int
        var isBegun = false
        /// The outcome that is recorded when it ends, if it was asked to end.
        var endsAs: PlainOutcome?

        var isDelayed: Bool {
            switch wait {
            case .retry, .catchUp: true
            case .none, .place, .slot, .turn, .check, .condition: false
            }
        }
        var isDelayedCatchUp: Bool { if case .catchUp = wait { true } else { false } }
        var isStarted: Bool {
            switch wait {
            case .none, .place, .slot, .check, .condition: true
            case .turn, .retry, .catchUp: false
            }
        }
        var isChecked: Bool { if case .check = wait { true } else { false } }
        var awaitsCondition: Bool {
            switch wait {
            case .check, .condition: true
            case .none, .place, .slot, .turn, .retry, .catchUp: false
            }
        }
        /// Whether the condition must be checked before it starts.
        var mustBeChecked: Bool { told?.condition != nil && !isForced }
        var slots: [PlainJob.Use] { told?.slots ?? [] }
    }

    struct State {
        var spec = PlainJob()
        /// Whether it is in the configuration, and whether there is a record of it.
        var isPresent = false
        var isKnown = false
        var phase = Phase.armed
        var accrued: Int64 = 0
        var active: Int64 = 0
        var firings: Int64 = 0
        /// All occurrences up to this instant were processed.
        var seen: Int64 = 0
        var lastLabel: Int64?
        /// How often the wall clock was corrected backwards since the job was added.
        var corrections: Int64 = 0
        var skips = 0
        /// Whether the firing of this boot has not happened yet.
        var isDueThisBoot = false
        /// Whether its interval restarts when its runs have ended.
        var awaitsEnd = false
        /// When its last run ended, by the wall clock, if that was while it was not configured.
        var endedWhileAway: Int64?
        /// Whether the starting daemon is the first in this boot to know the job.
        var isNewInBoot = false
        var isConfiguredPaused = false
        var pausedSince: Int64 = 0
        /// The real duration of the pause so far.
        var pausedFor: Int64 = 0
        var pausedUntil: Int64?
        var isPausedByConfiguration = false
        var isPausedWithRun = false
        /// The time that counted after the end of the pause, before the end was noticed.
        var afterPause: Int64 = 0
        /// The time that counted after the end of the pause, before this instance.
        var creditedAfterPause: Int64 = 0
        /// The same, if the clock was set back to before the end of a pause that was already over.
        var afterPauseMost: Int64 = 0
        /// By how much the clock was set back since the pause was saved. It hides the same amount
        /// of a step forward, if only the sum of both can be observed.
        var setBackInPause: Int64 = 0
        /// Whether only this checker can know that exactly.
        var isAfterPauseVague = false
        var removed: Int64?
        /// Whether the job was removed from the configuration just now.
        var isJustRemoved = false
        /// When its account was last written, and its scheduled time at that moment.
        var written: Int64 = 0
        var writtenLabel: Int64?
        /// The boot in which that was, the reading of the clock that advances during sleep, and by
        /// how much the wall clock was set since then.
        var writtenBoot = 0
        var writtenAt: Int64 = 0
        var setSinceWritten: Int64 = 0
        /// Whether it may have active runs from a time when runs were allowed to overlap.
        var mayOverlap = false
        /// Its active and waiting runs, oldest first.
        var runs: [Attempt] = []

        // While no daemon runs: by how much its account may be too small, and too large, when it is
        // restored.
        var mayLose: Int64 = 0
        var mayGain: Int64 = 0
        /// The time that counted since the last instance ended.
        var sinceDeath: Int64 = 0
    }

    /// The name in the identity of a run, and the job it belongs to.
    struct RunName {
        var name: Int
        var label: Int64
        var attempt: Int
        var job: Int
    }
}
