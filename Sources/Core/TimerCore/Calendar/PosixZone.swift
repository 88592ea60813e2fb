// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A zone in the format of the environment variable TZ (POSIX.1, 8.3, with the extension of RFC
/// 9636, 3.3.1: times of changes from -167 to 167 hours).
struct PosixZone: Hashable, Sendable {
    /// Seconds east of UTC in standard time.
    let standard: Int32
    /// The rules for daylight saving time, if there are any.
    let daylight: Daylight?

    struct Daylight: Hashable, Sendable {
        var offset: Int32
        var begins: Change
        var ends: Change
    }

    /// A day of each year, and a time on that day in seconds by the clock before the change.
    struct Change: Hashable, Sendable {
        enum Day: Hashable, Sendable {
            /// `Jn`: 1 to 365; February 29 is never counted.
            case julian(Int)
            /// `n`: 0 to 365; February 29 is counted in leap years.
            case zeroBased(Int)
            /// `Mm.w.d`: weekday d (0 is Sunday) of week w (5 is the last) of month m.
            case weekday(month: Int, week: Int, day: Int)
        }

        var day: Day
        var time: Int64 = 7200
    }

    init(_ text: String) throws(ZoneError) {
        var reader = PosixReader(text)
        try reader.name()
        standard = -(try reader.offset(hoursMax: 24))
        guard !reader.isAtEnd else {
            daylight = nil
            return
        }
        try reader.name()
        let offset =
            reader.isAt(",") || reader.isAtEnd
            ? standard + 3600 : -(try reader.offset(hoursMax: 24))
        guard !reader.isAtEnd else {
            throw reader.error("it does not say when daylight saving time begins and ends")
        }
        let begins = try reader.change()
        let ends = try reader.change()
        guard reader.isAtEnd else { throw reader.error("there is something behind its end") }
        daylight = offset == standard ? nil : Daylight(offset: offset, begins: begins, ends: ends)
    }

    /// The range of constant offset that contains an instant, as if the rules were valid for all
    /// time.
    func segment(at second: Int64) -> ZoneRules.Segment {
        guard let daylight else { return .init(start: nil, end: nil, offset: Int64(standard)) }
        // Beyond this limit the calculation of the year would overflow. No clock has such a time.
        let clamped = min(max(second, -(1 << 50)), 1 << 50)
        let year = CivilDate(
            daysSinceEpoch: Int((clamped + Int64(standard)).quotient(flooringBy: 86_400))
        ).year
        var start: (at: Int64, isDaylight: Bool)?
        var end: (at: Int64, isDaylight: Bool)?
        for year in year - 1...year + 1 {
            let begins = daylight.begins.second(of: year) - Int64(standard)
            let ends = daylight.ends.second(of: year) - Int64(daylight.offset)
            for (at, isDaylight) in [(begins, true), (ends, false)] {
                // If daylight saving time ends at the moment at which the next one starts, it is
                // permanent.
                if at <= clamped {
                    if start.map({ ($0.at, $0.isDaylight ? 1 : 0) < (at, isDaylight ? 1 : 0) })
                        ?? true
                    {
                        start = (at, isDaylight)
                    }
                } else if end.map({ (at, isDaylight ? 0 : 1) < ($0.at, $0.isDaylight ? 0 : 1) })
                    ?? true
                {
                    end = (at, isDaylight)
                }
            }
        }
        let isDaylight = start?.isDaylight ?? false
        let offset = Int64(isDaylight ? daylight.offset : standard)
        // A change to the current offset is not a change.
        guard let last = start, let next = end, next.isDaylight != isDaylight else {
            return .init(start: nil, end: nil, offset: offset)
        }
        return .init(start: last.at, end: next.at, offset: offset)
    }
}

extension PosixZone.Change {
    /// The local second of the change in a year, calculated as if local time were UTC.
    func second(of year: Int) -> Int64 {
        let newYear = CivilDate(year: year, month: 1, day: 1).daysSinceEpoch
        let isLeap = CivilDate.isLeap(year)
        let day: Int =
            switch day {
            case .julian(let number): newYear + number - 1 + (isLeap && number >= 60 ? 1 : 0)
            case .zeroBased(let number): newYear + number
            case .weekday(let month, let week, let weekday):
                Self.day(weekday, ofWeek: week, in: month, year)
            }
        return Int64(day) * 86_400 + time
    }

    private static func day(_ weekday: Int, ofWeek week: Int, in month: Int, _ year: Int) -> Int {
        let first = CivilDate(year: year, month: month, day: 1).daysSinceEpoch
        // 1970-01-01 was a Thursday, 4.
        let firstWeekday = ((first + 4) % 7 + 7) % 7
        var day = (weekday - firstWeekday + 7) % 7 + (week - 1) * 7
        if day >= CivilDate.days(in: month, of: year) { day -= 7 }
        return first + day
    }
}

extension CivilDate {
    /// By the rules of the Gregorian calendar.
    static func isLeap(_ year: Int) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// A parser for the parts of a POSIX zone.
private struct PosixReader {
    private let text: String
    private let bytes: [UInt8]
    private var place = 0

    init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
    }

    var isAtEnd: Bool { place == bytes.count }

    func isAt(_ character: Character) -> Bool {
        place < bytes.count && bytes[place] == character.asciiValue
    }

    func error(_ why: String) -> ZoneError { ZoneError("zone rule \"\(text)\": \(why)") }

    private mutating func skip(_ character: Character) -> Bool {
        guard isAt(character) else { return false }
        place += 1
        return true
    }

    /// Parses an abbreviation: letters, or letters, digits and signs in `<>`.
    mutating func name() throws(ZoneError) {
        let start = place
        if skip("<") {
            while place < bytes.count, !isAt(">") { place += 1 }
            guard skip(">"), place - start >= 3 else { throw error("a name in <> is not closed") }
            return
        }
        while place < bytes.count,
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(bytes[place] | 0x20)
        {
            place += 1
        }
        guard place - start >= 3 else { throw error("a name of at least three letters is missing") }
    }

    private mutating func number(max: Int) throws(ZoneError) -> Int {
        var value: Int?
        while place < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[place]) {
            value = (value ?? 0) * 10 + Int(bytes[place] - UInt8(ascii: "0"))
            place += 1
            guard let value, value <= max else { throw error("a number above \(max)") }
        }
        guard let value else { throw error("a number is missing") }
        return value
    }

    /// Parses `[+-]hh[:mm[:ss]]` and returns seconds.
    mutating func offset(hoursMax: Int) throws(ZoneError) -> Int32 {
        let isNegative = skip("-")
        if !isNegative { _ = skip("+") }
        var seconds = try number(max: hoursMax) * 3600
        if skip(":") {
            seconds += try number(max: 59) * 60
            if skip(":") { seconds += try number(max: 59) }
        }
        return Int32(isNegative ? -seconds : seconds)
    }

    /// Parses `,day[/time]`.
    mutating func change() throws(ZoneError) -> PosixZone.Change {
        guard skip(",") else { throw error("a comma and the day of a change are missing") }
        var change = PosixZone.Change(day: try day())
        if skip("/") { change.time = Int64(try offset(hoursMax: 167)) }
        return change
    }

    private mutating func day() throws(ZoneError) -> PosixZone.Change.Day {
        if skip("J") {
            let number = try number(max: 365)
            guard number >= 1 else { throw error("day J0") }
            return .julian(number)
        }
        guard skip("M") else { return .zeroBased(try number(max: 365)) }
        let month = try number(max: 12)
        guard skip(".") else { throw error("the week of a change is missing") }
        let week = try number(max: 5)
        guard skip(".") else { throw error("the weekday of a change is missing") }
        let day = try number(max: 6)
        guard month >= 1, week >= 1 else { throw error("month 0 or week 0") }
        return .weekday(month: month, week: week, day: day)
    }
}
