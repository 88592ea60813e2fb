// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Something that is written to the log. Each case is one kind of entry, with the same sentence and
/// the same fields wherever it is shown.
public enum Notice: Hashable, Sendable {
    /// The daemon started. The values are: how the previous instance ended; how long no daemon ran
    /// (nil if no clock can tell); the number of jobs; how many of them were counting when the
    /// previous instance ended; and the maximum elapsed time that a single job may have lost.
    case daemonStarted(
        PreviousExit, away: Duration?, jobs: Int, wereCounting: Int, lostAtMost: Duration = .zero)
    /// The elapsed time of a job was restored. Time since it was saved was added, or may have been
    /// lost.
    case recovered(
        Job.Name, accrued: Duration, credited: Duration, maxLoss: Duration, TimeBasis)
    /// A firing was due: its run, how late it was, and the time until the next one.
    case fired(Run, late: Duration, remaining: Duration?)
    /// A user requested a run independently of the schedule.
    case runOrdered(Run, by: Initiator, remaining: Duration?)
    /// A firing was skipped, together with the missed firings that it stands for.
    case skipped(Firing, SkipReason)
    /// The run of a firing waits until another run of its job has ended.
    case held(Run, behind: Run.ID)
    /// The condition of a run is not met, with what is not, and the run waits for that, but not longer
    /// than this.
    case awaitsCondition(Run.ID, String, atMost: Duration)
    /// A missed run is caught up after this delay.
    case catchUpDelayed(Run.ID, by: Duration)
    /// A run is being ended to be replaced by another one.
    case replacing(Run.ID, by: Run.ID)
    /// A run is being ended because the window of its job has closed.
    case windowEnded(Run.ID)
    /// A run failed, and this retry of its firing follows after a delay.
    case retrying(Run.ID, after: Duration, retries: Int)
    case runBegan(Run.ID)
    /// A user requested to end a run, or to send it the signal with this name.
    case killed(Run.ID, by: Initiator, signal: String?)
    /// A user cancelled a waiting run. It is recorded as stopped.
    case cancelled(Run.ID, by: Initiator)
    /// A run ended; whether it failed is decided by the success exit codes of its job.
    case runEnded(Run.ID, RunOutcome, RunUsage, failed: Bool)
    /// A run that was recorded before the previous instance ended, and was never spawned, starts
    /// now.
    case runRecovered(Run.ID)
    /// A run kept running across the restart and is an active run of this instance.
    case runReattached(Run.ID)
    /// A job was paused, with this elapsed time, and this much left until its next firing.
    case paused(Job.Name, Pause, accrued: Duration, remaining: Duration?)
    /// The job was already paused, and a user changed the reason, the end, or what happens with its
    /// runs.
    case pauseChanged(Job.Name, from: Pause, to: Pause)
    /// A job was resumed, by a user or because its pause ended.
    case resumed(Job.Name, from: Pause, by: Initiator, accrued: Duration, remaining: Duration?)
    /// A user restarted the timer of a job.
    case started(Job.Name, by: Initiator, remaining: Duration?)
    /// A job was stopped, and its elapsed time and its pause, if it had one, were discarded.
    case stopped(Job.Name, from: Pause?, by: Initiator, dropped: Duration)
    /// This many of the next firings of a job will be skipped.
    case skipNextSet(Job.Name, Int, by: Initiator)
    /// A user holds this machine, or changed the terms of its hold.
    case machineHeld(MachineHold, isChange: Bool)
    /// The hold of this machine ended, with that of so many jobs.
    case machineReleased(MachineHold, by: Initiator, jobs: Int)
    /// A job took over the saved state of the name that it had before.
    case renamed(Job.Name, from: Job.Name)
    /// No more runs of a job are scheduled, at all or, if it fires again in the next boot, in this
    /// boot; because it had this many runs, if there is such a limit.
    case finished(Job.Name, firesAtBoot: Bool, after: RunLimit?)
    /// The configuration was read again; how many jobs did not change.
    case reloaded(added: [Job.Name], changed: [Job.Name], removed: [Job.Name], kept: Int)
    /// The rules of time zones changed, and the occurrences of these jobs with them.
    case zonesChanged([Job.Name])
    /// The wall clock was set by this much. If it was a correction, which means three hours or
    /// more, occurrences in the skipped range count neither as missed nor as done.
    case clockStepped(by: Duration, isCorrection: Bool)
    /// An incident of a job began, or its notification is repeated because it is not over.
    case incidentBegan(JobNotification)
    /// Incidents of a job with notifications are over.
    case incidentEnded(JobNotification)
    /// All timers are cancelled and all ledgers are closed.
    case shutDown(counting: Int, live: Int)

    /// The notice about a notification; nil if it is not about an incident. The log has the starts
    /// and ends of runs anyway.
    init?(about one: JobNotification) {
        switch one.kind {
        case .failure where one.since == nil: return nil
        case .failure, .late, .long, .stale, .lost, .skipped, .pausedLong:
            self = .incidentBegan(one)
        case .recovery: self = .incidentEnded(one)
        case .start, .success, .output, .test: return nil
        }
    }

    /// Why a firing was skipped, with what the log says about it.
    public enum SkipReason: Hashable, Sendable {
        /// The previous run of the job has not ended.
        case stillRunning(Run.ID)
        /// The maximum number of runs of the job are active.
        case concurrencyMax(Int)
        /// One firing already waits for the previous run to end.
        case queueFull(Run.ID)
        /// This slot of the job was taken, or another run waited for it.
        case slotBusy(RunSlot.Name)
        /// The window of the job was closed.
        case outsideWindow
        /// It was missed, and the job does not catch up missed firings.
        case missed
        /// It was missed, and more firings were missed than are caught up.
        case catchUpMax
        /// It was older than its starting deadline.
        case deadline
        /// The wall clock was set past it, by so much that the time before was wrong, and no later
        /// firing is scheduled.
        case clockSet
        /// A user requested it. This many more will be skipped.
        case byOrder(left: Int)

        /// The word for it in the journal and JSON.
        public var word: String { kind.word }
    }
}
