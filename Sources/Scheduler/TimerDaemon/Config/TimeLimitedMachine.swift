// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TimerConfig

/// Queries about this machine with a time limit, because a directory service or a network file system may not answer.
/// They are made on a queue that nothing else uses. After the first one without an answer in time, no more are made.
final class TimeLimitedMachine: MachineQueries {
    /// How long to wait for one answer. After one that is late, no more are asked for.
    static let timeout: DispatchTimeInterval = .seconds(3)
    /// The warning when an answer did not come in time.
    static let timeoutMessage =
        "users, groups, programs and directories were not checked: a look-up takes longer than 3 s, as when a "
        + "directory service or a network file system does not answer"

    private let machine: any MachineQueries
    private let queue: DispatchQueue
    private let timeout: DispatchTimeInterval
    private let state = Mutex(State())

    private struct State {
        var hasTimedOut = false
    }

    /// Whether an answer did not come in time, so that not everything was checked.
    var hasTimedOut: Bool { state.withLock(\.hasTimedOut) }

    /// - Parameter queue: a serial queue for the queries. If an earlier query still blocks it, no answer comes in time.
    init(
        _ machine: any MachineQueries, on queue: DispatchQueue,
        timeout: DispatchTimeInterval = TimeLimitedMachine.timeout
    ) {
        self.machine = machine
        self.queue = queue
        self.timeout = timeout
    }

    func findings(for question: MachineCheck.Question) -> [MachineCheck.Finding] {
        ask { [machine] in machine.findings(for: question) } ?? []
    }

    func isMember(_ name: String, of groups: [String]) -> Bool? {
        ask { [machine] in machine.isMember(name, of: groups) } ?? nil
    }

    private final class Reply<Value: Sendable>: Sendable {
        struct Content {
            var value: Value?
        }

        let content = Mutex(Content())
        let isThere = DispatchSemaphore(value: 0)
    }

    private func ask<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value? {
        guard !hasTimedOut else { return nil }
        let reply = Reply<Value>()
        queue.async {
            let value = body()
            reply.content.withLock { $0.value = value }
            reply.isThere.signal()
        }
        guard reply.isThere.wait(timeout: .now() + timeout) == .success else {
            state.withLock { $0.hasTimedOut = true }
            return nil
        }
        return reply.content.withLock(\.value)
    }
}
