// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Dispatch
import Glibc
import Synchronization
public import TimerCore

/// A runner behind a socket: it starts what one scheduler asks for, by name and by what it has read itself,
/// and keeps what there is to tell until the scheduler has it, however often that goes and comes.
///
/// The scheduler that connected last is the one that counts; the connection before is closed.
public final class RunnerServer: Sendable {
    /// How long what is left to tell is waited for at the end.
    public static let farewell: Duration = .seconds(5)

    /// What the configuration says of each job's runs.
    public typealias Catalogue = [Job.Name: Definition]

    /// Why there is no catalogue.
    public struct Unreadable: Error, Hashable {
        /// What is wrong with it.
        public var description: String

        /// A configuration that cannot be read, for this reason.
        public init(_ description: String) { self.description = description }
    }

    /// What a server is made with.
    public struct Settings: Sendable {
        /// A socket that is bound; the server listens on it and closes it.
        public var socket: Int32
        /// The users whose schedulers are believed, beside root.
        public var users: [UInt32]
        /// The directory of marks.
        public var marks: Int32
        /// What the runner may do beyond its own children.
        public var options = Runner.Options()
        /// Reads the configuration; may take its time.
        public var catalogue: @Sendable () -> Result<Catalogue, Unreadable>
        /// Says something in the log of the runner itself.
        public var say: @Sendable (String) -> Void

        /// Settings as described.
        public init(
            socket: Int32, users: [UInt32], marks: Int32,
            catalogue: @escaping @Sendable () -> Result<Catalogue, Unreadable>,
            say: @escaping @Sendable (String) -> Void
        ) {
            self.socket = socket
            self.users = users
            self.marks = marks
            self.catalogue = catalogue
            self.say = say
        }
    }

    private let settings: Settings
    private let runner: Runner
    private let backlog = Backlog()
    private let wake: Int32
    private let instance = UInt64.random(in: 1 ... .max)
    private let stop = Mutex(Stop())

    private struct Stop {
        var grace: Duration?
        var isDown = false
    }

    /// Takes up what an earlier runner left.
    ///
    /// - Throws: `Runner.Failure`; the socket is closed.
    public init(_ settings: Settings) throws(Runner.Failure) {
        self.settings = settings
        let wake = cspawn_eventfd()
        self.wake = wake
        guard wake >= 0, listen(settings.socket, 16) == 0 else {
            let code = errno
            close(settings.socket)
            throw Runner.Failure("cannot listen", code)
        }
        let backlog = backlog
        do throws(Runner.Failure) {
            runner = try Runner(marks: settings.marks, options: settings.options) { event in
                if backlog.take(event) { Self.ring(wake) }
            }
        } catch {
            close(settings.socket)
            close(wake)
            throw error
        }
    }

    deinit {
        close(settings.socket)
        close(wake)
    }

    private static func ring(_ wake: Int32) {
        var one: UInt64 = 1
        _ = write(wake, &one, 8)
    }

    /// Ends every run, by SIGTERM and after `grace` by SIGKILL, and then lets `run` return. Returns at once.
    public func end(grace: Duration) {
        let isFirst = stop.withLock { stop in
            defer { stop.grace = min(stop.grace ?? grace, grace) }
            return stop.grace == nil
        }
        DispatchQueue.global().async { [self] in
            runner.shutdown(grace: grace)
            guard isFirst else { return }
            stop.withLock { $0.isDown = true }
            Self.ring(wake)
        }
    }

    /// Serves until `end` was called, or a scheduler asked for it, and every run has ended.
    public func run() {
        var server = Serving(
            settings: settings, runner: runner, backlog: backlog, wake: wake, instance: instance)
        var leaveAt: Int64?
        while true {
            server.turn(patience: leaveAt)
            if let grace = server.shutDown {
                server.shutDown = nil
                end(grace: grace)
            }
            guard stop.withLock(\.isDown) else { continue }
            if leaveAt == nil {
                leaveAt = RunnerThread.awake() + Self.farewell.wholeNanoseconds
                server.sayDown()
            }
            // What nobody took is in the marks, for the next runner to tell.
            guard server.isConnected, !backlog.isEmpty || server.hasUnwritten,
                RunnerThread.awake() < leaveAt ?? 0
            else { return }
        }
    }
}

/// The server's side of a connection, and of those that come.
private struct Serving {
    let settings: RunnerServer.Settings
    let runner: Runner
    let backlog: Backlog
    let wake: Int32
    let instance: UInt64
    var shutDown: Duration?
    private var catalogue: RunnerServer.Catalogue = [:]
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
        if wanted[0].revents != 0 {
            var count: UInt64 = 0
            _ = read(wake, &count, 8)
        }
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
            close(descriptor)
            settings.say(
                "refused a connection of uid \(user.map(String.init) ?? "?"); only root and the "
                    + "scheduler's user may ask")
            return
        }
        connection = Connection(descriptor)
    }

    private mutating func receive() {
        guard let connection else { return }
        connection.socket.fill()
        while let frame = connection.socket.next() {
            do throws(WireReader.Fault) {
                try obey(try WireRequest(frame), on: connection)
            } catch {
                settings.say("closed a connection that sent what is no request")
                return self.connection = nil
            }
        }
        if !connection.socket.isOpen { self.connection = nil }
    }

    private mutating func send() {
        guard let connection else { return }
        if connection.isGreeted, connection.socket.backlog < Backlog.windowBytes {
            for frame in backlog.nextFrames() { connection.socket.send(frame) }
        }
        if !connection.socket.flush() { self.connection = nil }
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
                guard backlog.settled(token) else { return }
                var one: UInt64 = 1
                _ = write(wake, &one, 8)
            }
        case .forget(let runs):
            backlog.forget(runs)
            for run in runs { runner.forget(run) }
        case .seen(let number): backlog.seen(number)
        case .shutDown(let grace): shutDown = grace
        }
    }

    /// Starts what is asked for in the way the configuration says. It is read again where somebody asks for
    /// what it did not say the last time, once for all they ask.
    private mutating func start(_ orders: [RunOrder]) {
        let fresh = orders.filter { backlog.isNew($0.run) }
        let isKnown = fresh.allSatisfy { definition(for: $0) != nil }
        var unreadable: String?
        if !isKnown {
            switch settings.catalogue() {
            case .success(let read): catalogue = read
            case .failure(let error): unreadable = error.description
            }
        }
        var requests: [RunRequest] = []
        for order in fresh {
            if let definition = definition(for: order) {
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

    private func definition(for order: RunOrder) -> Definition? {
        guard let definition = catalogue[order.run.firing.job],
            definition.fingerprint == order.fingerprint
        else { return nil }
        return definition
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
