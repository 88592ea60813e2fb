// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a job's account says at one reading of the clocks: enough to go on from.
public struct JobAccount: Hashable, Sendable {
    /// Whose it is.
    public var job: Job.Name
    /// Whether its time counts, as `Phase.word`: only that of an armed job does.
    public var state: String
    /// What counts as its time.
    public var basis: TimeBasis
    /// Its active time in all.
    public var active: Duration
    /// Its active time since the last grid point.
    public var accrued: Duration
}

extension Agenda {
    /// The account of one job as of `now`, which is not earlier than the last event; nil if the roster has
    /// none of this name.
    /// - Complexity: O(1).
    public func account(of job: Job.Name, at now: Now) -> JobAccount? {
        slot(of: job).flatMap { entries[$0]?.account(at: now) }
    }

    /// The accounts of all jobs as of `now`, in the order of the configuration.
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
