// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Times of the week by a local clock, such as `Mon..Fri 22:00-06:00`, in which a job may start runs
/// (`window`).
///
/// They are open whenever the local clock shows a time in them: an opening that the clock skips is at
/// the end of the gap, and what the clock repeats is open both times.
public struct WeekRanges: Hashable, Sendable {
    /// The most parts of one window.
    public static let countMax = 100

    static let day: Int64 = 86_400
    static let week: Int64 = 7 * day

    /// Seconds since Monday 00:00. Ascending, and at least one second apart; at least one. Only the
    /// last may end after the week: it goes on at the start of the next one.
    private let ranges: [Range<Int64>]

    /// The parts as they are written.
    public let texts: [String]

    /// One text of a window.
    public struct Part: Hashable, Sendable {
        fileprivate let text: String
        fileprivate let ranges: [Range<Int64>]

        /// Parses a text such as `Mon..Fri 22:00-06:00`, `Sat..Sun` or `08:00-12:30`. A weekday is that
        /// of the opening; without one it is every day, and without a time the whole day. A range that
        /// ends before it begins ends on the next day.
        ///
        /// - Throws: `ScheduleError` with the place of what is wrong.
        public init(_ text: String) throws(ScheduleError) {
            self.text = text
            ranges = try WeekRanges.parse(text)
        }
    }

    /// Joins the times of all parts, of which there is at least one.
    public init(_ parts: [Part]) {
        texts = parts.map(\.text)
        ranges = Self.merged(parts.flatMap(\.ranges))
    }

    /// Whether it is open at all times.
    public var isAlwaysOpen: Bool { ranges == [0..<Self.week] }

    // MARK: - Searches

    /// Whether the window is open at an instant.
    /// - Complexity: O(log *t* + *r*) in the transitions of the zone and the ranges.
    public func isOpen(at instant: WallInstant, in zone: ZoneRules) -> Bool {
        let second = instant.secondsSinceEpoch
        return isOpen(local: second + zone.segment(at: second).offset)
    }

    /// The first instant from this one on at which the window is open.
    ///
    /// - Complexity: that of `isOpen` for each change of the zone until then, which are few: no
    ///   opening is more than about a week away.
    public func opening(notBefore instant: WallInstant, in zone: ZoneRules) -> WallInstant {
        if isOpen(at: instant, in: zone) { return instant }
        return first(from: instant.secondsSinceEpoch, in: zone) { opening(local: $0) }
    }

    /// The first instant after this one at which the window is closed; nil if it never is.
    /// - Complexity: as `opening`.
    public func closing(after instant: WallInstant, in zone: ZoneRules) -> WallInstant? {
        guard !isAlwaysOpen else { return nil }
        return first(from: instant.secondsSinceEpoch + 1, in: zone) { closing(local: $0) }
    }

    /// The first second from this one on that a search by the local clock finds.
    private func first(
        from second: Int64, in zone: ZoneRules, local search: (Int64) -> Int64
    ) -> WallInstant {
        var second = second
        while true {
            let segment = zone.segment(at: second)
            let found = search(second + segment.offset) - segment.offset
            guard let end = segment.end, end <= found else {
                return WallInstant(secondsSinceEpoch: found)
            }
            second = end
        }
    }

    /// The instant since which the window has been closed; nil if it is open.
    /// - Complexity: as `opening`.
    public func closed(at instant: WallInstant, in zone: ZoneRules) -> WallInstant? {
        var second = instant.secondsSinceEpoch
        guard !isOpen(at: instant, in: zone) else { return nil }
        while true {
            let segment = zone.segment(at: second)
            let found = lastClosing(local: second + segment.offset) - segment.offset
            guard let start = segment.start, found <= start else {
                return WallInstant(secondsSinceEpoch: found)
            }
            // It was closed at the start of this range of the zone, and perhaps before.
            guard !isOpen(local: start - 1 + zone.segment(at: start - 1).offset) else {
                return WallInstant(secondsSinceEpoch: start)
            }
            second = start - 1
        }
    }

    // MARK: - By the local clock

    private func isOpen(local second: Int64) -> Bool {
        let place = Self.place(of: second)
        return ranges.contains { $0.contains(place) || $0.contains(place + Self.week) }
    }

    /// The first second from this one on that is open.
    private func opening(local second: Int64) -> Int64 {
        let place = Self.place(of: second)
        if isOpen(local: second) { return second }
        let next = ranges.first { $0.lowerBound > place }?.lowerBound
        return second + (next ?? ranges[0].lowerBound + Self.week) - place
    }

    /// The first second from this one on that is closed.
    private func closing(local second: Int64) -> Int64 {
        let place = Self.place(of: second)
        for range in ranges {
            for shift in [0, Self.week] where range.contains(place + shift) {
                return second + range.upperBound - shift - place
            }
        }
        return second
    }

    /// The first second of the closed time that this second is in.
    private func lastClosing(local second: Int64) -> Int64 {
        let place = Self.place(of: second)
        let ends = ranges.map(\.upperBound)
        let last = (ends.map { $0 - Self.week } + ends).filter { $0 <= place }.max()
        return second - place + (last ?? (ends.last ?? 0) - 2 * Self.week)
    }

    /// The place of a second of the local clock in its week. 1970-01-01 was a Thursday.
    private static func place(of second: Int64) -> Int64 {
        (second + 3 * day).remainder(flooringBy: week)
    }

    /// Joins ranges that overlap or touch, also over the end of the week.
    private static func merged(_ found: [Range<Int64>]) -> [Range<Int64>] {
        let sorted = found.sorted {
            ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound)
        }
        var joined: [Range<Int64>] = []
        for range in sorted {
            if let last = joined.last, range.lowerBound <= last.upperBound {
                joined[joined.count - 1] =
                    last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                joined.append(range)
            }
        }
        // The last one may go on into the next week, over ranges at its start.
        while joined.count > 1, let last = joined.last,
            last.upperBound >= joined[0].lowerBound + week
        {
            let first = joined.removeFirst()
            joined[joined.count - 1] =
                last.lowerBound..<max(last.upperBound, first.upperBound + week)
        }
        if let only = joined.first, joined.count == 1, only.upperBound - only.lowerBound >= week {
            return [0..<week]
        }
        return joined
    }

    // MARK: - Parsing

    /// The ranges of one text.
    fileprivate static func parse(_ text: String) throws(ScheduleError) -> [Range<Int64>] {
        let bytes = Array(text.utf8)
        guard bytes.count <= 128 else {
            throw ScheduleError(128, "a range of a window has at most 128 characters")
        }
        var reader = CalendarReader(bytes)
        reader.skipBlanks()
        let days = try reader.weekdays()
        if reader.isAtEnd {
            guard days != 0 else {
                throw reader.error("a time is missing, such as 22:00-06:00 or Mon..Fri 22:00-06:00")
            }
            return ranges(days, from: 0, until: day)
        }
        let opening = try reader.timeOfDay()
        guard reader.skip("-") else {
            throw reader.error("a range has two times, such as 22:00-06:00")
        }
        let closing = try reader.timeOfDay()
        reader.skipBlanks()
        guard reader.isAtEnd else {
            throw reader.error("only one range can be here, such as Mon..Fri 22:00-06:00")
        }
        guard opening < day else {
            throw ScheduleError(0, "a range begins at 23:59:59 at the latest")
        }
        guard opening != closing else {
            throw reader.error(
                "a range that ends when it begins is empty; the whole day is 00:00-24:00")
        }
        return ranges(
            days == 0 ? 0x7f : days, from: opening,
            until: closing < opening ? closing + day : closing)
    }

    private static func ranges(
        _ days: UInt64, from opening: Int64, until closing: Int64
    ) -> [Range<Int64>] {
        (0..<7).filter { days & 1 << $0 != 0 }.map {
            Int64($0) * day + opening..<Int64($0) * day + closing
        }
    }
}

extension CalendarReader {
    /// A time of the day such as `6:00`, `22:30` or `22:30:15`, up to `24:00`, in seconds.
    fileprivate mutating func timeOfDay() throws(ScheduleError) -> Int64 {
        let hour = try twoDigits("hour", most: 24)
        guard skip(":") else { throw error("a time is written as 22:00") }
        let minute = try twoDigits("minute", most: 59)
        let second = skip(":") ? try twoDigits("second", most: 59) : 0
        let time = Int64(hour * 3600 + minute * 60 + second)
        guard time <= WeekRanges.day else { throw error("the last time of a day is 24:00") }
        return time
    }
}
