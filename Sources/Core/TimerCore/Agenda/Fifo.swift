// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A first-in, first-out queue. Both operations take constant time, amortized.
struct Fifo<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    private var head = 0

    var count: Int { elements.count - head }

    var first: Element? { head < elements.count ? elements[head] : nil }

    /// - Complexity: O(*n*) in the elements before it.
    func first(where isIt: (Element) -> Bool) -> Element? { elements[head...].first(where: isIt) }

    mutating func append(_ element: Element) { elements.append(element) }

    /// Adds an element before the first one that comes after it.
    /// - Complexity: O(*n*).
    mutating func insert(_ element: Element, before comesAfter: (Element) -> Bool) {
        elements.insert(
            element, at: elements[head...].firstIndex(where: comesAfter) ?? elements.count)
    }

    /// - Complexity: O(*n*).
    func filter(_ isIt: (Element) -> Bool) -> [Element] { elements[head...].filter(isIt) }

    /// Changes each element in place.
    /// - Complexity: O(*n*).
    mutating func update(_ body: (inout Element) -> Void) {
        for index in head..<elements.count { body(&elements[index]) }
    }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head]
        head += 1
        // The memory of removed elements is freed when they are half of the array.
        if head >= 64, head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}
