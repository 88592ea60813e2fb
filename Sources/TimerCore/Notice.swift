// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Something worth a line in the log. Each case is one kind of entry, with a fixed sentence and the same
/// fields wherever it is shown.
public enum Notice: Hashable, Sendable {
    /// A life of the daemon began: how the last one ended, for how long the daemon was away (nil if no
    /// clock can tell), how many jobs there are and how many of them were counting when it ended.
    case lifeBegan(Ending, away: Duration?, jobs: Int, wereCounting: Int)
    /// A job's account was taken up again after a life that did not end cleanly.
    case recovered(Job.Name, accrued: Duration, credited: Duration, forfeitedAtMost: Duration)
    /// A firing came due.
    case fired(Run, late: Duration, remaining: Duration?)
    /// A firing was let go.
    case skipped(Firing, SkipReason)
    /// The process of a run started.
    case runBegan(Run.ID)
    /// A run ended.
    case runEnded(Run.ID, RunOutcome, RunUsage)
    /// A run that was recorded before the last life ended, and never begun, is begun now.
    case runTakenUp(Run.ID)
    /// A job was paused.
    case paused(Job.Name, Pause, accrued: Duration, remaining: Duration?)
    /// A job was resumed.
    case resumed(Job.Name, by: Author, accrued: Duration, remaining: Duration?)
    /// A job was started at zero.
    case started(Job.Name, by: Author, remaining: Duration?)
    /// A job was stopped, and what it had accrued was dropped.
    case stopped(Job.Name, by: Author, dropped: Duration)
    /// A job fired for the last time.
    case finished(Job.Name)
    /// The configuration was read again.
    case reloaded(added: [Job.Name], changed: [Job.Name], removed: [Job.Name], kept: Int)
    /// The calendar clock was set by so much; where that is a correction, of three hours and more, what lay
    /// between counts neither as missed nor as done.
    case clockStepped(by: Duration, isCorrection: Bool)
    /// The daemon's timers are down and the accounts closed.
    case shutDown(counting: Int, live: Int)

    /// Why a firing was let go.
    public enum SkipReason: Hashable, Sendable {
        /// The last run of the job still lives.
        case stillRunning(Run.ID)
    }
}
