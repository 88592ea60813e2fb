// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// How far this machine's wall clock is ahead of that of the store. Each endpoint has a clock of its own,
/// which can be as wrong as this one, and is this one if the endpoint runs on this machine. So the clock in
/// the middle of them counts: while more than half of them are right, it is right.
public struct EndpointSkews: Hashable, Sendable {
    /// How many endpoints count. A configuration has fewer.
    static let endpointsMax = 64
    private var each: [String: SkewBounds] = [:]
    /// The bounds in the middle: of an even number of endpoints, those of both in the middle together.
    /// Each decision about a job asks for them, so they are found when an answer is received.
    public private(set) var middle = SkewBounds()

    /// Nothing is known.
    public init() {}

    /// The clock of this machine was set: what was known does not apply any more.
    public mutating func clockChanged() { self = EndpointSkews() }

    /// An answer of this endpoint with this `Date` was received.
    ///
    /// - Complexity: O(*n* log *n*) in the endpoints.
    public mutating func receive(
        from endpoint: String, date: Int64, sent: WallInstant, received: WallInstant
    ) {
        guard each[endpoint] != nil || each.count < Self.endpointsMax else { return }
        each[endpoint, default: SkewBounds()].receive(date: date, sent: sent, received: received)
        let known = each.values.compactMap(\.bounds)
        guard !known.isEmpty else { return middle.clockChanged() }
        let low = known.map(\.lowerBound).sorted()[(known.count - 1) / 2]
        let high = known.map(\.upperBound).sorted()[known.count / 2]
        middle = SkewBounds(min(low, high)...max(low, high))
    }
}

/// How far this machine's wall clock is ahead of that of an endpoint, by the `Date` of its answers, which
/// has whole seconds: each answer gives a bound, and all of them together a narrow one.
public struct SkewBounds: Hashable, Sendable {
    /// The bounds of all answers since the clock was set, in microseconds.
    public private(set) var bounds: ClosedRange<Int64>?

    /// Nothing is known.
    public init() {}

    /// These bounds are known.
    init(_ bounds: ClosedRange<Int64>) { self.bounds = bounds }

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

    /// Whether the clocks differ by no more than this, as far as that is known: they certainly do not
    /// by more than the second that a `Date` cannot tell, and it is not certain that they do by more. A
    /// clock that was just set is not known: until the next answer it could be years ahead, and a claim
    /// by it would move the cursor there.
    public func isWithin(_ limit: Duration) -> Bool {
        guard let bounds else { return false }
        let most = (limit + .seconds(1)).wholeMicroseconds
        return bounds.lowerBound >= -most && bounds.upperBound <= most && !isBeyond(limit)
    }

    /// Whether the clocks certainly differ by more than this.
    public func isBeyond(_ limit: Duration) -> Bool {
        guard let bounds else { return false }
        let limit = limit.wholeMicroseconds
        return bounds.lowerBound > limit || bounds.upperBound < -limit
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

/// What a machine knows of its wall clock: how far it is ahead of the store's, and whether it was set.
struct WallClockWatch {
    private var skews = EndpointSkews()
    private var last: Now?

    /// How far it is ahead.
    var skew: SkewBounds { skews.middle }

    /// An endpoint of the store answered with this `Date` to what was sent then.
    mutating func receive(
        from endpoint: String, date: Int64, sent: WallInstant, received: WallInstant
    ) {
        skews.receive(from: endpoint, date: date, sent: sent, received: received)
    }

    /// Takes a reading of the clocks. A wall clock that jumped against the other one was set.
    ///
    /// - Returns: whether the machine slept since the last one.
    mutating func hasSlept(by now: Now) -> Bool {
        defer { last = now }
        guard let last else { return false }
        let jump =
            (now.wall - last.wall) - .nanoseconds(now.boot.nanoseconds - last.boot.nanoseconds)
        if jump > .milliseconds(50) || jump < .milliseconds(-50) { skews.clockChanged() }
        return now.slept(since: last) > .milliseconds(50)
    }
}
