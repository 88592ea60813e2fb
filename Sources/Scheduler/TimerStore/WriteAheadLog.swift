// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The write-ahead log of a store. It flushes commits to the disk while the store itself continues
/// to write: SQLite syncs only within a commit, which would then wait for the disk. It can be used
/// on any thread.
///
/// SQLite holds no lock on this file (wal.html: only on the database and the log's index), so
/// closing a descriptor of it releases no lock.
public final class WriteAheadLog: Sendable {
    private let path: String
    private let descriptor: Int32

    init(path: String) throws(StoreError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.failure(path, "open it") }
    }

    deinit { close(descriptor) }

    /// Flushes every earlier commit to the disk. Blocks.
    ///
    /// - Throws: `StoreError`. The kernel does not try again to write what it could not write, and
    ///   the next `sync` would succeed, so only `Store.checkpoint` recovers from this.
    public func sync() throws(StoreError) {
        while fdatasync(descriptor) != 0 {
            guard errno == EINTR else { throw Self.failure(path, "sync it to the disk") }
        }
    }

    private static func failure(_ path: String, _ doing: String) -> StoreError {
        StoreError(
            code: .inputOutput, path: path,
            what: "cannot \(doing): \(String(cString: strerror(errno)))",
            hint: "check its disk, its owner and its permissions")
    }
}
