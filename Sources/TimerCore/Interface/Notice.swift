// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Something worth a line in the log. Each case is one kind of entry, with a fixed sentence and the same
/// fields wherever it is shown.
public enum Notice: Hashable, Sendable {
    /// The daemon started: how the previous instance ended, for how long the daemon was away (nil if no
    /// clock can tell), how many jobs there are, how many of them were counting when it ended, and how much of the
    /// elapsed time of one of them may be lost at most.
    case lifeBegan(
        Ending, away: Duration?, jobs: Int, wereCounting: Int, lostAtMost: Duration = .zero)
    /// A job's account was taken up again and time since it was written down was counted, or may be
    /// missing.
    case recovered(
        Job.Name, accrued: Duration, credited: Duration, forfeitedAtMost: Duration, TimeBasis)
    /// A firing came due.
    case fired(Run, late: Duration, remaining: Duration?)
    /// Somebody ordered a run apart from the schedule.
    case runOrdered(Run, by: Author, remaining: Duration?)
    /// A firing was let go, and those that are folded into it.
    case skipped(Firing, SkipReason)
    /// A firing's run waits until another one of its job has ended.
    case held(Run, behind: Run.ID)
    /// A run is being ended so that another one can take its place.
    case replacing(Run.ID, by: Run.ID)
    /// A run failed, and this further attempt at its firing follows so much later.
    case retrying(Run.ID, after: Duration, retries: Int)
    /// The process of a run started.
    case runBegan(Run.ID)
    /// Somebody ordered that a run ends, or that it is sent the signal of this name.
    case killed(Run.ID, by: Author, signal: String?)
    /// Somebody ordered that a run that waits is not made. It is on record as stopped.
    case cancelled(Run.ID, by: Author)
    /// A run ended.
    case runEnded(Run.ID, RunOutcome, RunUsage, failed: Bool)
    /// A run that was recorded before the last life ended, and never begun, is begun now.
    case runRecovered(Run.ID)
    /// A run outlived the last daemon and is back among the live ones.
    case runReattached(Run.ID)
    /// A job was paused.
    case paused(Job.Name, Pause, accrued: Duration, remaining: Duration?)
    /// The terms of a pause were changed.
    case pauseChanged(Job.Name, from: Pause, to: Pause)
    /// A job was resumed.
    case resumed(Job.Name, by: Author, accrued: Duration, remaining: Duration?)
    /// A job was started at zero.
    case started(Job.Name, by: Author, remaining: Duration?)
    /// A job was stopped, and what it had accrued was dropped.
    case stopped(Job.Name, by: Author, dropped: Duration)
    /// So many further firings of a job are to be let go.
    case skipsSet(Job.Name, Int, by: Author)
    /// A job took the account of the name it had before along.
    case renamed(Job.Name, from: Job.Name)
    /// A job fired for the last time, or for the last time in this boot if it fires in the next one again.
    case finished(Job.Name, firesAtBoot: Bool)
    /// The configuration was read again.
    case reloaded(added: [Job.Name], changed: [Job.Name], removed: [Job.Name], kept: Int)
    /// The rules of time zones changed, and with them the occurrences of these jobs.
    case zonesChanged([Job.Name])
    /// The calendar clock was set by so much; where that is a correction, of three hours and more, what lay
    /// between counts neither as missed nor as done.
    case clockStepped(by: Duration, isCorrection: Bool)
    /// The daemon's timers are down and the accounts closed.
    case shutDown(counting: Int, live: Int)

    /// Why a firing was let go.
    public enum SkipReason: Hashable, Sendable {
        /// The last run of the job has not ended.
        case stillRunning(Run.ID)
        /// As many runs of the job as may run at once have not ended.
        case concurrencyMax(Int)
        /// One firing waits for the last run to end already.
        case queueFull(Run.ID)
        /// It was missed, and the job does not make up for that.
        case missed
        /// It was missed, and so were more than are made up for.
        case catchUpMax
        /// It was older than its starting deadline.
        case deadline
        /// The wall clock was set past it, by so much that the time before was wrong, and nothing is due after
        /// it.
        case clockSet
        /// Somebody ordered so; so many more are to be let go.
        case byOrder(left: Int)

        /// The word for it in the journal and JSON.
        public var word: String {
            switch self {
            case .stillRunning: "still-running"
            case .concurrencyMax: "concurrency-max"
            case .queueFull: "queue-full"
            case .missed: "missed"
            case .catchUpMax: "catch-up-max"
            case .deadline: "deadline"
            case .clockSet: "clock-set"
            case .byOrder: "by-order"
            }
        }
    }
}
