// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Writes the write-ahead log of a store into its database (https://sqlite.org/wal.html,
/// "checkpoint") with its own connection. The store continues to write to the log meanwhile, so
/// that its commits do not wait for the disk. Only one thread at a time may use it.
public final class LogCheckpointer {
    private let connection: Connection

    /// - Parameter path: of the database, which a store of this process has open.
    public init(path: String) throws(StoreError) {
        connection = try Connection(path: path, .writingBeside)
    }

    /// Writes everything that was committed before this call into the database, with an fsync of
    /// both files. If nothing was committed meanwhile, the next commit of the store starts the log
    /// from the beginning. It does nothing while the store itself is doing a checkpoint.
    ///
    /// - Throws: `StoreError`. The log is unchanged then.
    public func run() throws(StoreError) {
        try connection.run("PRAGMA wal_checkpoint(PASSIVE)", doing: "write its log into it")
    }
}
