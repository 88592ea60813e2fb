// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Unchecked because the compiler does not know that the lock of the queue protects it, like the
/// row.
///
/// Properties that few timers have, stored outside the rows.
final class Extras: @unchecked Sendable {
    /// The sequences that receive its ticks.
    var streams: [TickStream] = []
    /// The tasks that wait for its handler to return.
    var waiters: [CheckedContinuation<Void, Never>] = []
    /// Called after the timer was paused, resumed, restarted, cancelled or changed, and after the
    /// handler of its last tick has returned.
    var onChange: (@Sendable (TimerReference) -> Void)?
    /// The counted time from the last point passed to the next tick, if that was moved.
    var next = Duration.zero
    /// How many ticks were left out since the last one.
    var dropped = 0
    /// The maximum of its time that may not have been counted because of restarts of the program.
    var maxLoss = Duration.zero
}

extension Row {
    /// Its extras, which are created if it has none.
    mutating func makeExtras() -> Extras {
        let made = extras ?? Extras()
        extras = made
        return made
    }
}
