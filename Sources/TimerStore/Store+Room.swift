// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How large the log of the database becomes. It is to be written into the database, and begins anew then, at
/// `logBytes`: a `LogCheckpointer` does that while this store goes on. Where none does, or it cannot keep up, a commit
/// does it at four times that size, and takes as long as the disk does.
///
/// On a small or nearly full disk both are less. The log would take all of the room there, and the database could not
/// grow by the pages that are to be written into it: nothing could ever be written again.
extension Store {
    /// How many pages the log takes before a commit writes them into the database: four times those of SQLite's own
    /// default, and enough for one commit.
    private static let logPages: ClosedRange<Int64> = 8...4096
    private static let pageBytes: UInt64 = 4096

    /// At how many bytes the log is to be written into the database: 4 MiB, less where there is little room.
    public var logBytes: Int64 {
        max(logPages / 4, Self.logPages.lowerBound) * Int64(Self.pageBytes)
    }

    /// Which part of the free room the log may take.
    private static let logShare: UInt64 = 4

    /// Has the log take no more than its part of the room that is free now.
    func fitLogToRoom() throws(StoreError) {
        var room = statvfs()
        guard statvfs(connection.path, &room) == 0 else { return }
        let free = UInt64(room.f_bavail) * UInt64(room.f_frsize) / Self.pageBytes
        let pages = min(
            max(Int64(clamping: free / Self.logShare), Self.logPages.lowerBound),
            Self.logPages.upperBound)
        guard pages != logPages else { return }
        try connection.execute(
            "PRAGMA wal_autocheckpoint = \(pages)", doing: "set the size of its log")
        logPages = pages
    }

    /// Runs `body` in a transaction. If the disk is full, what is in the log is written into the database, and the
    /// transaction is tried once more in the room of the log.
    func transaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        let what = "write to it"
        do throws(StoreError) {
            return try connection.transaction(doing: what, body)
        } catch {
            guard error.code == .full, makesRoomInLog() else { throw error }
        }
        return try connection.transaction(doing: what, body)
    }

    /// Whether all of the log is in the database now, so that the next commit begins the log anew. Waits for nobody who
    /// reads from it.
    private func makesRoomInLog() -> Bool {
        var isDone = false
        _ = try? connection.run("PRAGMA wal_checkpoint(PASSIVE)", doing: "empty its log") { row in
            guard let pages = row.integer(1), let written = row.integer(2) else { return }
            isDone = row.integer(0) == 0 && pages > 0 && pages == written
        }
        return isDone
    }
}
