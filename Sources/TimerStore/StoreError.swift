// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// Why the store could not do what it was asked. The transaction it happened in left no trace.
public struct StoreError: Error, Hashable, CustomStringConvertible {
    /// What kind of trouble it is.
    public enum Code: Hashable, Sendable {
        /// The file is not a database, or a damaged one.
        case corrupt
        /// The file was written by a newer version.
        case newer
        /// Another process holds it.
        case busy
        /// The disk is full.
        case full
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

    public var description: String { "\(path): \(what)" + (hint.map { "; \($0)" } ?? "") }
}

extension StoreError {
    /// The error for a result code of SQLite (sqlite.org/rescode.html) met while doing `what`.
    init(result: Int32, doing what: String, message: String, path: String) {
        let (code, hint): (Code, String?) =
            switch result & 0xff {
            case SQLITE_CORRUPT, SQLITE_NOTADB:
                (
                    .corrupt,
                    "restore it from a backup, or move it away to start with empty accounts"
                )
            case SQLITE_BUSY, SQLITE_LOCKED:
                (.busy, "end the other program that has it open")
            case SQLITE_FULL: (.full, "free space on its disk")
            case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
                (.inputOutput, "check its disk, its owner and its permissions")
            default: (.other, nil)
            }
        self.init(code: code, path: path, what: "cannot \(what): \(message)", hint: hint)
    }
}
