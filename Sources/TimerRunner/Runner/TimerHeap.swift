// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A binary heap of timers for the children. A timer that is not needed any more is not removed;
/// when it expires, it has no effect.
struct TimerHeap {
    private var heap: [(at: Int64, serial: UInt64)] = []

    /// The earliest instant.
    var next: Int64? { heap.first?.at }

    /// - Complexity: O(log n).
    mutating func set(_ serial: UInt64, at instant: Int64) {
        heap.append((instant, serial))
        var place = heap.count - 1
        while place > 0, heap[(place - 1) / 2].at > heap[place].at {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    /// Removes a timer that is due; nil if there is none.
    mutating func pop(due now: Int64) -> UInt64? {
        guard let first = heap.first, first.at <= now else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first.serial }
        heap[0] = last
        var place = 0
        while true {
            var least = place
            // A range and not a list of the two, which would be memory that is allocated each time.
            let left = 2 * place + 1
            for child in left..<max(left, min(left + 2, heap.count))
            where heap[child].at < heap[least].at { least = child }
            guard least != place else { return first.serial }
            heap.swapAt(place, least)
            place = least
        }
    }
}
