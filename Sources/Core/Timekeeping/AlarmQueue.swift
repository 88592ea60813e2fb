// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A queue of slots that are due at an instant and may be handled somewhat later, so that one
/// wake-up can serve several slots. The wake-up is set for the slot that must be handled first.
/// Other slots that are due at that time are handled in the same wake-up.
///
/// Slots are small consecutive numbers, the indices of the caller.
@frozen
public struct AlarmQueue<Instant: Comparable & Sendable>: Sendable {
    /// The latest instant at which each slot may be handled.
    @usableFromInline var latest: DueQueue<Instant>
    /// When the slots are due whose latest instant is later than that.
    @usableFromInline var earliest: DueQueue<Instant>

    @_alwaysEmitIntoClient
    public init() {
        latest = DueQueue()
        earliest = DueQueue()
    }

    @_alwaysEmitIntoClient public var count: Int { latest.count }

    /// The slot for which the next wake-up is set, and the instant of the wake-up.
    /// - Complexity: O(1).
    @_alwaysEmitIntoClient public var first: (due: Instant, slot: Int)? { latest.first }

    /// The latest instant at which the slot may be handled; nil if it is not in the queue.
    /// - Complexity: O(1).
    @_alwaysEmitIntoClient
    public subscript(slot: Int) -> Instant? { latest[slot] }

    /// The most urgent slot that must be handled now; nil if there is none.
    /// - Complexity: O(1).
    @_alwaysEmitIntoClient
    public func overdue(at now: Instant) -> Int? {
        guard let first = latest.first, first.due <= now else { return nil }
        return first.slot
    }

    /// A slot that is due, although it could wait; nil if there is none.
    /// - Complexity: O(1).
    @_alwaysEmitIntoClient
    public func ready(at now: Instant) -> Int? {
        guard let first = earliest.first, first.due <= now else { return nil }
        return first.slot
    }

    /// Adds the slot to the queue, or moves it.
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

    /// Removes the slot from the queue. Does nothing if it is not in the queue.
    /// - Complexity: O(log *n*).
    @_alwaysEmitIntoClient
    public mutating func remove(_ slot: Int) {
        latest.remove(slot)
        earliest.remove(slot)
    }

    /// Frees the memory of slots that are not in the queue any more, as `DueQueue.trim` does.
    /// - Complexity: O(*n*) in the highest number of a slot.
    @_alwaysEmitIntoClient
    public mutating func trim() {
        latest.trim()
        earliest.trim()
    }

    /// Reserves memory for this many slots, with numbers below that.
    @_alwaysEmitIntoClient
    public mutating func reserve(_ count: Int) { latest.reserve(count) }
}
