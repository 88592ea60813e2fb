// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

extension Draft {
    /// The keys of a job about the times at which its runs may start.
    static let windows: [JobKey] = [
        JobKey(
            \.window, "window", .window,
            "The times at which its runs may start, such as \"Mon..Fri 22:00-06:00\"; by default at any time."
        ),
        JobKey(
            \.outsideWindow, "outside-window", .words,
            "What happens when it is due outside its window."),
        JobKey(
            \.stopsAtWindowEnd, "stop-at-window-end", .boolean,
            "Whether runs are stopped that are still active when the window closes."),
        JobKey(
            \.notBefore, "not-before", .limit,
            "Its schedule makes no run before this date, or this instant of RFC 3339.",
            default: false),
        JobKey(
            \.notAfter, "not-after", .limit,
            "Its schedule makes no run after this date, or this instant; then the job is finished.",
            default: false),
        JobKey(
            \.maxRuns, "max-runs", .integer(1...1_000_000_000),
            "After how many runs the job is finished. Runs on request do not count.",
            default: false),
        JobKey(
            \.maxSuccesses, "max-successes", .integer(1...1_000_000_000),
            "After how many runs that succeed the job is finished.", default: false),
    ]

    /// After how many runs the job is finished; nil: never.
    var runLimit: RunLimit? {
        guard fleetMark == nil, maxRuns != nil || maxSuccesses != nil else { return nil }
        return RunLimit(runs: maxRuns, successes: maxSuccesses)
    }

    /// A job that nothing but a request runs has no run that another one could follow.
    func limitFaults(among entries: [TomlEntry]) -> [Fault] {
        guard onDemand, follows == nil, !refused.contains("follows") else { return [] }
        return entries.filter { ["max-runs", "max-successes"].contains($0.key) }.map {
            Fault(
                $0.mark,
                "\($0.key): a job with on-demand has no schedule that could be finished; remove one of them"
            )
        }
    }

    /// From when and until when the schedule makes runs; nil: always.
    ///
    /// - Throws: if there is no time between both.
    func validity(_ zone: ZoneRules) throws(Fault) -> JobValidity? {
        guard notBefore != nil || notAfter != nil else { return nil }
        let validity = JobValidity(
            notBefore: notBefore?.value.first(in: zone), notAfter: notAfter?.value.last(in: zone))
        if let start = validity.notBefore, let end = validity.notAfter, end < start,
            let mark = notAfter?.mark
        {
            throw Fault(mark, "not-after: is before not-before")
        }
        return validity
    }

    /// Whether one of its values is of the local clock, so that the zone of the job must be known.
    var needsZone: Bool {
        window != nil || notBefore?.value.isDate == true || notAfter?.value.isDate == true
    }

    /// The window of the job; nil if it has none.
    func jobWindow(_ zone: ZoneRules) -> JobWindow? {
        guard let ranges = window?.value, !ranges.isAlwaysOpen else { return nil }
        var window = JobWindow(ranges, zone: zone)
        window.outside = outsideWindow
        window.stopsAtEnd = stopsAtWindowEnd
        return window
    }
}

/// The first or the last time of a schedule, as it is written.
enum ValidityLimit: Hashable, Sendable {
    case date(CivilDate)
    case instant(WallInstant)

    var isDate: Bool { if case .date = self { true } else { false } }

    /// The first instant that it allows as the first.
    func first(in zone: ZoneRules) -> WallInstant {
        switch self {
        case .instant(let instant): instant
        case .date(let date): zone.start(of: date)
        }
    }

    /// The last instant that it allows as the last: all of a date belongs to it.
    func last(in zone: ZoneRules) -> WallInstant {
        switch self {
        case .instant(let instant): instant
        case .date(let date):
            zone.start(of: CivilDate(daysSinceEpoch: date.daysSinceEpoch + 1)) - .microseconds(1)
        }
    }
}

extension KeyShape where Value == ValidityLimit {
    fileprivate static var limit: Self {
        Self(.pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}(T|$)"), type: "DATE or INSTANT") {
            (node) throws(Fault) in
            if case .dateOrTime = node.value {
                throw Fault(node.mark, "must be in quotes, such as \"2026-12-01\"")
            }
            let text = try node.string()
            if let instant = WallInstant(rfc3339: text) { return .instant(instant) }
            return .date(
                try node.date(
                    text,
                    else:
                        "\"\(text)\" is neither a date such as \"2026-12-01\" nor an instant such as \"2026-12-01T08:00:00+01:00\""
                ))
        }
    }
}

extension KeyShape where Value == WeekRanges {
    fileprivate static var window: Self {
        Self(.oneOrMore(.text), type: "STRING or array") { (node) throws(Fault) in
            try node.weekRanges()
        }
    }
}

extension TomlNode {
    /// The times of a window.
    fileprivate func weekRanges() throws(Fault) -> WeekRanges {
        var nodes = [self]
        if case .array(let elements) = value {
            guard !elements.isEmpty else {
                throw Fault(
                    mark,
                    "must have at least one range, such as \"22:00-06:00\"; leave it out for any time"
                )
            }
            nodes = elements
        }
        guard nodes.count <= WeekRanges.countMax else {
            throw Fault(mark, "has \(nodes.count) ranges; at most \(WeekRanges.countMax)")
        }
        return WeekRanges(
            try nodes.readEach { (node) throws(Fault) in
                if case .dateOrTime = node.value {
                    throw Fault(node.mark, "must be a range in quotes, such as \"22:00-06:00\"")
                }
                return try node.parsed(WeekRanges.Part.init)
            })
    }
}
