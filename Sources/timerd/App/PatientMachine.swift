// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TimerConfig

/// The machine, asked on a queue that nothing else needs. A reload waits for each answer for a limited time only, and
/// after the first that does not come asks nothing more.
final class PatientMachine: MachineQueries {
    /// How long one answer is waited for.
    static let timeout: DispatchTimeInterval = .seconds(3)
    /// What is said when an answer did not come.
    static let complaint =
        "users, groups, programs and directories were not checked: a look-up takes longer than 3 s, as when a "
        + "directory service or a network file system does not answer"

    private let machine: any MachineQueries
    private let queue: DispatchQueue
    private let timeout: DispatchTimeInterval
    private let state = Mutex(State())

    private struct State {
        var isSilent = false
    }

    /// Whether an answer did not come, so that not everything was asked.
    var isSilent: Bool { state.withLock(\.isSilent) }

    /// - Parameter queue: a serial queue for the look-ups. What hangs on it from before counts as a missing answer.
    init(
        _ machine: any MachineQueries, on queue: DispatchQueue,
        timeout: DispatchTimeInterval = PatientMachine.timeout
    ) {
        self.machine = machine
        self.queue = queue
        self.timeout = timeout
    }

    func findings(for question: MachineLook.Question) -> [MachineLook.Finding] {
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
        guard !isSilent else { return nil }
        let reply = Reply<Value>()
        queue.async {
            let value = body()
            reply.content.withLock { $0.value = value }
            reply.isThere.signal()
        }
        guard reply.isThere.wait(timeout: .now() + timeout) == .success else {
            state.withLock { $0.isSilent = true }
            return nil
        }
        return reply.content.withLock(\.value)
    }
}
