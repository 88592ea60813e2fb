// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Limits the size of the write-ahead log. At `logBytes` the log should be written into the
/// database, and it then starts from the beginning: a `LogCheckpointer` does that while this store
/// continues. The log starts from the beginning only if nothing was committed meanwhile, so under
/// a steady load it becomes longer. At sixteen times that size, or if there is no checkpointer, a
/// commit does it, and takes as long as the disk does.
///
/// On a small or nearly full disk both sizes are smaller. Otherwise the log would use all free
/// space, and the database could not grow by the pages that must be written into it: nothing could
/// ever be written again.
extension Store {
    /// How many pages the log may have before a commit writes them into the database: at most 64 MiB,
    /// which are read in well under a second after a crash, and at least enough for one commit.
    private static let logPages: ClosedRange<Int64> = 8...16384
    /// How many pages the log may have before a checkpointer should write them into the database.
    private static let checkpointPages: Int64 = 1024
    private static let pageBytes: UInt64 = 4096

    /// The size in bytes at which the log should be written into the database: 4 MiB, less if there
    /// is little free space.
    public var logBytes: Int64 {
        min(max(logPages / 4, Self.logPages.lowerBound), Self.checkpointPages)
            * Int64(Self.pageBytes)
    }

    /// The size in bytes of what is in the log (fileformat2.html#the_write_ahead_log). The file can be
    /// longer.
    public var logSize: Int64 {
        let header: Int64 = 24
        return Int64(connection.logPages) * (Int64(Self.pageBytes) + header)
    }

    /// Whether the file of the log keeps its length when the log begins again, for as long as very
    /// much is written. To truncate it takes tens of milliseconds on a busy disk, and each commit
    /// after that has the file system allocate blocks again.
    public func keepLogFile(_ keep: Bool) throws(StoreError) {
        try connection.execute(
            "PRAGMA journal_size_limit = \(keep ? -1 : 0)", doing: "set the size of its log")
    }

    /// The log may use one part in this many of the free space.
    private static let logShare: UInt64 = 4

    /// Limits the log to its part of the space that is free now.
    func fitLogToRoom() {
        var room = statvfs()
        guard statvfs(connection.path, &room) == 0 else { return }
        let free = UInt64(room.f_bavail) * UInt64(room.f_frsize) / Self.pageBytes
        let pages = min(
            max(Int64(clamping: free / Self.logShare), Self.logPages.lowerBound),
            Self.logPages.upperBound)
        guard pages != logPages else { return }
        connection.limitLog(to: Int(pages))
        logPages = pages
    }

    /// Runs `body` in a transaction. If the disk is full, the log is written into the database, and
    /// the transaction is tried once more, reusing the space of the log.
    func transaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        let what = "write to it"
        do throws(StoreError) {
            return try connection.transaction(doing: what, body)
        } catch {
            guard error.code == .full, makesRoomInLog() else { throw error }
        }
        return try connection.transaction(doing: what, body)
    }

    /// Writes the log into the database. True if all of it is written, so that the next commit
    /// starts the log from the beginning. It does not wait for readers of the log.
    private func makesRoomInLog() -> Bool {
        var isDone = false
        _ = try? connection.run("PRAGMA wal_checkpoint(PASSIVE)", doing: "empty its log") { row in
            guard let pages = row.integer(1), let written = row.integer(2) else { return }
            isDone = row.integer(0) == 0 && pages > 0 && pages == written
        }
        return isDone
    }
}
