// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a schedule does with local times that do not exist or occur twice.
public struct DSTRule: Hashable, Sendable {
    /// What happens with occurrences in the range that the clock skips.
    public enum Gap: String, CaseIterable, Hashable, Sendable {
        /// They fire at the end of the gap; several of them fire once.
        case runAfter = "run-after"
        /// They do not fire.
        case skip
    }

    /// What happens with occurrences in the range that the clock repeats.
    public enum Overlap: String, CaseIterable, Hashable, Sendable {
        /// They fire only the first time.
        case first
        /// They fire both times.
        case both
    }

    /// For local times that do not exist, because the clock was set forward.
    public var gap: Gap
    /// What happens to occurrences in a repeated range.
    public var overlap: Overlap

    public init(gap: Gap, overlap: Overlap) {
        self.gap = gap
        self.overlap = overlap
    }

    /// For schedules that follow the clock, because their hour or minute is a wildcard: a time that
    /// does not exist is not missed, and a time that occurs twice counts twice.
    public static let followsClock = DSTRule(gap: .skip, overlap: .both)
    /// For all other schedules: exactly once on each day on which they are due, as in Debian's cron
    /// (cron(8)).
    public static let fixed = DSTRule(gap: .runAfter, overlap: .first)
}

/// A schedule with occurrences by a local clock and a default rule for daylight saving time.
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

/// The search for occurrences in a zone. It goes through the ranges of constant offset in the order
/// of real time, so that the result is always strictly after, or before, the given instant.
struct OccurrenceSearch {
    let pattern: OccurrencePattern
    let zone: ZoneRules
    let rule: DSTRule

    private static let second: Int64 = 1_000_000
    /// This is longer than the difference of any two offsets, and than any change of an offset.
    private static let margin: Int64 = 52 * 3600 * second

    /// The first instant after `instant`, in microseconds since 1970.
    ///
    /// - Complexity: that of `OccurrencePattern.next` for each of the O(1) ranges of constant offset
    ///   around the occurrence.
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
            let occurrence = pattern.next(notBefore: local)
            guard let end = segment.end.flatMap(Self.microseconds) else {
                return occurrence.map { $0 - offset }
            }
            if let occurrence, occurrence < end + offset { return occurrence - offset }
            if rule.overlap == .both, local > end + offset - Self.margin {
                // The next range may repeat times that have passed already.
                bound = end
            } else if let occurrence {
                // No time is repeated before the occurrence, so the ranges between contain none. The
                // search can continue near the occurrence.
                bound = max(end, occurrence - Self.margin)
            } else {
                return nil
            }
            segment = zone.segment(at: bound.quotient(flooringBy: Self.second))
        }
    }

    /// The last instant before `instant`. It works like `next` in the opposite direction.
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
            // Near the start of a range, later times of the local clock may already have occurred
            // in the range before it.
            let isRepeated = rule.overlap == .both && high < start + offset + Self.margin
            bound = before
            if let occurrence {
                // If the occurrence is far away, the ranges between contain none, except those near
                // the bound. The search can continue near the occurrence.
                let far = occurrence + Self.margin
                if !isRepeated, far < bound - 2 * Self.margin { bound = far }
            } else if rule.gap == .skip, !isRepeated {
                return nil
            }
            segment = zone.segment(at: bound.quotient(flooringBy: Self.second))
            guard bound > -Self.margin else { return nil }
        }
    }

    /// Whether an occurrence is in the gap at the start of this range.
    private func hasOccurrenceInGap(before segment: ZoneRules.Segment) -> Bool {
        guard rule.gap == .runAfter, let start = segment.start else { return false }
        let before = zone.segment(at: start - 1).offset
        guard before < segment.offset, let gap = Self.microseconds(start + before),
            let occurrence = pattern.next(notBefore: gap)
        else { return false }
        return occurrence < gap + (segment.offset - before) * Self.second
    }

    /// The latest time that the local clock had reached before this range, if the range repeats
    /// times.
    private func localEnd(before segment: ZoneRules.Segment) -> Int64? {
        guard let start = segment.start else { return nil }
        let before = zone.segment(at: start - 1)
        var end = start + before.offset
        // The range before this one may be so short that an earlier range reached a later local
        // time.
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
