// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A ring buffer of the latest elements of a sequence, each with its number, from 1. Its memory never grows.
package struct EventRing<Element> {
    /// A range of elements that a reader can get no more, because they were overwritten.
    struct Gap: Hashable, Sendable {
        /// The number of the last element that the reader has.
        var after: UInt64
        /// The first one that it can still get.
        var next: UInt64
    }

    /// Some elements in a row, for a reader.
    package struct Excerpt {
        /// What is missing before them; nil if nothing is.
        var gap: Gap?
        package var elements: [(number: UInt64, element: Element)] = []
        /// The number through which the ring was looked at.
        var through: UInt64
    }

    /// How many elements it keeps; older ones are overwritten.
    let capacity: Int
    /// The number of the latest element; 0 without one.
    private(set) var newest: UInt64 = 0
    /// The element with the number *n* is at (*n* - 1) modulo the capacity.
    private var places: [Element] = []

    /// - Parameter capacity: at least 1. The memory is reserved at once, so that nothing is moved later.
    init(capacity: Int) {
        self.capacity = capacity
        places.reserveCapacity(capacity)
    }

    /// The number of the earliest element that is kept; one more than `newest` without one.
    var oldest: UInt64 { newest - UInt64(places.count) + 1 }

    /// Adds an element, in place of the earliest one if there are too many.
    /// - Complexity: O(1).
    mutating func append(_ element: Element) {
        if places.count < capacity {
            places.append(element)
        } else {
            places[Int(newest % UInt64(capacity))] = element
        }
        newest += 1
    }

    /// Elements behind a number, at most `max` of them.
    ///
    /// - Parameter after: any number. A number that no element has had yet is that of another ring: all that there
    ///   was since is missing then.
    /// - Complexity: O(`max`).
    func excerpt(after: UInt64, max: Int) -> Excerpt {
        guard after <= newest else {
            return Excerpt(gap: Gap(after: after, next: newest + 1), through: newest)
        }
        let first = Swift.max(after + 1, oldest)
        let gap = first > after + 1 ? Gap(after: after, next: first) : nil
        let count = min(UInt64(max), newest + 1 - first)
        let elements = (first..<first + count).map { number in
            (number: number, element: places[Int((number - 1) % UInt64(capacity))])
        }
        return Excerpt(gap: gap, elements: elements, through: first + count - 1)
    }
}

extension EventRing.Excerpt: Sendable where Element: Sendable {}
