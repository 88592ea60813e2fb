// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A job's account of active time: how much it had in all, how much it accrued since its last grid
/// point, and whether it is counting now.
///
/// Time counts only between `open` and `close`, by the clock that stops while the machine sleeps, so
/// what the ledger says never exceeds what really passed. Every instant handed in belongs to the life of
/// the daemon that opened the ledger; a new life starts from the totals (`init(active:accrued:)`).
public struct Ledger: Hashable, Sendable {
    private var settledActive: Duration
    private var settledAccrued: Duration
    /// Where the open interval begins; nil while nothing counts.
    private var openedAt: AwakeInstant?

    /// A closed ledger with these totals.
    public init(active: Duration = .zero, accrued: Duration = .zero) {
        settledActive = active
        settledAccrued = accrued
    }

    /// Whether time counts now.
    public var isOpen: Bool { openedAt != nil }

    /// Active time in all.
    public func active(at now: AwakeInstant) -> Duration { settledActive + interval(to: now) }

    /// Active time since the last grid point.
    public func accrued(at now: AwakeInstant) -> Duration { settledAccrued + interval(to: now) }

    /// Starts counting; an open ledger stays as it is.
    public mutating func open(at now: AwakeInstant) {
        if openedAt == nil { openedAt = now }
    }

    /// Counts what passed and stops; a closed ledger stays as it is.
    public mutating func close(at now: AwakeInstant) {
        settle(at: now)
        openedAt = nil
    }

    /// Moves what passed into the totals and counts on from `now`. Changes no answer.
    public mutating func settle(at now: AwakeInstant) {
        guard let openedAt, openedAt < now else { return }
        let passed = now - openedAt
        settledActive += passed
        settledAccrued += passed
        self.openedAt = now
    }

    /// Forgets what accrued; the grid starts anew at `now`. The active total stays.
    public mutating func dropAccrued(at now: AwakeInstant) {
        settle(at: now)
        settledAccrued = .zero
    }

    /// The instant at which the accrued time reaches `target`, in the past if it already has; nil while
    /// nothing counts. Settling in between does not move it by a nanosecond.
    public func instant(reaching target: Duration) -> AwakeInstant? {
        openedAt.map { $0 + (target - settledAccrued) }
    }

    /// Passes the grid points that lie behind `now`: the first at `target` of accrued time, then one each
    /// `span`. What accrued since the last of them remains.
    ///
    /// - Returns: how long ago the first of them was, and how many more followed it; nil, with nothing
    ///   changed, if `target` is not reached yet.
    public mutating func cross(
        target: Duration, every span: Duration, at now: AwakeInstant
    ) -> (late: Duration, missed: Int)? {
        settle(at: now)
        let late = settledAccrued - target
        guard late >= .zero else { return nil }
        let (missed, rest) = late.wholeNanoseconds.quotientAndRemainder(
            dividingBy: span.wholeNanoseconds)
        settledAccrued = .nanoseconds(rest)
        return (late, Int(missed))
    }

    private func interval(to now: AwakeInstant) -> Duration {
        guard let openedAt, openedAt < now else { return .zero }
        return now - openedAt
    }
}
