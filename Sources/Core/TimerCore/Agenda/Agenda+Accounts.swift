// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The time record of a job at one reading of the clocks, with everything that is needed to
/// continue it.
public struct JobAccount: Hashable, Sendable {
    /// The current name. The record moves with the job when it is renamed.
    public var job: Job.Name
    /// The state of the job, as `Phase.word`. Only the time of an armed job counts.
    public var state: String
    /// Which clock its time is counted by.
    public var basis: TimeBasis
    /// Its active time in total, also before the last grid point.
    public var active: Duration
    /// Its active time since the last grid point.
    public var accrued: Duration
}

extension Agenda {
    /// The time record of one job as of `now`, which must not be earlier than the last event. Nil
    /// if there is no job of this name.
    /// - Complexity: O(1).
    public func account(of job: Job.Name, at now: Now) -> JobAccount? {
        slot(of: job).flatMap { entries[$0]?.account(at: now) }
    }

    /// The time records of all jobs as of `now`, in the order of the configuration.
    /// - Complexity: O(*n*) in the number of jobs.
    public func accounts(at now: Now) -> [JobAccount] {
        jobSlots.compactMap { entries[$0]?.account(at: now) }
    }
}

extension JobEntry {
    fileprivate func account(at now: Now) -> JobAccount {
        JobAccount(
            job: job.name, state: phase.word, basis: job.count, active: active(at: now),
            accrued: accrued(at: now))
    }
}
