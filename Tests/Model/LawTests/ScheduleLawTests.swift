// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing
import TimerZones

@testable import TimerCore

/// Laws that are true for every schedule, zone and instant, each with 400 000 random cases.
@Suite struct ScheduleLawTests {
    private static let zones = [
        "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Europe/Dublin",
        "Africa/Cairo", "America/Havana", "Asia/Beirut", "America/Sao_Paulo", "Africa/Casablanca",
        "Antarctica/Troll", "Asia/Kathmandu", "America/St_Johns", "Pacific/Kwajalein",
    ]

    private static let rules = [
        DSTRule.fixed, .followsClock, DSTRule(gap: .skip, overlap: .first),
        DSTRule(gap: .runAfter, overlap: .both),
    ]

    /// TIMERD_TEST_CASES sets another number.
    private static let cases =
        ProcessInfo.processInfo.environment["TIMERD_TEST_CASES"].flatMap { Int($0) } ?? 400_000

    /// A schedule in either grammar, with the zone, the rule and the instant for the query.
    private struct Case {
        var spec: any OccurrenceSource
        var text: String
        var zone: ZoneRules
        var rule: DSTRule
        var at: WallInstant

        func next(after instant: WallInstant) -> WallInstant? {
            spec.occurrence(after: instant, in: zone, rule: rule)
        }

        func previous(before instant: WallInstant) -> WallInstant? {
            spec.occurrence(before: instant, in: zone, rule: rule)
        }

        var place: String { "\(text) in \(zone.name), \(rule), after \(at.rfc3339)" }
    }

    private static func makeCase(
        _ random: inout SeededRandom, _ zones: [ZoneRules], isDense: Bool
    ) throws -> Case {
        let text: String
        let spec: any OccurrenceSource
        if random.int(below: 2) == 0 {
            text = Draw.cron(&random, isDense: isDense)
            spec = try CronSpec(text)
        } else {
            text = Draw.calendar(&random, isDense: isDense)
            spec = try CalendarSpec(text)
        }
        let zone = zones[random.int(below: zones.count)]
        var at = Draw.instant(&random)
        if random.int(below: 2) == 0, let change = zone.nextTransition(after: at) {
            at = change + .seconds(random.int(below: 14_400) - 7200)
        }
        return Case(
            spec: spec, text: text, zone: zone, rule: rules[random.int(below: rules.count)], at: at)
    }

    /// `next` is after t, there is no occurrence between t and `next`, and `previous` is its
    /// inverse.
    @Test func nextIsLater_andPreviousIsItsInverse() throws {
        var random = SeededRandom()
        let zones = try Self.zones.map { try ZoneFiles().rules(named: $0) }
        var found = 0
        for _ in 0..<Self.cases {
            let drawn = try Self.makeCase(&random, zones, isDense: false)
            guard let next = drawn.next(after: drawn.at) else { continue }
            found += 1
            let last = drawn.previous(before: next)
            let holds =
                next > drawn.at && drawn.previous(before: next + .microseconds(1)) == next
                && last ?? drawn.at <= drawn.at
                && (last.map { drawn.next(after: $0) == next } ?? true)
            guard !holds else { continue }
            Issue.record(
                "\(drawn.place): next \(next.rfc3339), the one before \(last?.rfc3339 ?? "-")")
            return
        }
        print("next and previous: \(Self.cases) cases, \(found) with a next one")
    }

    /// Checks a short window minute by minute: the first minute that matches according to the
    /// manual is `next`.
    @Test func noOccurrenceIsBetween_byBruteForce() throws {
        var random = SeededRandom()
        let zones = try Self.zones.map { try ZoneFiles().rules(named: $0) }
        var found = 0
        for _ in 0..<Self.cases {
            let drawn = try Self.makeCase(&random, zones, isDense: true)
            let end = drawn.at + .seconds(1800 + random.int(below: 5400))
            let next = drawn.next(after: drawn.at).flatMap { $0 <= end ? $0 : nil }
            let brute = Self.byBruteForce(drawn, to: end)
            if next != nil { found += 1 }
            guard next != brute else { continue }
            Issue.record(
                "\(drawn.place): \(next?.rfc3339 ?? "none"), by brute force \(brute?.rfc3339 ?? "none")"
            )
            return
        }
        print("brute force over minutes: \(Self.cases) windows, \(found) with a slot")
    }

    private static func byBruteForce(_ drawn: Case, to end: WallInstant) -> WallInstant? {
        let (zone, rule, pattern) = (drawn.zone, drawn.rule, drawn.spec.pattern)
        func isSlot(_ local: Int64) -> Bool {
            let microseconds = local * 1_000_000
            return pattern.next(notBefore: microseconds) == microseconds
        }
        func offset(_ second: Int64) -> Int64 {
            Int64(zone.offset(at: WallInstant(secondsSinceEpoch: second)))
        }
        // A local time can have occurred before only if the offset changed within two days.
        let twoDays: Int64 = 2880 * 60
        let start = (drawn.at.secondsSinceEpoch + 60).quotient(flooringBy: 60) * 60
        let change = zone.nextTransition(
            after: WallInstant(secondsSinceEpoch: start - twoDays - 60))
        let isSteady = change.map { $0 > end } ?? true
        for minute in stride(from: start, through: end.secondsSinceEpoch, by: 60) {
            let now = offset(minute)
            let before = isSteady ? now : offset(minute - 1)
            if before < now, rule.gap == .runAfter,
                stride(from: minute + before, to: minute + now, by: 60).contains(where: isSlot)
            {
                return WallInstant(secondsSinceEpoch: minute)
            }
            guard isSlot(minute + now) else { continue }
            let isSecond =
                !isSteady && rule.overlap == .first
                && stride(from: minute - 60, through: minute - twoDays, by: -60).contains {
                    $0 + offset($0) == minute + now
                }
            if !isSecond { return WallInstant(secondsSinceEpoch: minute) }
        }
        return nil
    }

    /// With lists of dates, `next` is the first occurrence that all lists allow, and `previous` is
    /// its inverse.
    @Test func nextIsTheFirstAllowedOccurrence() throws {
        var random = SeededRandom()
        let zones = try Self.zones.map { try ZoneFiles().rules(named: $0) }
        var (found, passed) = (0, 0)
        for _ in 0..<Self.cases / 100 {
            let drawn = try Self.makeCase(&random, zones, isDense: random.int(below: 2) == 0)
            let rules = Draw.rules(&random, around: drawn.zone.date(at: drawn.at))
            let pattern = drawn.spec.pattern
            let search = RuledSearch(rules: rules, pattern: pattern, zone: drawn.zone)
            var at = drawn.at
            var expected = drawn.next(after: at)
            var steps = 0
            while let next = expected, steps < 1000,
                !Draw.allows(rules, drawn.zone.date(at: next), pattern)
            {
                expected = drawn.next(after: next)
                steps += 1
            }
            // There is no such occurrence within a reasonable number of them.
            guard steps < 1000, let expected else { continue }
            found += 1
            passed += steps > 0 ? 1 : 0
            let next = search.first(after: at) { drawn.next(after: $0) }
            let same = search.last(before: expected + .microseconds(1)) {
                drawn.previous(before: $0)
            }
            at = expected
            let last = search.last(before: at) { drawn.previous(before: $0) }
            let isInverse =
                last.map { last in
                    search.first(after: last) { drawn.next(after: $0) } == expected
                        && last <= drawn.at
                } ?? true
            guard next == expected, same == expected, isInverse else {
                Issue.record(
                    "\(drawn.place) with \(rules): \(next?.rfc3339 ?? "none"), must be \(expected.rfc3339)"
                )
                return
            }
        }
        print(
            "lists of dates: \(found) with a next occurrence, \(passed) after one that is not allowed"
        )
    }

    /// The normal form is read with the same meaning, and its own normal form is the same text.
    @Test func theNormalFormIsAFixedPoint() throws {
        var random = SeededRandom()
        for _ in 0..<Self.cases {
            let calendar = try CalendarSpec(Draw.calendar(&random, isDense: false))
            let cron = try CronSpec(Draw.cron(&random, isDense: false))
            let again = try CalendarSpec(calendar.description)
            let cronAgain = try CronSpec(cron.description)
            let holds =
                again == calendar && again.description == calendar.description && cronAgain == cron
            guard !holds else { continue }
            Issue.record("\(calendar) or \(cron) is no fixed point")
            return
        }
        print("normal forms: \(Self.cases) calendar events, \(Self.cases) crontab lines")
    }

    @Test func impossibleDatesReturnQuickly() throws {
        let clock = ContinuousClock()
        var worst = Duration.zero
        for text in [
            "*-02-30", "*-02-31 00:00", "2199-02-29", "Mon 2100-02-29", "2000-01-01", "*-02~29",
        ] {
            guard let spec = try? CalendarSpec(text) else { continue }
            let at = WallInstant(rfc3339: "2026-01-01T00:00:00Z")!
            let zone = try ZoneFiles().rules(named: "Europe/Berlin")
            let spent = clock.measure { #expect(spec.next(after: at, in: zone) == nil, "\(text)") }
            worst = max(worst, spent)
        }
        print("impossible dates: \(worst) at worst")
    }

    @Test func noTextTraps() {
        var random = SeededRandom()
        let alphabet = Array("0123456789*/-,.~:@ MonTueL#?UTCEurope/Berlindaily\t".utf8)
        for _ in 0..<50_000 {
            let bytes = (0..<random.int(below: 30)).map { _ in
                alphabet[random.int(below: alphabet.count)]
            }
            let text = String(decoding: bytes, as: UTF8.self)
            if let spec = try? CalendarSpec(text) {
                #expect((try? CalendarSpec(spec.description)) == spec, "\(text)")
                for instant in [Int64.min, -1, 0, .max] {
                    let at = WallInstant(microsecondsSinceEpoch: instant)
                    _ = spec.next(after: at, in: .utc)
                    _ = spec.previous(before: at, in: .utc)
                }
            }
            if let spec = try? CronSpec(text) { #expect((try? CronSpec(spec.description)) == spec) }
        }
    }
}
