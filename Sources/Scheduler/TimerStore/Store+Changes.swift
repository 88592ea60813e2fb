// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The changes that the daemon writes, each commit in one transaction.
extension Store {
    /// A change to store. Later changes of a commit see the earlier ones.
    public enum Change: Hashable, Sendable {
        /// The new instance of the daemon starts, at this reading of the clocks.
        case beginInstance(Now)
        /// A run. If it is released, it starts as soon as this is written, or on the disk; otherwise
        /// it waits.
        case begin(Run, released: Bool, at: WallInstant)
        /// Whether these runs, which were written before, are released.
        case setReleased([Run.ID], Bool)
        /// Takes the time records of most jobs again, at a start: after `beginInstance`, which
        /// merges the staged records.
        case renew(RecordRenewal)
        /// A job's time record, which replaces the stored one.
        case save(JobRecord)
        /// The end of a run, with whether it failed and the last part of its output.
        case close(
            Run.ID, RunOutcome, RunUsage, failed: Bool, began: WallInstant? = nil,
            at: WallInstant, tail: [UInt8] = [])
        /// A firing that was skipped, for the history.
        case skip(SkippedFiring)
        /// A pause that ended, for the history.
        case pause(PastPause)
        /// Adds a notification to the outbox.
        case notify(JobNotification)
        /// An incident that began, changed or ended.
        case incident(IncidentChange)
        /// Groups these rows of the outbox into a message with this number, which must be higher
        /// than those of all earlier messages (`lastMessage`). Rows that belong to a message
        /// already are left out, and without any row there is no message.
        case createMessage(
            Int64, notifier: Notifier.Name, notifications: [Int64], at: WallInstant)
        /// The result of an attempt to send a message.
        case messageResult(MessageResult)
        /// Sends a message again that is dead or waits. A message that was sent does not change.
        case retryMessage(Int64, at: WallInstant)
        /// The hold of the machine began, changed or ended.
        case hold(HoldChange)
        /// What this machine must remember of its fleet.
        case fleet(FleetChange)
        /// Renames a job and everything stored under its old name.
        case rename(Renaming)
        /// Deletes a job that is not in the configuration any more.
        case erase(Job.Name)
        /// Stages a job's time record, one of very many to be saved together: it counts from
        /// `applyStaged` on, and not at all if the daemon ends before.
        case stage(JobRecord)
        /// Makes all staged records count, in one short write.
        case applyStaged
        /// Moves this many of the applied staged records to the main table; when all are moved,
        /// others can be staged.
        case mergeStaged(max: Int)
        /// The current instance of the daemon ends cleanly.
        case endInstance(Now)
    }

    /// Writes the changes in one transaction, in their order.
    ///
    /// - Parameters:
    ///   - isMarked: whether the generation of the database is incremented in the same transaction.
    ///   - durable: whether they survive a power failure when this returns (one fsync). Otherwise
    ///     they survive the end of the daemon, and a power failure only after the next durable
    ///     commit or `sync`.
    /// - Returns: the runs that were refused because a run with that identity is already stored.
    /// - Complexity: O(*m* log *n*) for *m* changes.
    @discardableResult
    public func commit(
        _ changes: [Change], isMarked: Bool = false, durable: Bool
    ) throws(StoreError) -> Set<Run.ID> {
        try setDurable(durable)
        return try transaction(of: changes.count, isMarked: isMarked) { () throws(StoreError) in
            var refused: Set<Run.ID> = []
            for change in changes {
                if let run = try write(change) { refused.insert(run) }
            }
            return refused
        }
    }

    /// With more changes than this, as at a start with very many jobs, a transaction may keep more of
    /// its pages in memory. SQLite would otherwise write most of them to the log several times.
    private static let largeCommit = 10_000
    private static let largeCacheKiB = 64 << 10
    /// The default of SQLite in KiB (pragma.html#pragma_cache_size).
    private static let cacheKiB = 2000

    /// A lower limit frees the pages beyond it.
    private func limitCache(toKiB size: Int) throws(StoreError) {
        try connection.execute("PRAGMA cache_size = -\(size)", doing: "set the size of its cache")
    }

    /// A transaction that may also increment the generation of the database.
    ///
    /// - Parameter count: how many changes it has.
    private func transaction<Result>(
        of count: Int, isMarked: Bool, _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        if isMarked { fitLogToRoom() }
        let isLarge = count > Self.largeCommit
        if isLarge { try limitCache(toKiB: Self.largeCacheKiB) }
        defer { if isLarge { try? limitCache(toKiB: Self.cacheKiB) } }
        let result = try transaction { () throws(StoreError) in
            if isMarked {
                try connection.run(
                    "UPDATE identity SET generation = generation + 1", doing: "write its generation"
                )
            }
            return try body()
        }
        if isMarked { identity.generation += 1 }
        return result
    }

    /// The same, but changes that the database will never accept are skipped. Not synced to the
    /// disk.
    ///
    /// - Returns: the runs that were refused because a run with that identity is already stored,
    ///   and the changes that were skipped.
    public func commitWhatIsTaken(
        _ changes: [Change], isMarked: Bool = false
    ) throws(StoreError) -> (refused: Set<Run.ID>, leftOut: [(change: Change, error: StoreError)]) {
        try setDurable(false)
        return try transaction(of: changes.count, isMarked: isMarked) { () throws(StoreError) in
            var refused: Set<Run.ID> = []
            var leftOut: [(change: Change, error: StoreError)] = []
            for change in changes {
                // A statement that fails has no effect, and the transaction continues.
                do throws(StoreError) {
                    if let run = try write(change) { refused.insert(run) }
                } catch {
                    guard error.code == .refused else { throw error }
                    leftOut.append((change, error))
                }
            }
            return (refused: refused, leftOut: leftOut)
        }
    }

    /// - Returns: the run that was refused because a run with its identity is already stored.
    private func write(_ change: Change) throws(StoreError) -> Run.ID? {
        switch change {
        case .beginInstance(let now):
            try settleStaged()
            try insertInstance(at: now)
        case .begin(let run, let isReleased, let at):
            return try insert(run, released: isReleased, at: at) ? nil : run.id
        case .setReleased(let runs, let isReleased): try setReleased(runs, isReleased)
        case .renew(let renewal): try renew(renewal)
        case .save(let record): try save(record)
        case .stage(let record): try stage(record)
        case .applyStaged: try applyStaged()
        case .mergeStaged(let count): try mergeStaged(max: count)
        case .close(let run, let outcome, let usage, let failed, let began, let at, let tail):
            try close(run, outcome, usage, failed: failed, began: began, at: at, tail: tail)
        case .skip(let skip): try insert(skip)
        case .pause(let pause): try insert(pause)
        case .notify(let notification): try insert(notification)
        case .incident(let change): try write(change)
        case .createMessage(let id, let notifier, let notifications, let at):
            try createMessage(id, notifier, notifications, at: at)
        case .messageResult(let result): try write(result)
        case .retryMessage(let id, let at): try retryMessage(id, at: at)
        case .hold(let change): try write(change)
        case .fleet(let change): try write(change)
        case .rename(let renaming): try rename(renaming)
        case .erase(let job):
            try connection.run(
                "DELETE FROM job WHERE name = ?", [.text(job.description)],
                doing: "erase the record of a job")
            try forgetStaged(job)
        case .endInstance(let now): try endInstance(at: now)
        }
        return nil
    }

    private func insertInstance(at now: Now) throws(StoreError) {
        bootID = now.bootID
        try connection.run(
            "UPDATE identity SET is_restored = 0 WHERE is_restored <> 0",
            doing: "write the daemon's start")
        try connection.run(
            """
            INSERT INTO instance (id, boot_id, began_us, began_awake_ns, began_boot_ns)
            VALUES (?, ?, ?, ?, ?)
            """,
            [
                .integer(instance), .text(now.bootID.description),
                .integer(now.wall.microsecondsSinceEpoch), .integer(now.awake.nanoseconds),
                .integer(now.boot.nanoseconds),
            ], doing: "write the daemon's start")
    }

    private func insert(
        _ run: Run, released isReleased: Bool, at: WallInstant
    ) throws(StoreError) -> Bool {
        try connection.run(
            """
            INSERT INTO run
                (job, scheduled_us, attempt, missed, active_ns, boot_id, recorded_us, cause, released, owner,
                cause_run)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?1, ?10)
            ON CONFLICT DO NOTHING
            """,
            identity(run.id) + [
                .integer(run.firing.missed.keepable), .integer(run.firing.active.wholeNanoseconds),
                .text(bootID?.description ?? ""), Value(at),
                run.firing.cause == .schedule ? .null : .text(run.firing.cause.description),
                Value(isReleased),
                run.firing.cause.chain.map { .text($0.run.description) } ?? .null,
            ], doing: "write the start of a run") == 1
    }

    private func setReleased(_ runs: [Run.ID], _ isReleased: Bool) throws(StoreError) {
        for run in runs {
            try connection.run(
                """
                UPDATE run SET released = ?4, boot_id = ?5
                WHERE job = ?1 AND scheduled_us = ?2 AND attempt = ?3 AND outcome IS NULL
                """,
                identity(run) + [Value(isReleased), .text(bootID?.description ?? "")],
                doing: "write whether a run is released")
        }
    }

    private func close(
        _ run: Run.ID, _ outcome: RunOutcome, _ usage: RunUsage, failed: Bool,
        began: WallInstant?, at: WallInstant, tail: [UInt8]
    ) throws(StoreError) {
        try connection.run(
            """
            UPDATE run SET outcome = ?4, ended_us = ?5, elapsed_us = ?6, user_us = ?7,
                system_us = ?8, peak_bytes = ?9, tail = ?10, failed = ?11, began_us = ?12
            WHERE job = ?1 AND scheduled_us = ?2 AND attempt = ?3 AND outcome IS NULL
            """,
            identity(run) + [
                .text(outcome.description), Value(at),
                .integer(usage.elapsed.wholeMicroseconds), .integer(usage.user.wholeMicroseconds),
                .integer(usage.system.wholeMicroseconds), .integer(usage.peakResidentBytes),
                tail.isEmpty ? .null : .bytes(tail), Value(failed),
                began.map { Value($0) } ?? .null,
            ], doing: "write the end of a run")
    }

    /// Runs keep their identity, by which they are found; runs that have not started yet get the
    /// new name.
    private func rename(_ renaming: Renaming) throws(StoreError) {
        let what = "rename a job"
        let (from, to) = (renaming.from.description, renaming.to.description)
        try connection.run("DELETE FROM job WHERE name = ?", [.text(from)], doing: what)
        try forgetStaged(renaming.from)
        // One statement for each of the two indexes.
        for state in ["ended_us IS NOT NULL", "outcome IS NULL"] {
            try connection.run(
                "UPDATE run SET owner = ? WHERE owner = ? AND \(state)",
                [.text(to), .text(from)], doing: what)
        }
        try connection.run(
            "UPDATE skip SET job = ? WHERE job = ?", [.text(to), .text(from)], doing: what)
        // The new name may have had a pause that began at the same instant.
        try connection.run(
            "UPDATE OR REPLACE pause SET job = ? WHERE job = ?", [.text(to), .text(from)],
            doing: what)
        try renameInOutbox(from, to, doing: what)
        for run in renaming.waiting {
            try connection.run(
                """
                UPDATE run SET job = ?4 WHERE job = ?1 AND scheduled_us = ?2 AND attempt = ?3
                    AND outcome IS NULL
                """, identity(run) + [.text(to)], doing: what)
        }
    }

    private func endInstance(at now: Now) throws(StoreError) {
        try connection.run(
            "UPDATE instance SET ended_us = ?, ended_awake_ns = ?, ended_boot_ns = ? WHERE id = ?",
            [
                .integer(now.wall.microsecondsSinceEpoch), .integer(now.awake.nanoseconds),
                .integer(now.boot.nanoseconds), .integer(instance),
            ], doing: "write the daemon's stop")
    }

    func identity(_ run: Run.ID) -> [Value] {
        [
            .text(run.firing.job.description),
            .integer(run.firing.scheduled.microsecondsSinceEpoch), .integer(Int64(run.attempt)),
        ]
    }
}
