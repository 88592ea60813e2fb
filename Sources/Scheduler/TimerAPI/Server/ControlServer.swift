// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import CLinux
import Dispatch
import HostQueues
import NIOCore
import NIOHTTP1
import NIOPosix
package import TimerControl
import TimerDaemon
package import TimerHTTP

/// The control API: HTTP and JSON over a Unix socket, on one thread of its own. A slow or hostile
/// client delays only itself.
package final class ControlServer: Sendable {
    /// How many connections can wait in the kernel to be accepted.
    package static let backlog: Int32 = 128

    /// Why the control socket cannot be used.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let group: MultiThreadedEventLoopGroup
    private let listener: ControlListener

    private init(group: MultiThreadedEventLoopGroup, listener: ControlListener) {
        self.group = group
        self.listener = listener
    }

    /// Listens on a socket that is bound already, by systemd or by this process. Clients can
    /// connect from now on. They wait until `begin` is called.
    ///
    /// - Parameters:
    ///   - isGateway: whether it is the socket of the web server, where each request names its session.
    ///   - identify: tells which user a client is, according to the kernel.
    package static func listen(
        on socket: Int32, for service: any ControlService,
        limits: ConnectionLimits = ConnectionLimits(),
        isGateway: Bool = false,
        identify: @escaping @Sendable (clinux_peer, Int32) -> Peer = { Peer($0, of: $1) }
    ) throws -> ControlServer {
        var limits = limits
        // The web server asks for the stream again, in the name of a session that there still is.
        if isGateway { limits.streamTime = limits.streamTime ?? ConnectionLimits.commonStreamTime }
        let limited = limits
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        loop.execute { SchedulingPriority.drop() }
        let unread = UnreadBytes()
        let connect: ControlListener.Connect = { connection, peer in
            ClientBootstrap(group: group)
                // A client that closes its sending side after the request still gets the answer.
                .channelOption(.allowRemoteHalfClosure, value: true)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let responder: any RequestResponder =
                            isGateway
                            ? WebGateway(service: service)
                            : ControlResponder(service: service, peer: peer)
                        try ControlHandler(responder: responder, limits: limited, unread: unread)
                            .add(to: channel.pipeline.syncOperations)
                    }
                }
                .withConnectedSocket(connection)
        }
        do {
            let listener = try ControlListener(
                on: socket, sharesPlaces: !isGateway, identify: identify, connect: connect
            ) {
                // An event loop never removes its timer: it would wake up once more at the idle
                // limit of the last connection. An earlier timer replaces it and leaves nothing
                // behind, unless its task is due before the loop waits again: then the loop sets no
                // timer. Hence on the loop itself, and with some time.
                loop.execute { loop.scheduleTask(in: .milliseconds(50)) {} }
            }
            return ControlServer(group: group, listener: listener)
        } catch {
            try? group.syncShutdownGracefully()
            throw error
        }
    }

    /// Starts to accept connections, first those that wait already.
    package func begin() { listener.later { $0.begin() } }

    /// Accepts connections from another bound socket, because that of the server was deleted. The open ones stay.
    package func move(to socket: Int32) { listener.later { $0.move(to: socket) } }

    /// Stops accepting connections and closes the open ones.
    package func stop() {
        listener.executor.queue.sync { listener.assumeIsolated { $0.stop() } }
        try? group.syncShutdownGracefully()
    }
}

/// What answers the requests of the control socket. Tests replace it.
package protocol ControlService: Sendable {
    /// Answers a request. `reply` is called once, on any thread, and the answer may take as long as
    /// it needs.
    func answer(
        _ request: ControlRequest, from peer: Peer,
        reply: @escaping ControlAnswer.Reply)

    /// Whether this client could change things, as far as that is known at once. It decides about limits, and not about
    /// rights.
    func mayHaveRight(_ peer: Peer) -> Bool

    /// Finds out whether this client may change things, now. `done` is called once, on any thread.
    func checkRight(of peer: Peer, _ done: @escaping @Sendable (Operators.Right) -> Void)

    /// The peer for whom the web server makes a request with these credentials; nil if they are not valid.
    func peer(of credentials: Credentials) -> Peer?

    /// Finds out which rights the user of a session has, now. `done` is called once, on any thread.
    func checkUser(of peer: Peer, _ done: @escaping @Sendable (SessionUsers.Finding) -> Void)
}

extension ControlService {
    func mayHaveRight(_ peer: Peer) -> Bool { peer.isOwner }

    func checkRight(of peer: Peer, _ done: @escaping @Sendable (Operators.Right) -> Void) {
        done(mayHaveRight(peer) ? .granted : .denied)
    }

    func peer(of _: Credentials) -> Peer? { nil }

    func checkUser(of peer: Peer, _ done: @escaping @Sendable (SessionUsers.Finding) -> Void) {
        done(.current(peer))
    }

    /// Answers a request that is not valid. Who has no right to it learns only that.
    func refuse(
        _ head: HTTPRequestHead, because fault: ControlRequest.Fault, from peer: Peer,
        _ reply: @escaping ControlAnswer.Reply
    ) {
        let access = ControlRequest.access(method: head.method.rawValue, path: head.uri)
        guard access?.isForOperators == true else { return reply(.fault(fault)) }
        ifAllowed(peer, reply) { reply(.fault(fault)) }
    }

    /// Answers a request, if this client has the right to it.
    func answerIfAllowed(
        _ request: ControlRequest, from peer: Peer, _ reply: @escaping ControlAnswer.Reply
    ) {
        guard request.isChange else { return answer(request, from: peer, reply: reply) }
        ifAllowed(peer, reply) { answer(request, from: peer, reply: reply) }
    }

    private func ifAllowed(
        _ peer: Peer, _ reply: @escaping ControlAnswer.Reply,
        _ action: @escaping @Sendable () -> Void
    ) {
        checkRight(of: peer) { right in
            switch right {
            case .granted: action()
            case .denied: reply(ControlResponder.forbidden)
            case .unknown: reply(ControlResponder.unknownRight)
            }
        }
    }
}
