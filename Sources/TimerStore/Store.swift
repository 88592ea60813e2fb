// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The durable state in one SQLite database (WAL): the time records of jobs, the runs, and the
/// instances of the daemon.
///
/// Every call blocks on the disk, and only one thread at a time may use a store: give it its own
/// queue. The changes of one `commit` are stored completely or not at all.
public final class Store {
    /// The name of the database in the state directory.
    public static let fileName = "timerd.db"

    /// The names of all files that SQLite opens by their paths, following links: the database, its
    /// log and the log's index, and the journal of another mode, which it would roll back
    /// (https://sqlite.org/tempfiles.html).
    public static let fileNames = ["", "-wal", "-shm", "-journal"].map { fileName + $0 }

    /// How many starts of the daemon are stored.
    public static let instancesKept: Int64 = 1000

    let connection: Connection
    var instance: DaemonInstance.ID = 0
    private var bootID: BootID?
    private var isDurable = true
    /// How many pages the log may have before they are written into the database; 0: not set yet.
    var logPages: Int64 = 0
    /// Whether there may be staged records.
    var hasStaged = true
    /// The identity and the generation of the database.
    public internal(set) var identity = Identity(id: "", generation: 0)
    /// Descriptions of rows of earlier instances that could not be read, one sentence each, and the
    /// most of them.
    public private(set) var damage: [String] = []
    private static let damageMax = 100

    func note(_ damage: String) {
        if self.damage.count < Self.damageMax { self.damage.append(damage) }
    }

    /// Opens or creates the database, and migrates an older one.
    ///
    /// - Parameters:
    ///   - path: absolute, in a directory to which only the daemon's user may write.
    ///   - mayMake: whether tables are created in an empty database; otherwise an empty one is an
    ///     error.
    /// - Throws: `StoreError`; the file is unchanged.
    public convenience init(path: String, mayMake: Bool = true) throws(StoreError) {
        try self.init(path: path, mayMake: mayMake, steps: Schema.steps)
    }

    /// Opens a database only for reading, while its disk is too full for anything else. Nothing is
    /// written. Release this store before another one opens the same database.
    ///
    /// - Throws: `StoreError`, also if its tables are not those of this version.
    public init(readingOnly path: String) throws(StoreError) {
        connection = try Connection(path: path, .readingAlone)
        let version = Int64(Schema.steps.count)
        try Self.check(try connection.version(), version...version, path)
        identity = try readIdentity()
    }

    /// Opens a database for reading while another store of this process writes to it. In WAL mode
    /// readers do not wait for the writer, nor the writer for readers (wal.html#concurrency).
    ///
    /// - Throws: `StoreError`, also if its tables are not those of this version.
    public init(readingBeside path: String) throws(StoreError) {
        connection = try Connection(path: path, .readingBeside)
        let version = Int64(Schema.steps.count)
        try Self.check(try connection.version(), version...version, path)
        identity = try readIdentity()
    }

    /// The file of the database.
    public var path: String { connection.path }

    /// Interrupts later operations after this time, with an error.
    public func limit(to span: Duration) { connection.limit(to: span) }

    private static func check(
        _ version: Int64, _ known: ClosedRange<Int64>, _ path: String
    ) throws(StoreError) {
        guard !known.contains(version) else { return }
        guard version != 0 else {
            throw StoreError(
                code: .empty, path: path, what: "there are no tables in the database",
                hint: StoreError.restoreHint)
        }
        throw StoreError(
            code: .newer, path: path,
            what: "has version \(version), this timerd knows up to \(Schema.steps.count)",
            hint: "install the newer timerd again, or move the file away")
    }

    /// The same with other migration steps, as later versions will have more of them.
    init(path: String, mayMake: Bool = true, steps: [String]) throws(StoreError) {
        connection = try Connection(path: path)
        let version = try connection.version()
        try Self.check(version, (mayMake ? 0 : 1)...Int64(steps.count), path)
        if version == 0 {
            // Free pages can then be returned a few at a time. SQLite accepts this only before the
            // first page is written, which the journal mode does (pragma.html#pragma_auto_vacuum).
            try connection.execute("PRAGMA auto_vacuum = INCREMENTAL", doing: "make it")
        }
        // WAL allows readers while the daemon writes, and commits without an fsync.
        try connection.execute("PRAGMA journal_mode = WAL", doing: "set its journal mode")
        try connection.execute("PRAGMA synchronous = FULL", doing: "set its durability")
        // A log that starts from the beginning is truncated first
        // (pragma.html#pragma_journal_size_limit). If its pages were overwritten instead, the
        // kernel would have to read the blocks of the disk first, because the pages are not aligned
        // to them, and a commit would wait for the disk.
        try keepLogFile(false)
        if version < steps.count { try migrate(from: Int(version), steps) }
        identity = try readIdentity()
        fitLogToRoom()
    }

    private func migrate(from version: Int, _ steps: [String]) throws(StoreError) {
        let connection = connection
        try connection.transaction(doing: "bring its tables up to date") { () throws(StoreError) in
            for step in steps[version...] {
                try connection.execute(step, doing: "bring its tables up to date")
            }
            try connection.execute(
                "PRAGMA user_version = \(steps.count)", doing: "bring its tables up to date")
        }
    }

    /// Reads what earlier instances of the daemon stored, and chooses the number of the new
    /// instance. Nothing is written: `Change.beginInstance` does that, in one transaction with the
    /// first records, so that no instance is stored without its records. The caller adds the
    /// heartbeat and which open runs were started.
    ///
    /// - Parameter latest: the highest number of any known instance, stored or not.
    /// - Complexity: O(*n*) in the number of jobs and open runs.
    public func recover(after latest: DaemonInstance.ID = 0) throws(StoreError) -> RecoveredState {
        let previous = try previousInstance()
        let records = try jobRecords()
        let openRuns = try openRuns()
        let lastRuns = try lastRuns()
        let lastSuccesses = try lastSuccesses()
        instance = max(previous?.instance ?? 0, latest) + 1
        return RecoveredState(
            instance: instance, previous: previous, records: records, openRuns: openRuns,
            lastRuns: lastRuns, lastSuccesses: lastSuccesses
        )
    }

    /// Continues for an instance of the daemon whose number is known, after the store could not be
    /// opened earlier.
    public func resume(as instance: DaemonInstance.ID) { self.instance = instance }

    /// A change to store.
    public enum Change: Hashable, Sendable {
        /// The new instance of the daemon starts.
        case beginInstance(Now)
        /// A run that is about to start.
        case begin(Run, at: WallInstant)
        /// A job's time record.
        case save(JobRecord)
        /// The end of a run, with whether it failed and the last part of its output.
        case close(
            Run.ID, RunOutcome, RunUsage, failed: Bool, began: WallInstant? = nil,
            at: WallInstant, tail: [UInt8] = [])
        /// A firing that was skipped.
        case skip(SkippedFiring)
        /// Renames a job and everything stored under its old name.
        case rename(Renaming)
        /// Deletes a job that is not in the configuration any more.
        case erase(Job.Name)
        /// Stages a job's time record, one of very many to be saved together: it counts from
        /// `applyStaged` on, and not at all if the daemon ends before.
        case stage(JobRecord)
        /// Makes all staged records count.
        case applyStaged
        /// Moves this many of the applied staged records to the main table; when all are moved,
        /// others can be staged.
        case mergeStaged(max: Int)
        /// Increments the generation of the database.
        case mark
        /// The current instance of the daemon ends cleanly.
        case endInstance(Now)
    }

    /// Writes the changes in one transaction, in their order.
    ///
    /// - Parameter durable: whether they survive a power failure when this returns (one fsync).
    ///   Otherwise they survive the end of the daemon, and a power failure only after the next
    ///   durable commit or `sync`.
    /// - Returns: the runs that were refused because a run with that identity is already stored.
    /// - Complexity: O(*m* log *n*) for *m* changes.
    @discardableResult
    public func commit(_ changes: [Change], durable: Bool) throws(StoreError) -> Set<Run.ID> {
        try setDurable(durable)
        if changes.contains(.mark) { fitLogToRoom() }
        let refused = try transaction { () throws(StoreError) in
            var refused: Set<Run.ID> = []
            for change in changes {
                if let run = try write(change) { refused.insert(run) }
            }
            return refused
        }
        noteMarks(in: changes)
        return refused
    }

    /// The same, but changes that the database will never accept are skipped. Not synced to the
    /// disk.
    ///
    /// - Returns: the runs that were refused because a run with that identity is already stored,
    ///   and the changes that were skipped.
    public func commitWhatIsTaken(
        _ changes: [Change]
    ) throws(StoreError) -> (refused: Set<Run.ID>, leftOut: [(change: Change, error: StoreError)]) {
        try setDurable(false)
        let taken = try transaction { () throws(StoreError) in
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
        noteMarks(in: changes)
        return taken
    }

    /// - Returns: the run that was refused because a run with its identity is already stored.
    private func write(_ change: Change) throws(StoreError) -> Run.ID? {
        switch change {
        case .beginInstance(let now):
            try settleStaged()
            try insertInstance(at: now)
        case .begin(let run, let at): return try insert(run, at: at) ? nil : run.id
        case .save(let record): try save(record)
        case .stage(let record): try stage(record)
        case .applyStaged: try applyStaged()
        case .mergeStaged(let count): try mergeStaged(max: count)
        case .close(let run, let outcome, let usage, let failed, let began, let at, let tail):
            try close(run, outcome, usage, failed: failed, began: began, at: at, tail: tail)
        case .skip(let skip): try insert(skip)
        case .rename(let renaming): try rename(renaming)
        case .erase(let job):
            try connection.run(
                "DELETE FROM job WHERE name = ?", [.text(job.description)],
                doing: "erase the record of a job")
            try forgetStaged(job)
        case .mark:
            try connection.run(
                "UPDATE identity SET generation = generation + 1", doing: "write its generation")
        case .endInstance(let now): try endInstance(at: now)
        }
        return nil
    }

    private func noteMarks(in changes: [Change]) {
        identity.generation += Int64(changes.count { $0 == .mark })
    }

    /// The log of this store, for `WriteAheadLog.sync`. The file exists after the first commit, and
    /// is valid as long as the store.
    public func log() throws(StoreError) -> WriteAheadLog {
        try WriteAheadLog(path: "\(connection.path)-wal")
    }

    /// Writes everything committed so far into the database again, with an fsync.
    public func checkpoint() throws(StoreError) {
        try setDurable(true)
        var isBusy = false
        try connection.run("PRAGMA wal_checkpoint(TRUNCATE)", doing: "sync it to the disk") { row in
            isBusy = row.integer(0) != 0
        }
        guard !isBusy else {
            throw StoreError(
                code: .busy, path: connection.path,
                what: "cannot sync it to the disk: it is in use",
                hint: "end the other program that has it open")
        }
    }

    /// In WAL mode, NORMAL commits without an fsync and FULL with one
    /// (pragma.html#pragma_synchronous).
    func setDurable(_ durable: Bool) throws(StoreError) {
        guard durable != isDurable else { return }
        try connection.execute(
            "PRAGMA synchronous = \(durable ? "FULL" : "NORMAL")", doing: "set its durability")
        isDurable = durable
    }

    private func insertInstance(at now: Now) throws(StoreError) {
        bootID = now.bootID
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

    private func insert(_ run: Run, at: WallInstant) throws(StoreError) -> Bool {
        try connection.run(
            """
            INSERT INTO run (job, scheduled_us, attempt, missed, active_ns, boot_id, recorded_us, cause, owner)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?1) ON CONFLICT (job, scheduled_us, attempt) DO NOTHING
            """,
            identity(run.id) + [
                .integer(run.firing.missed.keepable), .integer(run.firing.active.wholeNanoseconds),
                .text(bootID?.description ?? ""), Value(at),
                run.firing.cause == .schedule ? .null : .text(run.firing.cause.description),
            ], doing: "write the start of a run") == 1
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
        for state in ["NOT NULL", "NULL"] {
            try connection.run(
                "UPDATE run SET owner = ? WHERE owner = ? AND outcome IS \(state)",
                [.text(to), .text(from)], doing: what)
        }
        try connection.run(
            "UPDATE skip SET job = ? WHERE job = ?", [.text(to), .text(from)], doing: what)
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
