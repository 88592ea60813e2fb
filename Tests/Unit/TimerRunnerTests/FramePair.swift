// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerRunnerProtocol

/// Both ends of a connection that carries frames. Neither of them blocks.
final class FramePair<Message> {
    /// The end that the tested code writes to.
    let ours: Int32
    private var theirs: FrameSocket
    private let decode: (ArraySlice<UInt8>) throws -> Message

    /// - Parameters:
    ///   - frameBytesMax: the most bytes of a frame that the other end reads.
    ///   - decode: the message in a frame.
    init(frameBytesMax: Int, _ decode: @escaping (ArraySlice<UInt8>) throws -> Message) throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        ours = ends[0]
        theirs = FrameSocket(ends[1], frameBytesMax: frameBytesMax)
        self.decode = decode
    }

    deinit { close(ours) }

    /// Makes the send buffer of our end small, so that a large message does not fit.
    func shrinkSendBuffer() {
        var size = Int32(4096)
        setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    /// What the other end has received since the last call.
    func received() throws -> [Message] {
        var messages: [Message] = []
        while theirs.fill() {
            while let frame = theirs.next() { messages.append(try decode(frame)) }
        }
        return messages
    }

    /// Does what the owner of our end does when its line is closed: it writes the rest, and then
    /// these messages.
    /// - Returns: what the other end has received, once that is everything.
    func finish(
        _ rest: [UInt8], then messages: [[UInt8]], until isDone: ([Message]) -> Bool
    ) throws -> [Message] {
        // It only writes.
        var owner = FrameSocket(dup(ours), frameBytesMax: 0)
        owner.sendRest(rest)
        for message in messages { owner.send(message) }
        var all: [Message] = []
        while !isDone(all) {
            let isThere = owner.flush()
            try #require(isThere)
            all += try received()
        }
        return all
    }
}
