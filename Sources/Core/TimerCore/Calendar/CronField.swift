// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One field of a crontab line, parsed.
struct CronField {
    /// The values. For weekdays, bit 0 is Monday.
    private(set) var bits: UInt64 = 0
    /// Whether it starts with `*`, which Debian's cron stores separately from the values.
    private(set) var hasStar = false
    /// Whether it continues to the end of its range, like `*`, `*/5` and `0/5`.
    private(set) var isOpen = false
    /// How many days before the last day of the month its day is; nil: it is not counted from the end.
    private(set) var daysBeforeLast: Int?
    /// Whether it is the weekday that is nearest to its day.
    private(set) var isNearestWeekday = false
    /// The same as in `DayPattern`; empty if there are no ordinals.
    private(set) var ordinals: [UInt64] = []
    /// The normal form, which a user can write instead with the same meaning.
    private(set) var text = ""
    /// The parts that Debian's cron interprets in another way, or refuses.
    var differences: [String] = []

    let kind: Kind
    let bytes: [UInt8]
    let end: Int
    private let drawing: CronSpec.Drawing?
    var place: Int
    /// The normal form of a part that no list may contain.
    private var lone: (text: String, place: Int)?
    /// The number of random values that were drawn.
    private var draws = 0

    init(
        _ kind: Kind, _ bytes: [UInt8], _ range: Range<Int>, _ drawing: CronSpec.Drawing?
    ) throws(ScheduleError) {
        self.kind = kind
        self.bytes = bytes
        self.drawing = drawing
        place = range.lowerBound
        end = range.upperBound
        hasStar = isAt("*")
        isOpen = hasStar
        var parts: [String] = []
        repeat { parts.append(try part()) } while skip(",")
        if let lone, parts.count > 1 {
            place = lone.place
            throw error("\"\(lone.text)\" must stand alone, not in a list")
        }
        guard place == end else {
            throw error("not a number, a range, a list or a step")
        }
        text = parts.joined(separator: ",")
        guard kind.isWeekday else { return }
        // Bits 0 and 7 both mean Sunday, which is the last weekday here.
        bits = (bits >> 1 & 0x3f) | ((bits | bits >> 7) & 1) << 6
    }

    /// The days of the month that this field means in a month of this length, before a `W` moves
    /// them: bits 1 to 31.
    func days(ofMonthWith length: Int) -> UInt64 {
        let days = bits & ((1 << (length + 1)) - 1)
        guard let daysBeforeLast, daysBeforeLast < length else { return days }
        return days | 1 << (length - daysBeforeLast)
    }

    // MARK: - Parts

    /// Parses one part of the list.
    /// - Returns: its normal form.
    private mutating func part() throws(ScheduleError) -> String {
        if isAt("?") { throw error("'?' is not known here; use '*'") }
        let start = place
        if kind.isDay, let day = try dayFromEnd() {
            note(start, "refuses it")
            return day
        }
        if skip("*") {
            let step = try step()
            add(kind.range, step: step ?? 1)
            return step.map { "*/\($0)" } ?? "*"
        }
        if isAt("~") || isAt("H") && !isLetter(place + 1) { return try drawnPart(from: nil, start) }
        let first = try value()
        if kind.isWeekday, let ordinal = try ordinal(of: first.value, from: start) {
            note(start, "refuses it")
            return ordinal
        }
        if kind.isDay, skip("W") || skip("w") {
            add(first.value...first.value, step: 1)
            isNearestWeekday = true
            note(start, "refuses it")
            let text = "\(first.value)W"
            lone = (text, start)
            return text
        }
        if isAt("~") { return try drawnPart(from: first.value, start) }
        if skip("-") { return try range(from: first, start) }
        guard let step = try step() else {
            add(first.value...first.value, step: 1)
            noteNames(start)
            return "\(first.value)"
        }
        isOpen = true
        add(first.value...kind.range.upperBound, step: step)
        note(start, "refuses it; here it is each \(step) from \(first.value) on, as in cronie")
        return "\(first.value)/\(step)"
    }

    /// Parses a day that is counted from the end of the month, as in Quartz: `L` is the last, `L-3`
    /// the third before it, `LW` the last weekday, and `L-3W` the weekday nearest to `L-3`.
    /// - Returns: its normal form; nil if there is no `L` or `W` here.
    private mutating func dayFromEnd() throws(ScheduleError) -> String? {
        if isAt("W") || isAt("w") {
            throw error("a day is missing before 'W', such as 15W, or LW for the last weekday")
        }
        let start = place
        guard skip("L") || skip("l") else { return nil }
        var days = 0
        if skip("-") {
            let number = place
            days = try self.number()
            guard days <= 30 else {
                place = number
                throw error("at most 30 days before the last are possible, not \(days)")
            }
        }
        isNearestWeekday = skip("W") || skip("w")
        daysBeforeLast = days
        let text = "L" + (days > 0 ? "-\(days)" : "") + (isNearestWeekday ? "W" : "")
        if text != "L" { lone = (text, start) }
        return text
    }

    /// Parses the rest of a range after the first value and the hyphen.
    private mutating func range(
        from first: (value: Int, isName: Bool), _ start: Int
    ) throws(ScheduleError) -> String {
        let last = try value()
        guard first.value > last.value else {
            let step = try step()
            add(first.value...last.value, step: step ?? 1)
            noteNames(start)
            return "\(first.value)-\(last.value)" + (step.map { "/\($0)" } ?? "")
        }
        guard first.isName, last.isName else {
            place = start
            throw error(
                "the range \(first.value)-\(last.value) runs backwards and never matches; write it as two"
            )
        }
        let step = try step()
        let text = addOver(first.value, last.value, step: step)
        note(start, "takes it and never runs it; here it is \(text)")
        return text
    }

    /// Adds a range of names that crosses the end of the week or of the year.
    /// - Returns: its normal form.
    private mutating func addOver(_ first: Int, _ last: Int, step: Int?) -> String {
        // 7 also means Sunday, so a range that ends with Sunday does not cross the end of the week.
        if kind.isWeekday, last == 0 {
            add(first...7, step: step ?? 1)
            return "\(first)-7" + (step.map { "/\($0)" } ?? "")
        }
        let low = kind.drawn.lowerBound
        let high = kind.drawn.upperBound
        guard let step else {
            add(low...last, step: 1)
            add(first...high, step: 1)
            func text(_ range: ClosedRange<Int>) -> String {
                range.count == 1 ? "\(low)" : "\(range.lowerBound)-\(range.upperBound)"
            }
            let upper = first == high ? "\(high)" : "\(first)-\(high)"
            return "\(upper),\(text(low...last))"
        }
        let size = kind.drawn.count
        let values = stride(from: first, through: last + size, by: step)
            .map { $0 > high ? $0 - size : $0 }
        for value in values { add(value...value, step: 1) }
        return values.map(String.init).joined(separator: ",")
    }

    /// Parses `H`, `H(1-5)`, `~` or `1~5`, each with or without a step: a random value for each
    /// job. With a step it is the first value.
    private mutating func drawnPart(
        from first: Int?, _ start: Int
    ) throws(ScheduleError) -> String {
        guard let drawing else {
            place = start
            throw error("H and ~ are drawn for each job, and this line belongs to none")
        }
        let range = try drawnRange(from: first, start)
        let step = try step()
        let most = step.map { min(range.upperBound, range.lowerBound + $0 - 1) } ?? range.upperBound
        let field = Kind.all.firstIndex { $0.name == kind.name } ?? 0
        let value = drawing.value(field * 1000 + draws, in: range.lowerBound...most)
        draws += 1
        var text = "\(value)"
        if let step {
            // Steps over the whole field continue to its end, even on days that cannot be drawn as
            // the first value.
            let isWhole = range == kind.drawn
            let last = isWhole && !kind.isWeekday ? kind.range.upperBound : range.upperBound
            add(value...last, step: step)
            isOpen = isOpen || isWhole
            text += (isWhole && !kind.isWeekday ? "" : "-\(last)") + "/\(step)"
        } else {
            add(value...value, step: 1)
        }
        note(start, "does not know it; here it is drawn once for each job, for this one \(text)")
        return text
    }

    /// Parses the range of the random value: everything after `H` or around `~`, except the step.
    private mutating func drawnRange(
        from first: Int?, _ start: Int
    ) throws(ScheduleError) -> ClosedRange<Int> {
        var low = first ?? kind.drawn.lowerBound
        var high = kind.drawn.upperBound
        if skip("H") {
            guard skip("(") else { return low...high }
            low = try value().value
            guard skip("-") else { throw error("a range is missing, such as H(0-29)") }
            high = try value().value
            guard skip(")") else { throw error("a ')' is missing") }
        } else if skip("~"), place < end, !isAt("/"), !isAt(",") {
            high = try value().value
        } else if let first, first > high {
            high = kind.range.upperBound
        }
        guard low <= high else {
            place = start
            throw error("the range from \(low) to \(high) runs backwards")
        }
        return low...high
    }

    /// Parses what follows the number of a weekday: `5L` is the last Friday of the month, and `5#2`
    /// the second. Nil if neither follows.
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

    private mutating func add(_ range: ClosedRange<Int>, step: Int) {
        for value in stride(from: range.lowerBound, through: range.upperBound, by: step) {
            bits |= 1 << value
        }
    }
}

extension CronField {
    /// The kind of a field: its name, its range, and the names of its values.
    struct Kind {
        var name: String
        var range: ClosedRange<Int>
        /// The range for random values if the line gives none: days that every month has, and each
        /// weekday once.
        var drawn: ClosedRange<Int>
        /// The full names; three letters are enough in a line.
        var names: [String] = []

        static let minute = Kind(name: "minute", range: 0...59, drawn: 0...59)
        static let hour = Kind(name: "hour", range: 0...23, drawn: 0...23)
        static let day = Kind(name: "day of the month", range: 1...31, drawn: 1...28)
        static let month = Kind(
            name: "month", range: 1...12, drawn: 1...12,
            names: [
                "january", "february", "march", "april", "may", "june", "july", "august",
                "september", "october", "november", "december",
            ])
        static let weekday = Kind(
            name: "day of the week", range: 0...7, drawn: 0...6,
            names: [
                "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
            ])
        /// The fields in the order of a crontab line.
        static let all = [minute, hour, day, month, weekday]

        var isWeekday: Bool { range.upperBound == 7 }
        var isDay: Bool { range.upperBound == 31 }
        var shortNames: [String] { names.map { String($0.prefix(3)) } }
    }
}
