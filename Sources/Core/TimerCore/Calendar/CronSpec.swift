// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A crontab line without its command, as Debian's cron interprets it (crontab(5)): minute, hour,
/// day of the month, month, day of the week; or a word like `@daily`.
///
/// Text that Debian's cron silently ignores, such as characters after a number, is an error here.
/// Syntax that other crons accept and Debian's cron does not is accepted, and `read` reports it:
/// `5/15`, full names, ranges of names that cross the end of the week or year, `L` and `L-3` for the
/// last day of the month and the third before it, `15W` and `LW` for the weekday nearest to the 15th
/// and the last one of the month, `5L` and `5#2` for the last and the second Friday, and `H` and `~`
/// for a random value for each job.
public struct CronSpec: OccurrenceSource, Hashable, Sendable, CustomStringConvertible {
    /// The normal form: names and random values are replaced by numbers, with one blank between
    /// fields.
    public let description: String
    /// Whether it is `@reboot`, which means each boot of the machine and no time.
    public let isReboot: Bool
    /// The same as in `CalendarSpec`. A schedule follows the clock if its hour or minute is `*`,
    /// `*/n` or `m/n`.
    public let standardRule: DSTRule

    let pattern: OccurrencePattern

    /// A line, and what Debian's cron would do with it differently.
    public struct Line: Hashable, Sendable {
        /// When the line fires.
        public let spec: CronSpec
        /// The parts that Debian's cron interprets in another way or refuses, as sentences.
        public let differences: [String]
    }

    /// The source of the random values for `H` and `~`. They are the same each time the lines of
    /// one job are read on one machine.
    public struct Drawing: Sendable {
        private let jitter: Jitter

        /// - Parameters:
        ///   - seed: the seed of the machine.
        ///   - job: the job to which the line belongs.
        public init(seed: UInt64, job: Job.Name) {
            // The seed differs from that of the random delays, so that the values are independent
            // of the delays of the job.
            jitter = Jitter(seed: seed ^ 0x6372_6f6e, job: job)
        }

        func value(_ ordinal: Int, in range: ClosedRange<Int>) -> Int {
            range.lowerBound
                + Int(jitter.number(ordinal: Int64(ordinal), below: UInt64(range.count)))
        }
    }

    /// The words that cron accepts instead of the five fields, except `@reboot`.
    private static let words: [String: String] = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
        "@hourly": "0 * * * *",
    ]

    /// Parses a line that does not belong to a job. `H` and `~` are errors.
    ///
    /// - Throws: `ScheduleError`.
    /// - Complexity: O(*n*) in the length of the text.
    public init(_ text: String) throws(ScheduleError) {
        self = try Self.read(text, drawing: nil).spec
    }

    /// Parses a line, and reports how Debian's cron differs.
    ///
    /// - Parameter drawing: the source of the values for `H` and `~`; nil: they are errors.
    /// - Throws: `ScheduleError`.
    /// - Complexity: O(*n*) in the length of the text.
    public static func read(_ text: String, drawing: Drawing?) throws(ScheduleError) -> Line {
        let bytes = Array(text.utf8)
        let fields = split(bytes)
        guard let first = fields.first else {
            throw ScheduleError(0, "minute, hour, day, month and weekday are missing")
        }
        if let hint = zoneHint(bytes[first]) { throw ScheduleError(first.lowerBound, hint) }
        guard bytes[first.lowerBound] == UInt8(ascii: "@") else {
            return try line(bytes, fields, drawing)
        }
        let word = String(decoding: bytes[first], as: UTF8.self)
        let lowercased = word.lowercased()
        if lowercased == "@every" { throw everyHint(bytes, fields) }
        guard fields.count == 1 else {
            throw ScheduleError(
                fields[1].lowerBound, "nothing may follow \"@…\"" + commandHint(bytes, fields[1]))
        }
        let differences =
            word == lowercased
            ? [] : ["Debian's cron refuses \"\(word)\"; it knows \"\(lowercased)\""]
        if let event = words[lowercased] {
            let bytes = Array(event.utf8)
            let spec = try line(bytes, split(bytes), nil).spec
            return Line(spec: spec, differences: differences)
        }
        guard lowercased == "@reboot" else {
            throw ScheduleError(
                first.lowerBound,
                "unknown word \"\(word)\"; @hourly, @daily, @weekly, @monthly, @yearly or @reboot")
        }
        return Line(spec: CronSpec(reboot: lowercased), differences: differences)
    }

    /// The hint for the first word of a line if it sets a time zone, as other crons have it.
    private static func zoneHint(_ word: ArraySlice<UInt8>) -> String? {
        let text = String(decoding: word.prefix(300), as: UTF8.self)
        guard let name = ["TZ=", "CRON_TZ="].first(where: { text.hasPrefix($0) }) else {
            return nil
        }
        let zone = text.dropFirst(name.utf8.count)
        return "a time zone belongs in timezone = \"\(zone.isEmpty ? "Europe/Berlin" : zone)\""
    }

    /// The error for `@every 1h30m` of other crons.
    private static func everyHint(_ bytes: [UInt8], _ fields: [Range<Int>]) -> ScheduleError {
        let span = fields.dropFirst().first.map { String(decoding: bytes[$0], as: UTF8.self) }
        let valid = span.flatMap { (text) -> String? in
            (try? TimeSpan.parse(text)).map { _ in text }
        }
        return ScheduleError(
            fields[0].lowerBound,
            "an interval belongs in every = \"\(valid ?? "5min")\", without cron")
    }

    private init(reboot word: String) {
        description = word
        isReboot = true
        standardRule = .fixed
        pattern = OccurrencePattern(
            months: 0, days: DayPattern(byLength: [0, 0, 0, 0]), hours: 0, minutes: 0,
            seconds: .whole(0))
    }

    private static func line(
        _ bytes: [UInt8], _ places: [Range<Int>], _ drawing: Drawing?
    ) throws(ScheduleError) -> Line {
        guard places.count == 5 else { throw miscounted(bytes, places) }
        var fields: [CronField] = []
        for (index, kind) in CronField.Kind.all.enumerated() {
            fields.append(try CronField(kind, bytes, places[index], drawing))
        }
        return Line(spec: CronSpec(fields), differences: fields.flatMap(\.differences))
    }

    private init(_ fields: [CronField]) {
        let (minute, hour, day, month, weekday) =
            (fields[0], fields[1], fields[2], fields[3], fields[4])
        pattern = OccurrencePattern(
            months: month.bits,
            days: DayPattern(
                byLength: (28...31).map(day.days(ofMonthWith:)),
                weekdays: weekday.bits, ordinals: weekday.ordinals,
                // If both day fields are restricted, it is enough that one of them matches
                // (crontab(5)).
                rule: DayPattern.Rule(
                    isEither: !day.hasStar && !weekday.hasStar, isNearest: day.isNearestWeekday)),
            hours: hour.bits, minutes: minute.bits, seconds: .whole(1))
        description = fields.map(\.text).joined(separator: " ")
        isReboot = false
        standardRule = minute.isOpen || hour.isOpen ? .followsClock : .fixed
    }

    private static func miscounted(_ bytes: [UInt8], _ places: [Range<Int>]) -> ScheduleError {
        let text = String(decoding: bytes, as: UTF8.self)
        if text.contains(":"), places.count < 5, (try? CalendarFields(text)) != nil {
            return ScheduleError(
                0, "this is a calendar event; use calendar instead of cron")
        }
        let extra = places.count > 5 ? commandHint(bytes, places[5]) : ""
        let message =
            if !extra.isEmpty { "a line has five fields" + extra } else if places.count == 6 {
                "a line has five fields; for seconds, use calendar = \"*:*:0/10\""
            } else { "a line has five fields: minute, hour, day, month and weekday" }
        return ScheduleError(places[min(5, places.count - 1)].lowerBound, message)
    }

    /// A hint if the text after the fields looks like the rest of a crontab line: the user, in a
    /// system crontab, and the command. There is no hint if the text could be one more field.
    private static func commandHint(_ bytes: [UInt8], _ place: Range<Int>) -> String {
        let word = String(decoding: bytes[place], as: UTF8.self)
        let isName = CronField.Kind.weekday.shortNames.contains(String(word.prefix(3).lowercased()))
        guard let first = word.utf8.first, !isName, word.utf8.count > 1,
            (97...122).contains(first | 0x20) || "/_.[".utf8.contains(first)
        else { return "" }
        return first == UInt8(ascii: "/")
            ? "; a command belongs in command or shell"
            : "; a user belongs in user = \"\(word.prefix(32))\", a command in command or shell"
    }

    private static func split(_ bytes: [UInt8]) -> [Range<Int>] {
        bytes.indices.split { bytes[$0] == 32 || bytes[$0] == 9 }.map {
            $0.startIndex..<$0.endIndex
        }
    }

    /// The first time after `instant`; nil if there is none before the year 2200.
    ///
    /// - Parameter rule: what happens to times that do not exist or occur twice; nil: the default
    ///   of the schedule.
    /// - Complexity: O(*y*) for *y* years until then, at most 230.
    public func next(
        after instant: WallInstant, in zone: ZoneRules, rule: DSTRule? = nil
    ) -> WallInstant? {
        occurrence(after: instant, in: zone, rule: rule)
    }

    /// The last time before `instant`; nil if there is none since 1970.
    /// - Complexity: as `next`.
    public func previous(
        before instant: WallInstant, in zone: ZoneRules, rule: DSTRule? = nil
    ) -> WallInstant? {
        occurrence(before: instant, in: zone, rule: rule)
    }
}
