// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostThreads
import Synchronization
import TimerCore
import TimerFleet
import TimerRunnerProtocol

/// The commands that other threads post to the thread of a link.
final class LinkMailbox: Sendable {
    enum Command: Sendable {
        case openLease
        case keepAlive(LeaseID)
        case load
        case send(FleetMember.TransactionID, FleetTransaction)
        case close(endingLeases: Bool)
    }

    private struct State {
        var commands: [Command] = []
        var isFinished = false
    }

    let descriptor: Int32
    private let state = Mutex(State())
    /// Readable for ever when the thread has ended.
    private let finished: Int32

    init() throws(FleetLink.Failure) {
        descriptor = EventFD.make()
        finished = EventFD.make()
        guard descriptor >= 0, finished >= 0 else {
            let code = errno
            // Both are closed by deinit, which runs because all properties are set.
            throw .init(
                description: "cannot make an eventfd: \(String(cString: strerror(code)))")
        }
    }

    deinit {
        Glibc.close(descriptor)
        Glibc.close(finished)
    }

    func post(_ command: Command) {
        let mustSignal = state.withLock { state in
            guard !state.isFinished else { return false }
            state.commands.append(command)
            return state.commands.count == 1
        }
        if mustSignal { EventFD.signal(descriptor) }
    }

    /// Called by the thread after it has waited.
    func drain() -> [Command] {
        EventFD.drain(descriptor)
        return state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// The thread ends: what is posted from now on is not executed.
    func finish() {
        state.withLock { $0 = State(isFinished: true) }
        EventFD.signal(finished)
    }

    /// Waits until the thread has ended, at most for this long.
    func waitUntilFinished(_ timeout: Duration) {
        let start = RunnerClock.awake()
        var wanted = pollfd(fd: finished, events: Int16(POLLIN), revents: 0)
        var left = timeout
        while left > .zero,
            poll(&wanted, 1, Int32(clamping: left.wholeMicroseconds / 1000 + 1)) <= 0
        {
            left = timeout - .nanoseconds(RunnerClock.awake() - start)
        }
    }
}
