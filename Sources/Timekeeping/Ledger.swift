// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A job's account of active time: how much it had in all, how much it accrued since its last grid
/// point, and whether it is counting now.
///
/// Time counts only between `open` and `close`, so what the ledger says never exceeds what really passed.
/// Every instant handed in is of one clock and one boot; a new life starts from the totals
/// (`init(active:accrued:)`), and so does a ledger that is to count by another clock (`closed` first).
@frozen
public struct Ledger: Hashable, Sendable {
    @usableFromInline var settledActive: Duration
    @usableFromInline var settledAccrued: Duration
    /// Where the open interval begins; nil while nothing counts.
    @usableFromInline var openedAt: CountedInstant?

    /// A closed ledger with these totals.
    @inlinable
    public init(active: Duration = .zero, accrued: Duration = .zero) {
        settledActive = active
        settledAccrued = accrued
    }

    /// Whether time counts now.
    @inlinable public var isOpen: Bool { openedAt != nil }

    /// Active time in all.
    @inlinable
    public func active(at now: CountedInstant) -> Duration { settledActive + interval(to: now) }

    /// Active time since the last grid point.
    @inlinable
    public func accrued(at now: CountedInstant) -> Duration { settledAccrued + interval(to: now) }

    /// Starts counting; an open ledger stays as it is.
    @inlinable
    public mutating func open(at now: CountedInstant) {
        if openedAt == nil { openedAt = now }
    }

    /// Counts what passed and stops; a closed ledger stays as it is.
    @inlinable
    public mutating func close(at now: CountedInstant) {
        settle(at: now)
        openedAt = nil
    }

    /// Moves what passed into the totals and counts on from `now`. Changes no answer.
    @inlinable
    public mutating func settle(at now: CountedInstant) {
        guard let openedAt, openedAt < now else { return }
        let passed = now - openedAt
        settledActive += passed
        settledAccrued += passed
        self.openedAt = now
    }

    /// Forgets what accrued; the grid starts anew at `now`. The active total stays.
    @inlinable
    public mutating func dropAccrued(at now: CountedInstant) {
        settle(at: now)
        settledAccrued = .zero
    }

    /// The instant at which the accrued time reaches `target`, in the past if it already has; nil while
    /// nothing counts. Rounded up to the nanosecond, so that at that instant no part of the target is left.
    /// Settling in between does not move it by a nanosecond.
    @inlinable
    public func instant(reaching target: Duration) -> CountedInstant? {
        openedAt.map { $0.advanced(by: target - settledAccrued) }
    }

    /// Takes `counted` of what accrued away: the grid point at that much accrued time is passed, and what
    /// accrued since then remains. Never below zero.
    @inlinable
    public mutating func pass(_ counted: Duration, at now: CountedInstant) {
        settle(at: now)
        settledAccrued = max(.zero, settledAccrued - counted)
    }

    /// Counts time that is known to have passed while the ledger was not open.
    @inlinable
    public mutating func credit(_ span: Duration) {
        settledActive += span
        settledAccrued += span
    }

    @inlinable
    func interval(to now: CountedInstant) -> Duration {
        guard let openedAt, openedAt < now else { return .zero }
        return now - openedAt
    }
}
