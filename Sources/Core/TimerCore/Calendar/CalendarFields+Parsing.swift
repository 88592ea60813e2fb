// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension CalendarFields {
    /// The maximum number of values in a field, as in systemd.
    static let componentsMax = 240

    /// Words that replace a whole event, with the events they mean.
    private static let words: [String: String] = [
        "minutely": "*:*", "hourly": "*:0", "daily": "0:0", "monthly": "*-*-1", "weekly": "Mon",
        "quarterly": "*-1,4,7,10-1", "annually": "*-1-1", "yearly": "*-1-1", "anually": "*-1-1",
        "biannually": "*-1,7-1", "bi-annually": "*-1,7-1", "semiannually": "*-1,7-1",
        "semi-annually": "*-1,7-1",
    ]

    /// The words that replace a whole event, in a fixed order.
    static let wordNames = words.keys.sorted()

    /// Abbreviations that are also names of files in the zone database.
    private static let abbreviations: Set<String> = [
        "CET", "CEST", "EET", "EEST", "MET", "MEST", "WET", "WEST", "EST", "EDT", "CST", "CDT",
        "MST",
        "MDT", "PST", "PDT", "HST", "BST", "IST", "JST", "MSK",
    ]

    /// Parses a calendar event in the syntax of systemd.time(7), with an optional zone at its end.
    init(_ text: String) throws(ScheduleError) {
        var bytes = Array(text.utf8)
        if let error = Self.cronHint(bytes) { throw error }
        try takeZone(&bytes)
        guard !bytes.isEmpty else { throw ScheduleError(0, "a calendar event is missing") }
        if let event = Self.words[String(decoding: bytes, as: UTF8.self).lowercased()] {
            bytes = Array(event.utf8)
        }
        var reader = CalendarReader(bytes)
        weekdays = try reader.weekdays()
        if try !reader.timestamp(into: &self) {
            try readDate(&reader)
            try readTime(&reader)
        }
        guard reader.isAtEnd else { throw reader.error("nothing may follow here") }
        normalize()
        try check()
    }

    /// The error for a line of a crontab; nil for another text.
    private static func cronHint(_ bytes: [UInt8]) -> ScheduleError? {
        guard bytes.contains(UInt8(ascii: " ")), !bytes.contains(UInt8(ascii: ":")),
            (try? CronSpec(String(decoding: bytes, as: UTF8.self))) != nil
        else { return nil }
        return ScheduleError(0, "this is a line of a crontab; use cron instead of calendar")
    }

    /// Removes the zone from the end of the text: the last of several words, if it starts with a
    /// letter.
    private mutating func takeZone(_ bytes: inout [UInt8]) throws(ScheduleError) {
        guard let blank = bytes.lastIndex(of: UInt8(ascii: " ")), blank + 1 < bytes.count,
            CalendarReader.isLetter(bytes[blank + 1])
        else { return }
        let name = String(decoding: bytes[(blank + 1)...], as: UTF8.self)
        guard !Self.abbreviations.contains(name.uppercased()) else {
            throw ScheduleError(
                blank + 1,
                "\"\(name)\" is an abbreviation, which means different offsets in different places; "
                    + "name a place, such as Europe/Berlin")
        }
        zoneName = name.uppercased() == "UTC" ? "UTC" : name
        bytes.removeSubrange(blank...)
    }

    private mutating func readDate(_ reader: inout CalendarReader) throws(ScheduleError) {
        guard !reader.isAtEnd else { return }
        let start = reader
        let first = try reader.field("year, month or hour")
        // If the text ends here or continues with a colon, it was a time and not a date.
        guard !reader.isAtEnd, !reader.isAt(":") else {
            reader = start
            return
        }
        isFromMonthEnd = try reader.dateSeparator()
        let second = try reader.field("month or day")
        if reader.isAtEnd || reader.isAt(" ") {
            (months, days) = (first, second)
        } else {
            guard !isFromMonthEnd else { throw reader.error("'~' goes before the day alone") }
            isFromMonthEnd = try reader.dateSeparator()
            (years, months, days) = (first, second, try reader.field("day"))
            guard reader.isAtEnd || reader.isAt(" ") else {
                throw reader.error("a blank and a time, or nothing, may follow a date")
            }
        }
        reader.skipBlanks()
    }

    private mutating func readTime(_ reader: inout CalendarReader) throws(ScheduleError) {
        let zero = [ScheduleComponent(start: 0, stop: nil, step: 0)]
        guard !reader.isAtEnd else {
            (hours, minutes, seconds) = (zero, zero, zero)
            return
        }
        hours = try reader.field("hour")
        guard reader.skip(":") else { throw reader.error("a colon and the minute are missing") }
        minutes = try reader.field("minute")
        seconds = zero
        guard reader.skip(":") else { return }
        seconds = try reader.seconds()
    }

    // MARK: - Ranges

    private func check() throws(ScheduleError) {
        try Self.check(years, "year", OccurrencePattern.years)
        try Self.check(months, "month", 1...12)
        try Self.check(days, "day", 1...(isFromMonthEnd ? 28 : 31), isReversed: isFromMonthEnd)
        try Self.check(hours, "hour", 0...23)
        try Self.check(minutes, "minute", 0...59)
        try Self.check(seconds, "second", 0...59_999_999, unit: 1_000_000)
    }

    private static func check(
        _ field: [ScheduleComponent], _ name: String, _ range: ClosedRange<Int>,
        isReversed: Bool = false, unit: Int = 1
    ) throws(ScheduleError) {
        let low = range.lowerBound
        for (index, part) in field.enumerated() {
            // systemd lowers the limit by three days for each value that is listed before. timerd
            // does the same, so that a schedule has the same meaning in both.
            let high = range.upperBound - (isReversed ? 3 * index : 0)
            guard (low...max(low, high)).contains(part.start), part.stop ?? low <= high,
                part.stop ?? low >= low
            else {
                throw ScheduleError(
                    0,
                    "\(name) must be \(low / unit) to \(high / unit)"
                        + (isReversed ? " before the month's end" : ""))
            }
            guard part.step <= high - low else {
                throw ScheduleError(0, "\(name) has a step longer than its range")
            }
            let reaches =
                if let stop = part.stop { part.start + part.step <= stop } else if isReversed {
                    part.start - part.step >= low
                } else { part.start + part.step <= high }
            guard reaches else {
                throw ScheduleError(
                    0,
                    part.stop == nil
                        ? "\(name) has a step that leads nowhere"
                        : "\(name) has a range without a second value")
            }
        }
    }
}
