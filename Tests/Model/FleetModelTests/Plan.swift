// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is to happen at an instant. Things of one instant happen in the order in which they were
/// planned, so that a seed always gives the same case.
struct Agendum {
    var time: Int64
    var number: Int
    var body: () -> Void
}

/// A heap of what is to happen.
struct Plan {
    private var heap: [Agendum] = []
    private var count = 0

    mutating func add(at time: Int64, _ body: @escaping () -> Void) {
        count += 1
        heap.append(Agendum(time: time, number: count, body: body))
        var index = heap.count - 1
        while index > 0, precedes(index, (index - 1) / 2) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        (heap[left].time, heap[left].number) < (heap[right].time, heap[right].number)
    }

    mutating func next() -> Agendum? {
        guard let last = heap.popLast() else { return nil }
        guard let first = heap.first else { return last }
        heap[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && precedes(child, least) { least = child }
            if least == index { return first }
            heap.swapAt(index, least)
            index = least
        }
    }
}
