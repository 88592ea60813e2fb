// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The points of counted time at which something recurring is due: the first after `first`, each further
/// one `span` after the one before. A point that was passed late does not move those after it.
///
/// What has accrued since the last point passed is kept by a `Ledger`.
@frozen
public struct Grid: Hashable, Sendable {
    /// The counted time before the first point. Not negative.
    public var first: Duration
    /// The counted time from each point to the next. Longer than zero.
    public var span: Duration
    /// How many points were passed.
    public var passed: Int

    /// A grid of which so many points were passed.
    @inlinable
    public init(first: Duration, span: Duration, passed: Int = 0) {
        self.first = first
        self.span = span
        self.passed = passed
    }

    /// The counted time from the last point passed to the next one.
    @inlinable public var next: Duration { passed == 0 ? first : span }

    /// How many points are due when so much has accrued since the last point passed. The points need not
    /// lie on whole nanoseconds: the count is exact for any span.
    ///
    /// - Parameter delay: how much after its point each is due.
    /// - Complexity: O(1).
    @inlinable
    public func due(accrued: Duration, delay: Duration = .zero) -> Int {
        let late = accrued - next - delay
        guard late >= span else { return late < .zero ? 0 : 1 }
        return Int(clamping: late.attoseconds / span.attoseconds + 1)
    }

    /// The counted time from the last point passed to the one that is `count` points further; `count` is at
    /// least 1.
    @inlinable
    public func time(toPoint count: Int) -> Duration {
        count == 1 ? next : next + span * (count - 1)
    }

    /// Passes the next `count` points, at least 1: what accrued since the last of them remains in the ledger.
    @inlinable
    public mutating func pass(_ count: Int, of ledger: inout Ledger, at now: CountedInstant) {
        ledger.pass(time(toPoint: count), at: now)
        passed += count
    }
}
