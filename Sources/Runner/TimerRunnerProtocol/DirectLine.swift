// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Lets other threads write to a connection while the thread that owns it waits. Waking that thread
/// only for this would cost more than the writing, and delay what is written.
///
/// The line is open only while its owner waits and has nothing left to write, so that no two frames
/// are mixed. A lock must protect it.
package struct DirectLine {
    /// How much of some frames was written.
    package enum Sent {
        /// They are written.
        case wholly
        /// The line is closed; nothing is written.
        case notAtAll
        /// The owner has to look: it must write the rest, or the connection is broken.
        case partly
    }

    /// -1 while the line is closed.
    private var descriptor: Int32 = -1
    /// What is not written yet; it may begin within a frame.
    private var rest: [UInt8] = []

    package init() {}

    package var isOpen: Bool { descriptor >= 0 }

    /// - Parameter descriptor: of a connected socket that does not block; it must stay open until
    ///   `close`.
    package mutating func open(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Returns the bytes that the owner has to write before anything else.
    package mutating func close() -> [UInt8] {
        descriptor = -1
        defer { rest = [] }
        return rest
    }

    /// Writes these frames, as far as this is possible without waiting.
    package mutating func send(_ frames: [UInt8]) -> Sent {
        guard isOpen else { return .notAtAll }
        let written = FrameSocket.write(frames[...], to: descriptor)
        guard written < frames.count else { return .wholly }
        rest = Array(frames[written...])
        descriptor = -1
        return .partly
    }
}
