// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Slots that are due at an instant and may be handled somewhat later: one wake-up serves every slot that is
/// due by then. The wake-up is for the slot that may wait least; those that are due already come along.
///
/// Slots are small dense numbers, the caller's indices.
@frozen
public struct AlarmQueue<Instant: Comparable & Sendable>: Sendable {
    /// The latest instants at which the slots may be handled.
    @usableFromInline var latest: DueQueue<Instant>
    /// When those slots are due that may be handled later than that.
    @usableFromInline var earliest: DueQueue<Instant>

    /// An empty queue.
    @_alwaysEmitIntoClient
    public init() {
        latest = DueQueue()
        earliest = DueQueue()
    }

    /// How many slots are in it.
    @_alwaysEmitIntoClient public var count: Int { latest.count }

    /// The slot for which the next wake-up is, and the wake-up's instant.
    /// - Complexity: O(1).
    @_alwaysEmitIntoClient public var first: (due: Instant, slot: Int)? { latest.first }

    /// The latest instant at which the slot may be handled; nil if it is not in the queue.
    /// - Complexity: O(1).
    @_alwaysEmitIntoClient
    public subscript(slot: Int) -> Instant? { latest[slot] }

    /// A slot that must be handled now, the most urgent first; nil if none has to be.
    /// - Complexity: O(1).
    @_alwaysEmitIntoClient
    public func overdue(at now: Instant) -> Int? {
        guard let first = latest.first, first.due <= now else { return nil }
        return first.slot
    }

    /// A slot that is due, though it may wait; nil if none is.
    /// - Complexity: O(1).
    @_alwaysEmitIntoClient
    public func ready(at now: Instant) -> Int? {
        guard let first = earliest.first, first.due <= now else { return nil }
        return first.slot
    }

    /// Puts the slot into the queue, or moves it.
    ///
    /// - Parameters:
    ///   - latest: the latest instant at which it may be handled.
    ///   - due: when it is due, if that is earlier; nil: at `latest`.
    /// - Complexity: O(log *n*).
    @_alwaysEmitIntoClient
    public mutating func set(_ slot: Int, latest instant: Instant, due: Instant? = nil) {
        latest.set(slot, due: instant)
        if let due { earliest.set(slot, due: due) } else { earliest.remove(slot) }
    }

    /// Takes the slot out of the queue; one that is not in it is left alone.
    /// - Complexity: O(log *n*).
    @_alwaysEmitIntoClient
    public mutating func remove(_ slot: Int) {
        latest.remove(slot)
        earliest.remove(slot)
    }

    /// Makes room for so many, and for slots below that.
    @_alwaysEmitIntoClient
    public mutating func reserve(_ count: Int) { latest.reserve(count) }
}
