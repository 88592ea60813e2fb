// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// On which dates a schedule by the wall clock may fire. A firing on another date does not exist: it
/// is not missed, and nothing catches it up.
///
/// A date is that of the local clock in the zone of the schedule.
public struct FiringRules: Hashable, Sendable {
    /// It does not fire on the dates of these lists.
    public var except: [DateList]
    /// It fires on dates of these lists alone; empty: on all dates.
    public var onlyOn: [DateList]
    /// Which of its dates count at all, before the lists; nil: each of them.
    public var everyNth: EveryNth?

    public init(
        except: [DateList] = [], onlyOn: [DateList] = [], everyNth: EveryNth? = nil
    ) {
        self.except = except
        self.onlyOn = onlyOn
        self.everyNth = everyNth
    }

    /// Why the schedule does not fire on a date, in words such as `2026-12-25 is in holidays`; nil
    /// if it may.
    public func reason(on date: CivilDate) -> String? {
        let day = date.daysSinceEpoch
        if let list = except.first(where: { $0.days.contains(day) }) {
            return "\(date.text) is in \(list.name)"
        }
        guard !onlyOn.isEmpty, !onlyOn.contains(where: { $0.days.contains(day) }) else {
            return nil
        }
        return "\(date.text) is not in \(onlyOn.map(\.name.description).joined(separator: " or "))"
    }

    /// The first date from `day` on at which the schedule may fire, in days since 1970; nil if there
    /// is none before the year 2200.
    ///
    /// - Parameter pattern: the times of the schedule.
    /// - Complexity: that of `DaySet.first` for each range of dates that one of the lists excludes
    ///   and another one does not; with `everyNth`, O(*m*) in the months since its date for each.
    func firstDay(from day: Int, of pattern: OccurrencePattern) -> Int? {
        settle(
            day, { $0.first(from: $1, inside: $2) }, nearest: { $0.min() },
            counted: { $0.firstDay(from: $1, of: pattern) })
    }

    /// The last date until `day` at which the schedule may fire; nil if there is none since 1970.
    /// - Complexity: as `firstDay`.
    func lastDay(until day: Int, of pattern: OccurrencePattern) -> Int? {
        settle(
            day, { $0.last(until: $1, inside: $2) }, nearest: { $0.max() },
            counted: { $0.lastDay(until: $1, of: pattern) })
    }

    /// Moves a day in one direction until no list excludes it.
    private func settle(
        _ day: Int, _ search: (DaySet, Int, Bool) -> Int?, nearest: ([Int]) -> Int?,
        counted: (EveryNth, Int) -> Int?
    ) -> Int? {
        var day = day
        while true {
            let before = day
            for list in except {
                guard let found = search(list.days, day, false) else { return nil }
                day = found
            }
            if !onlyOn.isEmpty {
                guard let found = nearest(onlyOn.compactMap { search($0.days, day, true) }) else {
                    return nil
                }
                day = found
            }
            // The count comes last: it costs the most.
            if day == before, let everyNth {
                guard let found = counted(everyNth, day) else { return nil }
                day = found
            }
            if day == before { return day }
        }
    }
}

/// Every second, third … date of a schedule that fires at most once on a day, counted from one of its
/// dates. What was run, skipped or missed does not change the count.
public struct EveryNth: Hashable, Sendable {
    /// From 2 to `maximum`.
    public var number: Int
    /// The day from which the dates are counted, in days since 1970: the first date of the schedule
    /// on that day or after it counts, and so does each `number`-th one after it and before it.
    public var start: Int

    /// The most that `number` can be.
    public static let maximum = 1000

    public init(_ number: Int, from date: CivilDate) {
        self.number = number
        start = date.daysSinceEpoch
    }

    /// How many dates of the schedule are after the last one that counts, until before this day.
    private func phase(_ day: Int, _ pattern: OccurrencePattern) -> Int {
        let after = pattern.dateCount(from: start, until: day)
        let before = pattern.dateCount(from: day, until: start)
        let phase = (after - before) % number
        return phase < 0 ? phase + number : phase
    }

    /// The first day from this one on that is no date of the schedule, or one that counts.
    func firstDay(from day: Int, of pattern: OccurrencePattern) -> Int? {
        guard pattern.occurs(on: day) else { return day }
        let phase = phase(day, pattern)
        var found = day
        for _ in 0..<(phase == 0 ? 0 : number - phase) {
            guard let next = pattern.date(after: found) else { return nil }
            found = next
        }
        return found
    }

    /// The last day until this one that is no date of the schedule, or one that counts.
    func lastDay(until day: Int, of pattern: OccurrencePattern) -> Int? {
        guard pattern.occurs(on: day) else { return day }
        var found = day
        for _ in 0..<phase(day, pattern) {
            guard let last = pattern.date(before: found) else { return nil }
            found = last
        }
        return found
    }
}

/// The search for firings on the dates that the rules allow.
struct RuledSearch {
    let rules: FiringRules
    let pattern: OccurrencePattern
    let zone: ZoneRules

    private static let secondsPerDay: Int64 = 86_400
    /// This is longer than the difference of any two offsets of a zone.
    private static let margin: Int64 = 52 * 3600

    /// The first instant after `instant` that `next` finds and the rules allow.
    ///
    /// A range of dates that are not allowed is passed in one step, except where the clock is set
    /// back soon, and a date before may come again.
    ///
    /// - Parameter next: the first occurrence of the schedule after an instant, whatever its date.
    /// - Complexity: one `next` for each range of dates that is passed.
    func first(
        after instant: WallInstant, _ next: (WallInstant) -> WallInstant?
    ) -> WallInstant? {
        var instant = instant
        while let found = next(instant) {
            let second = found.secondsSinceEpoch
            let segment = zone.segment(at: second)
            let day = Self.day(of: second, segment)
            let allowed = rules.firstDay(from: day, of: pattern)
            if allowed == day { return found }
            let bound: Int64
            if let end = segment.end, end - second < Self.margin {
                bound = min(end, allowed.map { midnight(of: $0) - segment.offset } ?? .max)
            } else if let allowed {
                bound = zone.start(of: allowed, notBefore: second)
            } else {
                return nil
            }
            instant = WallInstant(secondsSinceEpoch: bound) - .microseconds(1)
        }
        return nil
    }

    /// The last instant before `instant`. It works like `first` in the opposite direction.
    func last(
        before instant: WallInstant, _ previous: (WallInstant) -> WallInstant?
    ) -> WallInstant? {
        var instant = instant
        while let found = previous(instant) {
            let second = found.secondsSinceEpoch
            let segment = zone.segment(at: second)
            let day = Self.day(of: second, segment)
            let allowed = rules.lastDay(until: day, of: pattern)
            if allowed == day { return found }
            let bound: Int64
            if let start = segment.start, second - start < Self.margin {
                bound = max(start, allowed.map { midnight(of: $0 + 1) - segment.offset } ?? .min)
            } else if let allowed {
                bound = end(of: allowed, notAfter: second)
            } else {
                return nil
            }
            instant = WallInstant(secondsSinceEpoch: bound)
        }
        return nil
    }

    /// The first second after a day, until `highest`: from it on the local clock shows later days.
    private func end(of day: Int, notAfter highest: Int64) -> Int64 {
        let midnight = midnight(of: day + 1)
        var highest = min(highest, midnight + Self.margin)
        while true {
            let segment = zone.segment(at: highest - 1)
            let end = min(highest, midnight - segment.offset)
            guard let start = segment.start, end <= start else { return end }
            highest = start
        }
    }

    /// The start of a day as if the local clock were UTC.
    private func midnight(of day: Int) -> Int64 { Int64(day) * Self.secondsPerDay }

    /// The local date at a second, in days since 1970.
    private static func day(of second: Int64, _ segment: ZoneRules.Segment) -> Int {
        Int((second + segment.offset).quotient(flooringBy: secondsPerDay))
    }
}

extension ZoneRules {
    /// The first instant at which the local clock has reached a date.
    /// - Complexity: O(log *n*) in the number of transitions.
    public func start(of date: CivilDate) -> WallInstant {
        WallInstant(secondsSinceEpoch: start(of: date.daysSinceEpoch, notBefore: .min))
    }

    /// The first second, from `lowest` on, at which the local clock has reached a day.
    fileprivate func start(of day: Int, notBefore lowest: Int64) -> Int64 {
        let midnight = Int64(day) * 86_400
        // This is longer than the difference of any two offsets of a zone.
        var lowest = max(lowest, midnight - 52 * 3600)
        while true {
            let segment = segment(at: lowest)
            let start = max(lowest, midnight - segment.offset)
            guard let end = segment.end, end <= start else { return start }
            lowest = end
        }
    }

    /// The local date at an instant.
    /// - Complexity: O(log *n*) in the number of transitions.
    public func date(at instant: WallInstant) -> CivilDate {
        let local = instant.secondsSinceEpoch + Int64(offset(at: instant))
        return CivilDate(daysSinceEpoch: Int(local.quotient(flooringBy: 86_400)))
    }
}
