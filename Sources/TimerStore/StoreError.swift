// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc

/// Why the store could not do what it was asked. The transaction it happened in left no trace.
public struct StoreError: Error, Hashable, CustomStringConvertible {
    /// What kind of trouble it is.
    public enum Code: Hashable, Sendable {
        /// The file is not a database, or a damaged one.
        case corrupt
        /// There are no tables in it.
        case empty
        /// The file was written by a newer version.
        case newer
        /// Another process holds it.
        case busy
        /// The disk, or what its user may have of it, is full.
        case full
        /// The database will never take this row: a rule of its tables is against it, or it is too large.
        case refused
        /// The disk or the file's permissions refused.
        case inputOutput
        /// Anything else SQLite may say.
        case other
    }

    /// What kind of trouble it is.
    public var code: Code
    /// The file.
    public var path: String
    /// What was being done and what came of it.
    public var what: String
    /// What to do next.
    public var hint: String?

    /// An error as described.
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

    /// The error for a result code of SQLite (sqlite.org/rescode.html) met while doing `what`.
    /// - Parameter errno: what the system said last, where SQLite keeps it; 0: nothing.
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
            case SQLITE_INTERRUPT: (.busy, "it took too long; ask for less of it")
            case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
                (.inputOutput, "check its disk, its owner and its permissions")
            default: (.other, nil)
            }
        self.init(code: code, path: path, what: "cannot \(what): \(message)", hint: hint)
    }
}
