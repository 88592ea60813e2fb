// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The place of a connection in a server that has a limit. Nobody knows who sends a first request, or does not: so a
/// connection gives way to a new one until a client is known that uses it, except while it is answered.
package final class ConnectionPlace: Sendable {
    private let state = Mutex((isKnown: false, isAnswered: false))

    package init() {}

    package var givesWay: Bool { state.withLock { !$0.isKnown && !$0.isAnswered } }

    /// The client has a session, or the token of a program.
    func noteKnown() { state.withLock { $0.isKnown = true } }

    func note(isAnswered: Bool) { state.withLock { $0.isAnswered = isAnswered } }
}
