// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Dispatch
import NIOCore
import NIOHTTP1
import NIOPosix
import TimerControl

/// The control API: HTTP and JSON over a unix socket, on one thread of its own. A slow or hostile client
/// delays nobody but itself.
final class ControlServer: Sendable {
    /// How many connections wait in the kernel to be accepted.
    static let backlog: Int32 = 128

    /// Why nobody can connect.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// How long a connection may take.
    struct Limits: Sendable {
        /// How long a connection may be open without a request.
        var idleTime: TimeAmount = .seconds(30)
        /// How long a request may take from its first byte to its last.
        var requestTime: TimeAmount = .seconds(10)
        /// How long the client may take to read an answer, however short it is.
        var answerTime: TimeAmount = .seconds(30)
        /// How many bytes of a longer answer the client must read in each further second.
        var answerBytesPerSecond = 1 << 20
        /// How long what a client still sends is passed over after the last answer, so that it can read that.
        var lingerTime: TimeAmount = .seconds(1)
    }

    /// A server at work, and what rereads the configuration for it.
    struct Listening {
        let server: ControlServer
        let reloader: Reloader
    }

    private let group: MultiThreadedEventLoopGroup
    private let listener: ControlListener

    private init(group: MultiThreadedEventLoopGroup, listener: ControlListener) {
        self.group = group
        self.listener = listener
    }

    /// Listens on a socket that is bound already, whether systemd passed it or we bound it. Clients can connect
    /// from now on; they wait until `begin` is called.
    ///
    /// - Parameter identify: who a client is, by what the kernel says of it.
    static func listen(
        on socket: Int32, for service: any ControlService, limits: Limits = Limits(),
        identify: @escaping @Sendable (clinux_peer) -> Peer = { Peer(pid: $0.pid, uid: $0.uid) }
    ) throws -> ControlServer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        loop.execute { SchedulingPriority.drop() }
        let unread = UnreadBytes()
        let connect: ControlListener.Connect = { connection, peer in
            ClientBootstrap(group: group)
                // Who ends sending behind its request still gets the answer.
                .channelOption(.allowRemoteHalfClosure, value: true)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try ControlHandler(
                            service: service, peer: peer, limits: limits, unread: unread
                        )
                        .add(to: channel.pipeline.syncOperations)
                    }
                }
                .withConnectedSocket(connection)
        }
        do {
            let listener = try ControlListener(on: socket, identify: identify, connect: connect) {
                // A loop never takes its timer down: it would wake once more, when the last connection would
                // have been idle for too long. One that rings at once leaves none.
                loop.scheduleTask(in: .milliseconds(1)) {}
            }
            return ControlServer(group: group, listener: listener)
        } catch {
            try? group.syncShutdownGracefully()
            throw error
        }
    }

    /// Begins to accept connections, those that wait first.
    func begin() { listener.later { $0.begin() } }

    /// Accepts no more connections and ends those there are.
    func stop() {
        listener.executor.queue.sync { listener.assumeIsolated { $0.stop() } }
        try? group.syncShutdownGracefully()
    }
}

/// What stands behind the control socket.
protocol ControlService: Sendable {
    /// Answers a request; `reply` is called once, from anywhere. It may take as long as it needs.
    func answer(
        _ request: ControlRequest, from peer: Peer,
        reply: @escaping ControlAnswer.Reply)
}
