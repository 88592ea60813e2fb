// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The words of a text that names an instant, parsed independently of the current time.
struct TimeWords {
    struct Word: Hashable {
        var text: String
        /// The place in the text, in bytes from its start.
        var offset: Int

        var lowercase: String { text.lowercased() }
        var first: UInt8 { text.utf8.first ?? 0 }
    }

    enum Sign { case plus, minus }

    enum Day: Hashable {
        case date(CivilDate)
        /// Days after today.
        case relative(Int)
        /// 0 is Monday.
        case weekday(Int)
        /// The text does not name a day.
        case open
    }

    enum Zone {
        case fixed(ZoneRules)
        /// A name, or an abbreviation of the zone of the caller.
        case word(Word)
    }

    /// A time of a local clock, of which the text may leave the day or the zone open.
    struct Clock {
        var day = Day.open
        /// The time since midnight by this clock.
        var microseconds: Int64 = 0
        var zone: Zone?
    }

    private let text: String
    private let words: [Word]

    init(_ text: String) throws(TimeParserError) {
        guard text.utf8.count <= TimeParser.bytesMax else { throw .tooLong }
        var words: [Word] = []
        var start: Int?
        let bytes = Array(text.utf8)
        for (place, byte) in (bytes + [32]).enumerated() {
            if byte == 32 || byte == 9 {
                if let start {
                    let word = String(decoding: bytes[start..<place], as: UTF8.self)
                    words += Self.parts(of: Word(text: word, offset: start))
                }
                start = nil
            } else if byte < 32 || byte == 127 {
                throw TimeParserError(offset: place, "a control character in it; \(Self.hint)")
            } else {
                start = start ?? place
            }
        }
        guard !words.isEmpty else { throw TimeParserError(offset: nil, "is empty; \(Self.hint)") }
        self.words = words
        self.text = text
    }

    private static let hint = "a time is such as \(TimeParser.examples)"

    /// Splits a word like `2026-12-24T18:00:00+01:00` into a date, a time and a zone.
    private static func parts(of word: Word) -> [Word] {
        let bytes = Array(word.text.utf8)
        guard isDigit(bytes[0]), bytes.contains(UInt8(ascii: ":")) else { return [word] }
        let hasT = bytes.count > 11 && bytes[10] | 0x20 == UInt8(ascii: "t")
        var cuts = hasT ? [0, 11] : [0]
        if let zone = bytes[cuts[cuts.count - 1]...].firstIndex(where: { "zZ+-".utf8.contains($0) }
        ),
            zone > cuts[cuts.count - 1]
        {
            cuts.append(zone)
        }
        return cuts.enumerated().map { index, cut in
            // The T between date and time is left out.
            let next = index + 1 < cuts.count ? cuts[index + 1] : bytes.count
            let end = hasT && index == 0 ? 10 : next
            return Word(
                text: String(decoding: bytes[cut..<end], as: UTF8.self), offset: word.offset + cut)
        }
    }

    var isNow: Bool { words.count == 1 && words[0].lowercase == "now" }

    // MARK: - Spans

    /// The span, if the text is one, and the sign that was given: `2h`, `+2h`, `-30min`, `in 2h`,
    /// `2h ago`.
    func span() throws(TimeParserError) -> (Duration, Sign?)? {
        var sign: Sign?
        var start = words[0].offset
        var end = text.utf8.count
        if words.count > 1, words[0].lowercase == "in" {
            sign = .plus
            start = words[1].offset
        } else if let last = words.last, words.count > 1, last.lowercase == "ago" {
            sign = .minus
            end = last.offset
        }
        let bytes = Array(text.utf8)
        if sign == nil, "+-".utf8.contains(bytes[start]) {
            sign = bytes[start] == UInt8(ascii: "-") ? .minus : .plus
            start += 1
        }
        guard Self.beginsAsSpan(bytes[start..<end]) else { return nil }
        let body = String(decoding: bytes[start..<end], as: UTF8.self)
        let span: Duration?
        do throws(TimeSpanError) { span = try TimeSpan.parse(body) } catch {
            throw TimeParserError(offset: start + error.offset, error.message)
        }
        guard body.utf8.contains(where: { $0 | 0x20 >= UInt8(ascii: "a") }) else {
            throw TimeParserError(
                offset: start, "a unit is missing, as in 18s, 18min or 18h; a time is 18:00")
        }
        return span.map { ($0, sign) }
    }

    /// Whether the text starts with a number that is not followed by `:` or `-`.
    private static func beginsAsSpan(_ bytes: ArraySlice<UInt8>) -> Bool {
        let rest = bytes.drop { $0 == 32 || $0 == 9 }
        guard let first = rest.first, isDigit(first) || first == UInt8(ascii: ".") else {
            return false
        }
        let next = rest.first { !isDigit($0) && $0 != UInt8(ascii: ".") }
        return next != UInt8(ascii: ":") && next != UInt8(ascii: "-")
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    // MARK: - Local times

    /// A local time: a day, a time or both, and a zone.
    func clock() throws(TimeParserError) -> Clock {
        var rest = words[...]
        var clock = Clock()
        let weekday = rest.first.flatMap { Self.weekday($0) }
        if let weekday {
            clock.day = .weekday(weekday)
            rest = rest.dropFirst()
        }
        if let word = rest.first, let date = try Self.date(word) {
            if let weekday { try Self.check(date, is: weekday, at: words[0]) }
            clock.day = .date(date)
            rest = rest.dropFirst()
        } else if let word = rest.first, weekday == nil,
            let days = ["yesterday": -1, "today": 0, "tomorrow": 1][word.lowercase]
        {
            clock.day = .relative(days)
            rest = rest.dropFirst()
        }
        if let word = rest.first, let time = try Self.time(word) {
            clock.microseconds = time
            rest = rest.dropFirst()
        } else if clock.day == .open {
            throw Self.unknown(words[0])
        }
        if let word = rest.first {
            clock.zone = try Self.zone(word)
            rest = rest.dropFirst()
        }
        if let word = rest.first { throw Self.unknown(word) }
        return clock
    }

    private static func unknown(_ word: Word) -> TimeParserError {
        TimeParserError(offset: word.offset, "\"\(word.text)\" is not understood; \(hint)")
    }

    private static func weekday(_ word: Word) -> Int? {
        let name = word.lowercase
        return CivilDate.weekdayNames.firstIndex { $0.lowercased() == name }
            ?? CivilDate.weekdays.firstIndex { $0.lowercased() == name }
    }

    private static func check(
        _ date: CivilDate, is weekday: Int, at word: Word
    ) throws(TimeParserError) {
        let right = CivilDate.weekday(ofDaysSinceEpoch: date.daysSinceEpoch)
        guard right != weekday else { return }
        throw TimeParserError(
            offset: word.offset, "that day is a \(CivilDate.weekdayNames[right])")
    }

    /// Returns nil if the word does not start like a date.
    private static func date(_ word: Word) throws(TimeParserError) -> CivilDate? {
        let digits = word.text.utf8.prefix { isDigit($0) }.count
        guard digits > 0, word.text.utf8.dropFirst(digits).first == UInt8(ascii: "-") else {
            return nil
        }
        let parts = word.text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2], let year = Int(digits: parts[0]),
            let month = Int(digits: parts[1]), let day = Int(digits: parts[2])
        else { throw TimeParserError(offset: word.offset, "a date is such as 2026-12-24") }
        let date = CivilDate(year: year, month: month, day: day)
        guard year > 0, CivilDate(daysSinceEpoch: date.daysSinceEpoch) == date else {
            throw TimeParserError(offset: word.offset, "there is no such day")
        }
        return date
    }

    /// The time in microseconds since midnight; nil if the word does not start like a time.
    private static func time(_ word: Word) throws(TimeParserError) -> Int64? {
        guard isDigit(word.first) else { return nil }
        var parts = word.text.split(separator: ":", omittingEmptySubsequences: false)
        let fault = TimeParserError(
            offset: word.offset, "a time is such as 18:00 or 18:00:30, from 00:00 to 23:59:59")
        guard (2...3).contains(parts.count) else { throw fault }
        var fraction: Int64 = 0
        if parts.count == 3, let point = parts[2].firstIndex(of: ".") {
            let digits = parts[2][parts[2].index(after: point)...]
            guard (1...6).contains(digits.utf8.count), let value = Int64(digits: digits) else {
                throw TimeParserError(
                    offset: word.offset, "a fraction of a second has 1 to 6 digits")
            }
            fraction = (digits.utf8.count..<6).reduce(value) { value, _ in value * 10 }
            parts[2] = parts[2][..<point]
        }
        var numbers: [Int64] = []
        for (index, part) in parts.enumerated() {
            guard part.utf8.count == 2 || (index == 0 && part.utf8.count == 1),
                let number = Int64(digits: part), number < (index == 0 ? 24 : 60)
            else { throw fault }
            numbers.append(number)
        }
        let seconds = numbers[0] * 3600 + numbers[1] * 60 + (numbers.count > 2 ? numbers[2] : 0)
        return seconds * 1_000_000 + fraction
    }

    /// A fixed offset, or a name that is resolved later.
    private static func zone(_ word: Word) throws(TimeParserError) -> Zone {
        guard !["z", "utc"].contains(word.lowercase) else { return .fixed(.utc) }
        guard word.first == UInt8(ascii: "+") || word.first == UInt8(ascii: "-") else {
            return .word(word)
        }
        var digits = word.text.dropFirst()
        if digits.utf8.count == 4, !digits.contains(":") {
            digits.insert(":", at: digits.index(digits.startIndex, offsetBy: 2))
        }
        let parts = digits.split(separator: ":", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { $0.utf8.count == 2 ? Int(digits: $0) : nil }
        // In POSIX zones, positive offsets are west of Greenwich.
        let sign = word.first == UInt8(ascii: "+") ? "-" : ""
        guard numbers.count == parts.count, (1...3).contains(parts.count), numbers[0] < 24,
            numbers.dropFirst().allSatisfy({ $0 < 60 }),
            let rules = try? ZoneRules(posix: "<offset>\(sign)\(digits)")
        else {
            throw TimeParserError(offset: word.offset, "an offset is such as +01:00")
        }
        return .fixed(rules)
    }
}
