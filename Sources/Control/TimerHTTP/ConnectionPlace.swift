// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The place of a connection in a server that has a limit. Nobody knows who sends a first request, or does not: so a
/// connection gives way to a new one until a client is known that uses it; last those that are answered just now, which
/// may be those of a browser that loads the page, or of somebody who reads no answer.
package final class ConnectionPlace: Sendable {
    private let state = Mutex((isKnown: false, isAnswered: false))

    package init() {}

    package var isKnown: Bool { state.withLock(\.isKnown) }
    package var isAnswered: Bool { state.withLock(\.isAnswered) }

    /// The client has a session, or the token of a program.
    func noteKnown() { state.withLock { $0.isKnown = true } }

    func note(isAnswered: Bool) { state.withLock { $0.isAnswered = isAnswered } }
}
