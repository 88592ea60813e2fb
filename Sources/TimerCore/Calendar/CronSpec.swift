// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A line of a crontab without its command, as Debian's cron reads it (crontab(5)): minute, hour, day of the
/// month, month, day of the week; or `@daily` and its like.
///
/// What Debian's cron passes over in silence, such as something behind a number or a range that runs
/// backwards and so never matches, is an error here. Two extensions are taken: `L` as a day of the month
/// is the last one, `5L` and `5#2` as days of the week are the last and the second Friday.
public struct CronSpec: SlotSource, Hashable, Sendable, CustomStringConvertible {
    /// The normal form: numbers for names, one blank between fields.
    public let description: String
    /// Whether it means each start of the daemon, `@reboot`, and no time at all.
    public let isReboot: Bool
    /// As in `CalendarSpec`: the hour or minute of a schedule that follows the clock begins with `*`.
    public let standardRule: DSTRule

    let pattern: SlotPattern

    /// The words that stand for a whole line.
    private static let words: [String: String] = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
        "@hourly": "0 * * * *",
    ]

    /// Reads a line.
    ///
    /// - Throws: `ScheduleError`.
    /// - Complexity: O(*n*) in the length of the text.
    public init(_ text: String) throws(ScheduleError) {
        let bytes = Array(text.utf8)
        let fields = Self.split(bytes)
        guard let first = fields.first else {
            throw ScheduleError(0, "minute, hour, day, month and weekday are missing")
        }
        guard bytes[first.lowerBound] == UInt8(ascii: "@") else {
            try self.init(bytes, fields)
            return
        }
        guard fields.count == 1 else {
            throw ScheduleError(fields[1].lowerBound, "nothing may follow \"@…\"")
        }
        let word = String(decoding: bytes[first], as: UTF8.self)
        if let line = Self.words[word] {
            let bytes = Array(line.utf8)
            try self.init(bytes, Self.split(bytes))
            return
        }
        guard word == "@reboot" else {
            throw ScheduleError(
                first.lowerBound,
                "unknown word \"\(word)\"; @hourly, @daily, @weekly, @monthly, @yearly or @reboot"
                    + (word == "@every" ? "; for an interval, use every = \"5min\"" : ""))
        }
        self.init(reboot: word)
    }

    private init(reboot word: String) {
        description = word
        isReboot = true
        standardRule = .fixed
        pattern = SlotPattern(
            months: 0, days: DayPattern(byLength: [0, 0, 0, 0]), hours: 0, minutes: 0,
            seconds: .whole(0))
    }

    private init(_ bytes: [UInt8], _ fields: [Range<Int>]) throws(ScheduleError) {
        guard fields.count == 5 else {
            let hint =
                fields.count == 6
                ? "a line has five fields; for seconds, use calendar = \"*:*:0/10\""
                : "a line has five fields: minute, hour, day, month and weekday"
            throw ScheduleError(fields[min(5, fields.count - 1)].lowerBound, hint)
        }
        let minute = try CronField(.minute, bytes, fields[0])
        let hour = try CronField(.hour, bytes, fields[1])
        let day = try CronField(.day, bytes, fields[2])
        let month = try CronField(.month, bytes, fields[3])
        let weekday = try CronField(.weekday, bytes, fields[4])
        pattern = SlotPattern(
            months: month.bits,
            days: DayPattern(
                byLength: (28...31).map { length in
                    day.bits & ((1 << (length + 1)) - 1) | (day.hasLast ? 1 << length : 0)
                },
                weekdays: weekday.bits, ordinals: weekday.ordinals,
                // Where both are restricted one of them is enough (crontab(5)).
                isEither: !day.hasStar && !weekday.hasStar),
            hours: hour.bits, minutes: minute.bits, seconds: .whole(1))
        description = [minute, hour, day, month, weekday].map(\.text).joined(separator: " ")
        isReboot = false
        standardRule = minute.hasStar || hour.hasStar ? .followsClock : .fixed
    }

    private static func split(_ bytes: [UInt8]) -> [Range<Int>] {
        bytes.indices.split { bytes[$0] == 32 || bytes[$0] == 9 }.map {
            $0.startIndex..<$0.endIndex
        }
    }

    /// The first time after `instant`; nil if there is none before the year 2200.
    ///
    /// - Parameter rule: what becomes of times that do not exist or come twice; nil: the schedule's own.
    /// - Complexity: O(*y*) for *y* years until then, at most 230.
    public func next(
        after instant: WallInstant, in zone: ZoneRules, rule: DSTRule? = nil
    ) -> WallInstant? {
        slot(after: instant, in: zone, rule: rule)
    }

    /// The last time before `instant`; nil if there is none since 1970.
    /// - Complexity: as `next`.
    public func previous(
        before instant: WallInstant, in zone: ZoneRules, rule: DSTRule? = nil
    ) -> WallInstant? {
        slot(before: instant, in: zone, rule: rule)
    }
}

/// One field of a line.
private struct CronField {
    /// Which one: its name, its range, its names of values.
    struct Kind {
        var name: String
        var range: ClosedRange<Int>
        var names: [String] = []

        static let minute = Kind(name: "minute", range: 0...59)
        static let hour = Kind(name: "hour", range: 0...23)
        static let day = Kind(name: "day of the month", range: 1...31)
        static let month = Kind(
            name: "month", range: 1...12,
            names: [
                "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
            ])
        static let weekday = Kind(
            name: "day of the week", range: 0...7,
            names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"])
    }

    /// The values; of weekdays bit 0 is Monday.
    private(set) var bits: UInt64 = 0
    /// Whether it begins with `*`, which Debian's cron remembers apart from what it matches.
    private(set) var hasStar = false
    /// Whether the month's last day is meant.
    private(set) var hasLast = false
    /// As in `DayPattern`; empty without ordinals.
    private(set) var ordinals: [UInt64] = []
    /// The normal form.
    private(set) var text = ""

    private let kind: Kind
    private let bytes: [UInt8]
    private let end: Int
    private var place: Int

    init(_ kind: Kind, _ bytes: [UInt8], _ range: Range<Int>) throws(ScheduleError) {
        self.kind = kind
        self.bytes = bytes
        place = range.lowerBound
        end = range.upperBound
        hasStar = isAt("*")
        var parts: [String] = []
        repeat { parts.append(try part()) } while skip(",")
        guard place == end else {
            throw error("not a number, a range, a list or a step")
        }
        text = parts.joined(separator: ",")
        guard kind.range.upperBound == 7 else { return }
        // Bit 0 and bit 7 are Sunday, which is the last day here.
        bits = (bits >> 1 & 0x3f) | ((bits | bits >> 7) & 1) << 6
    }

    private func isAt(_ character: Unicode.Scalar) -> Bool {
        place < end && bytes[place] == UInt8(ascii: character)
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard isAt(character) else { return false }
        place += 1
        return true
    }

    private func error(_ message: String) -> ScheduleError {
        ScheduleError(place, "\(kind.name): \(message)")
    }

    /// One part of the list.
    /// - Returns: its normal form.
    private mutating func part() throws(ScheduleError) -> String {
        if isAt("?") { throw error("'?' is not known here; use '*'") }
        let isDay = kind.range.upperBound == 31
        if isDay, skip("L") || skip("l") {
            hasLast = true
            return "L"
        }
        if skip("*") {
            let step = try step()
            add(kind.range.lowerBound, kind.range.upperBound, step: step ?? 1)
            return step.map { "*/\($0)" } ?? "*"
        }
        let start = place
        let first = try value()
        if kind.range.upperBound == 7, let ordinal = try ordinal(of: first, from: start) {
            return ordinal
        }
        guard skip("-") else {
            guard !isAt("/") else {
                throw error("a step needs a range, such as \(first)-\(kind.range.upperBound)/5")
            }
            add(first, first, step: 1)
            return "\(first)"
        }
        let last = try value()
        guard first <= last else {
            place = start
            throw error(
                "the range \(first)-\(last) runs backwards and never matches; write it as two")
        }
        let step = try step()
        add(first, last, step: step ?? 1)
        return "\(first)-\(last)" + (step.map { "/\($0)" } ?? "")
    }

    /// `5L` and `5#2` of a weekday.
    private mutating func ordinal(
        of weekday: Int, from start: Int
    ) throws(ScheduleError) -> String? {
        let bit = UInt64(1) << ((weekday + 6) % 7)
        if isAt("L") || isAt("l") {
            let isName = bytes[start] > UInt8(ascii: "9")
            guard !isName else {
                throw error("the last weekday is written with its number, \(weekday)L")
            }
            place += 1
            remember(bit, as: 0)
            return "\(weekday)L"
        }
        guard skip("#") else { return nil }
        let number = try number()
        guard (1...5).contains(number) else {
            throw error("a month has a first to a fifth, no #\(number)")
        }
        remember(bit, as: number)
        return "\(weekday)#\(number)"
    }

    private mutating func remember(_ bit: UInt64, as ordinal: Int) {
        if ordinals.isEmpty { ordinals = [0, 0, 0, 0, 0, 0] }
        ordinals[ordinal] |= bit
    }

    private mutating func add(_ first: Int, _ last: Int, step: Int) {
        for value in stride(from: first, through: last, by: step) { bits |= 1 << value }
    }

    private mutating func step() throws(ScheduleError) -> Int? {
        guard skip("/") else { return nil }
        let step = try number()
        guard step > 0 else { throw error("a step of 0 leads nowhere") }
        return step
    }

    /// A number in range, or a name.
    private mutating func value() throws(ScheduleError) -> Int {
        let start = place
        let letters = bytes[place..<end].prefix { (97...122).contains($0 | 0x20) }
        if !letters.isEmpty {
            let word = String(decoding: letters.prefix(3), as: UTF8.self).lowercased()
            guard let index = kind.names.firstIndex(of: word),
                letters.count == 3 || (letters.count == 4 && (letters.last ?? 0) | 0x20 == 108)
            else {
                throw error(
                    kind.names.isEmpty
                        ? "a number is missing"
                        : "not one of \(kind.names.joined(separator: ", "))")
            }
            place += 3
            return index + kind.range.lowerBound
        }
        let value = try number()
        guard kind.range.contains(value) else {
            place = start
            throw error("must be \(kind.range.lowerBound) to \(kind.range.upperBound)")
        }
        return value
    }

    private mutating func number() throws(ScheduleError) -> Int {
        var value: Int?
        while place < end, (48...57).contains(bytes[place]) {
            value = (value ?? 0) * 10 + Int(bytes[place] - 48)
            guard value ?? 0 <= 1_000_000 else { throw error("the number is too large") }
            place += 1
        }
        guard let value else { throw error("a number is missing") }
        return value
    }
}
