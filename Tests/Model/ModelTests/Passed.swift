// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Grid points or occurrences that are due, in order: at a constant distance `span`, or listed one
/// by one.
struct Passed {
    var count: Int
    var label: Int64
    var age: Int64
    var span: Int64 = 0
    var list: [(label: Int64, age: Int64)] = []

    func label(_ index: Int) -> Int64 {
        list.isEmpty ? label + Int64(index) * span : list[index].label
    }

    func age(_ index: Int) -> Int64 {
        list.isEmpty ? age - Int64(index) * span : list[index].age
    }

    /// How many points, from `start` to the first that is not, are older than `limit`.
    func countOlder(than limit: Int64, from start: Int) -> Int {
        var low = start
        if list.isEmpty {
            // Each point is younger than the one before it by the same span.
            guard age(start) > limit else { return 0 }
            if span == 0 { return 1 }
            return min(count - start, Int((age(start) - limit - 1) / span) + 1)
        }
        while low < count, list[low].age > limit { low += 1 }
        return low - start
    }
}
