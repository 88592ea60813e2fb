// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc

/// The reason why an operation of the store failed. Its transaction was rolled back.
public struct StoreError: Error, Hashable, CustomStringConvertible {
    /// The kind of error, by what can be done about it.
    public enum Code: Hashable, Sendable {
        /// The file is not a database, or it is damaged.
        case corrupt
        /// The database has no tables.
        case empty
        /// The file was written by a newer version.
        case newer
        /// Another process has it locked, also after 5 s of waiting.
        case busy
        /// The disk or the quota of the user is full.
        case full
        /// The database will never accept this row, because it violates a constraint or is too
        /// large.
        case refused
        /// An I/O error, or a missing permission.
        case inputOutput
        /// Another error of SQLite, as `what` says.
        case other
    }

    public var code: Code
    /// The path of the database file.
    public var path: String
    /// What was being done, and the error of SQLite.
    public var what: String
    /// What a user can do about it; nil if there is no advice.
    public var hint: String?

    public init(code: Code, path: String, what: String, hint: String? = nil) {
        self.code = code
        self.path = path
        self.what = what
        self.hint = hint
    }

    public var description: String { "\(path): \(what)" + (hint.map { "; \($0)" } ?? "") }
}

extension StoreError {
    static let restoreHint =
        "restore the last good copy with `timerd restore`, or see RECOVERY in timerd(8)"

    /// The error for a result code of SQLite (sqlite.org/rescode.html) of the operation `what`.
    /// - Parameter errno: the last errno that SQLite recorded; 0: none.
    init(result: Int32, errno: Int32 = 0, doing what: String, message: String, path: String) {
        let isFull = errno == ENOSPC || errno == EDQUOT
        let (code, hint): (Code, String?) =
            switch result & 0xff {
            case SQLITE_IOERR where isFull, SQLITE_CANTOPEN where isFull:
                (.full, "free space on its disk")
            case SQLITE_CONSTRAINT, SQLITE_TOOBIG, SQLITE_MISMATCH: (.refused, nil)
            case SQLITE_CORRUPT, SQLITE_NOTADB:
                (
                    .corrupt,
                    Self.restoreHint
                )
            case SQLITE_BUSY, SQLITE_LOCKED:
                (.busy, "end the other program that has it open")
            case SQLITE_FULL: (.full, "free space on its disk")
            case SQLITE_INTERRUPT: (.busy, "it took too long; request less at a time")
            case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
                (.inputOutput, "check its disk, its owner and its permissions")
            default: (.other, nil)
            }
        self.init(code: code, path: path, what: "cannot \(what): \(message)", hint: hint)
    }
}
