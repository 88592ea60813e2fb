// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The changes that a new configuration makes in the store. Renamings are written first, then the
/// records, then the deletions.
public struct JobSetChange: Hashable, Sendable {
    /// The jobs that have another name now.
    public var renamed: [Renaming]
    /// The records of jobs.
    public var records: [JobRecord]
    /// The jobs that were removed so long ago that their records are erased.
    public var erased: [Job.Name]

    /// Creates a change; by default an empty one.
    public init(
        renamed: [Renaming] = [], records: [JobRecord] = [], erased: [Job.Name] = []
    ) {
        self.renamed = renamed
        self.records = records
        self.erased = erased
    }

    /// Whether there is nothing to write.
    public var isEmpty: Bool { renamed.isEmpty && records.isEmpty && erased.isEmpty }
}

/// A job that has a new name. Its history moves to the new name. Each started run keeps its
/// identity, which contains the old name, so that it can still be found by it. Only runs that were
/// recorded and not started get the new name.
public struct Renaming: Hashable, Sendable {
    /// The name the job had.
    public var from: Job.Name
    /// The new name of the job.
    public var to: Job.Name
    /// The runs under the old name that were recorded and not started. They get the new name.
    public var waiting: [Run.ID]

    /// Creates a renaming.
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
