// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Timekeeping

/// The properties of a timer at one moment, read together.
struct TimerView: Sendable {
    var state: TimerState
    var remaining: Duration?
    var active: Duration
    var interval: Duration
    var isOnce: Bool
    /// Whether its handler is running.
    var isHandling: Bool

    init(of row: borrowing Row, at now: CountedInstant) {
        state = row.state
        remaining = row.remaining(at: now)
        active = row.ledger.active(at: now)
        interval = row.grid.span
        isOnce = row.flags.contains(.once)
        isHandling = row.flags.contains(.handling)
    }

    /// Whether it never ticks again, unless it is restarted in its handler, which is running.
    var isGone: Bool { state == .cancelled || (state == .finished && !isHandling) }

    /// Whether its ticks are at least `span` apart, or this is the last one.
    func isRare(_ span: Duration) -> Bool { isOnce || state == .finished || interval >= span }
}
