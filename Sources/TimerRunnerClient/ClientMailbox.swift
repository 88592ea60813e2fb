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
        case start([RunOrder])
        /// The start of these runs was sent already.
        case started([RunOrder])
        case end(Run.ID, grace: Duration)
        case suspend(Run.ID)
        case resume(Run.ID)
        case signal(Run.ID, Int32)
        case barrier(@Sendable () -> Void)
        case report(@Sendable () -> Void)
        case prepare(@Sendable () -> Void)
        case forget(Run.ID)
        case shutDown(Duration, @Sendable () -> Void)
        case refresh
        case forgetFormer
        case discard([Job.Name])
        case send(MessageOrder)
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
        /// Whether the thread checks the mailbox soon, even without a signal.
        var isExpected = false
        /// Whether there is something for which the thread was not signalled.
        var hasUnsignalled = false
        /// Whether the thread may leave what the runner reports for a moment.
        var mayGather = false
        /// Whether it does so now.
        var isGathering = false
        var line = StartLine()
    }

    let descriptor: Int32
    private let state = Mutex(State())
    /// How often the thread has left what the runner reports for a moment, and how often the ends of
    /// that time are handled.
    private let gatherings = Atomic<UInt64>(0)
    private let handledGatherings = Atomic<UInt64>(0)
    private let finished = DispatchSemaphore(value: 0)
    private let unsent = Mutex<[Run.ID]>([])

    init() throws(RunnerClient.Failure) {
        descriptor = EventFD.make()
        guard descriptor >= 0 else {
            throw .init("cannot make an eventfd: \(String(cString: strerror(errno)))")
        }
    }

    deinit { Glibc.close(descriptor) }

    /// - Parameter hasTime: whether the command may wait a little for further ones.
    func post(_ command: Command, hasTime: Bool = false) {
        change(hasTime: hasTime) { $0.commands.append(command) }
    }

    /// Starts runs: sends the request at once while the thread waits, or leaves that to the thread.
    func start(_ orders: [RunOrder]) {
        let mustSignal = state.withLock { state in
            // What the thread is already signalled for comes first.
            let sent = state.isSignalled ? .notAtAll : state.line.start(orders)
            state.commands.append(sent == .notAtAll ? .start(orders) : .started(orders))
            // The thread takes its commands before it reads what the runner replies.
            guard sent != .wholly else { return false }
            defer { state.isSignalled = true }
            return !state.isSignalled
        }
        if mustSignal { EventFD.signal(descriptor) }
    }

    func seen(events: UInt64 = 0, output: UInt64 = 0, of instance: UInt64) {
        change(hasTime: true) { state in
            let before = state.seen[instance] ?? Seen()
            state.seen[instance] = Seen(
                events: max(events, before.events), output: max(output, before.output))
        }
    }

    /// Whether the thread left what the runner reports, and the ends of that time are not handled
    /// yet.
    var gathersEnds: Bool {
        gatherings.load(ordering: .sequentiallyConsistent)
            != handledGatherings.load(ordering: .sequentiallyConsistent)
    }

    /// How often the thread has left it.
    var gatheringCount: UInt64 { gatherings.load(ordering: .sequentiallyConsistent) }

    /// The ends of the first so many times are handled. It is called by one queue, in their order.
    func noteHandled(gatherings count: UInt64) {
        handledGatherings.store(count, ordering: .sequentiallyConsistent)
    }

    /// Permits the thread to leave it for a moment, or wakes it.
    func gather(_ mayGather: Bool) {
        let mustSignal = state.withLock { state in
            state.mayGather = mayGather
            guard !mayGather, state.isGathering, !state.isSignalled else { return false }
            state.isSignalled = true
            return true
        }
        if mustSignal { EventFD.signal(descriptor) }
    }

    private func change(hasTime: Bool, _ body: (inout State) -> Void) {
        let mustSignal = state.withLock { state in
            body(&state)
            guard !hasTime || !state.isExpected else {
                state.hasUnsignalled = true
                return false
            }
            defer { state.isSignalled = true }
            return !state.isSignalled
        }
        if mustSignal { EventFD.signal(descriptor) }
    }

    /// How the thread waits: for commands alone, or also for what the runner reports.
    enum Wait {
        case gathering
        case reading
    }

    /// Called before the thread waits: shortly, so that it need not be signalled for what is not
    /// urgent, or without limit.
    ///
    /// - Parameters:
    ///   - gathering: whether the thread would rather leave what the runner reports until then, for
    ///     which it needs permission.
    ///   - socket: the connection to the runner, if nothing is left to write to it: until the next
    ///     `take`, starts may be written to it.
    ///   - room: how many.
    /// - Returns: how to wait; nil if there is already something for which it was not signalled.
    func expect(
        shortly: Bool, gathering: Bool = false, socket: Int32? = nil, room: Int = 0
    ) -> Wait? {
        state.withLock { state in
            let gathers = gathering && state.mayGather
            let isSoon = shortly || gathers
            state.isExpected = isSoon
            guard isSoon || !state.hasUnsignalled else { return nil }
            state.isGathering = gathers
            if gathers { gatherings.add(1, ordering: .sequentiallyConsistent) }
            if let socket { state.line.open(socket, room: room) }
            return gathers ? .gathering : .reading
        }
    }

    /// What was posted to the thread.
    struct Taken {
        var commands: [Command]
        var seen: [UInt64: Seen]
        /// The bytes to write to the runner before anything else.
        var rest: [UInt8]
    }

    /// Called by the thread after it has waited, before it reads or writes.
    func take() -> Taken {
        EventFD.drain(descriptor)
        return state.withLock { state in
            defer {
                state.commands = []
                state.seen = [:]
                state.isSignalled = false
                state.hasUnsignalled = false
                state.isGathering = false
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
