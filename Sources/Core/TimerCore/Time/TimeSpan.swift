// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Time spans in the format of systemd (systemd.time(7), "Parsing Time Spans"): `1h 30min`, `6h`,
/// `250ms`, `2.5d`. A number without a unit is in seconds, the parts are added, and `infinity` must
/// be the only word. In addition to systemd it accepts `mins`.
public enum TimeSpan {
    /// The limit of systemd: the largest 64-bit number of microseconds means infinity.
    private static let infinity = UInt64.max

    /// The units with their lengths in microseconds, in the order in which they are tried: a longer
    /// word comes before a word that is its prefix. A month is 30.4375 days and a year 365.25 days,
    /// as in systemd.
    private static let units: [(word: String, microseconds: UInt64)] = [
        ("seconds", second), ("second", second), ("sec", second), ("s", second),
        ("minutes", minute), ("minute", minute), ("mins", minute), ("min", minute),
        ("months", month), ("month", month), ("M", month),
        ("msec", 1000), ("ms", 1000), ("m", minute),
        ("hours", hour), ("hour", hour), ("hr", hour), ("h", hour),
        ("days", day), ("day", day), ("d", day),
        ("weeks", 7 * day), ("week", 7 * day), ("w", 7 * day),
        ("years", year), ("year", year), ("y", year),
        ("usec", 1), ("us", 1), ("\u{3bc}s", 1), ("\u{b5}s", 1),
    ]
    private static let second: UInt64 = 1_000_000
    private static let minute = 60 * second
    private static let hour = 60 * minute
    private static let day = 24 * hour
    private static let month = 2_629_800 * second
    private static let year = 31_557_600 * second

    /// Parses a span.
    ///
    /// - Returns: the span, to the microsecond; nil for `infinity`.
    /// - Throws: `TimeSpanError` with the place of the error and the reason.
    /// - Complexity: O(*n*) in the length of the text.
    public static func parse(_ text: String) throws(TimeSpanError) -> Duration? {
        var reader = Reader(bytes: Array(text.utf8))
        reader.skipBlanks()
        if reader.skip("infinity") {
            reader.skipBlanks()
            guard reader.isAtEnd else { throw reader.error("\"infinity\" must stand alone") }
            return nil
        }
        guard !reader.isAtEnd else {
            throw reader.error("a time span is missing, such as \"1h 30min\"")
        }
        var total: UInt64 = 0
        while !reader.isAtEnd {
            total = try reader.part(addedTo: total)
            reader.skipBlanks()
        }
        return .microseconds(total)
    }

    /// The span as a person reads it, with a space before each unit: `1 h 30 min`, `5.500000 s`,
    /// `0 s`. Units smaller than `accuracy` are not shown. A negative span is shown as `0 s`.
    public static func text(_ span: Duration, accuracy: Duration = .microseconds(1)) -> String {
        let text = parts(of: span, accuracy: accuracy)
            .map { "\($0) \($1)\($1 == "month" && $0 != "1" ? "s" : "")" }
            .joined(separator: " ")
        return text.isEmpty ? "0 s" : text
    }

    /// A measured span as a person says it: milliseconds only below 10 s, seconds below 10 min, minutes
    /// below a day, hours below a week, and then days. What is smaller is cut off: `9.204 s`, `12 s`,
    /// `4 min 5 s`, `12 min`, `4 h 12 min`, `3 d 4 h`.
    public static func roundedText(_ span: Duration) -> String {
        let accuracy: Duration =
            switch span {
            case ..<(.seconds(10)): .milliseconds(1)
            case ..<(.seconds(600)): .seconds(1)
            case ..<(.seconds(86_400)): .seconds(60)
            case ..<(.seconds(7 * 86_400)): .seconds(3600)
            default: .seconds(86_400)
            }
        return text(span, accuracy: accuracy)
    }

    /// The span as systemd and a configuration write it, to the microsecond: `1h 30min`,
    /// `5.500000s`, `0`. It can be parsed, as `text` can.
    public static func compactText(_ span: Duration) -> String {
        let text = parts(of: span, accuracy: .microseconds(1)).map { "\($0)\($1)" }
            .joined(separator: " ")
        return text.isEmpty ? "0" : text
    }

    /// The numbers of the span with their units, the largest first; none for a span below 1 us.
    private static func parts(
        of span: Duration, accuracy: Duration
    ) -> [(number: String, unit: String)] {
        var rest = microseconds(in: span)
        let accuracy = max(1, microseconds(in: accuracy))
        var parts: [(number: String, unit: String)] = []
        for (suffix, length) in displayed where rest >= length {
            if rest < accuracy, !parts.isEmpty { break }
            let (whole, fraction) = rest.quotientAndRemainder(dividingBy: length)
            if rest < minute, fraction > 0,
                let digits = decimals(fraction, of: length, accuracy: accuracy)
            {
                parts.append(("\(whole).\(digits)", suffix))
                rest = 0
            } else {
                parts.append(("\(whole)", suffix))
                rest = fraction
            }
            if rest == 0 { break }
        }
        return parts
    }

    /// The whole microseconds of a span; 0 if it is negative, and the maximum if it is longer.
    private static func microseconds(in span: Duration) -> UInt64 {
        let (seconds, attoseconds) = span.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: second)
        let (sum, carry) = product.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000_000))
        return overflow || carry ? .max : sum
    }

    private static let displayed: [(suffix: String, length: UInt64)] = [
        ("y", year), ("month", month), ("w", 7 * day), ("d", day), ("h", hour), ("min", minute),
        ("s", second), ("ms", 1000), ("us", 1),
    ]

    /// The digits after the point, as many as the accuracy allows; nil if it allows none.
    private static func decimals(
        _ fraction: UInt64, of unit: UInt64, accuracy: UInt64
    ) -> String? {
        var fraction = fraction
        var width = String(unit).utf8.count - 1
        var divisor = accuracy
        while divisor > 1 {
            divisor /= 10
            fraction /= 10
            width -= 1
        }
        return width > 0 ? padded(Int64(fraction), width) : nil
    }

    private struct Reader {
        let bytes: [UInt8]
        var place = 0

        var isAtEnd: Bool { place == bytes.count }
        var current: UInt8? { place < bytes.count ? bytes[place] : nil }

        mutating func skipBlanks() {
            while isBlank { place += 1 }
        }

        mutating func skip(_ word: String) -> Bool {
            // Most words differ in their first byte. Comparing it is faster than comparing sequences.
            guard current == word.utf8.first, bytes[place...].starts(with: word.utf8) else {
                return false
            }
            place += word.utf8.count
            return true
        }

        func error(_ message: String) -> TimeSpanError {
            TimeSpanError(offset: place, message: message)
        }

        /// One number with its unit.
        mutating func part(addedTo total: UInt64) throws(TimeSpanError) -> UInt64 {
            let start = place
            if current == UInt8(ascii: "-") { throw error("a time span cannot be negative") }
            let isNegative = skipSign()
            let whole = try number()
            if isNegative, let whole, whole > 0 {
                place = start
                throw error("a time span cannot be negative")
            }
            var fraction: ArraySlice<UInt8> = []
            let hasPoint = current == UInt8(ascii: ".")
            if hasPoint {
                place += 1
                let first = place
                while isDigit { place += 1 }
                fraction = bytes[first..<place]
                guard !fraction.isEmpty else {
                    throw error("digits are missing behind the decimal point")
                }
            }
            guard whole != nil || (hasPoint && start + 1 + fraction.count == place) else {
                place = start
                let word = word()
                throw error("a number is missing" + (word.isEmpty ? "" : " before \"\(word)\""))
            }
            let unit = try unit()
            let sum = Self.value(whole ?? 0, fraction, unit: unit, addedTo: total)
            guard let sum else {
                place = start
                throw error("the time span is too long")
            }
            return sum
        }

        /// Skips what strtoll(3), which systemd uses to parse a number, accepts before a number:
        /// blanks that systemd does not skip itself, and a sign. A minus is accepted only after
        /// such blanks, because systemd checks for it first.
        private mutating func skipSign() -> Bool {
            while current == 0x0b || current == 0x0c || isBlank { place += 1 }
            guard let sign = current, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else {
                return false
            }
            place += 1
            return sign == UInt8(ascii: "-")
        }

        private var isBlank: Bool {
            current.map { $0 == 32 || $0 == 9 || $0 == 10 || $0 == 13 } ?? false
        }

        private var isDigit: Bool {
            current.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
        }

        /// A whole number; nil if there is no digit. systemd parses it as a signed 64-bit number.
        private mutating func number() throws(TimeSpanError) -> UInt64? {
            let first = place
            var value: Int64 = 0
            while isDigit, let byte = current {
                let (product, overflow) = value.multipliedReportingOverflow(by: 10)
                let (sum, carry) = product.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
                guard !overflow, !carry else {
                    place = first
                    throw error("the number is too large")
                }
                value = sum
                place += 1
            }
            return place == first ? nil : UInt64(value)
        }

        /// The unit after a number. A number without a unit is in seconds if a blank or the end
        /// follows.
        private mutating func unit() throws(TimeSpanError) -> UInt64 {
            let end = place
            skipBlanks()
            let start = place
            for (word, length) in TimeSpan.units where skip(word) {
                guard !isLetter else {
                    place = start
                    throw notAUnit()
                }
                return length
            }
            guard !isLetter, place > end || isAtEnd else { throw notAUnit() }
            return TimeSpan.second
        }

        private func notAUnit() -> TimeSpanError {
            let word = word()
            guard !word.isEmpty else {
                return error("not a unit; the units are us, ms, s, min, h, d, w, month and y")
            }
            let near = nearestName(word, among: TimeSpan.units.lazy.map(\.word))
            return error(
                "\"\(word)\" is not a unit"
                    + (near.map { " (did you mean \"\($0)\"?)" } ?? "")
                    + "; the units are us, ms, s, min, h, d, w, month and y")
        }

        private var isLetter: Bool {
            current.map { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) } ?? false
        }

        /// The letters at this place, at most 32.
        private func word() -> String {
            let letters = bytes[place...].prefix {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
            }
            return String(decoding: letters.prefix(32), as: UTF8.self)
        }

        /// The sum in microseconds; nil if it reaches the number that means infinity.
        private static func value(
            _ whole: UInt64, _ fraction: ArraySlice<UInt8>, unit: UInt64, addedTo total: UInt64
        ) -> UInt64? {
            guard whole < infinity / unit else { return nil }
            var sum = total
            func add(_ part: UInt64) -> Bool {
                guard part < infinity - sum else { return false }
                sum += part
                return true
            }
            guard add(whole * unit) else { return nil }
            // Each digit is added separately and rounded down, as in systemd: 0.3min is exactly 18
            // s.
            var weight = unit / 10
            for digit in fraction {
                guard add(UInt64(digit - UInt8(ascii: "0")) * weight) else { return nil }
                weight /= 10
            }
            return sum
        }
    }
}

/// The reason why a text is not a valid time span.
public struct TimeSpanError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The place in the text, in bytes from its start.
    public var offset: Int
    /// What is wrong with the text, for its author.
    public var message: String

    public var description: String { message }
}
