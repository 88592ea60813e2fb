// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostThreads
import Synchronization

/// Threads that read the files of runs: environment files and credentials. A file may be on a file
/// server that does not answer, or in a file system that its user has created (FUSE), so a thread may
/// wait for ever. Nothing else waits for it, except further files of the same user while `perUser`
/// threads of that user wait.
final class FileReaders: Sendable {
    /// The most files of one user that are read at a time.
    static let perUser = 16

    private struct Request: Sendable {
        var files: RunFiles
        var identity: Account.Identity?
        var done: @Sendable (Preparation.Files) -> Void
    }

    private struct UserQueue {
        var requests: [Request] = []
        var threads = 0
    }

    /// By the user who must be able to read the files; nil for the runner's own user.
    private let queues = Mutex<[UInt32?: UserQueue]>([:])
    /// Whether the memory limit of the runner allows the contents of more files.
    private let hasRoom: @Sendable () -> Bool

    /// No file is read while `hasRoom` returns false.
    init(hasRoom: @escaping @Sendable () -> Bool) { self.hasRoom = hasRoom }

    /// How long to wait before `hasRoom` is checked again, in microseconds.
    private static let roomPollInterval: UInt32 = 1000

    /// Reads the files of a run of this user on another thread and then calls `done` there. If a
    /// file server does not answer, `done` may never be called.
    func read(
        _ files: RunFiles, for identity: Account.Identity?,
        _ done: @escaping @Sendable (Preparation.Files) -> Void
    ) {
        let user = identity?.user
        let needsThread = queues.withLock { queues in
            queues[user, default: UserQueue()].requests.append(
                Request(files: files, identity: identity, done: done))
            guard queues[user, default: UserQueue()].threads < Self.perUser else { return false }
            queues[user]?.threads += 1
            return true
        }
        guard needsThread else { return }
        let code = WorkerThread.start("timerd.files") { [self] in serve(user) }
        guard code != 0 else { return }
        // Without another thread, the existing threads of this user read the file. If there are
        // none, no thread would ever read it, so it fails.
        let unserved = queues.withLock { queues -> [Request] in
            queues[user]?.threads -= 1
            guard queues[user]?.threads == 0 else { return [] }
            return queues.removeValue(forKey: user)?.requests ?? []
        }
        for request in unserved {
            let what = "start a thread to read \(request.files.description)"
            request.done(.failure(Spawner.failure(code, what)))
        }
    }

    private func serve(_ user: UInt32?) {
        while let request = next(of: user) {
            while !hasRoom() { usleep(Self.roomPollInterval) }
            do throws(Spawner.Failure) {
                request.done(.success(try request.files.load(for: request.identity)))
            } catch {
                request.done(.failure(error))
            }
        }
    }

    /// The next file to read; if there is none, nil, and the thread ends.
    private func next(of user: UInt32?) -> Request? {
        queues.withLock { queues in
            if queues[user]?.requests.isEmpty == false {
                return queues[user]?.requests.removeFirst()
            }
            queues[user]?.threads -= 1
            if queues[user]?.threads == 0 { queues[user] = nil }
            return nil
        }
    }
}
