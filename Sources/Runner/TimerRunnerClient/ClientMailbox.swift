// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostThreads
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// The commands and acknowledgements that other threads post to the client's thread.
final class ClientMailbox: Sendable {
    enum Command: Sendable {
        case start([StartRequest])
        /// The start of these runs was sent already.
        case started([StartRequest])
        case end(Run.ID, grace: Duration)
        case suspend(Run.ID)
        case resume(Run.ID)
        case signal(Run.ID, Int32)
        case barrier(@Sendable () -> Void)
        case prepare(@Sendable () -> Void)
        case forget(Run.ID)
        case shutDown(Duration, @Sendable () -> Void)
        case refresh
        case forgetFormer
        case discard([Job.Name])
        case send(MessageRequest)
        case check(CheckRequest)
        case close
    }

    /// The numbers up to which the messages of a runner are handled: starts and ends, and output.
    struct Seen: Hashable {
        var events: UInt64 = 0
        var output: UInt64 = 0
    }

    private struct State {
        var commands: [Command] = []
        /// The acknowledgements for each runner, by its instance number.
        var seen: [UInt64: Seen] = [:]
        var isSignalled = false
        var line = StartLine()
    }

    let descriptor: Int32
    private let state = Mutex(State())
    private let finished = DispatchSemaphore(value: 0)
    private let unsent = Mutex<[Run.ID]>([])

    init() throws(RunnerClient.Failure) {
        descriptor = EventFD.make()
        guard descriptor >= 0 else {
            throw .init("cannot make an eventfd: \(String(cString: strerror(errno)))")
        }
    }

    deinit { Glibc.close(descriptor) }

    func post(_ command: Command) { change { $0.commands.append(command) } }

    /// Starts runs: sends the request at once while the thread waits, or leaves that to the thread.
    func start(_ requests: [StartRequest]) {
        let mustSignal = state.withLock { state in
            // What the thread is already signalled for comes first.
            let sent = state.isSignalled ? .notAtAll : state.line.start(requests)
            state.commands.append(sent == .notAtAll ? .start(requests) : .started(requests))
            // The thread takes its commands before it reads what the runner replies.
            guard sent != .wholly else { return false }
            defer { state.isSignalled = true }
            return !state.isSignalled
        }
        if mustSignal { EventFD.signal(descriptor) }
    }

    func seen(events: UInt64 = 0, output: UInt64 = 0, of instance: UInt64) {
        change { state in
            let before = state.seen[instance] ?? Seen()
            state.seen[instance] = Seen(
                events: max(events, before.events), output: max(output, before.output))
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let mustSignal = state.withLock { state in
            body(&state)
            defer { state.isSignalled = true }
            return !state.isSignalled
        }
        if mustSignal { EventFD.signal(descriptor) }
    }

    /// Called before the thread waits: until the next `take`, starts may be written to the connection.
    ///
    /// - Parameters:
    ///   - socket: the connection to the runner, to which nothing is left to write.
    ///   - room: how many.
    func openLine(_ socket: Int32, room: Int) {
        state.withLock { $0.line.open(socket, room: room) }
    }

    /// What was posted to the thread since it last looked.
    struct Taken {
        var commands: [Command]
        var seen: [UInt64: Seen]
        /// The bytes to write to the runner before anything else.
        var rest: [UInt8]
    }

    /// Called by the thread after it has waited, before it reads or writes.
    func drain() -> Taken {
        EventFD.drain(descriptor)
        return state.withLock { state in
            defer {
                state.commands = []
                state.seen = [:]
                state.isSignalled = false
            }
            return Taken(commands: state.commands, seen: state.seen, rest: state.line.close())
        }
    }

    /// - Parameter runs: those that were requested and not sent.
    func finish(unsent runs: [Run.ID]) {
        unsent.withLock { $0 = runs }
        finished.signal()
    }

    /// - Returns: the runs that were requested and not sent.
    func waitUntilFinished() -> [Run.ID] {
        _ = finished.wait(timeout: .now() + .seconds(5))
        finished.signal()
        return unsent.withLock { $0 }
    }
}
