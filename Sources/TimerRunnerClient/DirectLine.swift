// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerRunnerProtocol

/// Lets the thread that has recorded a run send its start to the runner, while the client's thread
/// waits. Waking that thread only for this would delay each start.
///
/// The line is open only while the client's thread waits and has nothing left to write, so that no
/// two frames are mixed. It is a part of the state of `ClientMailbox`, whose lock protects it.
struct DirectLine {
    /// What became of a request to start runs.
    enum Sent {
        /// It is written.
        case wholly
        /// The line is closed, or the request is too large; nothing is written.
        case notAtAll
        /// The client's thread has to look: it must write the rest, or the connection is broken.
        case partly
    }

    /// More runs than this are left to the client's thread: encoding them takes longer than waking
    /// it.
    static let runsMax = 64

    /// -1 while the line is closed.
    private var descriptor: Int32 = -1
    /// How many runs more may be requested before the client's thread counts them.
    private var room = 0
    /// The bytes of a frame that are not written yet.
    private var rest: [UInt8] = []

    /// - Parameters:
    ///   - descriptor: of a connected socket that does not block; it must stay open until `close`.
    ///   - room: the most runs to send.
    mutating func open(_ descriptor: Int32, room: Int) {
        self.descriptor = descriptor
        self.room = room
    }

    /// Returns the bytes that the client's thread has to write before anything else.
    mutating func close() -> [UInt8] {
        descriptor = -1
        defer { rest = [] }
        return rest
    }

    /// Sends the request to start these runs, as far as this is possible without waiting.
    mutating func start(_ orders: [RunOrder]) -> Sent {
        guard descriptor >= 0, orders.count <= min(room, Self.runsMax) else { return .notAtAll }
        room -= orders.count
        var bytes: [UInt8] = []
        for part in Wire.frames(of: orders) {
            FrameSocket.append(WireRequest.start(Array(part)).bytes, to: &bytes)
        }
        let written = FrameSocket.write(bytes[...], to: descriptor)
        guard written < bytes.count else { return .wholly }
        rest = Array(bytes[written...])
        descriptor = -1
        return .partly
    }
}
