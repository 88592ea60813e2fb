// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Dispatch
import Glibc
import HostQueues
import NIOCore
import NIOHTTP1
import TimerControl
import TimerCore
import TimerHTTP

/// Accepts the connections of the control socket, and knows each client's user at once. Each
/// connection is either handed on or refused at once with a sentence. However many connections
/// come, root reaches one of the reserved places within a fraction of a second.
actor ControlListener: QueueActor {
    /// Makes a connection from an accepted socket, and closes the socket with it.
    typealias Connect = @Sendable (Int32, Peer) -> EventLoopFuture<any Channel>

    /// How many connections are accepted before other work on the queue gets its turn.
    private static let acceptsPerTurn = 64
    /// How long to wait if the system has no descriptor or no memory for another connection.
    private static let shortageDelay: Duration = .milliseconds(100)
    /// How long a refused client may take to read the answer, and how many such clients may be
    /// open. If the socket were closed while the client still writes its request, the client would
    /// get an error instead of the answer.
    private static let refusedTime: Duration = .milliseconds(500)
    private static let refusedMax = 32

    nonisolated let executor = QueueExecutor(label: "timerd.accept", qos: .utility)
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private var socket: Int32
    private let connect: Connect
    private let whenEmpty: @Sendable () -> Void
    private let identify: @Sendable (clinux_peer, Int32) -> Peer
    private var admission: ControlAdmission
    private var budget = AcceptBudget()
    private var source: (any DispatchSourceRead)?
    private var isResting = false
    private var isStopped = false
    private var refused: [Int32] = []

    /// Listens on the socket, so that clients can connect and wait. Accepts no connection yet.
    ///
    /// - Parameters:
    ///   - socket: a bound socket, which the listener owns from now on, even if this throws.
    ///   - sharesPlaces: whether users share the connections; if not, one user can have all of them.
    ///   - identify: tells which user a client is, according to the kernel.
    ///   - connect: makes a connection.
    ///   - whenEmpty: called when the last connection has ended.
    init(
        on socket: Int32, sharesPlaces: Bool = true,
        identify: @escaping @Sendable (clinux_peer, Int32) -> Peer,
        connect: @escaping Connect, whenEmpty: @escaping @Sendable () -> Void
    ) throws(ControlServer.Failure) {
        self.socket = socket
        self.identify = identify
        admission = ControlAdmission(sharesPlaces: sharesPlaces)
        self.connect = connect
        self.whenEmpty = whenEmpty
        guard Self.listen(on: socket) else {
            let code = errno
            close(socket)
            throw ControlServer.Failure(
                description:
                    "cannot listen on the control socket: \(String(cString: strerror(code)))")
        }
    }

    /// False, with errno set, on an error.
    private static func listen(on socket: Int32) -> Bool {
        let flags = fcntl(socket, F_GETFL)
        return flags >= 0 && fcntl(socket, F_SETFL, flags | O_NONBLOCK) == 0
            && Glibc.listen(socket, ControlServer.backlog) == 0
    }

    /// Starts to accept connections, including those that wait already.
    func begin() {
        guard source == nil else { return }
        let source = DispatchSource.makeReadSource(
            fileDescriptor: socket, queue: executor.queue)
        source.setEventHandler { @Sendable [weak self] in
            guard let self else { return }
            self.assumeIsolated { $0.acceptSome() }
        }
        source.setCancelHandler { @Sendable [socket] in close(socket) }
        self.source = source
        source.activate()
    }

    /// Accepts from this bound socket in place of the one until now.
    func move(to other: Int32) {
        guard !isStopped, Self.listen(on: other) else {
            close(other)
            return
        }
        let hadBegun = source != nil
        closeSocket()
        socket = other
        if hadBegun { begin() }
    }

    /// Stops accepting connections, and closes those that wait for a refusal.
    func stop() {
        isStopped = true
        for connection in refused { close(connection) }
        refused = []
        closeSocket()
    }

    private func closeSocket() {
        guard let source else {
            close(socket)
            return
        }
        source.cancel()
        if isResting { source.resume() }
        isResting = false
        self.source = nil
    }

    private func acceptSome() {
        for _ in 0..<Self.acceptsPerTurn {
            var credentials = clinux_peer()
            let connection = clinux_accept(socket, &credentials)
            guard connection >= 0 else {
                switch -connection {
                case EAGAIN: return
                // The client left before its connection was accepted.
                case EINTR, ECONNABORTED, ENOTCONN, EPROTO: continue
                default: return rest(Self.shortageDelay)
                }
            }
            let delay = accept(connection, identify(credentials, connection))
            if delay > 0 { return rest(.nanoseconds(Int64(delay))) }
        }
    }

    /// - Returns: for how many nanoseconds no further connection may be accepted.
    private func accept(_ connection: Int32, _ peer: Peer) -> UInt64 {
        let now = DispatchTime.now().uptimeNanoseconds
        if let refusal = admission.admit(peer, at: now) {
            refuse(connection, because: refusal)
            return budget.spend(AcceptBudget.refused, at: now)
        }
        let channel = connect(connection, peer)
        channel.whenSuccess { channel in
            channel.closeFuture.whenComplete { _ in self.later { $0.leave(peer) } }
        }
        channel.whenFailure { _ in self.later { $0.leave(peer) } }
        return budget.spend(AcceptBudget.accepted, at: now)
    }

    private func leave(_ peer: Peer) {
        guard !isStopped else { return }
        admission.leave(peer, at: DispatchTime.now().uptimeNanoseconds)
        if admission.count == 0 { whenEmpty() }
    }

    private func rest(_ delay: Duration) {
        guard !isResting, let source, !source.isCancelled else { return }
        isResting = true
        source.suspend()
        later(after: delay) { listener in
            guard listener.isResting else { return }
            listener.isResting = false
            listener.source?.resume()
        }
    }

    /// Answers without reading the request.
    private func refuse(_ connection: Int32, because refusal: ControlAdmission.Refusal) {
        let answer = ControlAnswer.error(.serviceUnavailable, refusal.sentence)
        let head = """
            HTTP/1.1 503 Service Unavailable\r
            Content-Type: application/json\r
            Content-Length: \(answer.line.readableBytes)\r
            Retry-After: 1\r
            Connection: close\r
            \r

            """
        let bytes = Array(head.utf8) + Array(answer.line.readableBytesView)
        // The answer fits into the buffer of a new socket.
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        _ = bytes.withUnsafeBytes {
            send(connection, $0.baseAddress, $0.count, flags)
        }
        shutdown(connection, Int32(SHUT_WR))
        if refused.count >= Self.refusedMax { close(refused.removeFirst()) }
        refused.append(connection)
        later(after: Self.refusedTime) { $0.closeRefused(connection) }
    }

    /// The number may belong to a later connection by now, which is then closed a little too early.
    private func closeRefused(_ connection: Int32) {
        guard let index = refused.firstIndex(of: connection) else { return }
        refused.remove(at: index)
        close(connection)
    }
}
