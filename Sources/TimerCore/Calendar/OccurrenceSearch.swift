// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a schedule does with local times that do not exist, and with those that come twice.
public struct DSTRule: Hashable, Sendable {
    /// Occurrences whose time does not exist.
    public enum Gap: String, CaseIterable, Hashable, Sendable {
        /// Fire at the end of the gap; several of them fire once.
        case runAfter = "run-after"
        /// Do not fire.
        case skip
    }

    /// Occurrences whose time comes twice.
    public enum Overlap: String, CaseIterable, Hashable, Sendable {
        /// Fire in the first pass alone.
        case first
        /// Fire in both.
        case both
    }

    /// What becomes of occurrences in a gap.
    public var gap: Gap
    /// What becomes of occurrences in a repeated stretch.
    public var overlap: Overlap

    /// A rule as described.
    public init(gap: Gap, overlap: Overlap) {
        self.gap = gap
        self.overlap = overlap
    }

    /// For schedules that follow the clock, whose hour or minute is a wildcard: what is not there is not
    /// missed, and what comes twice is meant twice.
    public static let followsClock = DSTRule(gap: .skip, overlap: .both)
    /// For all others: exactly once for each day they are due, as Debian's cron has it (cron(8)).
    public static let fixed = DSTRule(gap: .runAfter, overlap: .first)
}

/// What names occurrences by a local clock, and says how it takes to daylight saving.
protocol OccurrenceSource {
    var pattern: OccurrencePattern { get }
    var standardRule: DSTRule { get }
}

extension OccurrenceSource {
    func occurrence(after instant: WallInstant, in zone: ZoneRules, rule: DSTRule?) -> WallInstant?
    {
        OccurrenceSearch(pattern: pattern, zone: zone, rule: rule ?? standardRule)
            .next(after: instant.microsecondsSinceEpoch)
            .map { WallInstant(microsecondsSinceEpoch: $0) }
    }

    func occurrence(before instant: WallInstant, in zone: ZoneRules, rule: DSTRule?) -> WallInstant?
    {
        OccurrenceSearch(pattern: pattern, zone: zone, rule: rule ?? standardRule)
            .previous(before: instant.microsecondsSinceEpoch)
            .map { WallInstant(microsecondsSinceEpoch: $0) }
    }
}

/// The search for occurrences in a zone: stretches of one offset are walked in the order of real time, so that
/// what comes out always lies strictly after, or before, what went in.
struct OccurrenceSearch {
    let pattern: OccurrencePattern
    let zone: ZoneRules
    let rule: DSTRule

    private static let second: Int64 = 1_000_000
    /// More than any two offsets differ by, and any change of offset moves the clock.
    private static let margin: Int64 = 52 * 3600 * second

    /// The first instant after `instant`, in microseconds since 1970.
    ///
    /// - Complexity: as `OccurrencePattern.next`, and O(1) stretches of the zone around the occurrence.
    func next(after instant: Int64) -> Int64? {
        guard var bound = Self.add(instant, 1) else { return nil }
        var segment = zone.segment(at: bound.quotient(flooringBy: Self.second))
        while true {
            let offset = segment.offset * Self.second
            var low = bound
            if let start = segment.start.flatMap(Self.microseconds) {
                if start >= bound, hasOccurrenceInGap(before: segment) { return start }
                low = max(low, start)
            }
            guard var local = Self.add(low, offset) else { return nil }
            if rule.overlap == .first, let seen = localEnd(before: segment) {
                local = max(local, seen)
            }
            // Nothing ahead by the local clock: nothing ahead in any later stretch.
            guard let occurrence = pattern.next(notBefore: local) else { return nil }
            guard let end = segment.end.flatMap(Self.microseconds) else {
                return occurrence - offset
            }
            if occurrence < end + offset { return occurrence - offset }
            // Far ahead, and no repeated time in between: the stretches up to it hold nothing.
            let isRepeated = rule.overlap == .both && local > end + offset - Self.margin
            bound = isRepeated ? end : max(end, occurrence - Self.margin)
            segment = zone.segment(at: bound.quotient(flooringBy: Self.second))
        }
    }

    /// The last instant before `instant`; the mirror of `next`.
    func previous(before instant: Int64) -> Int64? {
        guard var bound = Self.add(instant, -1) else { return nil }
        var segment = zone.segment(at: bound.quotient(flooringBy: Self.second))
        while true {
            let offset = segment.offset * Self.second
            guard let high = Self.add(bound, offset) else { return nil }
            let start = segment.start.flatMap(Self.microseconds)
            var lowest = start.map { $0 + offset }
            if rule.overlap == .first, let seen = localEnd(before: segment) {
                lowest = max(lowest ?? seen, seen)
            }
            let occurrence = pattern.previous(notAfter: high)
            if let occurrence, occurrence >= lowest ?? .min { return occurrence - offset }
            guard let start, let before = Self.add(start, -1) else { return nil }
            if start <= bound, hasOccurrenceInGap(before: segment) { return start }
            // Near the start of a stretch, times ahead by the local clock may have been there in the one
            // before it.
            let isRepeated = rule.overlap == .both && high < start + offset + Self.margin
            bound = before
            if let occurrence {
                // Far behind: the stretches down to it hold nothing, but for those near the bound.
                let far = occurrence + Self.margin
                if !isRepeated, far < bound - 2 * Self.margin { bound = far }
            } else if rule.gap == .skip, !isRepeated {
                return nil
            }
            segment = zone.segment(at: bound.quotient(flooringBy: Self.second))
            guard bound > -Self.margin else { return nil }
        }
    }

    /// Whether an occurrence lies in the gap that this stretch begins with.
    private func hasOccurrenceInGap(before segment: ZoneRules.Segment) -> Bool {
        guard rule.gap == .runAfter, let start = segment.start else { return false }
        let before = zone.segment(at: start - 1).offset
        guard before < segment.offset, let gap = Self.microseconds(start + before),
            let occurrence = pattern.next(notBefore: gap)
        else { return false }
        return occurrence < gap + (segment.offset - before) * Self.second
    }

    /// How far the local clock got before this stretch, where its first times are a second pass.
    private func localEnd(before segment: ZoneRules.Segment) -> Int64? {
        guard let start = segment.start else { return nil }
        let before = zone.segment(at: start - 1)
        var end = start + before.offset
        // A stretch so short that the one before it reached further.
        if let earlier = before.start, start - earlier < 86_400 {
            end = max(end, earlier + zone.segment(at: earlier - 1).offset)
        }
        return end > start + segment.offset ? Self.microseconds(end) : nil
    }

    private static func microseconds(_ seconds: Int64) -> Int64? {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: second)
        return overflow ? nil : product
    }

    private static func add(_ left: Int64, _ right: Int64) -> Int64? {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? nil : sum
    }
}
