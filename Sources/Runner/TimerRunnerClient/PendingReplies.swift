// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerRunnerProtocol

/// What waits for a reply of the runner. If the connection breaks, no reply will come: then a barrier
/// and a shutdown are over. What waits until the configuration is read waits for the next runner.
struct PendingReplies<Reply> {
    /// In the order of their tokens: the response to one also answers all before it.
    private var barriers: ArraySlice<(token: UInt64, reply: Reply)> = []
    private var token = Wire.preparedToken
    private var prepared: Reply?
    private var down: Reply?

    /// Whether something waits until a runner has read the configuration.
    var awaitsPreparation: Bool { prepared != nil }

    /// - Returns: the token of the barrier.
    mutating func addBarrier(_ reply: Reply) -> UInt64 {
        token += 1
        barriers.append((token, reply))
        return token
    }

    mutating func awaitPreparation(_ reply: Reply) { prepared = reply }

    mutating func awaitShutdown(_ reply: Reply) { down = reply }

    /// The runner has answered this token.
    mutating func take(through token: UInt64) -> [Reply] {
        var replies: [Reply] = []
        if token == Wire.preparedToken, let prepared = prepared.take() { replies.append(prepared) }
        while let first = barriers.first, first.token <= token {
            replies.append(barriers.removeFirst().reply)
        }
        return replies
    }

    /// The runner has shut down.
    mutating func takeShutdown() -> Reply? { down.take() }

    /// The connection is lost.
    mutating func takeFailed() -> [Reply] {
        defer { (barriers, down) = ([], nil) }
        return barriers.map(\.reply) + [down].compactMap { $0 }
    }
}

/// What the client and its runner are about to do. The client reconnects to a lost runner unless it
/// has ended that runner, or closes.
struct ClientCourse {
    private enum Course { case stays, endsRunner, closes }

    private var course = Course.stays
    /// Whether the runner reported that it ends although this client did not request it.
    private var isLeft = false

    /// The client asks the runner to shut down.
    mutating func endRunner() { if course == .stays { course = .endsRunner } }

    /// The client disconnects once everything is sent.
    mutating func close() { course = .closes }

    /// The runner reports that it ends.
    mutating func announceEnd() { isLeft = course != .endsRunner }

    var isClosing: Bool { course == .closes }

    /// Whether to reconnect.
    var mayReconnect: Bool { course == .stays }

    /// The connection is lost.
    /// - Returns: whether the runner had announced it; nil if that is not reported.
    mutating func takeAnnouncement() -> Bool? {
        defer { isLeft = false }
        return course == .stays ? isLeft : nil
    }
}
