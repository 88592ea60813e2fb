// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerStore

/// The writes of a command for many jobs. Everything is saved in one transaction: after a kill, the
/// command was applied to all of the jobs or to none.
struct CommandTransaction {
    /// The jobs on which the agenda has decided.
    private(set) var jobs: Set<Job.Name> = []
    /// The later changes of these jobs, caused by the command or by something else. None may be
    /// saved before the transaction: otherwise the command could be saved for some jobs only.
    private var writes: [RoutedWrite] = []

    /// The agenda decides on this job.
    mutating func reach(_ job: Job.Name) { jobs.insert(job) }

    /// Keeps the write back if it concerns one of the jobs of the transaction. Later writes about
    /// any job of a kept write are kept back as well, so that nothing newer is overwritten.
    ///
    /// - Parameter others: jobs that it concerns beside those of the changes.
    /// - Returns: whether it is kept back.
    mutating func hold(_ write: RoutedWrite, of others: [Job.Name]) -> Bool {
        let affected = write.changes.flatMap(\.jobs) + others
        guard affected.contains(where: jobs.contains) else { return false }
        jobs.formUnion(affected)
        writes.append(write)
        return true
    }

    /// Removes and returns the writes that are kept back.
    mutating func takeWrites() -> [RoutedWrite] {
        defer { writes = [] }
        return writes
    }
}

extension Store.Change {
    /// The jobs that it concerns.
    fileprivate var jobs: [Job.Name] {
        switch self {
        case .begin(let run, _, _): [run.id.firing.job]
        case .setReleased(let runs, _): runs.map(\.firing.job)
        case .save(let record), .stage(let record): [record.job]
        case .close(let run, _, _, _, _, _, _): [run.firing.job]
        case .erase(let job): [job]
        case .skip(let skip): [skip.firing.id.job]
        case .pause(let pause): [pause.job]
        case .rename(let renaming): [renaming.from, renaming.to]
        case .notify(let one): one.job.map { [$0] } ?? []
        case .incident(let change): [change.id.job]
        case .beginInstance, .endInstance, .renew, .applyStaged, .mergeStaged, .createMessage,
            .messageResult, .retryMessage, .fleet, .hold:
            []
        }
    }
}

extension CommitBatch {
    /// Splits off the part that concerns these jobs.
    func parted(by jobs: Set<Job.Name>) -> [CommitBatch] {
        guard !jobs.isEmpty else { return [self] }
        func part(_ isIn: Bool) -> CommitBatch {
            CommitBatch(
                runs: runs.filter { jobs.contains($0.id.firing.job) == isIn },
                start: start.filter { jobs.contains($0.id.firing.job) == isIn },
                records: records.filter { jobs.contains($0.job) == isIn },
                history: history.filter { jobs.contains($0.job) == isIn },
                notes: notes.filter { jobs.contains($0.job) == isIn })
        }
        return [part(true), part(false)].filter { !$0.isEmpty }
    }
}
