// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a new configuration changes in the store: the renamings come first, then the records, then what is
/// erased.
public struct RosterChange: Hashable, Sendable {
    /// The jobs that have another name now.
    public var renamed: [Renaming]
    /// The states of jobs.
    public var records: [JobRecord]
    /// The jobs that were removed too long ago to come back.
    public var erased: [Job.Name]

    /// A change as described; by default none.
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

/// A job that has another name now. Its history moves to the new name; each run keeps its identity, the old name
/// in it, so that it is still found by it. Only runs that were recorded and not started get the new name.
public struct Renaming: Hashable, Sendable {
    /// The name the job had.
    public var from: Job.Name
    /// The name it has.
    public var to: Job.Name
    /// The runs under the old name that were recorded and not started: they take the new name.
    public var waiting: [Run.ID]

    /// A renaming as described.
    public init(from: Job.Name, to: Job.Name, waiting: [Run.ID] = []) {
        self.from = from
        self.to = to
        self.waiting = waiting
    }
}

extension Run.ID {
    /// The same attempt at the same instant, of a job with this name.
    public func renamed(_ job: Job.Name) -> Run.ID {
        Run.ID(firing: Firing.ID(job: job, scheduled: firing.scheduled), attempt: attempt)
    }
}

extension Run {
    /// The same attempt, of the job under its new name; what it executes stays as it was when it fired.
    func renamed(_ name: Job.Name) -> Run {
        var firing = firing
        firing.id.job = name
        var job = job
        job.name = name
        return Run(firing: firing, attempt: id.attempt, job: job)
    }
}
