// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// An answer whose body comes part by part, each when the client has taken the one before.
package struct AnswerStream: Sendable {
    /// Sends a part; after the last one the answer ends.
    package typealias Send = @Sendable (_ part: ByteBuffer, _ isLast: Bool) -> Void

    /// Has the parts sent. Called at most once.
    var begin: @Sendable (_ send: @escaping Send) -> Void
    /// The client has taken a part, so that the next one can be sent.
    var taken: @Sendable () -> Void
    /// No more parts are wanted. Called once, also of an answer that was never begun.
    var end: @Sendable () -> Void

    package init(
        begin: @escaping @Sendable (_ send: @escaping Send) -> Void,
        taken: @escaping @Sendable () -> Void, end: @escaping @Sendable () -> Void
    ) {
        self.begin = begin
        self.taken = taken
        self.end = end
    }
}
