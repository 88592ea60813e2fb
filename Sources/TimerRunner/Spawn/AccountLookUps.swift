// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostThreads
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// Threads that look up the users of runs where a look-up may ask a server (`UserSources`). Such a
/// server may not answer, so a thread may wait for ever. Nothing else waits for it, except further
/// look-ups while `threadsMax` threads wait.
final class AccountLookUps: Sendable {
    /// The most look-ups at a time.
    static let threadsMax = 16

    typealias LookUp = @Sendable () -> Result<Account, Spawner.Failure>
    typealias Done = @Sendable (Result<Account, Spawner.Failure>) -> Void

    /// What a look-up is about: the names of a user and a group.
    struct Key: Hashable, Sendable, CustomStringConvertible {
        var user: String?
        var group: String?
        /// Whether it is for a program that sends a message.
        var isMessage: Bool

        init(_ request: RunRequest) {
            user = request.definition.execution.user
            group = request.definition.execution.group
            isMessage = request.message != nil
        }

        var description: String {
            [
                user.map { "the user \($0.debugDescription)" },
                group.map { "the group \($0.debugDescription)" },
            ]
            .compactMap(\.self).joined(separator: " and ")
        }

        /// Whether there is a name to look up.
        var hasName: Bool { user != nil || group != nil }
    }

    private struct Waiting {
        var lookUp: LookUp
        var done: [(until: Int64, call: Done)]
    }

    private struct State {
        var waiting: [Key: Waiting] = [:]
        /// The keys of `waiting`, oldest first.
        var order: [Key] = []
        var threads = 0
    }

    private let state = Mutex(State())

    /// Looks it up on another thread and then calls `done` there. Calls with the same key that come
    /// before the look-up begins share it.
    ///
    /// - Parameter until: when the caller waits no longer, by CLOCK_MONOTONIC; `done` may never be
    ///   called then, so that calls for a server that does not answer need a limited memory.
    func find(_ key: Key, until: Int64, _ lookUp: @escaping LookUp, done: @escaping Done) {
        let needsThread = state.withLock { state in
            if state.waiting[key] == nil {
                state.order.append(key)
                state.waiting[key] = Waiting(lookUp: lookUp, done: [])
            }
            let now = RunnerClock.awake()
            state.waiting[key]?.done.removeAll { $0.until <= now }
            state.waiting[key]?.done.append((until, done))
            guard state.threads < Self.threadsMax else { return false }
            state.threads += 1
            return true
        }
        guard needsThread else { return }
        let code = WorkerThread.start("timerd.accounts") { [self] in serve() }
        guard code != 0 else { return }
        // Without another thread, the existing ones do it. If there are none, none ever would.
        let unserved = state.withLock { state -> [Waiting] in
            state.threads -= 1
            guard state.threads == 0 else { return [] }
            defer { state = State() }
            return Array(state.waiting.values)
        }
        let failure = Spawner.failure(code, "start a thread to look up a user")
        for waiting in unserved { for done in waiting.done { done.call(.failure(failure)) } }
    }

    private func serve() {
        while let next = next() {
            let result = next.lookUp()
            for done in next.done { done.call(result) }
        }
    }

    /// The next look-up; if there is none, nil, and the thread ends.
    private func next() -> Waiting? {
        state.withLock { state in
            guard !state.order.isEmpty else {
                state.threads -= 1
                return nil
            }
            return state.waiting.removeValue(forKey: state.order.removeFirst())
        }
    }
}
