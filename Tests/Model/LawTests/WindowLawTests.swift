// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing
import TimerZones

@testable import TimerCore

/// Laws of schedules with windows and lists of dates, over the changes of the clocks of all zones that
/// the machine has.
@Suite struct WindowLawTests {
    /// TIMERD_TEST_CASES sets another number.
    private static let cases =
        ProcessInfo.processInfo.environment["TIMERD_TEST_CASES"].flatMap { Int($0) } ?? 2500

    private static let zones: [ZoneRules] = {
        let files = ZoneFiles()
        let names = (try? String(contentsOfFile: "/usr/share/zoneinfo/tzdata.zi", encoding: .utf8))
            .map { text in
                text.split(separator: "\n").filter { $0.hasPrefix("Z ") }
                    .map { String($0.split(separator: " ")[1]) }
            }
        return
            (names ?? ["Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Pacific/Apia"])
            .compactMap { try? files.rules(named: $0) }
    }()

    /// A schedule, without its window and with it.
    private struct Case {
        var plain: WallSchedule
        var schedule: WallSchedule
        var window: JobWindow
        var at: WallInstant
        var place: String
    }

    private static func draw(_ random: inout SeededRandom) throws -> Case {
        let zone = zones[random.int(below: zones.count)]
        let line = Draw.cron(&random, isDense: random.int(below: 2) == 0)
        var plain = WallSchedule([.cron(try CronSpec(line), zone)])
        if random.int(below: 3) == 0 {
            let weekday = random.int(below: 7)
            let days = (0..<2000).filter { $0 % 7 != weekday }.map { 18_000 + $0 }
                .map { CivilDate(daysSinceEpoch: $0) }
            let list = DateList(
                name: DateList.Name("d")!, days: DaySet(days.map { .range($0, $0) }))
            plain.rules = Boxed(
                wrappedValue: random.int(below: 2) == 0
                    ? FiringRules(except: [list]) : FiringRules(onlyOn: [list]))
        }
        let texts = (0...random.int(below: 3)).map { _ in Draw.window(&random) }
        var window = JobWindow(
            WeekRanges(try texts.map { try WeekRanges.Part($0) }),
            zone: random.int(below: 4) == 0
                ? zones[random.int(below: zones.count)] : zone)
        window.outside = .skip
        var schedule = plain
        schedule.window = window
        var at = Draw.instant(&random)
        if random.int(below: 2) == 0, let change = window.zone.nextTransition(after: at) {
            at = change + .seconds(random.int(below: 4 * 86_400) - 2 * 86_400)
        }
        return Case(
            plain: plain, schedule: schedule, window: window, at: at,
            place: "\(line) with \(texts) in \(window.zone.name), after \(at.rfc3339)")
    }

    /// What the local clock shows in the window, written from the manual.
    private static func isOpen(_ window: JobWindow, _ instant: WallInstant) -> Bool {
        let local = instant.secondsSinceEpoch + Int64(window.zone.offset(at: instant))
        let date = CivilDate(daysSinceEpoch: Int(local.quotient(flooringBy: 86_400)))
        let second = Int(local.remainder(flooringBy: 86_400))
        let weekday = (date.daysSinceEpoch + 3) % 7
        return window.ranges.texts.contains { text in
            let words = text.split(separator: " ")
            let times = words.last.map { $0.split(separator: "-").map(seconds) } ?? []
            let days = words.count == 1 ? Array(0..<7) : weekdays(words[0])
            if times[0] < times[1] {
                return days.contains(weekday) && (times[0]..<times[1]).contains(second)
            }
            return days.contains(weekday) && second >= times[0]
                || days.contains((weekday + 6) % 7) && second < times[1]
        }
    }

    private static func seconds(_ text: Substring) -> Int {
        let parts = text.split(separator: ":").compactMap { Int($0) }
        return parts[0] * 3600 + parts[1] * 60
    }

    private static func weekdays(_ text: Substring) -> [Int] {
        let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        let ends = text.split(separator: "..").compactMap { names.firstIndex(of: String($0)) }
        return Array(ends[0]...ends[ends.count - 1])
    }

    /// `next` is the first instant of the schedule that the window permits, and `previous` is its inverse.
    @Test func nextIsTheFirstThatEveryRulePermits() throws {
        #expect(Self.zones.count >= 4)
        var random = SeededRandom()
        var found = 0
        for _ in 0..<Self.cases {
            let drawn = try Self.draw(&random)
            var expected = drawn.plain.next(after: drawn.at)
            var steps = 0
            while let at = expected, steps < 500, !Self.isOpen(drawn.window, at) {
                expected = drawn.plain.next(after: at)
                steps += 1
            }
            guard steps < 500 else { continue }
            let next = drawn.schedule.next(after: drawn.at)
            var holds = next == expected
            if let next {
                found += 1
                let last = drawn.schedule.previous(before: next)
                holds =
                    holds && drawn.schedule.previous(before: next + .microseconds(1)) == next
                    && last ?? drawn.at <= drawn.at
                    && (last.map { drawn.schedule.next(after: $0) == next } ?? true)
            }
            guard !holds else { continue }
            Issue.record(
                "\(drawn.place): next \(next?.rfc3339 ?? "-"), expected \(expected?.rfc3339 ?? "-")"
            )
            return
        }
        print("windows: \(Self.cases) schedules, \(found) with a next one")
    }

    /// A window that lets firings wait moves none of them: each starts at the first instant at which the
    /// window is open, and later ones not earlier.
    @Test func whatWaitsStartsAtTheOpening() throws {
        var random = SeededRandom()
        for _ in 0..<Self.cases {
            var drawn = try Self.draw(&random)
            drawn.window.outside = .wait
            let start = drawn.window.start(of: drawn.at)
            let later = drawn.at + .seconds(random.int(below: 86_400))
            let through = drawn.window.startedThrough(drawn.at)
            let holds =
                start >= drawn.at && Self.isOpen(drawn.window, start)
                && (start == drawn.at || !Self.isOpen(drawn.window, start - .microseconds(1)))
                && drawn.window.start(of: later) >= start
                && through <= drawn.at && drawn.window.start(of: through) <= drawn.at
                && (through == drawn.at
                    || drawn.window.start(of: through + .microseconds(1)) > drawn.at)
            guard !holds else { continue }
            Issue.record("\(drawn.place): starts at \(start.rfc3339), \(through.rfc3339)")
            return
        }
    }
}

extension Draw {
    /// A range of a window with whole minutes.
    static func window(_ random: inout SeededRandom) -> String {
        func time() -> String {
            let minute = random.int(below: 60)
            return "\(random.int(below: 24)):\(minute < 10 ? "0" : "")\(minute)"
        }
        let (from, to) = (time(), time())
        let days = ["", "", "Mon..Fri ", "Sat..Sun ", "Wed ", "Sun "]
        return days[random.int(below: days.count)] + "\(from)-\(from == to ? "24:00" : to)"
    }
}
