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
    /// The most look-ups at the same time.
    static let threadsMax = 16
    /// The most look-ups of the same names at a time: the second one finds what the first one would
    /// wait for, and more of them would take the threads of other users.
    static let perKey = 2

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
        /// The callers that wait, in the order of `until`.
        var done: [(until: Int64, call: Done)] = []

        mutating func removeExpired(at now: Int64) {
            let count = done.firstIndex { $0.until > now } ?? done.count
            done.removeSubrange(..<count)
        }
    }

    private struct State {
        var waiting: [Key: Waiting] = [:]
        /// The keys of `waiting`, oldest first.
        var order: [Key] = []
        /// How many threads look up each key at the moment.
        var active: [Key: Int] = [:]
        var threads = 0

        mutating func removeExpired(at now: Int64) {
            for key in order {
                waiting[key]?.removeExpired(at: now)
                if waiting[key]?.done.isEmpty == true { waiting[key] = nil }
            }
            order.removeAll { waiting[$0] == nil }
        }

        /// Whether another thread may look up this key.
        func mayBegin(_ key: Key) -> Bool { active[key, default: 0] < AccountLookUps.perKey }
    }

    private let state = Mutex(State())

    /// Looks it up on another thread and then calls `done` there. Calls with the same key that come
    /// before the look-up begins share it.
    ///
    /// - Parameter until: when the caller waits no longer, by CLOCK_MONOTONIC, not before that of an
    ///   earlier call; `done` is not called after that.
    /// - Complexity: O(*n*) in the number of keys that wait.
    func find(_ key: Key, until: Int64, _ lookUp: @escaping LookUp, done: @escaping Done) {
        let needsThread = state.withLock { state in
            // While a server does not answer, only those are kept that are still awaited.
            state.removeExpired(at: RunnerClock.awake())
            if state.waiting[key] == nil {
                state.order.append(key)
                state.waiting[key] = Waiting(lookUp: lookUp)
            }
            state.waiting[key]?.done.append((until, done))
            guard state.threads < Self.threadsMax, state.mayBegin(key) else { return false }
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
        while let (key, next) = next() {
            let result = next.lookUp()
            let now = RunnerClock.awake()
            for done in next.done where done.until > now { done.call(result) }
            state.withLock { state in
                let others = state.active[key, default: 1] - 1
                state.active[key] = others > 0 ? others : nil
            }
        }
    }

    /// The next look-up; if there is none that may begin, nil, and the thread ends.
    private func next() -> (Key, Waiting)? {
        state.withLock { state in
            guard let index = state.order.firstIndex(where: state.mayBegin) else {
                state.threads -= 1
                return nil
            }
            let key = state.order.remove(at: index)
            state.active[key, default: 0] += 1
            return state.waiting.removeValue(forKey: key).map { (key, $0) }
        }
    }
}
