// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The properties of a timer at one moment, read together.
struct TimerView: Sendable {
    var state: TimerState
    var remaining: Duration?
    var active: Duration
    var interval: Duration
    var isOnce: Bool

    init(of row: borrowing Row, at now: CountedInstant) {
        state = row.state
        remaining = row.remaining(at: now)
        active = row.ledger.active(at: now)
        interval = row.grid.span
        isOnce = row.flags.contains(.once)
    }
}
