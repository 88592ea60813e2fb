// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc
import TimerCore

/// A connection to SQLite with its prepared statements. It must not be used by two threads at once.
final class Connection {
    let path: String
    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]
    /// The one that was used last: many rows are often written one after the other.
    private var last: (sql: String, statement: OpaquePointer)?
    /// The state of the log file, written by SQLite at each commit.
    private let log: UnsafeMutablePointer<csqlite_log>

    /// Turns off SQLite's counting of its memory, once for all connections.
    private static let countsNoMemory: Void = csqlite_count_no_memory()

    /// For what a database is opened.
    enum Mode {
        /// Reads and writes the database, and creates it if it does not exist.
        case writing
        /// Reads a database that nothing else writes to, without writing anything, not even the
        /// index of its log.
        case readingAlone
        /// Reads a database while another connection of this process writes to it.
        case readingBeside
        /// Does checkpoints of a database while another connection of this process writes to it.
        case writingBeside
    }

    /// Opens or creates the database. SQLite itself refuses a path whose last part is a symbolic link.
    init(path: String, _ mode: Mode = .writing) throws(StoreError) {
        _ = Self.countsNoMemory
        var handle: OpaquePointer?
        var name = path
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        switch mode {
        case .writing: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readingAlone where Self.isEmpty("\(path)-wal"):
            // Without a log the file itself is the complete database (c3ref/open.html,
            // "immutable").
            flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            name = "file:\(Self.escaped(path))?immutable=1"
        case .readingAlone: flags |= SQLITE_OPEN_READWRITE
        case .readingBeside: flags |= SQLITE_OPEN_READONLY
        case .writingBeside: flags |= SQLITE_OPEN_READWRITE
        }
        let result = sqlite3_open_v2(name, &handle, flags, nil)
        guard result == SQLITE_OK, let handle else {
            let message = String(cString: sqlite3_errstr(result))
            let errno = handle.map { sqlite3_system_errno($0) } ?? 0
            sqlite3_close_v2(handle)
            throw StoreError(
                result: result, errno: errno, doing: "open it", message: message, path: path)
        }
        self.path = path
        self.handle = handle
        log = .allocate(capacity: 1)
        log.initialize(to: csqlite_log(pages: 0, limit: .max))
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, 5000)
        if mode == .readingAlone {
            // The index of the log is then in memory only (wal.html#noshm).
            try execute("PRAGMA locking_mode = EXCLUSIVE", doing: "open it")
        }
    }

    private static func isEmpty(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0 || status.st_size == 0
    }

    /// Escapes the characters of a path that have a meaning in a URI (uri.html).
    private static func escaped(_ path: String) -> String {
        path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
        log.deallocate()
    }

    /// How many pages the write-ahead log has since it last began: 0 before the first commit after
    /// `limitLog`.
    var logPages: Int { Int(log.pointee.pages) }

    /// Has a commit write the log into the database when it has so many pages. Only for a database
    /// in WAL mode.
    func limitLog(to pages: Int) {
        log.pointee.limit = Int32(clamping: pages)
        csqlite_watch_log(handle, log)
    }

    /// Runs statements without parameters and ignores their rows.
    func execute(_ sql: String, doing what: String) throws(StoreError) {
        let result = sqlite3_exec(handle, sql, nil, nil, nil)
        guard result == SQLITE_OK else { throw error(result, doing: what) }
    }

    /// Runs one statement with these values and passes each row to `each`.
    /// - Returns: how many rows it inserted, changed or deleted.
    @discardableResult
    func run(
        _ sql: String, _ values: [Value] = [], doing what: String, each: (Row) -> Void = { _ in }
    ) throws(StoreError) -> Int {
        let statement = try prepared(sql, doing: what)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in values.enumerated() {
            let result = value.bind(to: statement, at: Int32(index + 1))
            guard result == SQLITE_OK else { throw error(result, doing: what) }
        }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: each(Row(statement: statement))
            case SQLITE_DONE: return Int(sqlite3_changes(handle))
            case let result: throw error(result, doing: what)
            }
        }
    }

    /// The text of the first column of all rows.
    func texts(_ sql: String, doing what: String) throws(StoreError) -> [String] {
        var found: [String] = []
        try run(sql, doing: what) { row in found.append(row.text(0) ?? "") }
        return found
    }

    /// Interrupts every operation of the connection after this time, with `SQLITE_INTERRUPT`.
    func limit(to span: Duration) {
        csqlite_set_deadline(handle, span.wholeNanoseconds)
    }

    /// The first column of the first row; nil if there is none.
    func integer(_ sql: String, doing what: String) throws(StoreError) -> Int64? {
        var found: Int64?
        try run(sql, doing: what) { row in found = found ?? row.integer(0) }
        return found
    }

    /// Runs `body` in a transaction, which is rolled back if `body` throws.
    func transaction<Result>(
        doing what: String, _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try run("BEGIN IMMEDIATE", doing: what)
        do throws(StoreError) {
            let result = try body()
            try run("COMMIT", doing: what)
            return result
        } catch {
            // SQLite rolls back automatically on some errors (lang_transaction.html); then this
            // ROLLBACK fails, and the first error is the one to report.
            sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
            throw error
        }
    }

    private func prepared(_ sql: String, doing what: String) throws(StoreError) -> OpaquePointer {
        if let last, last.sql == sql { return last.statement }
        if let statement = statements[sql] {
            last = (sql, statement)
            return statement
        }
        var statement: OpaquePointer?
        let result = sqlite3_prepare_v3(
            handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard result == SQLITE_OK, let statement else { throw error(result, doing: what) }
        statements[sql] = statement
        return statement
    }

    private func error(_ result: Int32, doing what: String) -> StoreError {
        StoreError(
            result: result, errno: sqlite3_system_errno(handle), doing: what,
            message: String(cString: sqlite3_errmsg(handle)), path: path)
    }
}

/// A value to bind to a parameter of a statement.
enum Value {
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
    case null

    /// SQLITE_TRANSIENT, a cast macro that Swift does not import: SQLite makes its own copy.
    private static var transient: sqlite3_destructor_type {
        unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }

    init(_ integer: Int64?) { self = integer.map(Value.integer) ?? .null }
    init(_ text: String?) { self = text.map(Value.text) ?? .null }
    init(_ flag: Bool) { self = .integer(flag ? 1 : 0) }
    /// An instant, clamped to the range that is accepted when it is read.
    init(_ instant: WallInstant?) {
        self = instant.map { .integer($0.keepable.microsecondsSinceEpoch) } ?? .null
    }

    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .integer(let integer): return sqlite3_bind_int64(statement, index, integer)
        case .text(var text):
            // The bytes are passed directly, because a C string would be copied twice.
            return text.withUTF8 { bytes in
                sqlite3_bind_text64(
                    statement, index, bytes.baseAddress, sqlite3_uint64(bytes.count),
                    Self.transient, UInt8(SQLITE_UTF8))
            }
        case .bytes(let bytes):
            return sqlite3_bind_blob64(
                statement, index, bytes, sqlite3_uint64(bytes.count), Self.transient)
        case .null: return sqlite3_bind_null(statement, index)
        }
    }
}

/// The current row of a statement; not valid after the next step.
struct Row {
    let statement: OpaquePointer

    func integer(_ column: Int32) -> Int64? {
        sqlite3_column_type(statement, column) == SQLITE_NULL
            ? nil : sqlite3_column_int64(statement, column)
    }

    func bytes(_ column: Int32) -> [UInt8]? {
        guard let start = sqlite3_column_blob(statement, column) else { return nil }
        let count = Int(sqlite3_column_bytes(statement, column))
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    func text(_ column: Int32) -> String? {
        guard let start = sqlite3_column_text(statement, column) else { return nil }
        // This uses the length, because a text may contain a NUL character.
        let count = Int(sqlite3_column_bytes(statement, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
}
