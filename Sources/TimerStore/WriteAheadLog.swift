// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The log of a store, for making what was committed outlive a power cut while the store itself goes on
/// writing: SQLite syncs only within a commit, and who commits would wait for the disk. Any thread may.
///
/// SQLite holds no lock on this file (wal.html, only on the database and the log's index), so that closing a
/// descriptor of it frees none.
public final class WriteAheadLog: Sendable {
    private let path: String
    private let descriptor: Int32

    init(path: String) throws(StoreError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.failure(path, "open it") }
    }

    deinit { close(descriptor) }

    /// Makes every commit that came before outlive a power cut. Blocks on the disk.
    ///
    /// - Throws: `StoreError`. What the kernel could not write it forgets to write again, and the next `sync`
    ///   would succeed: only `Store.checkpoint` makes up for it.
    public func sync() throws(StoreError) {
        while fdatasync(descriptor) != 0 {
            guard errno == EINTR else { throw Self.failure(path, "sync it to the disk") }
        }
    }

    /// How many bytes it has now. It is never negative, and 0 if that cannot be found out.
    public var size: Int64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    private static func failure(_ path: String, _ doing: String) -> StoreError {
        StoreError(
            code: .inputOutput, path: path,
            what: "cannot \(doing): \(String(cString: strerror(errno)))",
            hint: "check its disk, its owner and its permissions")
    }
}
