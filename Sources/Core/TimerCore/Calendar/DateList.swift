// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A list of dates that jobs name in `except` and `only-on`, such as holidays: one table
/// `[dates.NAME]` of the configuration.
public struct DateList: Hashable, Sendable, NamedTable {
    public typealias Name = TableName<DateList>
    public static let kind = "list of dates"

    /// Its name, which jobs give in `except` and `only-on`.
    public let name: Name
    /// Its dates.
    public let days: DaySet

    public init(name: Name, days: DaySet) {
        self.name = name
        self.days = days
    }
}

/// A set of dates: single days and ranges of days, and days of each year.
public struct DaySet: Hashable, Sendable {
    /// The days that are searched, in days since 1970-01-01: those of the years in which schedules
    /// have occurrences.
    static let searched =
        0..<CivilDate(year: OccurrencePattern.years.upperBound + 1, month: 1, day: 1).daysSinceEpoch

    /// A range of days, both of which belong to it.
    struct Span: Hashable, Sendable {
        var first: Int32
        var last: Int32
    }

    /// Ascending, and at least one day apart.
    private let spans: [Span]
    /// The days of each year: bits 1 to 31 for each month from 1 to 12; empty if there are none.
    private let yearly: [UInt32]
    /// Whether every day of each year belongs to it, so that no search for another one has an end.
    private let isEveryDay: Bool

    /// One entry of a list.
    public enum Entry: Hashable, Sendable {
        /// All days from the first date to the last, which is not earlier.
        case range(CivilDate, CivilDate)
        /// The day of each year that has it.
        case yearly(month: Int, day: Int)

        /// Parses `2026-12-25`, `2026-12-24..2026-12-26` or `*-05-01`.
        ///
        /// - Throws: `ScheduleError` with the place of what is wrong. The message does not contain
        ///   the text.
        public init(_ text: some StringProtocol) throws(ScheduleError) {
            let bytes = Array(text.utf8)
            let isRange = text.hasOccurrence(of: "..")
            if bytes.first == UInt8(ascii: "*") {
                guard !isRange else {
                    throw ScheduleError(
                        0, "a range is of dates with a year, such as 2026-12-24..2026-12-26")
                }
                guard bytes.count > 1, bytes[1] == UInt8(ascii: "-"),
                    let (month, day) = Self.monthAndDay(bytes[2...])
                else { throw ScheduleError(0, Self.forms) }
                // 2000 has a 29th of February.
                try Self.check(CivilDate(year: 2000, month: month, day: day), at: 0)
                self = .yearly(month: month, day: day)
                return
            }
            guard isRange else {
                let date = try Self.date(bytes[...])
                self = .range(date, date)
                return
            }
            guard bytes.count == 22, bytes[10] == UInt8(ascii: "."), bytes[11] == bytes[10] else {
                throw ScheduleError(0, Self.forms)
            }
            let first = try Self.date(bytes[..<10])
            let last = try Self.date(bytes[12...])
            guard first <= last else {
                throw ScheduleError(
                    0, "the range runs backwards; write the earlier date first")
            }
            self = .range(first, last)
        }

        private static let forms =
            "is not a date such as 2026-12-25, a range such as 2026-12-24..2026-12-26 or a day of each year such as *-05-01"

        private static func date(_ bytes: ArraySlice<UInt8>) throws(ScheduleError) -> CivilDate {
            let start = bytes.startIndex
            guard bytes.count == 10, bytes[start + 4] == UInt8(ascii: "-"),
                let year = number(bytes[start..<start + 4]),
                let (month, day) = monthAndDay(bytes[(start + 5)...])
            else { throw ScheduleError(start, forms) }
            let date = CivilDate(year: year, month: month, day: day)
            try check(date, at: start)
            return date
        }

        private static func monthAndDay(_ bytes: ArraySlice<UInt8>) -> (month: Int, day: Int)? {
            let start = bytes.startIndex
            guard bytes.count == 5, bytes[start + 2] == UInt8(ascii: "-"),
                let month = number(bytes[start..<start + 2]),
                let day = number(bytes[(start + 3)...])
            else { return nil }
            return (month, day)
        }

        private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
            guard digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
            return digits.reduce(0) { $0 * 10 + Int($1 - 48) }
        }

        private static func check(_ date: CivilDate, at place: Int) throws(ScheduleError) {
            guard (1...12).contains(date.month) else {
                throw ScheduleError(place, "there is no month \(date.month)")
            }
            let length = CivilDate.days(in: date.month, of: date.year)
            guard (1...length).contains(date.day) else {
                throw ScheduleError(
                    place, "there is no day \(date.day) in that month, which has \(length)")
            }
            guard OccurrencePattern.years.contains(date.year) else {
                let years = OccurrencePattern.years
                throw ScheduleError(
                    place, "the years are \(years.lowerBound) to \(years.upperBound)")
            }
        }
    }

    /// The set of these entries, in any order.
    /// - Complexity: O(*n* log *n*).
    public init(_ entries: some Sequence<Entry>) {
        var spans: [Span] = []
        var yearly: [UInt32] = []
        for entry in entries {
            switch entry {
            case .range(let first, let last):
                spans.append(
                    Span(first: Int32(first.daysSinceEpoch), last: Int32(last.daysSinceEpoch)))
            case .yearly(let month, let day):
                if yearly.isEmpty { yearly = [UInt32](repeating: 0, count: 13) }
                yearly[month] |= 1 << day
            }
        }
        spans.sort { $0.first < $1.first }
        var merged: [Span] = []
        for span in spans {
            if let last = merged.last, span.first <= last.last + 1 {
                merged[merged.count - 1].last = max(last.last, span.last)
            } else {
                merged.append(span)
            }
        }
        self.spans = merged
        self.yearly = yearly
        isEveryDay = yearly.reduce(0) { $0 + $1.nonzeroBitCount } == 366
    }

    /// Whether it has no date.
    public var isEmpty: Bool { spans.isEmpty && yearly.isEmpty }

    /// The last of its dates; nil if it has none, or days of each year.
    public var last: CivilDate? {
        guard yearly.isEmpty else { return nil }
        return spans.last.map { CivilDate(daysSinceEpoch: Int($0.last)) }
    }

    /// The entries that mean the same, in their normal form: ascending ranges, then days of each
    /// year.
    public var texts: [String] {
        let ranges = spans.map { span in
            let first = CivilDate(daysSinceEpoch: Int(span.first)).text
            return span.first == span.last
                ? first : "\(first)..\(CivilDate(daysSinceEpoch: Int(span.last)).text)"
        }
        let days = yearly.enumerated().flatMap { month, days -> [String] in
            (1...31).filter { days & 1 << $0 != 0 }.map { day in
                "*-\(padded(Int64(month), 2))-\(padded(Int64(day), 2))"
            }
        }
        return ranges + days
    }

    // MARK: - Searching

    /// Whether the date that is this many days after 1970-01-01 belongs to it.
    /// - Complexity: O(log *n*) in the number of ranges.
    public func contains(_ day: Int) -> Bool { span(around: day) != nil || isYearly(day) }

    /// The first day from `day` on that belongs to it, or that does not; nil if there is none
    /// before the year 2200.
    ///
    /// - Complexity: O(log *n*) in the number of ranges, and O(*d*) in adjacent days of each year.
    func first(from day: Int, inside: Bool) -> Int? {
        inside ? firstInside(from: day) : end(from: day, step: 1)
    }

    /// The last day until `day` that belongs to it, or that does not; nil if there is none since
    /// 1970.
    /// - Complexity: as `first`.
    func last(until day: Int, inside: Bool) -> Int? {
        inside ? lastInside(until: day) : end(from: day, step: -1)
    }

    /// The position of the first range that ends on this day or later.
    private func position(endingNotBefore day: Int) -> Int {
        var low = 0
        var high = spans.count
        while low < high {
            let middle = (low + high) / 2
            if spans[middle].last < day { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func span(around day: Int) -> Span? {
        let position = position(endingNotBefore: day)
        guard position < spans.count, spans[position].first <= day else { return nil }
        return spans[position]
    }

    private func isYearly(_ day: Int) -> Bool {
        guard !yearly.isEmpty else { return false }
        let date = CivilDate(daysSinceEpoch: day)
        return yearly[date.month] & 1 << date.day != 0
    }

    /// The first day in this direction that does not belong to it.
    private func end(from day: Int, step: Int) -> Int? {
        guard !isEveryDay else { return nil }
        var day = day
        while Self.searched.contains(day) {
            if let span = span(around: day) {
                day = step > 0 ? Int(span.last) + 1 : Int(span.first) - 1
            } else if isYearly(day) {
                day += step
            } else {
                return day
            }
        }
        return nil
    }

    private func firstInside(from day: Int) -> Int? {
        let position = position(endingNotBefore: day)
        var found = position < spans.count ? max(day, Int(spans[position].first)) : nil
        guard !yearly.isEmpty else { return found }
        var date = CivilDate(daysSinceEpoch: day)
        // A leap day comes again after eight years at most.
        for _ in 0...(12 * 9) {
            let bits = yearly[date.month] & Self.days(in: date.month, of: date.year)
            if let next = bits.bit(notBelow: date.day) {
                date.day = next
                found = min(found ?? .max, date.daysSinceEpoch)
                break
            }
            date = CivilDate(
                year: date.month == 12 ? date.year + 1 : date.year, month: date.month % 12 + 1,
                day: 1)
        }
        return found.flatMap { Self.searched.contains($0) ? $0 : nil }
    }

    private func lastInside(until day: Int) -> Int? {
        let position = position(endingNotBefore: day)
        var found: Int?
        if position < spans.count, spans[position].first <= day {
            found = day
        } else if position > 0 {
            found = Int(spans[position - 1].last)
        }
        guard !yearly.isEmpty else { return found }
        var date = CivilDate(daysSinceEpoch: day)
        for _ in 0...(12 * 9) {
            let bits = yearly[date.month] & Self.days(in: date.month, of: date.year)
            if let last = bits.bit(notAbove: date.day) {
                date.day = last
                found = max(found ?? .min, date.daysSinceEpoch)
                break
            }
            date = CivilDate(
                year: date.month == 1 ? date.year - 1 : date.year,
                month: date.month == 1 ? 12 : date.month - 1, day: 31)
        }
        return found.flatMap { Self.searched.contains($0) ? $0 : nil }
    }

    /// The bits of the days of a month.
    private static func days(in month: Int, of year: Int) -> UInt32 {
        UInt32((UInt64(1) << (CivilDate.days(in: month, of: year) + 1)) - 2)
    }
}

extension CivilDate {
    /// The date as in RFC 3339: `2026-12-25`.
    public var text: String {
        "\(padded(Int64(year), 4))-\(padded(Int64(month), 2))-\(padded(Int64(day), 2))"
    }
}
