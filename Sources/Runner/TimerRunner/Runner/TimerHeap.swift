// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HeapModule

/// The timers of the children. A timer that is not needed any more is not removed; when it expires,
/// it has no effect.
struct TimerHeap {
    private var heap = Heap<Timer>()

    private struct Timer: Comparable {
        var at: Int64
        var serial: UInt64

        static func < (left: Timer, right: Timer) -> Bool { left.at < right.at }
    }

    /// The earliest instant; nil if no timer is set.
    var next: Int64? { heap.min?.at }

    /// - Complexity: O(log n).
    mutating func set(_ serial: UInt64, at instant: Int64) {
        heap.insert(Timer(at: instant, serial: serial))
    }

    /// Removes a timer that is due; nil if there is none.
    /// - Complexity: O(log n).
    mutating func pop(due now: Int64) -> UInt64? {
        guard let first = heap.min, first.at <= now else { return nil }
        return heap.removeMin().serial
    }
}
