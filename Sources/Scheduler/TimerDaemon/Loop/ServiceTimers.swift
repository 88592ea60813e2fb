// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PausableTimers
import TimerCore

/// The timers of the loop itself, which are not exact: they share a wake-up of its queue if possible.
struct ServiceTimers {
    enum Kind: Hashable {
        case heartbeat
        case watchdog
        /// Sends the status line that is planned.
        case status
        /// Removes finished one-off jobs.
        case oneOffs
    }

    private let queue: TimerQueue
    private var timers: [Kind: PausableTimer] = [:]

    init(on queue: DispatchQueue) { self.queue = TimerQueue(queue) }

    func isSet(_ kind: Kind) -> Bool { timers[kind] != nil }

    mutating func cancel(_ kind: Kind) { timers[kind] = nil }

    /// Calls `body` again and again; not at all if the interval is not longer than zero.
    mutating func set(
        _ kind: Kind, every interval: Duration, tolerance: Duration = .zero, for loop: Loop,
        _ body: @escaping @Sendable (isolated Loop) -> Void
    ) {
        timers[kind] = try? .every(interval, for: loop, tolerance: tolerance, on: queue) {
            loop, _ in
            loop.assumeIsolated { body($0) }
        }
    }

    /// Calls `body` once. It cancels the timer, so that it can be set again.
    mutating func set(
        _ kind: Kind, after delay: Duration, tolerance: Duration, for loop: Loop,
        _ body: @escaping @Sendable (isolated Loop) -> Void
    ) {
        timers[kind] = try? .after(delay, for: loop, tolerance: tolerance, on: queue) { loop, _ in
            loop.assumeIsolated { body($0) }
        }
    }
}
