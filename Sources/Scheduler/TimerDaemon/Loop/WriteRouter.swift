// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerStore

/// When a write is handed to the recorder.
///
/// A write about a job that a command for many jobs has reached waits until that command is saved, and
/// so does each later write about a job of a waiting write: after a kill, the command was applied to
/// all of its jobs or to none, and nothing newer is overwritten. Other writes of a wake-up are handed
/// over together at its end, and all others at once.
struct WriteRouter {
    /// What becomes of a write.
    enum Route {
        /// These are handed to the recorder now.
        case now([RoutedWrite])
        /// It is handed over at the end of the wake-up.
        case withWakeUp
        /// It is handed over once the command for many jobs is saved.
        case afterTransaction
    }

    /// The command for many jobs that is not saved; nil without one.
    private var transaction: CommandTransaction?
    /// The wake-up of a timer that is being handled; nil otherwise.
    private var wakeUp: WakeUp?
    /// How many commands about each job are decided and not on the disk.
    private var unsaved: [Job.Name: Int] = [:]

    // MARK: - Writes

    /// Decides about a write.
    ///
    /// - Parameter others: jobs that it concerns beside those of its changes.
    mutating func route(_ write: RoutedWrite, of others: [Job.Name] = []) -> Route {
        guard transaction?.hold(write, of: others) != true else { return .afterTransaction }
        guard wakeUp != nil else { return .now([write]) }
        wakeUp?.add(write)
        return .withWakeUp
    }

    /// Decides about a write after which runs start. Of very many, some do not wait for the end of
    /// the wake-up.
    mutating func routeStarts(_ write: RoutedWrite) -> Route {
        let route = route(write, of: write.startingJobs)
        guard case .withWakeUp = route, wakeUp?.isFull == true else { return route }
        return .now(wakeUp?.drain() ?? [])
    }

    /// The number of the event that counts as written once its changes are. 0 while a command for
    /// many jobs is not saved, because other writes may then overtake those that wait for it.
    func countedEvent(_ event: UInt64) -> UInt64 { transaction == nil ? event : 0 }

    /// The records of a batch that wait for the command, and the others. Each part is one write.
    func parts(of batch: CommitBatch) -> [CommitBatch] {
        transaction.map { batch.parted(by: $0.jobs) } ?? [batch]
    }

    /// The time records of jobs that the command has not reached, and the others. A part of a
    /// checkpoint must not wait for a command that concerns other jobs.
    func parts(of records: [JobRecord]) -> (others: [JobRecord], waiting: [JobRecord]) {
        guard let jobs = transaction?.jobs, !jobs.isEmpty else { return (records, []) }
        return (
            records.filter { !jobs.contains($0.job) }, records.filter { jobs.contains($0.job) }
        )
    }

    // MARK: - A wake-up

    mutating func beginWakeUp() { wakeUp = WakeUp() }

    /// Ends the wake-up.
    ///
    /// - Returns: what is handed to the recorder now.
    mutating func endWakeUp() -> [RoutedWrite] {
        var ended = wakeUp.take()
        return ended?.drain() ?? []
    }

    // MARK: - Commands that are not saved

    /// A command about this job is written, and counts from now on.
    mutating func beginSaving(_ job: Job.Name) { unsaved[job, default: 0] += 1 }

    /// It is on the disk.
    mutating func endSaving(_ job: Job.Name) {
        guard let count = unsaved[job] else { return }
        unsaved[job] = count > 1 ? count - 1 : nil
    }

    /// Whether what is known of this job may be lost in a kill. An answer must not rest on that: a
    /// second `resume` would be told that the job is not paused, and after a kill it would be.
    func isSaving(_ job: Job.Name) -> Bool { unsaved[job] != nil }

    // MARK: - A command for many jobs

    /// Whether a command for many jobs is not saved.
    var hasTransaction: Bool { transaction != nil }
    /// The jobs about which writes wait.
    var jobsInTransaction: [Job.Name] { transaction.map { Array($0.jobs) } ?? [] }

    mutating func beginTransaction() { transaction = CommandTransaction() }

    /// The agenda decides on this job of the command.
    mutating func reach(_ job: Job.Name) { transaction?.reach(job) }

    /// All jobs are decided on.
    ///
    /// - Returns: the writes that are now made in one transaction.
    mutating func takeTransaction() -> [RoutedWrite] { transaction?.takeWrites() ?? [] }

    /// The transaction is on the disk.
    ///
    /// - Returns: the writes that waited for it, in their order, to be routed now.
    mutating func endTransaction() -> [RoutedWrite] {
        var ended = transaction.take()
        return ended?.takeWrites() ?? []
    }
}
