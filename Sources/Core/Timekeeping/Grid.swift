// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The points of counted time at which something repeating is due: the first after `first`, and
/// each further one `span` after the one before. If a point is handled late, the later points do
/// not move.
///
/// A `Ledger` counts the elapsed time since the last point that was passed.
@frozen
public struct Grid: Hashable, Sendable {
    /// The counted time before the first point. Not negative.
    public var first: Duration
    /// The counted time from each point to the next. Longer than zero.
    public var span: Duration
    /// The number of points that were passed; limited to `Int.max`.
    public var passed: Int

    /// Creates a grid of which this many points were passed.
    @inlinable
    public init(first: Duration, span: Duration, passed: Int = 0) {
        self.first = first
        self.span = span
        self.passed = passed
    }

    /// The counted time from the last point passed to the next one.
    @inlinable public var next: Duration { passed == 0 ? first : span }

    /// How many points are due after this much elapsed time since the last point that was passed.
    /// The points do not have to be at whole nanoseconds: the number is exact for any span.
    ///
    /// - Parameter delay: how long after its point each one is due.
    /// - Complexity: O(1).
    @inlinable
    public func due(accrued: Duration, delay: Duration = .zero) -> Int {
        let late = accrued - next - delay
        guard late >= span else { return late < .zero ? 0 : 1 }
        return Int(clamping: late.attoseconds / span.attoseconds + 1)
    }

    /// The counted time from the last point that was passed to the point that is `count` points
    /// later; `count` is at least 1.
    @inlinable
    public func time(toPoint count: Int) -> Duration {
        count == 1 ? next : next + span * (count - 1)
    }

    /// Passes the next `count` points, at least 1. The elapsed time since the last of them stays in
    /// the ledger.
    @inlinable
    public mutating func pass(_ count: Int, of ledger: inout Ledger, at now: CountedInstant) {
        ledger.pass(time(toPoint: count), at: now)
        let (sum, overflow) = passed.addingReportingOverflow(count)
        passed = overflow ? .max : sum
    }
}
