// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A parser for the parts of a calendar event.
struct CalendarReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    var isAtEnd: Bool { place == bytes.count }

    func isAt(_ character: Unicode.Scalar) -> Bool {
        place < bytes.count && bytes[place] == UInt8(ascii: character)
    }

    func error(_ message: String) -> ScheduleError { ScheduleError(place, message) }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard isAt(character) else { return false }
        place += 1
        return true
    }

    mutating func skipBlanks() { while skip(" ") {} }

    // MARK: - Weekdays

    private static let names: [[UInt8]] = [
        "monday", "mon", "tuesday", "tue", "wednesday", "wed", "thursday", "thu", "friday", "fri",
        "saturday", "sat", "sunday", "sun",
    ].map { Array($0.utf8) }

    /// The weekdays at the start, as bits; 0 if there are none.
    mutating func weekdays() throws(ScheduleError) -> UInt64 {
        var bits: UInt64 = 0
        var rangeStart: Int?
        var isFirst = true
        while true {
            guard let day = try weekday() else {
                // Nothing else in an event begins with a letter.
                if !word().isEmpty { throw notAWeekday() }
                guard isFirst else { throw error("a weekday is missing") }
                return 0
            }
            isFirst = false
            if let start = rangeStart {
                guard start <= day else { throw error("the range of weekdays runs backwards") }
                for between in start...day { bits |= 1 << between }
                rangeStart = nil
            }
            bits |= 1 << day
            let isRangeEnd = bits & 1 << day != 0 && hadRange
            hadRange = false
            if isAtEnd { return bits }
            if isAt(" ") {
                skipBlanks()
                return bits
            }
            if isAt(".") || isAt("-") {
                guard !isRangeEnd else { throw error("a range of weekdays has two ends") }
                if skip(".") {
                    guard skip(".") else { throw error("a range is written with \"..\"") }
                } else {
                    place += 1
                }
                rangeStart = day
                hadRange = true
            } else {
                place += 1
            }
            // A comma is allowed at the end, but a range without an end is not.
            if isAtEnd || isAt(" ") {
                guard rangeStart == nil else { throw error("the range of weekdays has no end") }
                skipBlanks()
                return bits
            }
        }
    }

    /// Whether the weekday that was just read is the end of a range.
    private var hadRange = false

    /// One weekday, 0 for Monday; nil if there is none at this place.
    private mutating func weekday() throws(ScheduleError) -> Int? {
        for (index, name) in Self.names.enumerated() {
            let end = place + name.count
            guard end <= bytes.count, zip(bytes[place..<end], name).allSatisfy({ $0 | 0x20 == $1 })
            else { continue }
            guard end == bytes.count || "-., ".utf8.contains(bytes[end]) else {
                guard !Self.isLetter(bytes[end]) else { throw notAWeekday() }
                place = end
                throw error("a blank is missing behind the weekday")
            }
            place = end
            return index / 2
        }
        return nil
    }

    /// The letters at this place, at most 32.
    private func word() -> String {
        String(
            decoding: bytes[place...].prefix(while: Self.isLetter).prefix(32), as: UTF8.self)
    }

    /// What is wrong with a word where a weekday or an event such as `daily` may be.
    private func notAWeekday() -> ScheduleError {
        let word = word()
        let next = bytes.count > place + word.utf8.count ? bytes[place + word.utf8.count] : 0
        let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        if next == UInt8(ascii: "/") {
            return error("a time zone goes at the end, as in \"Mon 08:30 Europe/Berlin\"")
        }
        if next == UInt8(ascii: "=") || next == UInt8(ascii: "_") {
            return error(
                "only a calendar event may be here; for a time zone, use timezone = \"Europe/Berlin\""
            )
        }
        let full = Self.names.map { String(decoding: $0, as: UTF8.self) }
        let capitals = word.prefix(1).uppercased() + word.dropFirst().lowercased()
        let near =
            nearestName(
                capitals, among: days + full.map { $0.prefix(1).uppercased() + $0.dropFirst() })
            ?? nearestName(word.lowercased(), among: CalendarFields.wordNames)
        return error(
            "\"\(word)\" is not a weekday" + (near.map { " (did you mean \"\($0)\"?)" } ?? "")
                + "; the weekdays are Mon, Tue, Wed, Thu, Fri, Sat and Sun")
    }

    // MARK: - Fields

    /// `@SECONDS` since 1970, which is a complete event.
    mutating func timestamp(into fields: inout CalendarFields) throws(ScheduleError) -> Bool {
        guard skip("@") else { return false }
        let second = try number()
        let days = second / 86_400
        let date = CivilDate(daysSinceEpoch: days)
        func one(_ value: Int) -> [ScheduleComponent] {
            [ScheduleComponent(start: value, stop: nil, step: 0)]
        }
        fields.years = one(date.year)
        fields.months = one(date.month)
        fields.days = one(date.day)
        fields.hours = one(second / 3600 % 24)
        fields.minutes = one(second / 60 % 60)
        fields.seconds = one(second % 60 * 1_000_000)
        fields.zoneName = "UTC"
        return true
    }

    /// The separator between the parts of a date.
    /// - Returns: whether the day is counted from the end of the month.
    mutating func dateSeparator() throws(ScheduleError) -> Bool {
        if skip("~") { return true }
        guard skip("-") else { throw error("not a number, a range, a list or a step" + hint) }
        return false
    }

    /// A field of whole numbers; empty for `*`.
    mutating func field(_ name: String) throws(ScheduleError) -> [ScheduleComponent] {
        if skip("*") { return [] }
        return try list(name, unit: 1)
    }

    /// The field for seconds, in microseconds.
    mutating func seconds() throws(ScheduleError) -> [ScheduleComponent] {
        if skip("*") { return [CalendarFields.everySecond] }
        return try list("second", unit: 1_000_000)
    }

    private mutating func list(_ name: String, unit: Int) throws(ScheduleError)
        -> [ScheduleComponent]
    {
        var parts: [ScheduleComponent] = []
        repeat {
            guard parts.count <= CalendarFields.componentsMax else {
                throw error("the \(name) lists more than \(CalendarFields.componentsMax) values")
            }
            parts.append(try component(name, unit: unit))
        } while skip(",")
        return parts
    }

    private mutating func component(_ name: String, unit: Int) throws(ScheduleError)
        -> ScheduleComponent
    {
        var part = ScheduleComponent(start: try value(name, unit: unit), stop: nil, step: 0)
        if place + 1 < bytes.count, isAt("."), bytes[place + 1] == UInt8(ascii: ".") {
            place += 2
            part.stop = try value(name, unit: unit)
            part.step = unit
        }
        if skip("/") {
            part.step = try value("step of the \(name)", unit: unit)
            guard part.step > 0 else { throw error("a step of 0 leads nowhere") }
        } else if unit > 1, let stop = part.stop, part.start + part.step > stop {
            throw error("a range shorter than a second needs a step")
        }
        guard isAtEnd || " ,-~:".utf8.contains(bytes[place]) else {
            throw error("not a number, a range, a list or a step" + hint)
        }
        return part
    }

    /// What was probably meant by the text at this place.
    private var hint: String {
        ["am", "pm"].contains(word().lowercased())
            ? "; a time has 24 hours, such as 08:30 or 20:30" : ""
    }

    private mutating func value(_ name: String, unit: Int) throws(ScheduleError) -> Int {
        guard place < bytes.count, isDigit(bytes[place]) else {
            throw error("a number is missing for the \(name)")
        }
        var value = try number()
        guard unit > 1 else { return value }
        value *= unit
        if isAt("."), place + 1 >= bytes.count || bytes[place + 1] != UInt8(ascii: ".") {
            place += 1
            value += try fraction()
        }
        return value
    }

    /// Up to six digits after the point; a seventh digit is rounded.
    private mutating func fraction() throws(ScheduleError) -> Int {
        let start = place
        var value = 0
        while place < bytes.count, isDigit(bytes[place]), place - start < 6 {
            value = value * 10 + Int(bytes[place] - UInt8(ascii: "0"))
            place += 1
        }
        guard place > start else { throw error("digits are missing behind the decimal point") }
        for _ in 0..<6 - (place - start) { value *= 10 }
        if place < bytes.count, isDigit(bytes[place]) {
            if bytes[place] >= UInt8(ascii: "5") { value += 1 }
            while place < bytes.count, isDigit(bytes[place]) { place += 1 }
        }
        return value
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// A number of one or two digits, from 0 to `most`.
    mutating func twoDigits(_ name: String, most: Int) throws(ScheduleError) -> Int {
        let start = place
        var value = 0
        while place < bytes.count, isDigit(bytes[place]), place - start < 2 {
            value = value * 10 + Int(bytes[place] - UInt8(ascii: "0"))
            place += 1
        }
        guard place > start else { throw error("a number is missing for the \(name)" + hint) }
        guard value <= most, place == bytes.count || !isDigit(bytes[place]) else {
            throw ScheduleError(start, "the \(name) is a number from 0 to \(most)")
        }
        return value
    }

    /// A whole number of up to about 2 billion, the maximum of systemd for any field, or 10^11 for
    /// seconds.
    private mutating func number() throws(ScheduleError) -> Int {
        let start = place
        var value = 0
        while place < bytes.count, isDigit(bytes[place]) {
            value = value * 10 + Int(bytes[place] - UInt8(ascii: "0"))
            place += 1
            guard value <= 100_000_000_000 else {
                throw ScheduleError(start, "the number is too large")
            }
        }
        guard place > start else { throw error("a number is missing") }
        return value
    }
}
