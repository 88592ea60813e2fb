// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostThreads
import Synchronization

/// Threads that read the files of runs: environment files and credentials. A file may be on a file server that does not answer, or in a file system that
/// its user has made: each reader waits for one file, and nothing else waits for a reader but what else the same
/// user has to be read, once `perUser` of them are held.
final class FileReaders: Sendable {
    /// How many files of one user are read at a time.
    static let perUser = 16

    private struct Order: Sendable {
        var files: RunFiles
        var identity: Account.Identity?
        var done: @Sendable (Preparation.Files) -> Void
    }

    private struct Lane {
        var orders: [Order] = []
        var threads = 0
    }

    /// By user; nil for the runner's own.
    private let lanes = Mutex<[UInt32?: Lane]>([:])
    /// Whether there is room for the contents of more files.
    private let hasRoom: @Sendable () -> Bool

    /// While there is no room, none is read.
    init(hasRoom: @escaping @Sendable () -> Bool) { self.hasRoom = hasRoom }

    /// How long is waited for room at a time, in microseconds.
    private static let roomLook: UInt32 = 1000

    /// Reads the files of a run of this user, and calls this on some thread then. It may never.
    func read(
        _ files: RunFiles, for identity: Account.Identity?,
        _ done: @escaping @Sendable (Preparation.Files) -> Void
    ) {
        let user = identity?.user
        let needsThread = lanes.withLock { lanes in
            lanes[user, default: Lane()].orders.append(
                Order(files: files, identity: identity, done: done))
            guard lanes[user, default: Lane()].threads < Self.perUser else { return false }
            lanes[user]?.threads += 1
            return true
        }
        guard needsThread else { return }
        let code = WorkerThread.start("timerd.files") { [self] in serve(user) }
        guard code != 0 else { return }
        // Without a thread more, those there are go on with it; without any it cannot be read.
        let stranded = lanes.withLock { lanes -> [Order] in
            lanes[user]?.threads -= 1
            guard lanes[user]?.threads == 0 else { return [] }
            return lanes.removeValue(forKey: user)?.orders ?? []
        }
        for order in stranded {
            let what = "start a thread to read \(order.files.description)"
            order.done(.failure(Spawner.failure(code, what)))
        }
    }

    private func serve(_ user: UInt32?) {
        while let order = next(of: user) {
            while !hasRoom() { usleep(Self.roomLook) }
            do throws(Spawner.Failure) {
                order.done(.success(try order.files.load(for: order.identity)))
            } catch {
                order.done(.failure(error))
            }
        }
    }

    /// The next file to read; nil, and one thread less, without one.
    private func next(of user: UInt32?) -> Order? {
        lanes.withLock { lanes in
            if lanes[user]?.orders.isEmpty == false { return lanes[user]?.orders.removeFirst() }
            lanes[user]?.threads -= 1
            if lanes[user]?.threads == 0 { lanes[user] = nil }
            return nil
        }
    }
}
