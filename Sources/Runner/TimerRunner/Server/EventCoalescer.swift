// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerRunnerProtocol

/// Decides when to send events, so that they are sent together.
final class EventCoalescer: Sendable {
    private enum State { case nothing, beginnings, more }

    private let state = Mutex(State.nothing)

    /// - Parameter isFirst: whether there was nothing to send before.
    func note(_ event: RunnerEvent, isFirst: Bool) {
        state.withLock { state in
            guard isFirst || state != .nothing else { return }
            if case .began = event {
                if state == .nothing { state = .beginnings }
            } else {
                state = .more
            }
        }
    }

    /// Whether to send now, and if not, whether an event may wait for more.
    func endIteration(isLate: Bool) -> (mustSend: Bool, mayWait: Bool) {
        state.withLock { state in
            guard state == .more || isLate else { return (false, state == .beginnings) }
            defer { state = .nothing }
            return (state != .nothing, false)
        }
    }
}
