// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// How far this machine's wall clock is ahead of the store's, by the `Date` of its answers, which
/// has whole seconds: each answer gives a bound, and all of them together a narrow one.
public struct SkewBounds: Hashable, Sendable {
    /// The bounds of all answers since the clock was set, in microseconds.
    public private(set) var bounds: ClosedRange<Int64>?

    /// Nothing is known.
    public init() {}

    /// The clock was set: what was known does not apply any more.
    public mutating func clockChanged() { bounds = nil }

    /// An answer with this `Date` was received.
    ///
    /// The store's clock read a time in [date, date + 1 s) somewhere between the two readings. If
    /// that contradicts the bounds so far, one of the clocks was set, and the new bounds apply.
    public mutating func receive(date: Int64, sent: WallInstant, received: WallInstant) {
        guard sent <= received else { return clockChanged() }
        let (start, overflow) = date.multipliedReportingOverflow(by: 1_000_000)
        guard !overflow else { return }
        let low = sent.microsecondsSinceEpoch.subtractingReportingOverflow(start + 999_999)
        let high = received.microsecondsSinceEpoch.subtractingReportingOverflow(start)
        guard !low.overflow, !high.overflow, low.partialValue <= high.partialValue else { return }
        let new = low.partialValue...high.partialValue
        guard let bounds, bounds.overlaps(new) else {
            self.bounds = new
            return
        }
        self.bounds = bounds.clamped(to: new)
    }

    /// Whether the clocks certainly differ by no more than this and the second that a `Date` cannot
    /// tell. A clock that was just set is not known: until the next answer it could be years ahead,
    /// and a claim by it would move the cursor there.
    public func isWithin(_ limit: Duration) -> Bool {
        guard let bounds else { return false }
        let most = (limit + .seconds(1)).wholeMicroseconds
        return bounds.lowerBound >= -most && bounds.upperBound <= most
    }

    /// The bounds in milliseconds, rounded outwards.
    public var milliseconds: ClosedRange<Int64>? {
        bounds.map { bounds in
            let (low, high) = (bounds.lowerBound, bounds.upperBound)
            let down = low / 1000 - (low % 1000 < 0 ? 1 : 0)
            return down...max(down, high / 1000 + (high % 1000 > 0 ? 1 : 0))
        }
    }
}
