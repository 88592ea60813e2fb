// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A schedule by the wall clock, with the occurrences of all its sources.
public struct WallSchedule: Hashable, Sendable {
    /// The maximum number of missed occurrences that are counted. Beyond it the count only means
    /// "at least this many".
    public static let missedMax = 10_000

    /// Where occurrences come from. A schedule may combine several.
    public enum Source: Hashable, Sendable {
        /// A calendar event, in a zone.
        case calendar(CalendarSpec, ZoneRules)
        /// A crontab line, in a zone.
        case cron(CronSpec, ZoneRules)
        case at(WallInstant)

        /// The times of the local clock at which it occurs; nil if it is an instant.
        var pattern: OccurrencePattern? {
            switch self {
            case .calendar(let spec, _): spec.pattern
            case .cron(let spec, _): spec.pattern
            case .at: nil
            }
        }

        /// Whether it occurs at one time of the day at most.
        public var isOncePerDay: Bool { pattern?.isOncePerDay ?? true }

        /// The zone of its local times; nil if it has none.
        public var zone: ZoneRules? {
            switch self {
            case .calendar(_, let zone), .cron(_, let zone): zone
            case .at: nil
            }
        }
    }

    /// At least one. The schedule has the occurrences of all of them, each instant once.
    public var sources: [Source]
    /// What most schedules do not have, so that each of them is small.
    private var uncommon: Boxed<Uncommon>?

    private struct Uncommon: Hashable, Sendable {
        var gap: DSTRule.Gap?
        var overlap: DSTRule.Overlap?
        var rules: Boxed<FiringRules>?
        var window: JobWindow?
        var validity: JobValidity?
    }

    /// What happens to times that do not exist; nil: the default of each source.
    public var gap: DSTRule.Gap? {
        get { uncommon?.wrappedValue.gap }
        set { change { $0.gap = newValue } }
    }

    /// What happens to times that occur twice; nil: the default of each source.
    public var overlap: DSTRule.Overlap? {
        get { uncommon?.wrappedValue.overlap }
        set { change { $0.overlap = newValue } }
    }

    /// On which dates it may fire; nil: on all. Schedules with the same rules share one value.
    public var rules: Boxed<FiringRules>? {
        get { uncommon?.wrappedValue.rules }
        set { change { $0.rules = newValue } }
    }

    /// Outside this window it has no occurrences; nil: it may have some at any time.
    public var window: JobWindow? {
        get { uncommon?.wrappedValue.window }
        set { change { $0.window = newValue } }
    }

    /// From when and until when it has occurrences; nil: always.
    public var validity: JobValidity? {
        get { uncommon?.wrappedValue.validity }
        set { change { $0.validity = newValue } }
    }

    private mutating func change(_ change: (inout Uncommon) -> Void) {
        var new = uncommon?.wrappedValue ?? Uncommon()
        change(&new)
        uncommon = new == Uncommon() ? nil : Boxed(wrappedValue: new)
    }

    /// Combines the sources; by default each has its own rule for daylight saving time.
    public init(_ sources: [Source], gap: DSTRule.Gap? = nil, overlap: DSTRule.Overlap? = nil) {
        self.sources = sources
        if gap != nil || overlap != nil {
            uncommon = Boxed(wrappedValue: Uncommon(gap: gap, overlap: overlap))
        }
    }

    /// How many openings of a window are looked at before a search ends: those of more than 25 years.
    private static let openingsMax = 10_000

    /// The first occurrence after `instant`; nil if there is none.
    /// - Complexity: O(*n*) in the number of sources; for each, the complexity of its `next`, with
    ///   rules for each range of dates that they exclude, and with a window for each opening.
    public func next(after instant: WallInstant) -> WallInstant? {
        guard let validity else { return nextInWindow(after: instant) }
        let start = validity.notBefore.map { max(instant, $0 - .microseconds(1)) } ?? instant
        return nextInWindow(after: start).flatMap { validity.allows($0) ? $0 : nil }
    }

    /// The last occurrence before `instant`; nil if there is none since 1970.
    /// - Complexity: as `next`.
    public func previous(before instant: WallInstant) -> WallInstant? {
        guard let validity else { return previousInWindow(before: instant) }
        let end = validity.notAfter.map { min(instant, $0 + .microseconds(1)) } ?? instant
        return previousInWindow(before: end).flatMap { validity.allows($0) ? $0 : nil }
    }

    /// The first occurrence inside the window.
    private func nextInWindow(after instant: WallInstant) -> WallInstant? {
        guard let window else { return nextOnDates(after: instant) }
        var instant = instant
        for _ in 0..<Self.openingsMax {
            guard let found = nextOnDates(after: instant) else { return nil }
            let opening = window.opening(notBefore: found)
            if opening == found { return found }
            instant = opening - .microseconds(1)
        }
        return nil
    }

    /// The last occurrence inside the window.
    private func previousInWindow(before instant: WallInstant) -> WallInstant? {
        guard let window else { return previousOnDates(before: instant) }
        var instant = instant
        for _ in 0..<Self.openingsMax {
            guard let found = previousOnDates(before: instant) else { return nil }
            guard let since = window.closed(at: found) else { return found }
            instant = since
        }
        return nil
    }

    /// The first occurrence on a date that the rules allow.
    func nextOnDates(after instant: WallInstant) -> WallInstant? {
        guard let rules = rules?.wrappedValue else {
            return sources.compactMap { occurrence(of: $0, after: instant) }.min()
        }
        return sources.compactMap { source -> WallInstant? in
            guard let zone = source.zone, let pattern = source.pattern else {
                return occurrence(of: source, after: instant)
            }
            return RuledSearch(rules: rules, pattern: pattern, zone: zone).first(after: instant) {
                occurrence(of: source, after: $0)
            }
        }.min()
    }

    /// The last occurrence on a date that the rules allow.
    private func previousOnDates(before instant: WallInstant) -> WallInstant? {
        guard let rules = rules?.wrappedValue else {
            return sources.compactMap { occurrence(of: $0, before: instant) }.max()
        }
        return sources.compactMap { source -> WallInstant? in
            guard let zone = source.zone, let pattern = source.pattern else {
                return occurrence(of: source, before: instant)
            }
            return RuledSearch(rules: rules, pattern: pattern, zone: zone).last(before: instant) {
                occurrence(of: source, before: $0)
            }
        }.max()
    }

    /// The first occurrence of a source, whatever its date.
    private func occurrence(of source: Source, after instant: WallInstant) -> WallInstant? {
        switch source {
        case .calendar(let spec, let zone):
            spec.next(after: instant, in: zone, rule: rule(spec.standardRule))
        case .cron(let spec, let zone):
            spec.next(after: instant, in: zone, rule: rule(spec.standardRule))
        case .at(let occurrence): occurrence > instant ? occurrence : nil
        }
    }

    /// The last occurrence of a source, whatever its date.
    private func occurrence(of source: Source, before instant: WallInstant) -> WallInstant? {
        switch source {
        case .calendar(let spec, let zone):
            spec.previous(before: instant, in: zone, rule: rule(spec.standardRule))
        case .cron(let spec, let zone):
            spec.previous(before: instant, in: zone, rule: rule(spec.standardRule))
        case .at(let occurrence): occurrence < instant ? occurrence : nil
        }
    }

    /// The first firing after `instant` that a list of dates excludes, with the reason in words such as
    /// `2026-12-25 is in holidays`; nil if the next occurrence is allowed, or there is none.
    ///
    /// - Complexity: two searches of the schedule.
    public func excluded(after instant: WallInstant) -> (at: WallInstant, reason: String)? {
        guard let rules = rules?.wrappedValue else { return nil }
        let found = sources.compactMap { source -> (at: WallInstant, reason: String)? in
            guard let zone = source.zone, let pattern = source.pattern else { return nil }
            let counted = FiringRules(everyNth: rules.everyNth)
            let search = RuledSearch(rules: counted, pattern: pattern, zone: zone)
            guard let next = search.first(after: instant, { occurrence(of: source, after: $0) }),
                let reason = rules.reason(on: zone.date(at: next))
            else { return nil }
            return (next, reason)
        }
        return found.min { $0.at < $1.at }
    }

    /// The zones of the sources, one for each source that has one; equal ones are repeated.
    public var zones: [ZoneRules] {
        sources.compactMap(\.zone)
    }

    /// Replaces the rules of its zones, if there are new ones.
    /// - Returns: whether any rules changed.
    mutating func replaceZones(_ rules: (ZoneRules) -> ZoneRules?) -> Bool {
        var isChanged = false
        for index in sources.indices {
            switch sources[index] {
            case .calendar(let spec, let zone):
                guard let new = rules(zone), new != zone else { continue }
                sources[index] = .calendar(spec, new)
            case .cron(let spec, let zone):
                guard let new = rules(zone), new != zone else { continue }
                sources[index] = .cron(spec, new)
            case .at: continue
            }
            isChanged = true
        }
        if var window, window.replaceZone(rules) {
            self.window = window
            isChanged = true
        }
        return isChanged
    }

    /// Whether it fires at each boot of the machine.
    var isAtReboot: Bool {
        sources.contains { source in
            if case .cron(let spec, _) = source { spec.isReboot } else { false }
        }
    }

    private func rule(_ standard: DSTRule) -> DSTRule {
        DSTRule(gap: gap ?? standard.gap, overlap: overlap ?? standard.overlap)
    }
}
