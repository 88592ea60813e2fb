// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerRunnerProtocol

/// Lets the thread that has recorded a run send its start to the runner, while the client's thread
/// waits. It is a part of the state of `ClientMailbox`, whose lock protects it.
struct StartLine {
    /// More runs than this are left to the client's thread: encoding them takes longer than waking
    /// it.
    static let runsMax = 64

    private var line = DirectLine()
    /// How many runs more may be requested before the client's thread counts them.
    private var room = 0

    /// - Parameters:
    ///   - descriptor: of a connected socket that does not block; it must stay open until `close`.
    ///   - room: the most runs to send.
    mutating func open(_ descriptor: Int32, room: Int) {
        line.open(descriptor)
        self.room = room
    }

    /// Returns the bytes that the client's thread has to write before anything else.
    mutating func close() -> [UInt8] { line.close() }

    /// Sends the request to start these runs, as far as this is possible without waiting. Nothing
    /// is sent if there are too many.
    mutating func start(_ requests: [StartRequest]) -> DirectLine.Sent {
        guard line.isOpen, requests.count <= min(room, Self.runsMax) else { return .notAtAll }
        room -= requests.count
        var frames: [UInt8] = []
        for part in Wire.frames(of: requests) {
            FrameSocket.append(WireRequest.start(Array(part)).bytes, to: &frames)
        }
        return line.send(frames)
    }
}
