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
    var bootID: BootID?
    private var isDurable = true
    /// How many pages the log may have before they are written into the database; 0: not set yet.
    var logPages: Int64 = 0
    /// Whether there may be staged records. If not, nothing looks for them.
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

    /// The path of the database file.
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
        // Only a store that is not opened for writing needs the newest tables.
        guard version < 0 || version > known.lowerBound else {
            throw StoreError(
                code: .other, path: path,
                what: "has version \(version), and cannot be brought to version "
                    + "\(known.lowerBound) while its disk is full",
                hint: "make room on the disk, and start timerd again")
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
        let lastSkips = try lastSkips()
        let incidents = try incidents()
        let hold = try hold()
        let isRestored =
            try connection.integer("SELECT is_restored FROM identity", doing: "read it") != 0
        instance = max(previous?.instance ?? 0, latest) + 1
        return RecoveredState(
            instance: instance, previous: previous, records: records, openRuns: openRuns,
            lastRuns: lastRuns, lastSuccesses: lastSuccesses, lastSkips: lastSkips,
            incidents: incidents, hold: hold, isDamaged: !damage.isEmpty, isRestored: isRestored
        )
    }

    /// Continues for an instance of the daemon whose number is known, after the store could not be
    /// opened earlier.
    public func resume(as instance: DaemonInstance.ID) { self.instance = instance }

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
}
