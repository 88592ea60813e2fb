// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// The socket on which schedulers connect, until the server stops listening.
struct ServerSocket {
    private let descriptor: Int32
    private var isListening = true

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// What to wait for; -1 once the server does not listen any more.
    var polled: Int32 { isListening ? descriptor : -1 }

    /// Refuses new connections, unless one waits to be accepted. A connection that arrives in
    /// between is closed before any message on it: that scheduler connects again, and finds that no
    /// process listens.
    func closeIfUnused() -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, 0) == 0 else { return false }
        return shutdown(descriptor, Int32(SHUT_RDWR)) == 0
    }

    /// Stops listening.
    mutating func close() { isListening = shutdown(descriptor, Int32(SHUT_RDWR)) != 0 }

    /// Accepts a connection, which does not block.
    ///
    /// - Returns: its descriptor, and the user at the other end, nil if that is unknown; nil if there
    ///   is no connection or no free descriptor.
    func accept() -> (descriptor: Int32, user: UInt32?)? {
        let accepted = Glibc.accept(descriptor, nil, nil)
        guard accepted >= 0 else {
            // Without free descriptors the loop would spin; some may be free after a pause.
            if errno == EMFILE || errno == ENFILE { usleep(100_000) }
            return nil
        }
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        _ = fcntl(accepted, F_SETFL, O_NONBLOCK)
        return (accepted, FrameSocket.peer(of: accepted))
    }
}

/// A connection of a scheduler.
final class ServerConnection {
    private enum Stage {
        case connected
        /// The scheduler has greeted, and what it requests is executed.
        case greeted(Readiness)
    }

    /// Whether the runs of the scheduler would start at once. That is answered once, however often
    /// it asks.
    private struct Readiness {
        /// The number of the reading of the configuration after which they do.
        var reading: UInt64
        var question = Question.none
    }

    private enum Question { case none, asked, answered }

    var socket: FrameSocket
    private var stage = Stage.connected
    /// Whether there is more to send at once.
    private var hasMore = false
    /// When there may be more to send, by CLOCK_MONOTONIC, even if no event happens; nil if there
    /// will not.
    private(set) var sendAt: Int64?

    init(_ descriptor: Int32) {
        socket = FrameSocket(descriptor, frameBytesMax: Wire.requestBytesMax)
    }

    var isGreeted: Bool { if case .greeted = stage { true } else { false } }

    /// Serves the scheduler from now on. Its runs start at once after this reading.
    func greet(reading: UInt64) { stage = .greeted(Readiness(reading: reading)) }

    // MARK: - Whether runs would start at once

    /// The scheduler asks whether its runs would start at once.
    func ask() {
        guard case .greeted(var readiness) = stage, readiness.question == .none else { return }
        readiness.question = .asked
        stage = .greeted(readiness)
    }

    /// Whether to answer that they would.
    ///
    /// - Parameter over: the number of the latest reading that is over, whatever its result.
    /// - Returns: true once.
    func mustAnswer(after over: UInt64) -> Bool {
        guard case .greeted(var readiness) = stage, readiness.question == .asked,
            over >= readiness.reading
        else { return false }
        readiness.question = .answered
        stage = .greeted(readiness)
        return true
    }

    // MARK: - Sending

    /// Whether more can be queued to be sent.
    private var canQueue: Bool { socket.backlog < OutboundQueue.batchBytes }

    /// Queues what there is to send. If there is no room now, there is some when what is queued is
    /// written, and no other event signals that.
    ///
    /// - Returns: the runs whose output can be read again.
    func queue(from outbound: OutboundQueue) -> [Run.ID] {
        (hasMore, sendAt) = (isGreeted, nil)
        guard isGreeted, canQueue else { return [] }
        let batch = outbound.nextBatch()
        for reply in batch.replies { socket.send(reply.bytes) }
        (hasMore, sendAt) = (batch.hasMore, batch.nextAt)
        return batch.reopened
    }

    /// Whether more can be sent at once.
    var canSendMore: Bool { hasMore && canQueue }

    /// Whether nothing is left to send, so that another thread may write.
    var isIdle: Bool { isGreeted && socket.backlog == 0 && !hasMore }
}
