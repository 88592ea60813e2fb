// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A day of the proleptic Gregorian calendar, with the conversion to and from a number of days.
///
/// The calculations are from Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms"
/// (https://howardhinnant.github.io/date_algorithms.html). They are exact over the whole range and
/// need no loops.
public struct CivilDate: Hashable, Comparable, Sendable {
    /// The year; 0 is 1 BC.
    public var year: Int
    /// 1 to 12.
    public var month: Int
    /// 1 to 31.
    public var day: Int

    /// Creates a date. The values are neither checked nor carried over.
    public init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The date that lies `days` days after 1970-01-01.
    public init(daysSinceEpoch days: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Days since 1970-01-01; negative before it.
    public var daysSinceEpoch: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }
}

extension WallInstant {
    /// The instant in UTC in the form of RFC 3339. It has a fraction only if that is not zero:
    /// `2026-11-21T04:38:52Z`, `2026-11-21T04:38:52.25Z`.
    public var rfc3339: String {
        let second = secondsSinceEpoch
        let microsecond = microsecondsSinceEpoch.remainder(flooringBy: 1_000_000)
        var text = utcText(second, dateSeparator: "-", timeSeparator: ":")
        if microsecond != 0 {
            text.append(UInt8(ascii: "."))
            text.append(microsecond, digits: 6)
            while text.last == UInt8(ascii: "0") { text.removeLast() }
        }
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// The instant in UTC after RFC 3339, always with six digits of fraction: `2026-11-21T04:38:52.250000Z`. It is how
    /// the control API writes each instant, so that equal instants are equal texts.
    public var rfc3339Micros: String {
        var text = utcText(secondsSinceEpoch, dateSeparator: "-", timeSeparator: ":")
        text.append(UInt8(ascii: "."))
        text.append(microsecondsSinceEpoch.remainder(flooringBy: 1_000_000), digits: 6)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// The instant in UTC in the basic form of ISO 8601, always with a fraction of six digits, so
    /// that the texts sort like the instants: `20261121T043852.250000Z`. Years 0 to 9999.
    public var basicISO8601: String {
        let second = secondsSinceEpoch
        let microsecond = microsecondsSinceEpoch.remainder(flooringBy: 1_000_000)
        var text = utcText(second, dateSeparator: nil, timeSeparator: nil)
        text.append(UInt8(ascii: "."))
        text.append(microsecond, digits: 6)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// Parses the text that `basicISO8601` produces; nil for any other text.
    public init?(basicISO8601 text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count == 23, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "."),
            bytes[22] == UInt8(ascii: "Z")
        else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            var value = 0
            for byte in bytes[range] {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
            }
            return value
        }
        guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8),
            let hour = number(9..<11), let minute = number(11..<13), let second = number(13..<15),
            let microsecond = number(16..<22)
        else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        guard CivilDate(daysSinceEpoch: date.daysSinceEpoch) == date, hour < 24, minute < 60,
            second < 60
        else { return nil }
        let seconds = ((date.daysSinceEpoch * 24 + hour) * 60 + minute) * 60 + second
        self.init(microsecondsSinceEpoch: Int64(seconds) * 1_000_000 + Int64(microsecond))
    }

    /// Parses an instant of RFC 3339, `2026-11-21T04:38:52Z` or `2026-11-21T05:38:52.25+01:00`,
    /// with up to six digits of fraction; nil for any other text.
    public init?(rfc3339 text: String) {
        var bytes = Array(text.utf8)
        var offset: Int64 = 0
        if bytes.count >= 25, let sign = "+-".utf8.first(where: { $0 == bytes[bytes.count - 6] }) {
            let parts = String(decoding: bytes.suffix(5), as: UTF8.self).split(separator: ":")
            guard parts.count == 2, parts[0].utf8.count == 2, let hours = UInt8(digits: parts[0]),
                let minutes = UInt8(digits: parts[1]), hours < 24, minutes < 60
            else { return nil }
            offset = (Int64(hours) * 60 + Int64(minutes)) * 60_000_000
            if sign == UInt8(ascii: "-") { offset = -offset }
            bytes.replaceSubrange((bytes.count - 6)..., with: [UInt8(ascii: "Z")])
        }
        guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z"), bytes[4] == UInt8(ascii: "-"),
            bytes[7] == UInt8(ascii: "-"), bytes[13] == UInt8(ascii: ":"),
            bytes[16] == UInt8(ascii: ":")
        else { return nil }
        var fraction = bytes[19..<bytes.count - 1]
        if let point = fraction.first {
            guard point == UInt8(ascii: "."), (2...7).contains(fraction.count) else { return nil }
            fraction = fraction.dropFirst()
        }
        let zeros = [UInt8](repeating: UInt8(ascii: "0"), count: 6 - fraction.count)
        var basic: [UInt8] = []
        for part in [0..<4, 5..<7, 8..<13, 14..<16, 17..<19] { basic += bytes[part] }
        basic.append(UInt8(ascii: "."))
        basic += fraction
        basic += zeros
        basic.append(UInt8(ascii: "Z"))
        self.init(basicISO8601: String(decoding: basic, as: UTF8.self))
        microsecondsSinceEpoch = microsecondsSinceEpoch.subtracting(clamping: offset)
    }

    /// This builds bytes instead of joining strings, because an instant is written for each run,
    /// row and log line.
    private func utcText(
        _ second: Int64, dateSeparator: Unicode.Scalar?, timeSeparator: Unicode.Scalar?
    ) -> [UInt8] {
        let day = second.quotient(flooringBy: 86_400)
        let secondOfDay = second - day * 86_400
        let date = CivilDate(daysSinceEpoch: Int(day))
        var text: [UInt8] = []
        text.reserveCapacity(32)
        func put(_ number: Int64, _ digits: Int, _ separator: Unicode.Scalar?) {
            text.append(number, digits: digits)
            if let separator { text.append(UInt8(ascii: separator)) }
        }
        put(Int64(date.year), 4, dateSeparator)
        put(Int64(date.month), 2, dateSeparator)
        put(Int64(date.day), 2, "T")
        put(secondOfDay / 3600, 2, timeSeparator)
        put(secondOfDay / 60 % 60, 2, timeSeparator)
        put(secondOfDay % 60, 2, nil)
        return text
    }
}

extension [UInt8] {
    /// Appends the number in decimal, with leading zeros to this many digits.
    fileprivate mutating func append(_ number: Int64, digits: Int) {
        guard number >= 0 else { return append(contentsOf: padded(number, digits).utf8) }
        var power: Int64 = 1
        for _ in 1..<digits { power *= 10 }
        while number / power >= 10 { power *= 10 }
        while power > 0 {
            append(UInt8(ascii: "0") + UInt8(number / power % 10))
            power /= 10
        }
    }
}

/// The number in decimal, with leading zeros to `width` digits.
func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}
