// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// When runs of a job may start (`window`). Runs that a user requests ignore it.
public struct JobWindow: Hashable, Sendable {
    /// What becomes of a firing outside the window.
    public enum Outside: String, CaseIterable, Hashable, Sendable {
        /// It waits for the window to open, and with it all further ones of its job: one run starts
        /// then for all of them.
        case wait
        /// There is no run.
        case skip
    }

    private struct Times: Hashable, Sendable {
        var ranges: WeekRanges
        var zone: ZoneRules
    }

    /// Behind a reference: each firing asks whether its job has a window, and most have none.
    @Boxed private var times: Times
    public var outside = Outside.wait
    /// Whether runs that are still active are stopped when it closes.
    public var stopsAtEnd = false

    public init(_ ranges: WeekRanges, zone: ZoneRules) {
        _times = Boxed(wrappedValue: Times(ranges: ranges, zone: zone))
    }

    public var ranges: WeekRanges { times.ranges }

    /// By whose local clock it opens and closes.
    public var zone: ZoneRules { times.zone }

    /// Whether it is open at an instant.
    public func isOpen(at instant: WallInstant) -> Bool { ranges.isOpen(at: instant, in: zone) }

    /// The first instant from this one on at which it is open.
    public func opening(notBefore instant: WallInstant) -> WallInstant {
        ranges.opening(notBefore: instant, in: zone)
    }

    /// The first instant after this one at which it is closed; nil if it never is.
    public func closing(after instant: WallInstant) -> WallInstant? {
        ranges.closing(after: instant, in: zone)
    }

    /// The instant since which it has been closed; nil if it is open.
    public func closed(at instant: WallInstant) -> WallInstant? {
        ranges.closed(at: instant, in: zone)
    }

    /// Replaces the rules of its zone, if there are new ones.
    /// - Returns: whether they changed.
    mutating func replaceZone(_ rules: (ZoneRules) -> ZoneRules?) -> Bool {
        guard let new = rules(zone), new != zone else { return false }
        times.zone = new
        return true
    }

    /// When a firing starts that is due at an instant, if the machine is on: random delays begin when
    /// the window opens, and never end outside it.
    func start(of instant: WallInstant, delay: Duration = .zero) -> WallInstant {
        guard outside == .wait else { return instant + delay }
        return opening(notBefore: opening(notBefore: instant) + delay)
    }

    /// The first of a row of instants that is not outside the window, if that skips the others. If none is
    /// found, the one at which the search ended: it continues there.
    ///
    /// - Parameter span: how much time is between two of them, above zero.
    /// - Complexity: O(*n*) in the openings until then, at most `openingsMax`.
    func point(from first: WallInstant, every span: Duration) -> WallInstant {
        guard outside == .skip else { return first }
        var point = first
        for _ in 0..<Self.openingsMax {
            let opening = opening(notBefore: point)
            guard opening > point else { return point }
            point = point.next(notBefore: opening, every: span)
        }
        return point
    }

    /// Whether a point of an interval is one at which the search ended, and no run comes.
    func isOutside(_ point: WallInstant) -> Bool { outside == .skip && !isOpen(at: point) }

    /// How many openings are looked at before a search ends.
    private static let openingsMax = 1000

    /// The last instant whose firings have started by this one: what was due later waits.
    func startedThrough(_ instant: WallInstant) -> WallInstant {
        guard outside == .wait, let since = closed(at: instant) else { return instant }
        return since - .microseconds(1)
    }
}
