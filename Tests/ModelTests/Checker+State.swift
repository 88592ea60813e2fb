// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is wrong with what was seen.
struct Fault {
    enum Kind: String {
        case missed, extra, early, late, overlapping, whilePaused = "run of a paused or stopped job"
        case wrongCount = "wrong count", wrongLabel = "wrong label", wrongAttempt = "wrong attempt"
        case account = "wrong account", order = "wrong order", answer = "wrong answer"
        case nonsense
    }

    var kind: Kind
    /// The line of the timeline it shows at.
    var line = 0
    var text: String
}

extension Checker {
    enum Phase: Int { case armed, paused, stopped, finished }

    enum Wait: Equatable {
        case none, place, turn
        case retry(Int64)
    }

    /// A run on record that has not ended.
    struct Attempt {
        var number: Int
        /// The job it belongs to, and the one whose name is in its identity: that of the job as it was then.
        var job: Int
        var name: Int
        var label: Int64
        var attempt: Int
        var missed: Int64
        /// The job as it was then; nil: of a former life, and unknown now.
        var told: PlainJob?
        var wait = Wait.none
        var recorded: Int64
        var boot: Int
        var isBegun = false
        /// What it is recorded as when it ends, if it was told to end.
        var endsAs: PlainOutcome?

        var isRetry: Bool { if case .retry = wait { true } else { false } }
        var isStarted: Bool { wait == .none || wait == .place }
    }

    struct State {
        var spec = PlainJob()
        /// Whether the configuration names it, and whether there is a record of it.
        var isPresent = false
        var isKnown = false
        var phase = Phase.armed
        var accrued: Int64 = 0
        var active: Int64 = 0
        var firings: Int64 = 0
        /// Up to when its slots are dealt with.
        var seen: Int64 = 0
        var lastLabel: Int64?
        /// How often the calendar clock was corrected backwards since it was there.
        var corrections: Int64 = 0
        var skips = 0
        /// Whether the firing it has once in each boot is still to come in this one.
        var isDueThisBoot = false
        /// Whether the daemon that begins is the first to know it in this boot.
        var isNewInBoot = false
        var isConfiguredPaused = false
        var pausedSince: Int64 = 0
        /// How long the pause has really lasted.
        var pausedFor: Int64 = 0
        var pausedUntil: Int64?
        var isPausedByConfiguration = false
        var isPausedWithRun = false
        /// What counted since the pause was over, before that was noticed.
        var afterPause: Int64 = 0
        /// What counted since the pause was over, before this life.
        var creditedAfterPause: Int64 = 0
        /// The same where the clock was set back to before the end of a pause that was over by then.
        var afterPauseMost: Int64 = 0
        /// By how much the clock was set back since the pause was written down: that hides as much of a step
        /// forward from whoever sees only both.
        var setBackInPause: Int64 = 0
        /// Whether nobody but this checker can know that exactly.
        var isAfterPauseVague = false
        var removed: Int64?
        /// Whether the configuration lost it just now.
        var isJustRemoved = false
        /// When its account was written last, and the label it had then.
        var written: Int64 = 0
        var writtenLabel: Int64?
        /// In which boot that was, what its clock that runs in sleep too read, and by how much the calendar
        /// clock was set since.
        var writtenBoot = 0
        var writtenAt: Int64 = 0
        var setSinceWritten: Int64 = 0
        /// Whether runs of it may live on from a time when they might overlap.
        var mayOverlap = false
        /// Its runs that live or wait, oldest first.
        var runs: [Attempt] = []

        // While no daemon lives:
        /// How much its account may be too small, and too large, when it is taken up again.
        var mayLose: Int64 = 0
        var mayGain: Int64 = 0
        /// What counted since the last life ended.
        var sinceDeath: Int64 = 0
    }

    /// What a run is known by, and the job it belongs to.
    struct RunName {
        var name: Int
        var label: Int64
        var attempt: Int
        var job: Int
    }
}
