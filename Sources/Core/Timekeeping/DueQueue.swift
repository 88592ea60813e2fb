// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Slots in the order of their due times: a binary heap that knows the place of each slot, so that
/// the instant of a slot can be changed or removed. Slots that are due at the same instant are
/// ordered by their numbers.
///
/// Slots are small consecutive numbers, the indices of the caller.
@frozen
public struct DueQueue<Instant: Comparable & Sendable>: Sendable {
    @usableFromInline @frozen
    struct Node: Sendable {
        @usableFromInline var due: Instant
        @usableFromInline var slot: Int

        @_alwaysEmitIntoClient
        init(due: Instant, slot: Int) {
            self.due = due
            self.slot = slot
        }

        @_alwaysEmitIntoClient
        func precedes(_ other: Node) -> Bool {
            due < other.due || (due == other.due && slot < other.slot)
        }
    }

    @usableFromInline var heap: [Node] = []
    /// The place of each slot in the heap; -1 for a slot that is not in it. It has 32 bits, because
    /// that halves the memory for very many jobs.
    @usableFromInline var places: [Int32] = []

    /// The earliest slot; nil if the queue is empty.
    /// - Complexity: O(1).
    @_alwaysEmitIntoClient public var first: (due: Instant, slot: Int)? {
        heap.first.map { ($0.due, $0.slot) }
    }

    @_alwaysEmitIntoClient public var count: Int { heap.count }

    @_alwaysEmitIntoClient public init() {}

    /// When the slot is due; nil if it is not in the queue.
    /// - Complexity: O(1).
    @_alwaysEmitIntoClient
    public subscript(slot: Int) -> Instant? {
        guard slot < places.count, places[slot] >= 0 else { return nil }
        return heap[Int(places[slot])].due
    }

    /// Adds the slot to the queue, or changes its instant.
    /// - Complexity: O(log *n*).
    @_alwaysEmitIntoClient
    public mutating func set(_ slot: Int, due: Instant) {
        while places.count <= slot { places.append(-1) }
        if places[slot] >= 0 {
            heap[Int(places[slot])].due = due
        } else {
            places[slot] = Int32(heap.count)
            heap.append(Node(due: due, slot: slot))
        }
        siftDown(siftUp(Int(places[slot])))
    }

    /// Reserves memory for this many slots, with numbers below that.
    @_alwaysEmitIntoClient
    public mutating func reserve(_ count: Int) {
        heap.reserveCapacity(count)
        places.reserveCapacity(count)
    }

    /// Frees the memory of slots that are not in the queue any more, except that of slots with
    /// lower numbers than the highest one in the queue.
    /// - Complexity: O(*n*) in the highest number of a slot.
    @_alwaysEmitIntoClient
    public mutating func trim() {
        while let last = places.last, last < 0 { places.removeLast() }
        places = places.withUnsafeBufferPointer { Array($0) }
        heap = heap.withUnsafeBufferPointer { Array($0) }
    }

    /// Removes the slot from the queue. Does nothing if it is not in the queue.
    /// - Complexity: O(log *n*).
    @_alwaysEmitIntoClient
    public mutating func remove(_ slot: Int) {
        guard slot < places.count, places[slot] >= 0 else { return }
        let place = Int(places[slot])
        let last = heap.removeLast()
        places[slot] = -1
        guard place < heap.count else { return }
        put(last, at: place)
        siftDown(siftUp(place))
    }

    @_alwaysEmitIntoClient
    mutating func put(_ node: Node, at place: Int) {
        heap[place] = node
        places[node.slot] = Int32(place)
    }

    @discardableResult @_alwaysEmitIntoClient
    mutating func siftUp(_ start: Int) -> Int {
        var place = start
        let node = heap[place]
        while place > 0, node.precedes(heap[(place - 1) / 2]) {
            put(heap[(place - 1) / 2], at: place)
            place = (place - 1) / 2
        }
        put(node, at: place)
        return place
    }

    @_alwaysEmitIntoClient
    mutating func siftDown(_ start: Int) {
        var place = start
        let node = heap[place]
        while true {
            var child = 2 * place + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
            guard heap[child].precedes(node) else { break }
            put(heap[child], at: place)
            place = child
        }
        put(node, at: place)
    }
}
