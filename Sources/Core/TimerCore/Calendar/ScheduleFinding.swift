// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A property of a schedule that is not an error, but may be unintended.
public struct ScheduleFinding: Hashable, Sendable {
    /// The kind of finding; the raw value is its name for users and programs.
    public enum Code: String, CaseIterable, Hashable, Sendable {
        /// No further occurrence before the year 2200.
        case neverFires = "never-fires"
        /// A crontab line restricts both day fields, and one of them is enough (crontab(5)).
        case dayFieldsBothRestricted = "day-fields-both-restricted"
        /// A step that does not divide its field evenly, so that one gap is shorter than the others.
        case unevenStep = "uneven-step"
        /// A day that some of the months do not have.
        case skippedMonths = "skipped-months"
        /// The 29th of February and no other day.
        case leapDayOnly = "leap-day-only"
        /// An occurrence is in a range of local time that daylight saving time skips or repeats.
        case dstChange = "dst-change"
        /// Lists of dates exclude every occurrence of the coming years.
        case neverAllowed = "never-allowed"
    }

    public var code: Code
    /// The index of the source of the schedule to which it applies.
    public var source: Int
    /// What happens, and what to write if that is not intended.
    public var message: String
}

extension WallSchedule {
    /// How far into the future changes of the clocks are checked.
    static let findingsAhead: Duration = .seconds(5 * 366 * 86_400)

    /// What may be unintended, as of `now`, in the order of the sources. Each code occurs at most
    /// once for each source. The effect of daylight saving time is the last finding and is reported
    /// once for all sources, because one key, `dst-gap` or `dst-overlap`, applies to all.
    /// - Complexity: O(*n*) in the number of sources; for each, the complexity of its `next` and
    ///   O(1) changes of its zone.
    public func findings(at now: WallInstant) -> [ScheduleFinding] {
        sourceFindings(at: now)
            + [windowFinding(at: now), clockFinding(at: now)].compactMap(\.self)
    }

    /// What is said of a schedule that is over, and of a window that is never open when the schedule has
    /// an occurrence.
    private func windowFinding(at now: WallInstant) -> ScheduleFinding? {
        if let end = validity?.notAfter, end < now {
            return ScheduleFinding(
                code: .neverFires, source: 0, message: "has no run any more: not-after is past")
        }
        guard window != nil, validity == nil, next(after: now) == nil,
            let first = nextOnDates(after: now)
        else {
            return nil
        }
        return ScheduleFinding(
            code: .neverAllowed, source: 0,
            message: "is never inside the window, the first time at \(first.rfc3339)")
    }

    /// The sentence about lists of dates that exclude every occurrence of the next five years; nil if
    /// they allow one, or if there is none.
    ///
    /// - Complexity: one search with the lists and one without.
    public func neverAllowed(at now: WallInstant) -> String? {
        let end = now + Self.findingsAhead
        guard let first = excluded(after: now), first.at < end,
            next(after: now).map({ $0 >= end }) ?? true
        else { return nil }
        return "its dates exclude every run of the next five years: \(first.reason)"
    }

    private func sourceFindings(at now: WallInstant) -> [ScheduleFinding] {
        sources.enumerated().flatMap { index, source -> [ScheduleFinding] in
            var found: [(ScheduleFinding.Code, String)] = []
            switch source {
            case .at(let instant):
                if instant <= now { found = [(.neverFires, "\(instant.rfc3339) is past")] }
            case .cron(let spec, let zone):
                guard !spec.isReboot else { break }
                found = Self.never(spec.next(after: now, in: zone))
                if spec.pattern.days.rule.isEither { found.append(Self.bothDays(spec)) }
                found += Self.unevenSteps(spec.cronFields)
                if found.first?.0 != .neverFires { found += spec.pattern.monthFindings }
            case .calendar(let spec, let zone):
                found = Self.never(spec.next(after: now, in: zone))
                found += Self.unevenSteps(spec.calendarFields)
                if found.first?.0 != .neverFires { found += spec.pattern.monthFindings }
            }
            return found.map { ScheduleFinding(code: $0.0, source: index, message: $0.1) }
        }
    }

    private static func never(_ next: WallInstant?) -> [(ScheduleFinding.Code, String)] {
        next == nil ? [(.neverFires, "never matches before the year 2200")] : []
    }

    private static func bothDays(_ spec: CronSpec) -> (ScheduleFinding.Code, String) {
        let fields = spec.description.split(separator: " ")
        return (
            .dayFieldsBothRestricted,
            "fires on days that match the day of the month (\(fields[2])) or the weekday (\(fields[4])), "
                + "not both; for both use calendar"
        )
    }

    /// A field as it was written, with the number of its possible values and its unit.
    struct Field {
        var text: Substring
        var size: Int
        var first: Int
        var unit: String
    }

    private static func unevenSteps(_ fields: [Field]) -> [(ScheduleFinding.Code, String)] {
        for field in fields {
            for part in field.text.split(separator: ",") where !part.hasOccurrence(of: "..") {
                let sides = part.split(separator: "/")
                guard sides.count == 2, !sides[0].contains("-"), let step = Int(sides[1]), step > 0,
                    field.size % step != 0
                else { continue }
                let start = Int(sides[0]) ?? field.first
                let count = (field.first + field.size - 1 - start) / step
                let last = start + count * step
                let rest = start + field.size - last
                return [
                    (
                        .unevenStep,
                        "\"\(part)\" is not each \(step) \(field.unit)s: after \(last) it starts again at "
                            + "\(start), \(rest) later; for a steady interval use every"
                    )
                ]
            }
        }
        return []
    }

    /// What daylight saving time does to occurrences if no key in the configuration says what to
    /// do: the first time that is skipped, and the first that occurs twice.
    private func clockFinding(at now: WallInstant) -> ScheduleFinding? {
        var gapFound: (source: Int, String)?
        var overlapFound: (source: Int, String)?
        for (index, source) in sources.enumerated() {
            let found: ClockChanges
            switch source {
            case .cron(let spec, let zone) where !spec.isReboot:
                found = clockChanges(spec, zone, at: now)
            case .calendar(let spec, let zone): found = clockChanges(spec, zone, at: now)
            case .cron, .at: continue
            }
            gapFound = gapFound ?? found.gap.map { (index, $0) }
            overlapFound = overlapFound ?? found.overlap.map { (index, $0) }
        }
        let isBoth = gapFound != nil && overlapFound != nil
        guard let first = gapFound ?? overlapFound else { return nil }
        let keys =
            isBoth
            ? "dst-gap and dst-overlap say" : gapFound == nil ? "dst-overlap says" : "dst-gap says"
        let text = [gapFound, overlapFound].compactMap { $0?.1 }.joined(separator: "; ")
        return ScheduleFinding(
            code: .dstChange, source: first.source, message: "\(text); \(keys) otherwise")
    }

    private typealias ClockChanges = (gap: String?, overlap: String?)

    /// Occurrences of a fixed schedule in a range that the clocks of the zone will skip or repeat,
    /// unless a key in the configuration says what to do.
    private func clockChanges(
        _ source: some OccurrenceSource, _ zone: ZoneRules, at now: WallInstant
    ) -> ClockChanges {
        var found: ClockChanges = (nil, nil)
        guard source.standardRule == .fixed else { return found }
        var at = now
        while let change = zone.nextTransition(after: at), change - now < Self.findingsAhead {
            let before = zone.offset(at: change - .microseconds(1))
            let after = zone.offset(at: change)
            let isGap = after > before
            let isOpen =
                isGap ? gap == nil && found.gap == nil : overlap == nil && found.overlap == nil
            at = change
            guard isOpen,
                let local = source.pattern.occurrence(
                    from: change + .seconds(min(before, after)),
                    to: change + .seconds(max(before, after)))
            else { continue }
            // This is a local time, formatted as if it were UTC.
            let text = local.rfc3339.dropLast().split(separator: "T")
            let then = (change + .seconds(after)).rfc3339.dropLast().split(separator: "T")
            let place = "in \(zone.name) on \(text[0]), \(text[1])"
            if isGap {
                found.gap = "\(place) does not exist: it fires at \(then[1]) instead"
            } else {
                found.overlap = "\(place) comes twice: it fires the first time alone"
            }
        }
        return found
    }
}

extension OccurrencePattern {
    /// The first occurrence in a range of the local clock, excluding its end.
    fileprivate func occurrence(from start: WallInstant, to end: WallInstant) -> WallInstant? {
        next(notBefore: start.microsecondsSinceEpoch)
            .flatMap { $0 < end.microsecondsSinceEpoch ? $0 : nil }
            .map { WallInstant(microsecondsSinceEpoch: $0) }
    }

    private static let monthNames = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]

    /// Months that do not have the requested day.
    fileprivate var monthFindings: [(ScheduleFinding.Code, String)] {
        guard !days.rule.isEither, days.ordinals.allSatisfy({ $0 == 0 }) else { return [] }
        let wanted = (1...12).filter { months & 1 << $0 != 0 }
        // 2001 was not a leap year, 2000 was.
        func has(_ month: Int, of year: Int) -> Bool {
            days.byLength[CivilDate.days(in: month, of: year) - 28] != 0
        }
        let never = wanted.filter { !has($0, of: 2000) }
        let leap = wanted.filter { has($0, of: 2000) && !has($0, of: 2001) }
        if wanted.count == never.count + leap.count, !leap.isEmpty {
            let day = days.rule.isNearest ? "near 29 February" : "on 29 February"
            return [(.leapDayOnly, "fires \(day) alone: in leap years")]
        }
        guard never.count + leap.count > 0 else { return [] }
        let names =
            never.map { Self.monthNames[$0 - 1] }
            + leap.map { "\(Self.monthNames[$0 - 1]) but in leap years" }
        return [
            (
                .skippedMonths,
                "does not fire in \(names.joined(separator: ", ")), which \(names.count == 1 ? "has" : "have") "
                    + "no such day; for the last day use ~01 (calendar) or L (cron)"
            )
        ]
    }
}

extension CronSpec {
    fileprivate var cronFields: [WallSchedule.Field] {
        let kinds = [
            (60, 0, "minute"), (24, 0, "hour"), (31, 1, "day"), (12, 1, "month"), (7, 0, "weekday"),
        ]
        return zip(description.split(separator: " "), kinds).map { text, kind in
            WallSchedule.Field(text: text, size: kind.0, first: kind.1, unit: kind.2)
        }
    }
}

extension CalendarSpec {
    /// The fields of the time, the month and the day in the normal form.
    fileprivate var calendarFields: [WallSchedule.Field] {
        let parts = description.split(separator: " ")
        guard let time = parts.firstIndex(where: { $0.contains(":") }), time > 0 else { return [] }
        let clock = parts[time].split(separator: ":")
        let date = parts[time - 1].split(whereSeparator: { $0 == "-" || $0 == "~" })
        guard clock.count == 3, date.count == 3 else { return [] }
        return [
            WallSchedule.Field(text: clock[1], size: 60, first: 0, unit: "minute"),
            WallSchedule.Field(text: clock[0], size: 24, first: 0, unit: "hour"),
            WallSchedule.Field(text: clock[2], size: 60, first: 0, unit: "second"),
            WallSchedule.Field(text: date[2], size: 31, first: 1, unit: "day"),
            WallSchedule.Field(text: date[1], size: 12, first: 1, unit: "month"),
        ]
    }
}
