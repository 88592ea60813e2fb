// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a reload would do to each job, with the accrued time it would go on from.
public struct ReloadPreview: Hashable, Sendable {
    /// One job of it.
    public struct Line: Hashable, Sendable {
        /// Its name.
        public var job: Job.Name
        /// What it has accrued since its last grid point; what is kept for its name, if it is removed.
        public var accrued: Duration

        /// A line as described.
        public init(job: Job.Name, accrued: Duration) {
            self.job = job
            self.accrued = accrued
        }
    }

    /// Jobs that are as they were, timers and all.
    public var kept: [Line] = []
    /// Jobs whose definition changed.
    public var changed: [Line] = []
    /// Jobs that are new.
    public var added: [Line] = []
    /// Jobs that are gone.
    public var removed: [Line] = []

    private let roster: Roster
    /// How many jobs of the roster were looked at, and how many places of the configuration in force behind them.
    private var taken = 0
    private var checked = 0

    /// The preview of a reload to this roster, of which nothing was looked at yet.
    public init(_ roster: Roster) { self.roster = roster }

    /// Looks at so many further jobs, as of now. A reload in between is not noticed.
    /// - Returns: whether there are more.
    /// - Complexity: O(`count`).
    public mutating func advance(in agenda: borrowing Agenda, count: Int, at now: Now) -> Bool {
        var left = count
        while left > 0, taken < roster.jobs.count {
            look(at: roster.jobs[taken], in: agenda, now)
            taken += 1
            left -= 1
        }
        while left > 0, checked < agenda.places.count {
            if let job = agenda.job(at: checked), !roster.names.contains(job) {
                let accrued = agenda.account(of: job, at: now)?.accrued ?? .zero
                removed.append(Line(job: job, accrued: accrued))
            }
            checked += 1
            left -= 1
        }
        return taken < roster.jobs.count || checked < agenda.places.count
    }

    private mutating func look(at job: Job, in agenda: borrowing Agenda, _ now: Now) {
        guard let definition = agenda.definition(of: job.name) else {
            return added.append(
                Line(job: job.name, accrued: agenda.accruedOfNew(job, at: now)))
        }
        let line = Line(
            job: job.name, accrued: agenda.account(of: job.name, at: now)?.accrued ?? .zero)
        if definition == job { kept.append(line) } else { changed.append(line) }
    }
}

extension Agenda {
    /// What a job that is new would begin with: the account of its name, or of the name it had before.
    fileprivate func accruedOfNew(_ job: Job, at now: Now) -> Duration {
        if let found = archived[job.name] { return found.record.accrued }
        guard let old = job.renamedFrom else { return .zero }
        if let account = account(of: old, at: now) { return account.accrued }
        return archived[old]?.record.accrued ?? .zero
    }

    /// The job in this place of the configuration; nil if it has just been removed.
    fileprivate func job(at place: Int) -> Job.Name? { entries[jobSlots[place]]?.job.name }
}
