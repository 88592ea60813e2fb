// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Translates the section `[Timer]` to the schedules of jobs (systemd.timer(5)). A job has one kind of
/// schedule, so that a timer with several kinds becomes several jobs.
struct TimerTranslation {
    /// One job: what its name gets after that of the timer, where its schedule is written, and its keys.
    struct Plan {
        var suffix = ""
        var place: SourcePlace
        var keys: [TomlEntry]
        var notes: [String] = []
    }

    var unit: LoadedUnit
    let specifiers: UnitSpecifiers
    /// Whether intervals also start again after each boot.
    let isLikeSystemd: Bool
    /// Whether this machine has a time zone with this name.
    let hasZone: (String) -> Bool

    private(set) var calendars: [(text: String, spec: CalendarSpec, index: Int)] = []
    private(set) var spans: [String: [(span: Duration, index: Int)]] = [:]
    /// The clock that counts the intervals, as the value of the key `count`.
    private(set) var count = "uptime"

    static let triggers = [
        "OnCalendar", "OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec",
        "OnUnitInactiveSec",
    ]
    /// The limits of the configuration (`TomlNode`).
    private static let calendarsMax = 100
    private static let spanMax: Duration = .seconds(100 * 31_557_600)
    static let intervalMin: Duration = .milliseconds(1)

    init(
        _ unit: LoadedUnit, specifiers: UnitSpecifiers, isLikeSystemd: Bool,
        hasZone: @escaping (String) -> Bool
    ) {
        (self.unit, self.specifiers, self.isLikeSystemd) = (unit, specifiers, isLikeSystemd)
        self.hasZone = hasZone
    }

    /// The jobs; none if nothing in the timer can start one.
    /// - Complexity: O(*n*) in the size of the unit.
    mutating func plans() -> [Plan] {
        let indexes = unit.list(
            "Timer", "OnCalendar", "OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec",
            "OnUnitInactiveSec")
        for index in indexes { read(index) }
        wakeUps()
        changes()
        installation()
        var plans = calendarPlan() + monotonicPlans()
        let shared = delays()
        for index in plans.indices {
            plans[index].keys += shared
            if plans.count > 1 {
                plans[index].notes.append(
                    "the timer became \(plans.count) jobs, one for each kind of schedule; systemd never runs the service twice at the same time, but two jobs can"
                )
            }
        }
        if plans.allSatisfy({ !$0.suffix.isEmpty }), !plans.isEmpty { plans[0].suffix = "" }
        return plans
    }

    /// Why the first schedule that cannot be used is none, with its place; nil if all can be used.
    var lostTrigger: (place: SourcePlace, reason: String)? {
        for index in unit.assignments.indices {
            let assignment = unit[index]
            guard assignment.section == "Timer", Self.triggers.contains(assignment.key),
                case .lost(let reason) = assignment.outcome
            else { continue }
            return (
                assignment.place,
                "its schedule \(assignment.key)=\(assignment.value) cannot be used: \(reason)"
            )
        }
        return nil
    }

    private mutating func read(_ index: Int) {
        let assignment = unit[index]
        let expansion = specifiers.expand(assignment.value)
        if let fault = expansion.fault {
            return unit.mark(index, .lost("\(fault), and systemd ignores the line"))
        }
        unit.mark(
            index,
            expansion.notes.isEmpty ? .mapped : .lost(expansion.notes.joined(separator: "; ")))
        guard assignment.key == "OnCalendar" else { return readSpan(expansion.text, index) }
        do throws(ScheduleError) {
            let spec = try CalendarSpec(expansion.text)
            if let zone = spec.zoneName, !hasZone(zone) {
                return unit.mark(
                    index, .lost("there is no time zone \"\(zone)\" on this machine"))
            }
            guard calendars.count < Self.calendarsMax else {
                return unit.mark(
                    index, .lost("a job has at most \(Self.calendarsMax) calendar events"))
            }
            calendars.append((expansion.text, spec, index))
        } catch {
            unit.mark(index, .lost("not a calendar event: \(error)"))
        }
    }

    private mutating func readSpan(_ text: String, _ index: Int) {
        let key = unit[index].key
        do throws(TimeSpanError) {
            guard let span = try UnitValue.span(text) else {
                return unit.mark(index, .unneeded("infinity never elapses"))
            }
            guard span <= Self.spanMax else {
                return unit.mark(index, .lost("a time span has at most 100 years"))
            }
            if key.hasPrefix("OnUnit"), span < Self.intervalMin {
                return unit.mark(index, .lost("an interval has at least 1 ms"))
            }
            spans[key, default: []].append((span, index))
        } catch {
            unit.mark(index, .lost("not a time span: \(error)"))
        }
    }

    // MARK: - Calendar events

    private mutating func calendarPlan() -> [Plan] {
        let persistent = unit.boolean("Timer", "Persistent")
        guard let first = calendars.first else {
            if let persistent {
                unit.mark(persistent.index, .unneeded("it is only about OnCalendar="))
            }
            return []
        }
        let texts = calendars.map(\.text)
        let isCaughtUp = persistent?.value ?? false
        var plan = Plan(
            place: unit[first.index].place,
            keys: [
                TomlEntry("calendar", texts.count == 1 ? .string(texts[0]) : .strings(texts))
            ])
        plan.keys += clockChanges()
        plan.keys.append(TomlEntry("on-missed", .string(isCaughtUp ? "run-once" : "skip")))
        if isCaughtUp, let delay = randomDelay {
            plan.keys.append(TomlEntry("catch-up-delay", .span(delay)))
        }
        if !isCaughtUp {
            plan.notes.append(
                "without Persistent=true, systemd runs the service once after the machine was suspended, and this job does not; on-missed = \"run-once\" does, also after timerd was down"
            )
        }
        return [plan]
    }

    /// The most by which systemd delays each start, also that of a missed run; nil if it does not.
    private var randomDelay: Duration? {
        let values = unit.assignments.filter {
            $0.section == "Timer" && $0.key == "RandomizedDelaySec"
        }
        guard let text = values.last?.value, !text.isEmpty,
            let span = try? UnitValue.span(specifiers.expand(text).text), span > .zero
        else { return nil }
        return span
    }

    /// systemd runs nothing at a time that daylight saving time skips, and runs only once at one that
    /// it repeats: the keys for this where the defaults of timerd are different.
    private func clockChanges() -> [TomlEntry] {
        let rules = calendars.filter { $0.spec.zoneName != "UTC" }.map(\.spec.standardRule)
        var keys: [TomlEntry] = []
        if rules.contains(where: { $0.gap != .skip }) {
            keys.append(TomlEntry("dst-gap", .string(DSTRule.Gap.skip.rawValue)))
        }
        if rules.contains(where: { $0.overlap != .first }) {
            keys.append(TomlEntry("dst-overlap", .string(DSTRule.Overlap.first.rawValue)))
        }
        return keys
    }

    // MARK: - The other keys

    private mutating func wakeUps() {
        guard let wakes = unit.boolean("Timer", "WakeSystem") else { return }
        guard wakes.value else { return unit.mark(wakes.index, .unneeded("it is the default")) }
        unit.mark(
            wakes.index, .lost("timerd does not wake the machine; the job runs when it is awake"))
        count = "boottime"
    }

    private mutating func changes() {
        for key in ["OnClockChange", "OnTimezoneChange"] {
            guard let change = unit.boolean("Timer", key) else { continue }
            let what = key == "OnClockChange" ? "clock is set" : "time zone changes"
            unit.mark(
                change.index,
                change.value
                    ? .lost("timerd does not run a job when the \(what)")
                    : .unneeded("it is the default"))
        }
    }

    /// A timer that another unit starts is active only together with it.
    private mutating func installation() {
        for index in unit.list("Install", "WantedBy", "RequiredBy", "UpheldBy") {
            let targets = unit[index].value.split(whereSeparator: \.isWhitespace).map(String.init)
            guard !targets.allSatisfy(Self.bootTargets.contains) else { continue }
            unit.mark(
                index,
                .lost("systemd starts the timer together with that unit; the job is always active"))
        }
    }

    private static let bootTargets: Set<String> = [
        "timers.target", "basic.target", "multi-user.target", "default.target", "graphical.target",
    ]

    private mutating func delays() -> [TomlEntry] {
        var keys: [TomlEntry] = []
        if let span = span("AccuracySec", zeroIsDefault: false) {
            keys.append(TomlEntry("accuracy", .span(span)))
        }
        let fixed = unit.boolean("Timer", "FixedRandomDelay")
        let offset = span("RandomizedOffsetSec")
        if let delay = span("RandomizedDelaySec") {
            let isFixed = fixed?.value == true
            if isFixed, offset != nil, let index = unit.last("Timer", "RandomizedOffsetSec") {
                unit.mark(index, .lost("a job has one offset, that of RandomizedDelaySec="))
            }
            let key = isFixed ? "random-offset" : "random-delay"
            keys.append(TomlEntry(key, .span(delay)))
            if isFixed { return keys }
        } else if let fixed {
            unit.mark(fixed.index, .unneeded("it has no effect without RandomizedDelaySec="))
        }
        if let offset { keys.append(TomlEntry("random-offset", .span(offset))) }
        return keys
    }

    /// The span of a key with one value.
    private mutating func span(_ key: String, zeroIsDefault: Bool = true) -> Duration? {
        guard let index = unit.last("Timer", key) else { return nil }
        unit.mark(index, .mapped)
        do throws(TimeSpanError) {
            guard let span = try UnitValue.span(specifiers.expand(unit[index].value).text),
                span <= Self.spanMax
            else {
                unit.mark(index, .lost("a time span has at most 100 years"))
                return nil
            }
            if span == .zero, zeroIsDefault {
                unit.mark(index, .unneeded("it is the default"))
                return nil
            }
            return span
        } catch {
            unit.mark(index, .lost("not a time span: \(error)"))
            return nil
        }
    }

    /// Marks a line that other code has read, before `markRest` marks the others.
    mutating func mark(_ key: String, in section: String, _ outcome: LoadedUnit.Outcome) {
        if let index = unit.last(section, key) { unit.mark(index, outcome) }
    }

    mutating func markRest() { unit.markRest() }

    mutating func value(of key: String, in section: String) -> String? {
        unit.last(section, key).map { unit[$0].value }
    }
}
