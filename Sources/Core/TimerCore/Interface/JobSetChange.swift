// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The changes that a start or a new configuration makes in the store. Renamings are written first,
/// then the renewal, then the records, then the deletions and the hold.
public struct JobSetChange: Hashable, Sendable {
    /// Jobs that continue with the state of the name they had before.
    public var renamed: [Renaming]
    /// What a start does to all records first; those in `records` are written over it. Nil if that
    /// spares no record.
    public var renewal: RecordRenewal?
    /// The records to write as they are, for jobs that are new, changed or removed.
    public var records: [JobRecord]
    /// The jobs that were removed so long ago that their records are erased.
    public var erased: [Job.Name]
    /// The hold of the machine, if it begins, changes or ends.
    public var hold: HoldChange?

    /// Creates a change; by default an empty one.
    public init(
        renamed: [Renaming] = [], renewal: RecordRenewal? = nil, records: [JobRecord] = [],
        erased: [Job.Name] = [], hold: HoldChange? = nil
    ) {
        self.hold = hold
        self.renamed = renamed
        self.renewal = renewal
        self.records = records
        self.erased = erased
    }

    /// Whether there is nothing to write, so that no transaction is needed.
    public var isEmpty: Bool {
        renamed.isEmpty && renewal == nil && records.isEmpty && erased.isEmpty && hold == nil
    }
}

/// What becomes of the stored hold of the machine.
public enum HoldChange: Hashable, Sendable {
    /// The machine is held with these terms, which replace the stored ones.
    case set(MachineHold)
    /// It is not held any more.
    case ended
}

/// The records of all jobs that are armed and in the configuration apply to another reading of the
/// clocks, from which on their time counts. After a clean stop nothing else changes in most records,
/// and one statement for all of them takes a fraction of the time of writing each.
public struct RecordRenewal: Hashable, Sendable {
    /// The reading of the clocks to which the records apply then.
    public var at: Now
    /// The daemon instance that takes them: the one that starts.
    public var instance: DaemonInstance.ID
    /// How many jobs are in the configuration, which says how many records a renewal that is not
    /// written yet stands for.
    public var jobs: Int

    public init(at: Now, instance: DaemonInstance.ID, jobs: Int) {
        self.at = at
        self.instance = instance
        self.jobs = jobs
    }

    /// Whether the stored record is among those that are taken again.
    public func concerns(_ stored: JobRecord) -> Bool {
        stored.phase == .armed && stored.removed == nil
    }

    /// The stored record after the renewal: it counts from `at` on.
    public func renewed(_ stored: JobRecord) -> JobRecord {
        var record = stored
        record.isCounting = true
        record.processedThrough = at.wall
        record.at = at
        record.instance = instance
        return record
    }

    /// Does to records that are kept in memory what the store does to its own.
    /// - Complexity: O(*n*) in the number of records.
    public func apply(to records: inout [Job.Name: JobRecord]) {
        for (job, record) in records where concerns(record) { records[job] = renewed(record) }
    }
}

/// A job that has a new name. Its history moves to the new name. Each started run keeps its
/// identity, which contains the old name, so that it can still be found by it. Only runs that were
/// recorded and not started get the new name.
public struct Renaming: Hashable, Sendable {
    /// The name in `renamed-from`.
    public var from: Job.Name
    public var to: Job.Name
    /// The runs under the old name that were recorded and not started. They get the new name.
    public var waiting: [Run.ID]

    public init(from: Job.Name, to: Job.Name, waiting: [Run.ID] = []) {
        self.from = from
        self.to = to
        self.waiting = waiting
    }
}

extension Run.ID {
    /// The same attempt at the same instant, for a job with this name.
    public func renamed(_ job: Job.Name) -> Run.ID {
        Run.ID(firing: Firing.ID(job: job, scheduled: firing.scheduled), attempt: attempt)
    }
}

extension Run {
    /// The same attempt under the new name of the job. The definition stays as it was when the job
    /// fired.
    func renamed(_ name: Job.Name) -> Run {
        var firing = firing
        firing.id.job = name
        var job = job
        job.name = name
        return Run(firing: firing, attempt: id.attempt, job: job)
    }
}
