// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a reload would do to each job, with the elapsed time from which the job would continue.
public struct ReloadPreview: Hashable, Sendable {
    /// One job of the preview.
    public struct Line: Hashable, Sendable {
        /// The name in the new configuration; of a removed job, its current name.
        public var job: Job.Name
        /// Its elapsed time since its last grid point. For a removed job, the elapsed time that is
        /// kept for its name.
        public var accrued: Duration

        public init(job: Job.Name, accrued: Duration) {
            self.job = job
            self.accrued = accrued
        }
    }

    /// Jobs that do not change, and keep their timers.
    public var kept: [Line] = []
    /// Jobs whose definition differs from the current one, with their current elapsed time.
    public var changed: [Line] = []
    /// Jobs that the current configuration does not have, including renamed ones.
    public var added: [Line] = []
    /// Jobs of the current configuration that the new one does not have.
    public var removed: [Line] = []

    private let jobSet: JobSet
    /// How many jobs of the new set were compared, and after them how many positions of the current
    /// configuration.
    private var taken = 0
    private var checked = 0

    /// Creates the preview of a reload to this set of jobs. Nothing is compared yet.
    public init(_ jobSet: JobSet) { self.jobSet = jobSet }

    /// Compares this many further jobs, as of now. A reload between two calls is not noticed.
    /// - Returns: whether there are more.
    /// - Complexity: O(`count`).
    public mutating func advance(in agenda: borrowing Agenda, count: Int, at now: Now) -> Bool {
        var left = count
        while left > 0, taken < jobSet.jobs.count {
            look(at: jobSet.jobs[taken], in: agenda, now)
            taken += 1
            left -= 1
        }
        while left > 0, checked < agenda.places.count {
            if let job = agenda.job(at: checked), !jobSet.names.contains(job) {
                let accrued = agenda.account(of: job, at: now)?.accrued ?? .zero
                removed.append(Line(job: job, accrued: accrued))
            }
            checked += 1
            left -= 1
        }
        return taken < jobSet.jobs.count || checked < agenda.places.count
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
    /// The elapsed time that a new job would start with: the one that is saved for its name, or for
    /// the name it had before.
    fileprivate func accruedOfNew(_ job: Job, at now: Now) -> Duration {
        if let found = archive.record(of: job.name) { return found.accrued }
        guard let old = job.renamedFrom else { return .zero }
        if let account = account(of: old, at: now) { return account.accrued }
        return archive.record(of: old)?.accrued ?? .zero
    }

    /// The job at this position of the configuration; nil if it has just been removed.
    fileprivate func job(at place: Int) -> Job.Name? { entries[entries.order[place]]?.job.name }
}
