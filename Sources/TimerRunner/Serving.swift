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
    private var connection: Connection?

    private final class Connection {
        var socket: FrameSocket
        var isGreeted = false

        init(_ descriptor: Int32) { socket = FrameSocket(descriptor) }
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
    }

    var isConnected: Bool { connection?.isGreeted == true }

    var hasUnwritten: Bool { (connection?.socket.backlog ?? 0) > 0 }

    func sayDown() { connection?.socket.send(WireReply.down.bytes) }

    /// Waits for something and does it; at the latest until an instant of CLOCK_MONOTONIC.
    mutating func turn(patience: Int64?) {
        send()
        // What is wrong with it is said to whoever asks for a run.
        if isStale { _ = readCatalogue() }
        var wanted = [
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
            pollfd(fd: settings.socket, events: Int16(POLLIN), revents: 0),
        ]
        if let connection {
            let events = connection.socket.backlog > 0 ? POLLIN | POLLOUT : POLLIN
            wanted.append(
                pollfd(fd: connection.socket.descriptor, events: Int16(events), revents: 0))
        }
        let time = patience.map {
            Int32(clamping: max(0, ($0 - RunnerThread.awake()) / 1_000_000 + 1))
        }
        guard poll(&wanted, nfds_t(wanted.count), time ?? -1) > 0 else { return }
        if wanted[0].revents != 0 { EventFD.hush(wake) }
        if wanted.count > 2, wanted[2].revents != 0 { receive() }
        if wanted[1].revents != 0 { accept() }
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
            do throws(WireReader.Fault) {
                try obey(try WireRequest(frame), on: connection)
            } catch {
                settings.say("closed a connection that sent what is no request")
                self.connection = nil
                return hasRead
            }
        }
        if !connection.socket.isOpen { self.connection = nil }
        return hasRead
    }

    private mutating func send() {
        guard let connection else { return }
        if connection.isGreeted, connection.socket.backlog < Backlog.windowBytes {
            for frame in backlog.nextFrames() { connection.socket.send(frame) }
        }
        guard !connection.socket.flush() else { return }
        // It is gone, and what it said before it went counts.
        for _ in 0..<Self.lastReads {
            guard receive() else { break }
        }
        self.connection = nil
    }

    private mutating func obey(
        _ request: WireRequest, on connection: Connection
    ) throws(WireReader.Fault) {
        guard connection.isGreeted else {
            guard case .hello(let version) = request else { throw .init() }
            let welcome = WireReply.welcome(version: Wire.version, instance: instance)
            connection.socket.send(welcome.bytes)
            guard version == Wire.version else { return }
            connection.isGreeted = true
            for reply in backlog.connect() + [.complete] { connection.socket.send(reply.bytes) }
            if catalogue.isEmpty { isStale = true }
            return
        }
        switch request {
        case .hello: throw .init()
        case .start(let orders): start(orders)
        case .end(let run, let grace): runner.end(run, grace: grace)
        case .suspend(let run): runner.suspend(run)
        case .resume(let run): runner.resume(run)
        case .signal(let run, let number): runner.signal(run, number)
        case .settle(let token):
            let (backlog, wake) = (backlog, wake)
            runner.settle {
                // Whatever waits before it: somebody waits for this.
                backlog.settled(token)
                EventFD.ring(wake)
            }
        case .forget(let runs):
            backlog.forget(runs)
            for run in runs { runner.forget(run) }
        case .seen(let number): backlog.seen(number)
        case .shutDown(let grace): shutDown = grace
        case .refresh: isStale = true
        }
    }

    /// Starts what is asked for in the way the configuration says. It is read again where somebody asks for
    /// what it did not say the last time, once for all they ask.
    private mutating func start(_ orders: [RunOrder]) {
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
        runner.start(requests)
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
