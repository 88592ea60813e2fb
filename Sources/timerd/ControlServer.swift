// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import TimerControl

/// The control API: HTTP and JSON over a unix socket, on one thread of its own. A slow or hostile client
/// holds up nobody but itself.
final class ControlServer: Sendable {
    /// How many connections may wait in the kernel to be accepted.
    static let backlog: Int32 = 128
    /// The most connections at once; further ones wait in the kernel's queue.
    static let connectionsMax = 64
    /// The most connections a second, of those that come faster than one by one: each takes its time, and what
    /// is due has a right to it.
    static let connectionsPerSecond = 500
    /// The most bytes of a request's body.
    static let bodyBytesMax = 65_536
    /// How long a connection may be silent.
    static let idleTime: TimeAmount = .seconds(30)

    /// A server at work, and what rereads the configuration for it.
    struct Listening {
        let server: ControlServer
        let reloader: Reloader
    }

    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel

    private init(group: MultiThreadedEventLoopGroup, channel: any Channel) {
        self.group = group
        self.channel = channel
    }

    /// Listens on a socket that is bound already, whether systemd passed it or we bound it.
    static func listen(on socket: Int32, for service: any ControlService) throws -> ControlServer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        group.next().execute { Precedence.giveUp() }
        let connections = NIOLoopBoundBox.makeBoxSendingValue(
            ConnectionCount(max: connectionsMax), eventLoop: group.next())
        let channel = try ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.maxMessagesPerRead, value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptLimit(connections.value))
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    connections.value.add(channel)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(IdleStateHandler(allTimeout: idleTime))
                    try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
                    try pipeline.addHandler(ControlHandler(service: service))
                }
            }
            .withBoundSocket(socket).wait()
        return ControlServer(group: group, channel: channel)
    }

    /// Takes no more connections and ends those there are.
    func stop() {
        try? channel.close().wait()
        try? group.syncShutdownGracefully()
    }
}

/// How many connections there are, on the one event loop of the server.
private final class ConnectionCount {
    private let max: Int
    private var count = 0
    private var held: ChannelHandlerContext?
    /// How many may come at once, of what was saved up.
    private var saved = Double(ControlServer.connectionsMax)
    private var savedAt = NIODeadline.now()

    init(max: Int) { self.max = max }

    var isFull: Bool { count >= max }

    /// How long the next connection has to wait; nil if it may come now, and then it counts.
    func delay(at now: NIODeadline) -> TimeAmount? {
        let rate = Double(ControlServer.connectionsPerSecond)
        let passed = Double((now - savedAt).nanoseconds) / 1e9
        saved = min(Double(max), saved + passed * rate)
        savedAt = now
        guard saved < 1 else {
            saved -= 1
            return nil
        }
        return .nanoseconds(Int64((1 - saved) / rate * 1e9) + 1)
    }

    func hold(_ context: ChannelHandlerContext) { held = context }

    func add(_ channel: any Channel) {
        count += 1
        channel.closeFuture.assumeIsolated().whenComplete { [self] _ in
            count -= 1
            if count == 0 { Self.takeTimerDown(of: channel.eventLoop) }
            guard let context = held else { return }
            held = nil
            context.read()
        }
    }

    /// A loop never takes its timer down: it would wake once more, when the last connection would have been
    /// idle for too long. One that rings at once leaves none.
    private static func takeTimerDown(of loop: any EventLoop) {
        loop.scheduleTask(in: .milliseconds(1)) {}
    }
}

/// Accepts no connection while there are as many as there may be, and none sooner than it may come.
private final class AcceptLimit: ChannelOutboundHandler {
    typealias OutboundIn = Never

    private let connections: ConnectionCount

    init(_ connections: ConnectionCount) { self.connections = connections }

    func read(context: ChannelHandlerContext) {
        if connections.isFull { return connections.hold(context) }
        guard let delay = connections.delay(at: .now()) else { return context.read() }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: delay) {
            let (handler, context) = bound.value
            handler.read(context: context)
        }
    }
}

/// What stands behind the control socket.
protocol ControlService: Sendable {
    /// Answers a request; `reply` is called once, from anywhere.
    func answer(
        _ request: ControlRequest, from peer: Peer,
        reply: @escaping ControlAnswer.Reply)
}

/// Who is at the other end of a connection, as the kernel knows it. Laid out as `struct ucred`
/// (unix(7), SO_PEERCRED), which Glibc shows to nobody who does not define _GNU_SOURCE.
struct Peer: Sendable, Hashable {
    var pid: Int32 = 0
    var uid: UInt32 = .max
    var gid: UInt32 = .max

    /// Root and the daemon's own user may change things; whoever else the socket lets in may look.
    var mayChange: Bool { uid == 0 || uid == geteuid() }

    /// The user's name, or `uid N` without one.
    var name: String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwuid_r(uid, &entry, &buffer, buffer.count, &found) == 0, found != nil,
            let name = entry.pw_name
        else { return "uid \(uid)" }
        return String(cString: name)
    }
}
