// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostThreads
import TimerCore
import TimerRunnerProtocol

/// The server's side of a connection, and of those that come.
struct ServerLoop {
    /// How often is read what is left of a connection whose other end is gone: all that a socket holds, but not
    /// for ever from one that only does not listen any more.
    private static let lastReads = 64

    let settings: RunnerServer.Settings
    let runner: Runner
    let outbound: OutboundQueue
    let wake: Int32
    let instance: UInt64
    var shutDown: Duration?
    /// Whether another runner is to take this one's place as soon as no run is active.
    var mustYield = false
    var definitions = JobDefinitions()
    var waiting = WaitingOrders()
    let reader: DefinitionReader
    /// Whether the configuration is to be read once more.
    var isStale = false
    /// Whether it is to be read to see what was deleted from it, and whether that is what it is being read for.
    var mustCheck = false
    var isChecking = false
    var isReading = false
    /// How many readings have begun.
    var readings: UInt64 = 0
    /// The reading with which the former definitions are forgotten; nil: none.
    var lastOfFormer: UInt64?
    /// Why the configuration could not be read the last time.
    var unreadable: String?
    private let barriers: Barriers
    var connection: Connection? {
        didSet { if !isConnected { outbound.disconnect() } }
    }
    private var isListening = true
    /// When there may be more to send, by CLOCK_MONOTONIC, though nobody tells anything; nil if there will not.
    private var sendAt: Int64?
    /// Whether there is more to send already.
    private var hasMore = false

    final class Connection {
        var socket: FrameSocket
        var isGreeted = false

        init(_ descriptor: Int32) {
            socket = FrameSocket(descriptor, frameBytesMax: Wire.requestBytesMax)
        }
    }

    init(
        settings: RunnerServer.Settings, runner: Runner, outbound: OutboundQueue, wake: Int32,
        instance: UInt64
    ) {
        self.settings = settings
        self.runner = runner
        self.outbound = outbound
        self.wake = wake
        self.instance = instance
        barriers = Barriers(runner: runner) { token in
            outbound.barrierReached(token)
            EventFD.signal(wake)
        }
        reader = DefinitionReader(
            read: settings.definitions, kept: settings.kept, freeFormer: settings.freeFormer
        ) {
            EventFD.signal(wake)
        }
    }

    /// Why a connection is closed.
    struct Closing: Error {
        let why: String
    }

    var isConnected: Bool { connection?.isGreeted == true }

    var hasUnwritten: Bool { (connection?.socket.backlog ?? 0) > 0 }

    /// Refuses connections from here on, unless one waits to be accepted. One that comes in between is closed before
    /// a word was said on it: whoever made it tries again, and finds that nobody listens.
    func closeIfUnused() -> Bool {
        var wanted = pollfd(fd: settings.socket, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, 0) == 0 else { return false }
        return shutdown(settings.socket, Int32(SHUT_RDWR)) == 0
    }

    /// Says that every run has ended. From then on nobody listens: whoever is told finds no runner any more.
    mutating func sayDown() {
        guard let connection else { return }
        isListening = shutdown(settings.socket, Int32(SHUT_RDWR)) != 0
        connection.socket.send(WireReply.down.bytes)
    }

    /// Waits for something and does it; at the latest until an instant of CLOCK_MONOTONIC.
    mutating func turn(timeout: Int64?) {
        let wasConnected = isConnected
        send()
        // How long to wait may depend on that.
        guard isConnected == wasConnected else { return }
        beginReading()
        var wanted = [
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
            pollfd(
                fd: isListening ? settings.socket : -1, events: Int16(POLLIN), revents: 0),
        ]
        if let connection {
            let events = connection.socket.backlog > 0 ? POLLIN | POLLOUT : POLLIN
            wanted.append(
                pollfd(fd: connection.socket.descriptor, events: Int16(events), revents: 0))
        }
        guard poll(&wanted, nfds_t(wanted.count), time(until: timeout)) > 0 else { return }
        if wanted[0].revents != 0 {
            EventFD.drain(wake)
            if isReading, let reading = reader.take() { finish(reading) }
        }
        if wanted.count > 2, wanted[2].revents != 0 { receive() }
        if wanted[1].revents != 0 { accept() }
    }

    /// How long to wait for something, in milliseconds; -1 for ever.
    private func time(until timeout: Int64?) -> Int32 {
        let canWrite = (connection?.socket.backlog ?? 0) < OutboundQueue.batchBytes
        if hasMore, canWrite { return 0 }
        guard let until = [timeout, sendAt].compactMap({ $0 }).min() else { return -1 }
        return Int32(clamping: max(0, (until - RunnerClock.awake()) / 1_000_000 + 1))
    }

    private mutating func accept() {
        let descriptor = Glibc.accept(settings.socket, nil, nil)
        guard descriptor >= 0 else {
            // Out of descriptors, the next turn would be at once: some may be free by then.
            if errno == EMFILE || errno == ENFILE { usleep(100_000) }
            return
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let user = FrameSocket.peer(of: descriptor)
        guard let user, user == 0 || settings.users.contains(user) else {
            // Said first: who sees itself refused finds it in the log.
            settings.say(
                "refused a connection of uid \(user.map(String.init) ?? "?"); only root and the "
                    + "scheduler's user may ask")
            close(descriptor)
            return
        }
        connection = Connection(descriptor)
    }

    /// Reads some of what the scheduler says, and does it. False if it said devNull.
    @discardableResult
    private mutating func receive() -> Bool {
        guard let connection else { return false }
        let hasRead = connection.socket.fill()
        while let frame = connection.socket.next() {
            do throws(Closing) {
                try execute(frame, on: connection)
            } catch {
                settings.say("closed a connection that \(error.why)")
                self.connection = nil
                return hasRead
            }
        }
        if !connection.socket.isOpen { self.connection = nil }
        return hasRead
    }

    private mutating func send() {
        hasMore = false
        sendAt = nil
        guard let connection else { return }
        // With no room now there is some once this is written, and nobody else says so.
        hasMore = connection.isGreeted
        if connection.isGreeted, connection.socket.backlog < OutboundQueue.batchBytes {
            let portion = outbound.nextBatch()
            for reply in portion.replies { connection.socket.send(reply.bytes) }
            if !portion.reopened.isEmpty { runner.readOn(portion.reopened) }
            hasMore = portion.hasMore
            sendAt = portion.nextAt
        }
        guard !connection.socket.flush() else { return }
        // It is gone, and what it said before it went counts.
        for _ in 0..<Self.lastReads {
            guard receive() else { break }
        }
        self.connection = nil
    }

    private mutating func execute(
        _ frame: ArraySlice<UInt8>, on connection: Connection
    ) throws(Closing) {
        guard let request = try? WireRequest(frame) else {
            throw Closing(why: "sent what is no request")
        }
        guard !connection.isGreeted else { return try execute(request) }
        guard case .hello(let version) = request else {
            throw Closing(why: "did not start with a greeting")
        }
        let welcome = WireReply.welcome(version: Wire.version, instance: instance)
        connection.socket.send(welcome.bytes)
        lookAtProgram()
        guard version == Wire.version else { return }
        // What the scheduler before this one asked for comes first.
        finishReadings()
        guard self.connection != nil else { return }
        connection.isGreeted = true
        barriers.restart()
        for reply in outbound.connect() + [.complete] { connection.socket.send(reply.bytes) }
        if definitions.isEmpty { isStale = true }
    }

    private mutating func execute(_ request: WireRequest) throws(Closing) {
        switch request {
        case .hello: throw Closing(why: "greeted twice")
        case .start(let orders): try start(orders)
        case .end(let run, _), .suspend(let run), .resume(let run), .signal(let run, _):
            if try !hold(request, for: run) { try command(request) }
        case .barrier(let token): barriers.barrier(token)
        case .forget(let runs):
            var known: [Run.ID] = []
            for run in runs where try !hold(.forget([run]), for: run) { known.append(run) }
            forget(known)
        case .seen(let events, let output): outbound.seen(events, output: output)
        case .shutDown(let grace):
            guard settings.obeysShutDown else {
                throw Closing(why: "asked to end every run, which this scheduler may not")
            }
            shutDown = grace
        case .refresh: refresh()
        case .forgetFormer: forgetFormer()
        }
    }

    /// Has a command for a run that waits for its definition wait behind it.
    private mutating func hold(_ request: WireRequest, for run: Run.ID) throws(Closing) -> Bool {
        guard waiting.hold(request, for: run) else { return false }
        try check(waiting.commands, settings.limits.commands, "commands that wait")
        return true
    }

    func command(_ request: WireRequest) throws(Closing) {
        try check(runner.load.commands, settings.limits.commands, "commands that wait")
        switch request {
        case .end(let run, let grace): runner.end(run, grace: grace)
        case .suspend(let run): runner.suspend(run)
        case .resume(let run): runner.resume(run)
        case .signal(let run, let number): runner.signal(run, number)
        case .forget(let runs): forget(runs)
        case .hello, .start, .barrier, .seen, .shutDown, .refresh, .forgetFormer: break
        }
    }

    private func forget(_ runs: [Run.ID]) {
        for run in outbound.forget(runs) { runner.forget(run) }
    }

    private func check(_ count: Int, _ most: Int, _ what: String) throws(Closing) {
        guard count > most else { return }
        throw Closing(why: "asked for too much: \(count) \(what), and at most \(most) may")
    }

    /// Starts what is asked for in the way the configuration says. Runs whose definitions are not known wait until it
    /// is read once more, and then are started or refused.
    private mutating func start(_ orders: [RunOrder]) throws(Closing) {
        let size = outbound.size
        try check(size.runs + orders.count, settings.limits.runs, "runs that are not forgotten")
        try check(
            size.tailBytes, settings.limits.tailBytes, "bytes of output of runs that are over")
        try check(
            runner.load.starts + waiting.count + orders.count, settings.limits.starts,
            "runs that wait to start")
        var requests: [RunRequest] = []
        let hasChanged = !orders.isEmpty && settings.hasChanged()
        if hasChanged { mustCheck = true }
        for order in orders where outbound.isNew(order.run) {
            let mayDiffer = (mustCheck || isChecking) && settings.isAffected(order.run.firing.job)
            if !mayDiffer, let definition = definitions.definition(for: order) {
                requests.append(RunRequest(order, definition))
            } else {
                waiting.append(order, until: readings + (isChecking && !hasChanged ? 0 : 1))
            }
        }
        // What is being read now may have them.
        if !waiting.isEmpty, !isReading, !mustCheck { isStale = true }
        try start(requests[...])
    }

    func start(_ requests: ArraySlice<RunRequest>) throws(Closing) {
        var rest = requests
        while !rest.isEmpty {
            do throws(Closing) {
                try check(
                    runner.load.startBytes, settings.limits.startBytes,
                    "bytes for runs that wait to start")
            } catch {
                // They may be asked for again.
                outbound.cancelPending(rest.map(\.id))
                throw error
            }
            runner.start(Array(rest.prefix(RunnerLimits.startsPerLook)))
            rest = rest.dropFirst(RunnerLimits.startsPerLook)
        }
    }
}

extension RunRequest {
    init(_ order: RunOrder, _ definition: Definition) {
        self.init(
            id: order.run, definition: definition, missed: order.missed, active: order.active)
    }
}
