// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The times of a crontab line, read by the rules of crontab(5) alone. It shares no code with the schedules of
/// timerd, so that `--check` compares two independent readings.
public struct CronTimes: Hashable, Sendable {
    /// The values that match, 0…59, 0…23, 1…31, 1…12 and 0…6 with 0 for Sunday.
    public private(set) var minutes: Set<Int> = []
    public private(set) var hours: Set<Int> = []
    public private(set) var days: Set<Int> = []
    public private(set) var months: Set<Int> = []
    public private(set) var weekdays: Set<Int> = []
    /// Whether a day must match both day fields: one of them begins with `*`.
    public internal(set) var needsBothDays = false
    /// Whether the minute or the hour begins with `*`, so that the line follows changes of the clock.
    public private(set) var isWildcard = false
    /// Whether it runs at the boot, and at no time.
    public private(set) var isReboot = false
    /// The five fields with numbers, one blank between them, without what cron ignores.
    public internal(set) var text = ""
    /// What the line says and cron ignores, as sentences.
    var ignored: [String] = []

    /// The position after the last field, and the blanks behind it.
    typealias Rest = ArraySlice<UInt8>

    /// Reads the fields at the beginning of a line.
    ///
    /// - Throws: `CronFault`, with what cron says of the field.
    static func read(
        _ line: ArraySlice<UInt8>, _ flavour: CronFlavour
    ) throws(CronFault) -> (times: CronTimes, rest: Rest) {
        var times = CronTimes()
        var reader = CronFieldReader(rest: line, flavour: flavour)
        times.isWildcard = reader.isAt("*")
        times.minutes = try reader.field(.minute)
        let hourStar = reader.isAt("*")
        times.isWildcard = times.isWildcard || hourStar
        times.hours = try reader.field(.hour)
        let dayStar = reader.isAt("*")
        times.days = try reader.field(.day)
        times.months = try reader.field(.month)
        let weekdayStar = reader.isAt("*")
        times.weekdays = Set(try reader.field(.weekday).map { $0 % 7 })
        times.needsBothDays = dayStar || weekdayStar
        times.text = reader.texts.joined(separator: " ")
        times.ignored = reader.ignored
        return (times, reader.rest)
    }

    /// The times of fields such as `0 0 * * *`.
    init(fields: String) throws(CronFault) {
        self = try Self.read(Array(fields.utf8)[...], .debian).times
    }

    /// The times of `@reboot`: once in each boot.
    static let reboot: CronTimes = {
        var times = CronTimes()
        times.isReboot = true
        return times
    }()

    private init() {}

    /// Whether a minute of local time matches all fields.
    func matches(_ time: LocalMinute) -> Bool {
        minutes.contains(time.minute) && hasHour(of: time)
    }

    /// Whether the hour, the day and the month match.
    func hasHour(of time: LocalMinute) -> Bool {
        guard hours.contains(time.hour), months.contains(time.month) else { return false }
        let (day, weekday) = (days.contains(time.day), weekdays.contains(time.weekday))
        return needsBothDays ? day && weekday : day || weekday
    }
}

/// What cron does not accept of a line, as the end of a sentence.
struct CronFault: Error, Hashable {
    var message: String
    /// Whether Debian's cron refuses the whole file because of it.
    var breaksFile = true
}

/// Reads the five fields of a line, as `get_list` and `get_range` of cron do.
struct CronFieldReader {
    enum Kind: String {
        case minute, hour
        case day = "day of the month"
        case month
        case weekday = "day of the week"

        var range: ClosedRange<Int> {
            switch self {
            case .minute: 0...59
            case .hour: 0...23
            case .day: 1...31
            case .month: 1...12
            case .weekday: 0...7
            }
        }

        /// The names of the values from the lowest one on.
        var names: [String] {
            switch self {
            case .minute, .hour, .day: []
            case .month:
                [
                    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov",
                    "dec",
                ]
            case .weekday: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
            }
        }
    }

    var rest: ArraySlice<UInt8>
    let flavour: CronFlavour
    /// The fields that were read so far, in normal form.
    var texts: [String] = []
    var ignored: [String] = []

    func isAt(_ character: Unicode.Scalar) -> Bool { rest.first == UInt8(ascii: character) }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard isAt(character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private var isAtEnd: Bool { rest.first.map { $0 == 32 || $0 == 9 } ?? true }

    /// Reads a field and the blanks behind it.
    mutating func field(_ kind: Kind) throws(CronFault) -> Set<Int> {
        guard !rest.isEmpty else { throw CronFault(message: "the \(kind.rawValue) is missing") }
        var (values, parts): (Set<Int>, [String]) = ([], [])
        repeat {
            let start = rest
            let (found, text) = try part(kind)
            if found.isEmpty {
                // Cron counts from the first to the last value, and does nothing at all here.
                let written = String(decoding: start[..<rest.startIndex], as: UTF8.self)
                ignored.append("\(kind.rawValue): \(written) matches nothing in \(flavour.name)")
            } else {
                parts.append(text)
            }
            values.formUnion(found)
        } while skip(",")
        let junk = rest.prefix { $0 != 32 && $0 != 9 }
        if !junk.isEmpty {
            guard flavour != .cronie || junk.first != UInt8(ascii: "/") else {
                throw fault(kind, "a step needs a range or *")
            }
            ignored.append(
                "\(kind.rawValue): \(flavour.name) ignores \"\(String(decoding: junk, as: UTF8.self))\""
            )
            rest = rest.dropFirst(junk.count)
        }
        guard !parts.isEmpty else {
            throw CronFault(
                message: "\(kind.rawValue): matches nothing, so that the line never runs",
                breaksFile: false)
        }
        texts.append(parts.joined(separator: ","))
        rest = rest.drop { $0 == 32 || $0 == 9 }
        return values
    }

    private func fault(_ kind: Kind, _ message: String) -> CronFault {
        CronFault(message: "\(kind.rawValue): \(message)")
    }

    private mutating func part(_ kind: Kind) throws(CronFault) -> (Set<Int>, String) {
        let range = kind.range
        if skip("*") {
            let step = try step(kind)
            let last = kind == .weekday ? 6 : range.upperBound
            return (
                Set(stride(from: range.lowerBound, through: last, by: step ?? 1)),
                step.map { "*/\($0)" } ?? "*"
            )
        }
        let first = try value(kind)
        guard skip("-") else {
            guard isAt("/") else { return ([first], "\(first)") }
            guard flavour == .cronie else { throw fault(kind, "a step needs a range or *") }
            let step = try step(kind) ?? 1
            return (
                Set(stride(from: first, through: range.upperBound, by: step)),
                "\(first)-\(range.upperBound)/\(step)"
            )
        }
        let last = try value(kind)
        let step = try step(kind)
        guard first <= last || flavour == .debian else {
            throw fault(kind, "the range from \(first) to \(last) runs backwards")
        }
        let values = first <= last ? Set(stride(from: first, through: last, by: step ?? 1)) : []
        return (values, "\(first)-\(last)" + (step.map { "/\($0)" } ?? ""))
    }

    private mutating func step(_ kind: Kind) throws(CronFault) -> Int? {
        guard skip("/") else { return nil }
        guard let step = digits(), step > 0 else {
            throw fault(kind, "the step is not a number above 0")
        }
        return step
    }

    /// Decimal digits; a number that is too large for a field is cut. Nil if there are none, or if a
    /// letter follows.
    private mutating func digits() -> Int? {
        let text = rest.prefix(while: isAlphanumeric)
        guard !text.isEmpty, text.allSatisfy({ (48...57).contains($0) }) else { return nil }
        rest = rest.dropFirst(text.count)
        return text.reduce(0) { min(1_000_000, $0 * 10 + Int($1 - 48)) }
    }

    /// The number as it is written, for an error.
    private static func number(at place: ArraySlice<UInt8>) -> String {
        String(decoding: place.prefix { (48...57).contains($0) }.prefix(32), as: UTF8.self)
    }

    private func isAlphanumeric(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (97...122).contains(byte | 0x20)
    }

    private mutating func value(_ kind: Kind) throws(CronFault) -> Int {
        let word = String(decoding: rest.prefix(while: isAlphanumeric), as: UTF8.self).lowercased()
        if let index = kind.names.firstIndex(of: word) {
            rest = rest.dropFirst(word.utf8.count)
            return index + kind.range.lowerBound
        }
        let start = rest
        guard let value = digits() else {
            let what = String(
                decoding: start.prefix { $0 != 32 && $0 != 9 }.prefix(32), as: UTF8.self)
            throw fault(kind, "\"\(what)\" is not a value")
        }
        guard kind.range.contains(value) else {
            throw fault(
                kind,
                "\(Self.number(at: start)) is not from \(kind.range.lowerBound) to \(kind.range.upperBound)"
            )
        }
        return value
    }
}
