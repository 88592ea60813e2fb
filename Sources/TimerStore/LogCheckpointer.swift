// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Writes the log of a store into its database (https://sqlite.org/wal.html, "checkpoint") with a connection of its own.
/// The store goes on writing to the log meanwhile, so that its commits do not wait for the disk. One thread at a time
/// may use it.
public final class LogCheckpointer {
    private let connection: Connection

    /// - Parameter path: of the database, which a store of this process has open.
    public init(path: String) throws(StoreError) {
        connection = try Connection(path: path, .writingBeside)
    }

    /// Writes everything that was committed before this call into the database, with an fsync of both. The store's next
    /// commit begins the log anew if nothing was committed meanwhile. Nothing is done if the store itself is at it.
    ///
    /// - Throws: `StoreError`. The log has everything then, as before.
    public func run() throws(StoreError) {
        try connection.run("PRAGMA wal_checkpoint(PASSIVE)", doing: "write its log into it")
    }
}
