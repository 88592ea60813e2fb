// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A job that was removed from the configuration.
struct ArchivedJob: Sendable {
    let record: JobRecord
    /// Nil while no run of the job has ended and none was skipped.
    let outcomes: Boxed<JobOutcomes>?
}

/// The jobs that were removed from the configuration, in case they return. A job that returns, under
/// its name or as the one that it was renamed to, is taken out.
struct JobArchive: Sendable {
    private var jobs: [Job.Name: ArchivedJob] = [:]

    /// Adds a job, in place of an earlier one of its name.
    mutating func put(_ record: JobRecord, _ outcomes: Boxed<JobOutcomes>?) {
        jobs[record.job] = ArchivedJob(record: record, outcomes: outcomes)
    }

    /// Takes a job out; nil if there is none of the name.
    mutating func take(_ job: Job.Name) -> ArchivedJob? { jobs.removeValue(forKey: job) }

    /// Whether there is a job of this name.
    func contains(_ job: Job.Name) -> Bool { jobs[job] != nil }

    /// The record of a job; nil if there is none of the name.
    func record(of job: Job.Name) -> JobRecord? { jobs[job]?.record }

    /// Reserves memory for this many jobs.
    mutating func reserve(_ count: Int) { jobs.reserveCapacity(count) }

    /// Gives memory back after most jobs were taken out: a dictionary keeps what it once needed.
    mutating func shrink() {
        jobs = Dictionary(uniqueKeysWithValues: jobs.map { ($0.key, $0.value) })
    }

    /// Notes a run that ended after its job was removed.
    mutating func noteEnd(_ run: RunSummary, of job: Job.Name) {
        guard let found = jobs[job] else { return }
        var outcomes = found.outcomes?.wrappedValue ?? JobOutcomes()
        outcomes.add(run, withDuration: false)
        jobs[job] = ArchivedJob(record: found.record, outcomes: Boxed(wrappedValue: outcomes))
    }

    /// Discards the saved state of an earlier one-off job with the same name: a name may be used
    /// again, and the new job must not take over that state.
    mutating func forgetOneOff(before job: Job) {
        guard job.isOneOff, let at = job.schedule.at, let record = jobs[job.name]?.record,
            record.removed != nil,
            (record.processedThrough ?? record.at.wall) < at || record.phase != .finished
        else { return }
        jobs[job.name] = nil
    }

    /// Closes the records of the jobs, which are not in the configuration, and drops those that were
    /// removed too long ago.
    ///
    /// - Returns: the records that changed, and the names of the jobs that were dropped.
    mutating func close(
        at now: Now, instance: DaemonInstance.ID
    ) -> (changed: [JobRecord], dropped: [Job.Name]) {
        var changed: [JobRecord] = []
        var dropped: [Job.Name] = []
        for (name, job) in jobs.sorted(by: { $0.key < $1.key }) {
            var record = job.record
            if let removed = record.removed, now.wall - removed > Agenda.recordKept {
                dropped.append(name)
                jobs[name] = nil
                continue
            }
            guard record.removed == nil || record.isCounting else { continue }
            record.isCounting = false
            record.removed = record.removed ?? now.wall
            record.at = now
            record.instance = instance
            jobs[name] = ArchivedJob(record: record, outcomes: job.outcomes)
            changed.append(record)
        }
        return (changed, dropped)
    }
}
