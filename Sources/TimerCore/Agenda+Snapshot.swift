// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// Everything there is to show, as of `now`.
    /// - Complexity: O(*n*) in the number of jobs.
    public func snapshot(at now: Now) -> Snapshot {
        Snapshot(at: now, jobs: order.compactMap { entries[$0]?.snapshot(at: now) })
    }

    /// One job as of `now`; nil if the roster has none of this name.
    /// - Complexity: O(1).
    public func snapshot(of job: Job.Name, at now: Now) -> JobSnapshot? {
        slots[job].flatMap { entries[$0]?.snapshot(at: now) }
    }

    /// The names of all jobs, in the order of the configuration.
    public var names: [Job.Name] { order.compactMap { entries[$0]?.job.name } }

    /// How many jobs there are.
    public var jobCount: Int { order.count }

    /// The job that fires next, and the instant its timer is set to.
    /// - Complexity: O(1).
    public var next: (job: Job.Name, instant: AwakeInstant)? {
        due.first.flatMap { first in entries[first.slot].map { ($0.job.name, first.due) } }
    }

    /// How many jobs are paused.
    /// - Complexity: O(*n*) in the number of jobs.
    public var pausedCount: Int {
        order.count { slot in
            if case .paused = entries[slot]?.phase { true } else { false }
        }
    }
}

extension Entry {
    fileprivate func snapshot(at now: Now) -> JobSnapshot {
        let remaining = remaining(at: now.awake)
        return JobSnapshot(
            job: job, phase: phase, active: ledger.active(at: now.awake),
            accrued: ledger.accrued(at: now.awake), remaining: remaining,
            next: ledger.isOpen ? remaining.map { now.wall + $0 } : nil,
            lastScheduled: lastScheduled, firings: firings, live: live, lastRun: lastRun,
            checkpoint: checkpoint)
    }
}
