// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What decides whether a connection is closed when the server has too many: first an idle one whose client is not
/// known, then one whose client is not known and is being answered. The latter can be a browser that loads the page, or a
/// client that does not read.
package final class ConnectionPlace: Sendable {
    private let state = Mutex((isKnown: false, isAnswered: false))

    package init() {}

    package var isKnown: Bool { state.withLock(\.isKnown) }
    package var isAnswered: Bool { state.withLock(\.isAnswered) }

    /// The client has a session, or the token of a program.
    func noteKnown() { state.withLock { $0.isKnown = true } }

    func note(isAnswered: Bool) { state.withLock { $0.isAnswered = isAnswered } }
}
