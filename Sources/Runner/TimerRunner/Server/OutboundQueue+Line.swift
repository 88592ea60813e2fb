// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerRunnerProtocol

/// The runner's thread sends the ends of runs itself while the server's thread waits.
extension OutboundQueue {
    /// Called by the server's thread before it waits.
    ///
    /// - Parameter descriptor: the connection to a scheduler, if nothing is left to write to it; it
    ///   must stay open until `closeLine`.
    func openLine(_ descriptor: Int32) { state.withLock { $0.line.open(descriptor) } }

    /// Called by the server's thread after it has waited.
    /// - Returns: the bytes that it has to write before anything else.
    func closeLine() -> [UInt8] { state.withLock { $0.line.close() } }

    /// Sends starts and ends of runs, as far as this is possible without waiting. While there is
    /// output to send, which may be much, or an end waits for output, everything is left to the
    /// server's thread.
    ///
    /// - Returns: whether nothing is left to do; otherwise the server's thread must be woken.
    func sendDirectly() -> Bool {
        state.withLock { state in
            guard state.line.isOpen, !state.output.canSend, state.delayedCount == 0 else {
                return false
            }
            var frames: [UInt8] = []
            while frames.count < Self.batchBytes, let entry = state.messages.sendNext() {
                FrameSocket.append(Self.reply(for: entry).bytes, to: &frames)
            }
            return state.line.send(frames) == .wholly && !state.messages.hasUnsent
        }
    }

    static func reply(for entry: UnacknowledgedQueue<Message>.Entry) -> WireReply {
        switch entry.message {
        case .event(let event): .event(entry.number, event)
        case .barrierReached(let token): .barrierReached(entry.number, token: token)
        }
    }
}
