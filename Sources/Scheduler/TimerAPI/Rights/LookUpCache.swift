// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostFiles
import Synchronization

/// Answers of the user database, which are used for some seconds. A look-up may ask a directory over the network
/// (nsswitch.conf(5)) and take any time, so look-ups have threads of their own, and a caller waits for a limited time.
///
/// An answer that is too old is never used: a right that was withdrawn ends, even if the directory does not answer.
final class LookUpCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Answer = UserDatabase.Answer<Value>
    typealias Done = @Sendable (Answer) -> Void

    private struct Entry {
        var answer: Answer?
        /// When the look-up of the answer began, from which its age counts.
        var answerBegan: UInt64 = 0
        /// The number of the look-up that is being made; nil: there is none.
        var lookUp: UInt64?
        /// Whether that look-up takes longer than a caller waits.
        var isLate = false
        var waiting: [Done] = []
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var lookUps: UInt64 = 0
        /// The queues on which no look-up is made.
        var free: [DispatchQueue]
        var pending: [(key: Key, number: UInt64)] = []
    }

    /// The queue on which the waiting time of callers ends.
    private let clock: DispatchQueue
    private let limits: LookUpLimits
    private let now: @Sendable () -> UInt64
    private let lookUp: @Sendable (Key) -> Answer
    private let state: Mutex<State>

    /// - Parameters:
    ///   - label: the name of the queue on which look-ups block.
    ///   - now: nanoseconds of a clock that never runs backwards.
    ///   - lookUp: makes a look-up; may block.
    init(
        label: String, limits: LookUpLimits = LookUpLimits(),
        now: @escaping @Sendable () -> UInt64 = WebSessions.clock,
        lookUp: @escaping @Sendable (Key) -> Answer
    ) {
        // Serial queues: a concurrent one would use the pool of libdispatch, which is then checked each second.
        clock = DispatchQueue(label: label, qos: .utility)
        state = Mutex(
            State(
                free: (0..<limits.threadsMax).map { _ in
                    DispatchQueue(label: label, qos: .utility)
                }))
        self.limits = limits
        self.now = now
        self.lookUp = lookUp
    }

    /// Calls `done` once with an answer that is not too old, at once or on another thread.
    func find(_ key: Key, _ done: @escaping Done) {
        let ready = state.withLock { state -> Answer? in
            var entry = state.entries[key] ?? Entry()
            if let answer = entry.answer, isFresh(answer, since: entry.answerBegan) {
                return answer
            }
            if entry.isLate { return .failed(ETIMEDOUT) }
            entry.waiting.append(done)
            state.entries[key] = entry
            if entry.lookUp == nil { begin(key, in: &state) }
            return nil
        }
        if let ready { done(ready) }
    }

    /// The last answer, however old it is; nil if there was none. It may say no more than how much a client may send:
    /// rights need `find`.
    func last(_ key: Key) -> Answer? { state.withLock { $0.entries[key]?.answer } }

    private func isFresh(_ answer: Answer, since began: UInt64) -> Bool {
        let time = if case .failed = answer { limits.failureTime } else { limits.freshTime }
        return now() < began + time
    }

    private func begin(_ key: Key, in state: inout State) {
        if state.entries.count > limits.entriesMax {
            state.entries = state.entries.filter { _, entry in
                entry.lookUp != nil || !entry.waiting.isEmpty
                    || entry.answer.map { isFresh($0, since: entry.answerBegan) } ?? false
            }
        }
        state.lookUps += 1
        let number = state.lookUps
        state.entries[key]?.lookUp = number
        clock.asyncAfter(deadline: .now() + .nanoseconds(Int(limits.timeout))) { [weak self] in
            self?.stopWaiting(key, number)
        }
        guard let queue = state.free.popLast() else {
            state.pending.append((key, number))
            return
        }
        run(key, number, on: queue)
    }

    private func run(_ key: Key, _ number: UInt64, on queue: DispatchQueue) {
        queue.async { [self] in
            let began = now()
            let answer = lookUp(key)
            let (waiting, next) = state.withLock { state in
                let next = state.pending.isEmpty ? nil : state.pending.removeFirst()
                if next == nil { state.free.append(queue) }
                guard state.entries[key]?.lookUp == number else { return ([Done](), next) }
                let waiting = state.entries[key]?.waiting ?? []
                state.entries[key] = Entry(answer: answer, answerBegan: began)
                return (waiting, next)
            }
            if let next { run(next.key, next.number, on: queue) }
            for done in waiting { done(answer) }
        }
    }

    private func stopWaiting(_ key: Key, _ number: UInt64) {
        let waiting = state.withLock { state -> [Done] in
            guard state.entries[key]?.lookUp == number else { return [] }
            state.entries[key]?.isLate = true
            defer { state.entries[key]?.waiting = [] }
            return state.entries[key]?.waiting ?? []
        }
        for done in waiting { done(.failed(ETIMEDOUT)) }
    }
}

/// The limits of look-ups, with times in nanoseconds.
struct LookUpLimits: Sendable {
    /// For how long after the begin of a look-up its answer is used.
    var freshTime: UInt64 = 5_000_000_000
    /// The same for an answer that says that the database failed.
    var failureTime: UInt64 = 1_000_000_000
    /// How long a caller waits. After that, the answer is that the database failed, with ETIMEDOUT; further callers
    /// do not wait then.
    var timeout: UInt64 = 2_000_000_000
    /// How many look-ups are made at the same time; further ones wait.
    var threadsMax = 8
    /// Above how many entries those that are too old are removed.
    var entriesMax = 512
}
