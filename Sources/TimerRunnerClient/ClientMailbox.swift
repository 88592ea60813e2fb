// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostThreads
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// What a client is to do, left for its thread by others.
final class ClientMailbox: Sendable {
    enum Command: Sendable {
        case start([RunOrder])
        case end(Run.ID, grace: Duration)
        case suspend(Run.ID)
        case resume(Run.ID)
        case signal(Run.ID, Int32)
        case barrier(@Sendable () -> Void)
        case forget(Run.ID)
        case shutDown(Duration, @Sendable () -> Void)
        case refresh
        case forgetFormer
        case close
    }

    /// Up to which numbers what a runner told is seen: of beginnings and ends, and of output.
    struct Seen: Hashable {
        var events: UInt64 = 0
        var output: UInt64 = 0
    }

    private struct State {
        var commands: [Command] = []
        /// Of each runner.
        var seen: [UInt64: Seen] = [:]
        var isRung = false
        /// Whether the thread looks here before long, even if nobody rings.
        var isExpected = false
        /// Whether there is something it was not rung for.
        var hasUnrung = false
    }

    let descriptor: Int32
    private let state = Mutex(State())
    private let finished = DispatchSemaphore(value: 0)

    init() throws(RunnerClient.Failure) {
        descriptor = EventFD.make()
        guard descriptor >= 0 else {
            throw .init("cannot make an eventfd: \(String(cString: strerror(errno)))")
        }
    }

    deinit { Glibc.close(descriptor) }

    /// - Parameter hasTime: whether it may wait a little for others to come along.
    func post(_ command: Command, hasTime: Bool = false) {
        change(hasTime: hasTime) { $0.commands.append(command) }
    }

    func seen(events: UInt64 = 0, output: UInt64 = 0, of instance: UInt64) {
        change(hasTime: true) { state in
            let before = state.seen[instance] ?? Seen()
            state.seen[instance] = Seen(
                events: max(events, before.events), output: max(output, before.output))
        }
    }

    private func change(hasTime: Bool, _ body: (inout State) -> Void) {
        let mustRing = state.withLock { state in
            body(&state)
            guard !hasTime || !state.isExpected else {
                state.hasUnrung = true
                return false
            }
            defer { state.isRung = true }
            return !state.isRung
        }
        if mustRing { EventFD.signal(descriptor) }
    }

    /// The thread is about to wait: for a short while, so that it need not be rung for what has time, or for ever.
    /// - Returns: false if something is there already for which it was not rung.
    func expect(shortly: Bool) -> Bool {
        state.withLock { state in
            state.isExpected = shortly
            return shortly || !state.hasUnrung
        }
    }

    func take() -> (commands: [Command], seen: [UInt64: Seen]) {
        EventFD.drain(descriptor)
        return state.withLock { state in
            defer {
                state.commands = []
                state.seen = [:]
                state.isRung = false
                state.hasUnrung = false
            }
            return (state.commands, state.seen)
        }
    }

    func finish() { finished.signal() }

    func waitUntilFinished() {
        _ = finished.wait(timeout: .now() + .seconds(5))
        finished.signal()
    }
}
