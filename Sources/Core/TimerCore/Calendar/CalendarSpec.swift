// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The reason why a text is not a valid schedule, with the place of the error.
public struct ScheduleError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The place in the text, in bytes from its start.
    public var offset: Int
    /// What is wrong with the text, for its author.
    public var message: String

    public var description: String { message }

    init(_ offset: Int, _ message: String) {
        self.offset = offset
        self.message = message
    }
}

/// A calendar event in the syntax of systemd (systemd.time(7), "Calendar Events"): `Mon..Fri
/// 08:30`, `*-*-1..7 18:00:00`, `*:0/15`, `daily Europe/Berlin`.
///
/// It accepts the same texts as systemd 252, except abbreviations of zones, whose meaning depends
/// on the place and the time of the year.
public struct CalendarSpec: OccurrenceSource, Hashable, Sendable, CustomStringConvertible {
    /// The zone that the text names; nil: the caller selects the zone.
    public let zoneName: String?
    /// The normal form, as systemd prints it.
    public let description: String
    /// What happens to times that do not exist or occur twice, unless the configuration says
    /// otherwise. A schedule whose hour or minute is a wildcard or an open step follows the clock;
    /// any other schedule is fixed.
    public let standardRule: DSTRule

    let pattern: OccurrencePattern

    /// Whether all its occurrences are at whole milliseconds.
    public var isInWholeMilliseconds: Bool {
        guard case .fractions(let parts) = pattern.seconds else { return true }
        return parts.allSatisfy { $0.start % 1000 == 0 && $0.step % 1000 == 0 }
    }

    /// Parses a calendar event.
    ///
    /// - Throws: `ScheduleError`.
    /// - Complexity: O(*n*) in the length of the text.
    public init(_ text: String) throws(ScheduleError) {
        self.init(try CalendarFields(text))
    }

    init(_ fields: CalendarFields) {
        zoneName = fields.zoneName
        description = fields.normalForm
        pattern = fields.pattern
        standardRule = fields.followsClock ? .followsClock : .fixed
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

/// The fields of a calendar event, parsed and converted to the normal form.
struct CalendarFields {
    var zoneName: String?
    /// Bits 0 (Monday) to 6; 0 and all seven mean every day.
    var weekdays: UInt64 = 0
    var years: [ScheduleComponent] = []
    var months: [ScheduleComponent] = []
    var days: [ScheduleComponent] = []
    var isFromMonthEnd = false
    var hours: [ScheduleComponent] = []
    var minutes: [ScheduleComponent] = []
    /// In microseconds of the minute, because systemd allows fractions of a second.
    var seconds: [ScheduleComponent] = []

    static let everySecond = ScheduleComponent(start: 0, stop: nil, step: 1_000_000)

    /// Whether occurrences follow the local clock: a time that the clock skips is not missed, and a
    /// time that it repeats counts twice.
    var followsClock: Bool {
        func isOpen(_ field: [ScheduleComponent]) -> Bool {
            field.isEmpty || field.contains { $0.step > 0 && $0.stop == nil }
        }
        return isOpen(hours) || isOpen(minutes)
    }

    /// Sorts each field, removes duplicates, ends each range at a value that it contains, and
    /// completes years of two digits.
    mutating func normalize() {
        if weekdays == 0x7f { weekdays = 0 }
        if days.isEmpty { isFromMonthEnd = false }
        years = years.map { part in
            func full(_ year: Int) -> Int {
                year < 70 ? year + 2000 : year < 100 ? year + 1900 : year
            }
            return ScheduleComponent(
                start: full(part.start), stop: part.stop.map(full), step: part.step)
        }
        years = Self.normal(years)
        months = Self.normal(months)
        days = Self.normal(days)
        hours = Self.normal(hours)
        minutes = Self.normal(minutes)
        seconds = Self.normal(seconds)
        // A list that contains every second and some single seconds means every second.
        if seconds.contains(Self.everySecond),
            seconds.allSatisfy({ $0.start % 1_000_000 == 0 && $0.step % 1_000_000 == 0 })
        {
            seconds = [Self.everySecond]
        }
    }

    private static func normal(_ parts: [ScheduleComponent]) -> [ScheduleComponent] {
        let trimmed = parts.map { part in
            guard let stop = part.stop, stop >= part.start, part.step > 0 else { return part }
            let last = stop - (stop - part.start) % part.step
            // A range with one value is a single value.
            return last == part.start
                ? ScheduleComponent(start: last, stop: nil, step: 0)
                : ScheduleComponent(start: part.start, stop: last, step: part.step)
        }
        var kept: [ScheduleComponent] = []
        for part in trimmed.sorted() where part != kept.last { kept.append(part) }
        return kept
    }

    var pattern: OccurrencePattern {
        let whole = seconds.allSatisfy { part in
            part.start % 1_000_000 == 0 && part.step % 1_000_000 == 0
        }
        let second: OccurrencePattern.SecondPattern =
            if whole {
                .whole(
                    seconds.map { part in
                        ScheduleComponent(
                            start: part.start / 1_000_000, stop: part.stop.map { $0 / 1_000_000 },
                            step: part.step / 1_000_000)
                    }.bits(from: 0, limit: 59))
            } else {
                .fractions(seconds)
            }
        return OccurrencePattern(
            years: years, months: months.bits(from: 1, limit: 12),
            days: DayPattern(
                byLength: (28...31).map { daysOfMonth($0).bits(from: 1, limit: $0) },
                weekdays: weekdays == 0 ? 0x7f : weekdays),
            hours: hours.bits(from: 0, limit: 23), minutes: minutes.bits(from: 0, limit: 59),
            seconds: second)
    }

    /// Converts days that are counted from the end of the month to days from the start, for a month
    /// of this length.
    private func daysOfMonth(_ length: Int) -> [ScheduleComponent] {
        guard isFromMonthEnd else { return days }
        return days.map { part in
            let start = length + 1 - part.start
            guard let stop = part.stop else {
                return ScheduleComponent(start: start, stop: nil, step: part.step)
            }
            return ScheduleComponent(start: length + 1 - stop, stop: start, step: part.step)
        }
    }

    // MARK: - The normal form

    var normalForm: String {
        var text = weekdays == 0 ? "" : Self.text(weekdays: weekdays) + " "
        text += Self.text(years, width: 4) + "-" + Self.text(months, width: 2)
        text += (isFromMonthEnd ? "~" : "-") + Self.text(days, width: 2)
        text += " " + Self.text(hours, width: 2) + ":" + Self.text(minutes, width: 2)
        text += ":" + Self.text(seconds: seconds)
        return text + (zoneName.map { " \($0)" } ?? "")
    }

    private static let weekdayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

    /// Writes three or more consecutive days as a range.
    private static func text(weekdays: UInt64) -> String {
        var parts: [String] = []
        var day = 0
        while let first = weekdays.bit(notBelow: day), first < 7 {
            var last = first
            while weekdays & 1 << (last + 1) != 0 { last += 1 }
            switch last - first {
            case 0: parts.append(weekdayNames[first])
            case 1: parts += [weekdayNames[first], weekdayNames[last]]
            default: parts.append("\(weekdayNames[first])..\(weekdayNames[last])")
            }
            day = last + 1
        }
        return parts.joined(separator: ",")
    }

    private static func text(_ field: [ScheduleComponent], width: Int) -> String {
        guard !field.isEmpty else { return "*" }
        return field.map { part in
            var text = padded(Int64(part.start), width)
            if let stop = part.stop, stop > 0 { text += ".." + padded(Int64(stop), width) }
            let isPlainRange = part.step == 1 && part.stop ?? 0 > 0
            return part.step > 0 && !isPlainRange ? text + "/\(part.step)" : text
        }.joined(separator: ",")
    }

    private static func text(seconds field: [ScheduleComponent]) -> String {
        guard field != [everySecond] else { return "*" }
        func text(_ microseconds: Int, width: Int) -> String {
            let fraction = microseconds % 1_000_000
            return padded(Int64(microseconds / 1_000_000), width)
                + (fraction > 0 ? "." + padded(Int64(fraction), 6) : "")
        }
        return field.map { part in
            var shown = text(part.start, width: 2)
            if let stop = part.stop, stop > 0 { shown += ".." + text(stop, width: 2) }
            let isPlainRange = part.step == 1_000_000 && part.stop ?? 0 > 0
            return part.step > 0 && !isPlainRange ? shown + "/" + text(part.step, width: 1) : shown
        }.joined(separator: ",")
    }
}
