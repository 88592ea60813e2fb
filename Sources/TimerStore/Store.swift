// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The durable account: jobs' records, runs and lives of the daemon, in one SQLite database (WAL).
///
/// Every call blocks on the disk, and one thread at a time may use a store: give it a queue of its own.
/// What one `commit` is given is kept whole or not at all.
public final class Store {
    /// The name of the database in the state directory.
    public static let fileName = "timerd.db"

    /// The names of all files SQLite opens for it, by their paths and through whatever lies there: the
    /// database, its log and the log's index, and the journal of another mode, which it would play back
    /// (https://sqlite.org/tempfiles.html).
    public static let fileNames = ["", "-wal", "-shm", "-journal"].map { fileName + $0 }

    /// How many starts of the daemon are kept.
    public static let livesKept: Int64 = 1000

    let connection: Connection
    var life: Life.ID = 0
    private var bootID: BootID?
    private var isDurable = true
    /// How many pages the log takes before they are written into the database; 0: not set yet.
    var logPages: Int64 = 0
    /// Whether there may be staged accounts.
    var hasStaged = true
    /// Which database it is, and how new.
    public internal(set) var identity = Identity(id: "", generation: 0)
    /// What could not be read of the rows that earlier instances left, a sentence each, and the most of them.
    public private(set) var damage: [String] = []
    private static let damageMax = 100

    func note(_ damage: String) {
        if self.damage.count < Self.damageMax { self.damage.append(damage) }
    }

    /// Opens the database, or makes it, and brings an older one up to date.
    ///
    /// - Parameters:
    ///   - path: absolute, in a directory only the daemon's user may write to.
    ///   - mayMake: whether tables are made in an empty database; else one is an error.
    /// - Throws: `StoreError`; the file is left as it was.
    public convenience init(path: String, mayMake: Bool = true) throws(StoreError) {
        try self.init(path: path, mayMake: mayMake, steps: Schema.steps)
    }

    /// Opens a database to read from it, while its disk is too full for anything else. Nothing is written, and the
    /// store must be let go before another one opens the same database.
    ///
    /// - Throws: `StoreError`, also if its tables are not those of this version.
    public init(readingOnly path: String) throws(StoreError) {
        connection = try Connection(path: path, .readingAlone)
        let version = Int64(Schema.steps.count)
        try Self.check(try connection.version(), version...version, path)
        identity = try readIdentity()
    }

    /// Opens a database that another store of this process has open, to read from it while that one writes to it. By
    /// the log there is, no reader waits for the writer, nor the writer for a reader (wal.html#concurrency).
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

    /// Has what is asked for from now on end after this long, with an error.
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

    /// The same with other steps to the present tables, as a later version will have more of them.
    init(path: String, mayMake: Bool = true, steps: [String]) throws(StoreError) {
        connection = try Connection(path: path)
        let version = try connection.version()
        try Self.check(version, (mayMake ? 0 : 1)...Int64(steps.count), path)
        if version == 0 {
            // Pages that pruning frees can be given back a few at a time. SQLite takes this only before the
            // first page is written, which the journal mode does (pragma.html#pragma_auto_vacuum).
            try connection.execute("PRAGMA auto_vacuum = INCREMENTAL", doing: "make it")
        }
        // WAL lets status readers in while the daemon writes, and lets a commit go without an fsync.
        try connection.execute("PRAGMA journal_mode = WAL", doing: "set its journal mode")
        try connection.execute("PRAGMA synchronous = FULL", doing: "set its durability")
        // A log that begins anew begins with nothing in it (pragma.html#pragma_journal_size_limit). Written over,
        // its pages, which do not begin where the disk's do, would be read first: a commit would wait for the disk.
        try connection.execute("PRAGMA journal_size_limit = 0", doing: "set the size of its log")
        if version < steps.count { try migrate(from: Int(version), steps) }
        identity = try readIdentity()
        try fitLogToRoom()
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

    /// Reads what earlier instances of the daemon left, and chooses the number of the one that begins. Nothing
    /// is written: `Change.beginLife` does that, in one transaction with the first records, so that there is
    /// never an instance on record whose records are not. The heartbeat and which open runs were begun are for
    /// others to add.
    ///
    /// - Parameter latest: the highest number that any instance is known to have had, stored or not.
    /// - Complexity: O(*n*) in the number of jobs and open runs.
    public func recover(after latest: Life.ID = 0) throws(StoreError) -> Recollection {
        let previous = try previousLife()
        let records = try jobRecords()
        let openRuns = try openRuns()
        let lastRuns = try lastRuns()
        life = max(previous?.life ?? 0, latest) + 1
        return Recollection(
            life: life, previous: previous, records: records, openRuns: openRuns, lastRuns: lastRuns
        )
    }

    /// Goes on for an instance of the daemon whose number is known, where the store could not be opened before.
    public func resume(as life: Life.ID) { self.life = life }

    /// One thing to be written down.
    public enum Change: Hashable, Sendable {
        /// The instance of the daemon that was recovered for begins.
        case beginLife(Now)
        /// A run that is about to start.
        case begin(Run, at: WallInstant)
        /// A job's account.
        case save(JobRecord)
        /// The end of a run, with the verdict whether it failed and the last of what it wrote.
        case close(
            Run.ID, RunOutcome, RunUsage, failed: Bool, at: WallInstant, tail: [UInt8] = [])
        /// A job that has another name, and what is stored under the old one.
        case rename(Renaming)
        /// A job that is not coming back.
        case erase(Job.Name)
        /// A job's account, as one of very many that are to be saved together: it counts from `applyStaged` on,
        /// and not at all if the daemon ends before.
        case stage(JobRecord)
        /// All accounts that were staged count.
        case applyStaged
        /// So many of the accounts that were staged and applied take their places among the others, so that
        /// there can be further ones.
        case mergeStaged(max: Int)
        /// The next generation of the database.
        case mark
        /// The life that began last ends cleanly.
        case endLife(Now)
    }

    /// Writes the changes in one transaction, in their order.
    ///
    /// - Parameter durable: whether they outlive a power cut when this returns (one fsync); otherwise they
    ///   outlive the daemon's death, and a power cut after the next durable commit or `sync`.
    /// - Returns: the runs that were refused because a run of that identity was written before.
    /// - Complexity: O(*m* log *n*) for *m* changes.
    @discardableResult
    public func commit(_ changes: [Change], durable: Bool) throws(StoreError) -> Set<Run.ID> {
        try setDurable(durable)
        if changes.contains(.mark) { try fitLogToRoom() }
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

    /// The same, without the changes that the database will never take. Not synced to the disk.
    ///
    /// - Returns: the runs that were refused because a run of that identity was written before, and the changes
    ///   that were left out.
    public func commitWhatIsTaken(
        _ changes: [Change]
    ) throws(StoreError) -> (refused: Set<Run.ID>, leftOut: [(change: Change, error: StoreError)]) {
        try setDurable(false)
        let taken = try transaction { () throws(StoreError) in
            var refused: Set<Run.ID> = []
            var leftOut: [(change: Change, error: StoreError)] = []
            for change in changes {
                // One statement: if it fails, nothing of it remains, and the transaction goes on.
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

    /// - Returns: the run that was not written because a run of its identity was written before.
    private func write(_ change: Change) throws(StoreError) -> Run.ID? {
        switch change {
        case .beginLife(let now):
            try settleStaged()
            try insertLife(at: now)
        case .begin(let run, let at): return try insert(run, at: at) ? nil : run.id
        case .save(let record): try save(record)
        case .stage(let record): try stage(record)
        case .applyStaged: try applyStaged()
        case .mergeStaged(let count): try mergeStaged(max: count)
        case .close(let run, let outcome, let usage, let failed, let at, let tail):
            try close(run, outcome, usage, failed: failed, at: at, tail: tail)
        case .rename(let renaming): try rename(renaming)
        case .erase(let job):
            try connection.run(
                "DELETE FROM job WHERE name = ?", [.text(job.description)],
                doing: "erase a job's account")
            try forgetStaged(job)
        case .mark:
            try connection.run(
                "UPDATE identity SET generation = generation + 1", doing: "write its generation")
        case .endLife(let now): try endLife(at: now)
        }
        return nil
    }

    private func noteMarks(in changes: [Change]) {
        identity.generation += Int64(changes.count { $0 == .mark })
    }

    /// The log of this store, for `WriteAheadLog.sync`. It is there once a life began, and good as long as
    /// the store.
    public func log() throws(StoreError) -> WriteAheadLog {
        try WriteAheadLog(path: "\(connection.path)-wal")
    }

    /// Writes everything committed so far into the database itself, anew and with an fsync.
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

    /// In WAL mode NORMAL leaves out the fsync of a commit and FULL makes it (pragma.html#pragma_synchronous).
    func setDurable(_ durable: Bool) throws(StoreError) {
        guard durable != isDurable else { return }
        try connection.execute(
            "PRAGMA synchronous = \(durable ? "FULL" : "NORMAL")", doing: "set its durability")
        isDurable = durable
    }

    private func insertLife(at now: Now) throws(StoreError) {
        bootID = now.bootID
        try connection.run(
            """
            INSERT INTO life (id, boot_id, began_us, began_awake_ns, began_boot_ns)
            VALUES (?, ?, ?, ?, ?)
            """,
            [
                .integer(life), .text(now.bootID.description),
                .integer(now.wall.microsecondsSinceEpoch), .integer(now.awake.nanoseconds),
                .integer(now.boot.nanoseconds),
            ], doing: "write the daemon's start")
    }

    private func insert(_ run: Run, at: WallInstant) throws(StoreError) -> Bool {
        try connection.run(
            """
            INSERT INTO run (job, scheduled_us, attempt, missed, active_ns, boot_id, recorded_us, owner)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?1) ON CONFLICT (job, scheduled_us, attempt) DO NOTHING
            """,
            identity(run.id) + [
                .integer(run.firing.missed.keepable), .integer(run.firing.active.wholeNanoseconds),
                .text(bootID?.description ?? ""), Value(at),
            ], doing: "write the start of a run") == 1
    }

    private func close(
        _ run: Run.ID, _ outcome: RunOutcome, _ usage: RunUsage, failed: Bool, at: WallInstant,
        tail: [UInt8]
    ) throws(StoreError) {
        try connection.run(
            """
            UPDATE run SET outcome = ?4, ended_us = ?5, elapsed_us = ?6, user_us = ?7,
                system_us = ?8, peak_bytes = ?9, tail = ?10, failed = ?11
            WHERE job = ?1 AND scheduled_us = ?2 AND attempt = ?3 AND outcome IS NULL
            """,
            identity(run) + [
                .text(outcome.description), Value(at),
                .integer(usage.elapsed.wholeMicroseconds), .integer(usage.user.wholeMicroseconds),
                .integer(usage.system.wholeMicroseconds), .integer(usage.peakResidentBytes),
                tail.isEmpty ? .null : .bytes(tail), Value(failed),
            ], doing: "write the end of a run")
    }

    /// Runs keep their identity, so that they are found by it; what has not started yet takes the new name.
    private func rename(_ renaming: Renaming) throws(StoreError) {
        let what = "rename a job"
        let (from, to) = (renaming.from.description, renaming.to.description)
        try connection.run("DELETE FROM job WHERE name = ?", [.text(from)], doing: what)
        try forgetStaged(renaming.from)
        // Once for each of the two indexes.
        for state in ["NOT NULL", "NULL"] {
            try connection.run(
                "UPDATE run SET owner = ? WHERE owner = ? AND outcome IS \(state)",
                [.text(to), .text(from)], doing: what)
        }
        for run in renaming.waiting {
            try connection.run(
                """
                UPDATE run SET job = ?4 WHERE job = ?1 AND scheduled_us = ?2 AND attempt = ?3
                    AND outcome IS NULL
                """, identity(run) + [.text(to)], doing: what)
        }
    }

    private func endLife(at now: Now) throws(StoreError) {
        try connection.run(
            "UPDATE life SET ended_us = ?, ended_awake_ns = ?, ended_boot_ns = ? WHERE id = ?",
            [
                .integer(now.wall.microsecondsSinceEpoch), .integer(now.awake.nanoseconds),
                .integer(now.boot.nanoseconds), .integer(life),
            ], doing: "write the daemon's stop")
    }

    func identity(_ run: Run.ID) -> [Value] {
        [
            .text(run.firing.job.description),
            .integer(run.firing.scheduled.microsecondsSinceEpoch), .integer(Int64(run.attempt)),
        ]
    }
}
