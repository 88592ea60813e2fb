// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import NIOPosix
import Synchronization
package import TimerHTTP

/// The web server: HTTP for browsers, on one thread.
package final class WebServer: Sendable {
    /// The most connections that are open at the same time.
    static let connectionsMax = 256
    /// How long a server that systemd started is without a connection before it ends.
    static let idleTime: TimeAmount = .minutes(5)

    package enum Place {
        /// On a socket that systemd passed.
        case socket(Int32)
        /// At an address of this machine.
        case address(SocketAddress)
    }

    private struct State {
        /// The open connections, in the order in which they came.
        var open: [(channel: any Channel, place: ConnectionPlace)] = []
        var idling: Scheduled<Void>?
        var responder: (any RequestResponder)?
    }

    private let loop: any EventLoop
    private let connectionsMax: Int
    private let idleTime: TimeAmount
    private let whenIdle: (@Sendable () -> Void)?
    private let state = Mutex(State())

    private init(
        _ loop: any EventLoop, connectionsMax: Int, idleTime: TimeAmount,
        whenIdle: (@Sendable () -> Void)?
    ) {
        self.loop = loop
        self.connectionsMax = connectionsMax
        self.idleTime = idleTime
        self.whenIdle = whenIdle
    }

    static var limits: ConnectionLimits {
        var limits = ConnectionLimits()
        limits.idleTime = .seconds(20)
        return limits
    }

    /// Listens, and serves from then on.
    ///
    /// - Parameters:
    ///   - makeResponder: makes what answers, given the port.
    ///   - whenIdle: called when there was no connection for `idleTime`; nil: the server never ends.
    /// - Returns: the channel that listens.
    package static func listen(
        on place: Place, group: MultiThreadedEventLoopGroup,
        connectionsMax: Int = WebServer.connectionsMax, idleTime: TimeAmount = WebServer.idleTime,
        limits: ConnectionLimits = WebServer.limits,
        makeResponder: (Int) -> any RequestResponder, whenIdle: (@Sendable () -> Void)? = nil
    ) throws -> any Channel {
        let server = WebServer(
            group.next(), connectionsMax: connectionsMax, idleTime: idleTime, whenIdle: whenIdle)
        let unread = UnreadBytes()
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 128)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Nothing is accepted before it can be answered.
            .serverChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let place = ConnectionPlace()
                    guard let responder = server.add(channel, place) else {
                        throw ChannelError.alreadyClosed
                    }
                    try ControlHandler(
                        responder: responder, limits: limits, unread: unread, place: place
                    ).add(to: channel.pipeline.syncOperations)
                }
            }
        let channel =
            switch place {
            case .socket(let descriptor): try bootstrap.withBoundSocket(descriptor).wait()
            case .address(let address): try bootstrap.bind(to: address).wait()
            }
        // The port is known from here on: the address may leave it to the kernel.
        let responder = makeResponder(channel.localAddress?.port ?? 0)
        server.state.withLock { $0.responder = responder }
        server.restIfEmpty()
        try channel.setOption(.autoRead, value: true).wait()
        return channel
    }

    /// Counts a connection. If there are too many, the oldest one gives way of which no client is known: otherwise
    /// clients without any rights could block all others with connections that send nothing.
    ///
    /// - Returns: what answers it; nil if none gives way.
    private func add(_ channel: any Channel, _ place: ConnectionPlace) -> (any RequestResponder)? {
        var former: (any Channel)?
        let responder = state.withLock { state -> (any RequestResponder)? in
            if state.open.count >= connectionsMax {
                let places = state.open.map(\.place)
                let idle = places.firstIndex { !$0.isKnown && !$0.isAnswered }
                guard let index = idle ?? places.firstIndex(where: { !$0.isKnown }) else {
                    return nil
                }
                former = state.open.remove(at: index).channel
            }
            state.open.append((channel, place))
            state.idling?.cancel()
            state.idling = nil
            return state.responder
        }
        former?.close(promise: nil)
        guard responder != nil else { return nil }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { $0.open.removeAll { $0.channel === channel } }
            self.restIfEmpty()
        }
        return responder
    }

    private func restIfEmpty() {
        guard let whenIdle else { return }
        state.withLock { state in
            guard state.open.isEmpty else { return }
            state.idling?.cancel()
            state.idling = loop.scheduleTask(in: idleTime) { [self] in
                // A connection may have come in the same instant.
                if self.state.withLock({ $0.open.isEmpty }) { whenIdle() }
            }
        }
    }
}
