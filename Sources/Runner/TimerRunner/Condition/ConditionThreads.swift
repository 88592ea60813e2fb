// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostThreads
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// Threads that look whether conditions are met. A path may be on a file server that does not answer,
/// or in a file system that a user has created (FUSE), so a thread may wait for ever. Nothing else
/// waits for it, except further conditions of jobs of the same user while `perUser` threads wait.
final class ConditionThreads: Sendable {
    /// The most conditions of the jobs of one user that are looked at at a time.
    static let perUser = 8

    private struct Request: Sendable {
        var condition: Condition
        /// Later than this, by CLOCK_MONOTONIC, nothing waits for the answer.
        var until: Int64
        var done: @Sendable (Condition.Answer) -> Void
    }

    private struct UserQueue {
        var requests: ArraySlice<Request> = []
        var threads = 0
    }

    /// By the name of the user of the job; nil for the runner's own user.
    private let queues = Mutex<[String?: UserQueue]>([:])
    private let machine: MachineState

    init(_ machine: MachineState) { self.machine = machine }

    /// Looks on another thread whether a condition of a job of this user is met, without its command,
    /// and then calls `done` there. If a file server does not answer, `done` may never be called.
    func look(
        _ condition: Condition, of user: String?, until: Int64,
        _ done: @escaping @Sendable (Condition.Answer) -> Void
    ) {
        let needsThread = queues.withLock { queues in
            queues[user, default: UserQueue()].requests.append(
                Request(condition: condition, until: until, done: done))
            guard queues[user, default: UserQueue()].threads < Self.perUser else { return false }
            queues[user]?.threads += 1
            return true
        }
        guard needsThread else { return }
        let code = WorkerThread.start("timerd.conditions") { [self] in serve(user) }
        guard code != 0 else { return }
        // Without another thread, those that there are do it. If there are none, it fails.
        let unserved = queues.withLock { queues -> ArraySlice<Request> in
            queues[user]?.threads -= 1
            guard queues[user]?.threads == 0 else { return [] }
            return queues.removeValue(forKey: user)?.requests ?? []
        }
        for request in unserved {
            request.done(.failed(errno: Spawner.name(of: code), why: "cannot start a thread"))
        }
    }

    private func serve(_ user: String?) {
        while let request = next(of: user) {
            guard RunnerClock.awake() < request.until else { continue }
            request.done(machine.answer(to: request.condition))
        }
    }

    /// The next request; if there is none, nil, and the thread ends.
    private func next(of user: String?) -> Request? {
        queues.withLock { queues in
            if let request = queues[user]?.requests.popFirst() { return request }
            queues[user]?.threads -= 1
            if queues[user]?.threads == 0 { queues[user] = nil }
            return nil
        }
    }
}
