// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostThreads
import TimerCore
import TimerRunnerProtocol

/// The loop of the server: it accepts connections and serves the current one.
struct ServerLoop {
    /// How many reads to make from a connection whose other end is gone: enough for everything that
    /// a socket can hold, but limited, in case the other end only shut down one direction and sends
    /// forever.
    private static let lastReads = 64

    let settings: RunnerServer.Settings
    let runner: Runner
    let outbound: OutboundQueue
    let wake: Int32
    let instance: UInt64
    var shutDown: Duration?
    /// Whether this runner should end as soon as no run is active, so that another one replaces it.
    var mustYield = false
    var definitions = JobDefinitions()
    var waiting = WaitingOrders()
    let reader: DefinitionReader
    /// Whether the configuration must be read once more.
    var isStale = false
    /// Whether it must be read to find what was deleted from it, and whether the current reading is
    /// for that.
    var mustCheck = false
    var isChecking = false
    var isReading = false
    /// How many readings have started.
    var readings: UInt64 = 0
    /// The number of the reading with which the previous definitions are forgotten; nil: none.
    var lastOfFormer: UInt64?
    /// When to look next whether it must be read once more for runs that wait because the files may
    /// have been incomplete, by CLOCK_MONOTONIC; nil if no run does.
    var recheckAt: Int64?
    /// When the files will not have changed for long enough, if they do not change until then.
    var settledAt = Int64.max
    /// Whether the requests of the previous scheduler are being finished.
    var isFinishing = false
    /// The reason why the configuration could not be read the last time.
    var unreadable: String?
    private let barriers: Barriers
    var connection: Connection? {
        didSet { if !isConnected { outbound.disconnect() } }
    }
    private var isListening = true
    /// When there may be more to send, by CLOCK_MONOTONIC, even if no event happens; nil if there
    /// will not.
    private var sendAt: Int64?
    /// Whether there is already more to send.
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

    /// The reason why a connection is closed.
    struct Closing: Error {
        let why: String
    }

    var isConnected: Bool { connection?.isGreeted == true }

    var hasUnwritten: Bool { (connection?.socket.backlog ?? 0) > 0 }

    /// Refuses new connections, unless one waits to be accepted. A connection that arrives in
    /// between is closed before any message on it: that scheduler connects again, and finds that no
    /// process listens.
    func closeIfUnused() -> Bool {
        var wanted = pollfd(fd: settings.socket, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, 0) == 0 else { return false }
        return shutdown(settings.socket, Int32(SHUT_RDWR)) == 0
    }

    /// Reports that every run has ended, and stops listening, so that a scheduler that gets this
    /// message cannot connect again.
    mutating func announceShutdown() {
        guard let connection else { return }
        isListening = shutdown(settings.socket, Int32(SHUT_RDWR)) != 0
        connection.socket.send(WireReply.down.bytes)
    }

    /// Waits for events and handles them; returns at the latest at an instant of CLOCK_MONOTONIC.
    mutating func runOnce(timeout: Int64?) {
        let wasConnected = isConnected
        send()
        // The timeout of the caller may depend on that.
        guard isConnected == wasConnected else { return }
        startReading()
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
        guard poll(&wanted, nfds_t(wanted.count), pollTimeout(until: timeout)) > 0 else { return }
        if wanted[0].revents != 0 {
            EventFD.drain(wake)
            if isReading, let reading = reader.take() { finish(reading) }
        }
        if wanted.count > 2, wanted[2].revents != 0 { receive() }
        if wanted[1].revents != 0 { accept() }
    }

    /// How long poll may wait, in milliseconds; -1 for no limit.
    private func pollTimeout(until timeout: Int64?) -> Int32 {
        let canWrite = (connection?.socket.backlog ?? 0) < OutboundQueue.batchBytes
        if hasMore, canWrite { return 0 }
        let recheckAt = isReading ? nil : recheckAt
        guard let until = [timeout, sendAt, recheckAt].compactMap({ $0 }).min() else { return -1 }
        return Int32(clamping: max(0, (until - RunnerClock.awake()) / 1_000_000 + 1))
    }

    private mutating func accept() {
        let descriptor = Glibc.accept(settings.socket, nil, nil)
        guard descriptor >= 0 else {
            // Without free descriptors the loop would spin; some may be free after a pause.
            if errno == EMFILE || errno == ENFILE { usleep(100_000) }
            return
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let user = FrameSocket.peer(of: descriptor)
        guard let user, user == 0 || settings.users.contains(user) else {
            // This is logged before the connection is closed, so that a refused user finds it in
            // the log.
            settings.say(
                "refused a connection of uid \(user.map(String.init) ?? "?"); only root and the "
                    + "scheduler's user may connect")
            close(descriptor)
            return
        }
        connection = Connection(descriptor)
    }

    /// Reads some requests of the scheduler and executes them. False if there was nothing to read.
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
        // If there is no room now, there is some when this is written, and no other event signals
        // that.
        hasMore = connection.isGreeted
        if connection.isGreeted, connection.socket.backlog < OutboundQueue.batchBytes {
            let batch = outbound.nextBatch()
            for reply in batch.replies { connection.socket.send(reply.bytes) }
            if !batch.reopened.isEmpty { runner.resumeReading(batch.reopened) }
            hasMore = batch.hasMore
            sendAt = batch.nextAt
        }
        guard !connection.socket.flush() else { return }
        // The other end is gone, but its remaining requests are executed.
        for _ in 0..<Self.lastReads {
            guard receive() else { break }
        }
        self.connection = nil
    }

    private mutating func execute(
        _ frame: ArraySlice<UInt8>, on connection: Connection
    ) throws(Closing) {
        guard let request = try? WireRequest(frame) else {
            throw Closing(why: "sent an invalid request")
        }
        guard !connection.isGreeted else { return try execute(request) }
        guard case .hello(let version) = request else {
            throw Closing(why: "did not start with a greeting")
        }
        let welcome = WireReply.welcome(version: Wire.version, instance: instance)
        connection.socket.send(welcome.bytes)
        checkProgram()
        guard version == Wire.version else { return }
        // The requests of the previous scheduler are executed first.
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
            guard settings.allowsShutDown else {
                throw Closing(
                    why: "asked to end every run, which this scheduler is not permitted to do")
            }
            shutDown = grace
        case .refresh: refresh()
        case .forgetFormer: forgetFormer()
        case .discard(let jobs): discard(jobs)
        }
    }

    /// Queues a command if its run waits for its definition.
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
        case .hello, .start, .barrier, .seen, .shutDown, .refresh, .forgetFormer, .discard:
            break
        }
    }

    /// On a thread of its own, since that waits for the disk.
    private func discard(_ jobs: [Job.Name]) {
        guard !jobs.isEmpty else { return }
        _ = WorkerThread.start("timerd.one-off") { [settings] in settings.discard(jobs) }
    }

    private func forget(_ runs: [Run.ID]) {
        for run in outbound.forget(runs) { runner.forget(run) }
    }

    private func check(_ count: Int, _ most: Int, _ what: String) throws(Closing) {
        guard count > most else { return }
        throw Closing(why: "asked for too much: \(count) \(what), and at most \(most) may")
    }

    /// Starts the requested runs with their definitions from the configuration. Runs whose
    /// definitions are unknown wait until it is read once more, and are then started or refused.
    private mutating func start(_ orders: [RunOrder]) throws(Closing) {
        let size = outbound.size
        try check(size.runs + orders.count, settings.limits.runs, "runs that are not forgotten")
        try check(
            size.tailBytes, settings.limits.tailBytes, "bytes of output of runs that are over")
        try check(
            runner.load.starts + waiting.count + orders.count, settings.limits.starts,
            "runs that wait to start")
        try check(
            waiting.variableBytes + orders.reduce(0) { $0 + $1.variables.cost },
            settings.limits.variableBytes, "bytes of variables for runs that wait to start")
        var requests: [RunRequest] = []
        var mustRead = false
        let hasChanged = !orders.isEmpty && settings.hasChanged()
        if hasChanged { mustCheck = true }
        for order in orders where outbound.isNew(order.run) {
            let mayDiffer = (mustCheck || isChecking) && settings.isAffected(order.run.firing.job)
            let definition = definitions.definition(for: order)
            if !mayDiffer, let definition {
                requests.append(RunRequest(order, definition))
            } else {
                // Files that changed just now may be taken for unchanged, so a job that is unknown
                // may have been added after they were read.
                let isCovered = isChecking && !hasChanged && definition != nil
                waiting.append(order, until: readings + (isCovered ? 0 : 1))
                mustRead = true
            }
        }
        // The reading in progress may have them.
        if mustRead, !isReading, !mustCheck { isStale = true }
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
                // The scheduler may request them again.
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
            id: order.run, definition: definition, missed: order.missed, active: order.active,
            variables: order.variables)
    }
}
