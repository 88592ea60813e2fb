// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// The server's side of a connection, and of those that come.
struct Serving {
    /// How often is read what is left of a connection whose other end is gone: all that a socket holds, but not
    /// for ever from one that only does not listen any more.
    private static let lastReads = 64

    let settings: RunnerServer.Settings
    let runner: Runner
    let backlog: Backlog
    let wake: Int32
    let instance: UInt64
    var shutDown: Duration?
    private var catalogue: RunnerServer.Catalogue = [:] { didSet { fingerprints = [:] } }
    /// Of those definitions that were asked for.
    private var fingerprints: [Job.Name: UInt64] = [:]
    /// The catalogue had better be read before somebody asks for a run.
    private var isStale = false
    private let settling: Settling
    private var connection: Connection? {
        didSet { if !isConnected { backlog.disconnect() } }
    }
    private var isListening = true
    /// When there may be more to send, by CLOCK_MONOTONIC, though nobody tells anything; nil if there will not.
    private var sendAt: Int64?
    /// Whether there is more to send already.
    private var hasMore = false

    private final class Connection {
        var socket: FrameSocket
        var isGreeted = false

        init(_ descriptor: Int32) {
            socket = FrameSocket(descriptor, frameBytesMax: Wire.requestBytesMax)
        }
    }

    init(
        settings: RunnerServer.Settings, runner: Runner, backlog: Backlog, wake: Int32,
        instance: UInt64
    ) {
        self.settings = settings
        self.runner = runner
        self.backlog = backlog
        self.wake = wake
        self.instance = instance
        settling = Settling(runner: runner) { token in
            backlog.settled(token)
            EventFD.ring(wake)
        }
    }

    /// Why a connection is closed.
    private struct Closing: Error {
        let why: String
    }

    var isConnected: Bool { connection?.isGreeted == true }

    /// Has the configuration read again.
    mutating func refresh() { isStale = true }

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
    mutating func turn(patience: Int64?) {
        let wasConnected = isConnected
        send()
        // How long to wait may depend on that.
        guard isConnected == wasConnected else { return }
        // What is wrong with it is said to whoever asks for a run.
        if isStale { _ = readCatalogue() }
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
        guard poll(&wanted, nfds_t(wanted.count), time(until: patience)) > 0 else { return }
        if wanted[0].revents != 0 { EventFD.hush(wake) }
        if wanted.count > 2, wanted[2].revents != 0 { receive() }
        if wanted[1].revents != 0 { accept() }
    }

    /// How long to wait for something, in milliseconds; -1 for ever.
    private func time(until patience: Int64?) -> Int32 {
        let canWrite = (connection?.socket.backlog ?? 0) < Backlog.portionBytes
        if hasMore, canWrite { return 0 }
        guard let until = [patience, sendAt].compactMap({ $0 }).min() else { return -1 }
        return Int32(clamping: max(0, (until - RunnerThread.awake()) / 1_000_000 + 1))
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

    /// Reads some of what the scheduler says, and does it. False if it said nothing.
    @discardableResult
    private mutating func receive() -> Bool {
        guard let connection else { return false }
        let hasRead = connection.socket.fill()
        while let frame = connection.socket.next() {
            do throws(Closing) {
                try obey(frame, on: connection)
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
        if connection.isGreeted, connection.socket.backlog < Backlog.portionBytes {
            let portion = backlog.nextPortion()
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

    private mutating func obey(
        _ frame: ArraySlice<UInt8>, on connection: Connection
    ) throws(Closing) {
        guard let request = try? WireRequest(frame) else {
            throw Closing(why: "sent what is no request")
        }
        guard !connection.isGreeted else { return try obey(request) }
        guard case .hello(let version) = request else {
            throw Closing(why: "did not begin with a greeting")
        }
        let welcome = WireReply.welcome(version: Wire.version, instance: instance)
        connection.socket.send(welcome.bytes)
        guard version == Wire.version else { return }
        connection.isGreeted = true
        settling.restart()
        for reply in backlog.connect() + [.complete] { connection.socket.send(reply.bytes) }
        if catalogue.isEmpty { isStale = true }
    }

    private mutating func obey(_ request: WireRequest) throws(Closing) {
        switch request {
        case .hello: throw Closing(why: "greeted twice")
        case .start(let orders): try start(orders)
        case .end(let run, let grace): try command { $0.end(run, grace: grace) }
        case .suspend(let run): try command { $0.suspend(run) }
        case .resume(let run): try command { $0.resume(run) }
        case .signal(let run, let number): try command { $0.signal(run, number) }
        case .settle(let token): settling.settle(token)
        case .forget(let runs):
            backlog.forget(runs)
            for run in runs { runner.forget(run) }
        case .seen(let events, let output): backlog.seen(events, output: output)
        case .shutDown(let grace): shutDown = grace
        case .refresh: isStale = true
        }
    }

    private func command(_ body: (Runner) -> Void) throws(Closing) {
        try check(runner.load.commands, settings.limits.commands, "commands that wait")
        body(runner)
    }

    private func check(_ count: Int, _ most: Int, _ what: String) throws(Closing) {
        guard count > most else { return }
        throw Closing(why: "asked for too much: \(count) \(what), and at most \(most) may")
    }

    /// Starts what is asked for in the way the configuration says. It is read again if a run is asked for that
    /// it did not have the last time, once for all runs that are asked for together.
    private mutating func start(_ orders: [RunOrder]) throws(Closing) {
        let size = backlog.size
        try check(size.runs + orders.count, settings.limits.runs, "runs that are not forgotten")
        try check(
            size.tailBytes, settings.limits.tailBytes, "bytes of output of runs that are over")
        try check(
            runner.load.starts + orders.count, settings.limits.starts, "runs that wait to start")
        let fresh = orders.filter { backlog.isNew($0.run) }
        var definitions = fresh.map { definition(for: $0) }
        var unreadable: String?
        if definitions.contains(nil) {
            unreadable = readCatalogue()
            definitions = fresh.map { definition(for: $0) }
        }
        var requests: [RunRequest] = []
        for (order, definition) in zip(fresh, definitions) {
            if let definition {
                requests.append(
                    RunRequest(
                        id: order.run, definition: definition, missed: order.missed,
                        active: order.active))
            } else {
                refuse(order, unreadable)
            }
        }
        try start(requests[...])
    }

    private func start(_ requests: ArraySlice<RunRequest>) throws(Closing) {
        var rest = requests
        while !rest.isEmpty {
            do throws(Closing) {
                try check(
                    runner.load.startBytes, settings.limits.startBytes,
                    "bytes for runs that wait to start")
            } catch {
                // They may be asked for again.
                backlog.forget(rest.map(\.id))
                throw error
            }
            runner.start(Array(rest.prefix(RunnerLimits.startsPerLook)))
            rest = rest.dropFirst(RunnerLimits.startsPerLook)
        }
    }

    /// - Returns: why it cannot be read; it stays as it was then.
    private mutating func readCatalogue() -> String? {
        isStale = false
        switch settings.catalogue() {
        case .success(let read):
            catalogue = read
            return nil
        case .failure(let error): return error.description
        }
    }

    private mutating func definition(for order: RunOrder) -> Definition? {
        let job = order.run.firing.job
        guard let definition = catalogue[job] else { return nil }
        let fingerprint = fingerprints[job] ?? definition.fingerprint
        fingerprints[job] = fingerprint
        return fingerprint == order.fingerprint ? definition : nil
    }

    private func refuse(_ order: RunOrder, _ unreadable: String?) {
        let failure =
            if let unreadable {
                Spawner.failure(EINVAL, "read the configuration: \(unreadable)")
            } else if catalogue[order.run.firing.job] == nil {
                Spawner.failure(ENOENT, "find the job in the configuration as it is now")
            } else {
                Spawner.failure(
                    ESTALE, "find the job as it fired in the configuration, which was changed since"
                )
            }
        _ = backlog.take(
            .ended(order.run, RunEnd(failure.outcome, at: RunnerThread.wall())))
    }
}
