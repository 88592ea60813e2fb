// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The record of the active time of a job or timer: the total, the time since its last grid point,
/// and whether time is counting now.
///
/// Time counts only between `open` and `close`, so the result never exceeds the time that really
/// passed. All instants must be of one clock and one boot. After a restart, or to count by another
/// clock (after `close`), a ledger continues from its totals (`init(active:accrued:)`).
@frozen
public struct Ledger: Hashable, Sendable {
    @usableFromInline var settledActive: Duration
    @usableFromInline var settledAccrued: Duration
    /// The start of the open interval; nil while nothing counts.
    @usableFromInline var openedAt: CountedInstant?

    /// Creates a closed ledger, by default an empty one.
    @inlinable
    public init(active: Duration = .zero, accrued: Duration = .zero) {
        settledActive = active
        settledAccrued = accrued
    }

    /// Whether time counts now.
    @inlinable public var isOpen: Bool { openedAt != nil }

    /// The active time in total, with that of the open interval.
    @inlinable
    public func active(at now: CountedInstant) -> Duration { settledActive + interval(to: now) }

    /// The active time since the last grid point, with that of the open interval.
    @inlinable
    public func accrued(at now: CountedInstant) -> Duration { settledAccrued + interval(to: now) }

    /// The total active time as of an instant that may be before the last change of the ledger, if it
    /// has counted since that instant.
    @inlinable
    public func active(asOf instant: CountedInstant) -> Duration {
        settledActive + signedInterval(to: instant)
    }

    /// The same for the time since the last grid point. It is negative before that grid point.
    @inlinable
    public func accrued(asOf instant: CountedInstant) -> Duration {
        settledAccrued + signedInterval(to: instant)
    }

    /// Starts counting. Does nothing if the ledger is open.
    @inlinable
    public mutating func open(at now: CountedInstant) {
        if openedAt == nil { openedAt = now }
    }

    /// Stops counting and keeps the time that passed. Does nothing if the ledger is closed.
    @inlinable
    public mutating func close(at now: CountedInstant) {
        settle(at: now)
        openedAt = nil
    }

    /// Adds the time that passed to the totals and continues counting from `now`. No result
    /// changes.
    @inlinable
    public mutating func settle(at now: CountedInstant) {
        guard let openedAt, openedAt < now else { return }
        let passed = now - openedAt
        settledActive += passed
        settledAccrued += passed
        self.openedAt = now
    }

    /// Discards the time since the last grid point, so that the grid starts again at `now`. The
    /// total active time is kept.
    @inlinable
    public mutating func dropAccrued(at now: CountedInstant) {
        settle(at: now)
        settledAccrued = .zero
    }

    /// The instant at which the time since the last grid point reaches `target`, in the past if it
    /// already has; nil while nothing counts. It is rounded up to the nanosecond, so that the
    /// target is fully reached at that instant. A call of `settle` in between does not change it.
    @inlinable
    public func instant(reaching target: Duration) -> CountedInstant? {
        openedAt.map { $0.advanced(by: target - settledAccrued) }
    }

    /// Subtracts `counted` from the time since the last grid point: the grid point at that time is
    /// passed, and the time since then remains. The result is not negative.
    @inlinable
    public mutating func pass(_ counted: Duration, at now: CountedInstant) {
        settle(at: now)
        settledAccrued = max(.zero, settledAccrued - counted)
    }

    /// Adds time that certainly passed while the ledger was closed.
    @inlinable
    public mutating func credit(_ span: Duration) {
        settledActive += span
        settledAccrued += span
    }

    @inlinable
    func interval(to now: CountedInstant) -> Duration { max(.zero, signedInterval(to: now)) }

    @inlinable
    func signedInterval(to instant: CountedInstant) -> Duration {
        openedAt.map { instant - $0 } ?? .zero
    }
}
