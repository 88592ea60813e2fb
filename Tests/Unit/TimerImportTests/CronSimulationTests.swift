// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing
import TimerCore
import TimerZones

@testable import TimerImport

/// The walk through the minutes, which knows only crontab(5), and timerd's schedules agree.
@Suite struct CronSimulationTests {
    private static func walk(_ zone: ZoneRules) -> CronSimulation {
        CronSimulation { seconds in
            let offset = zone.offset(at: WallInstant(microsecondsSinceEpoch: seconds * 1_000_000))
            let local = Int(seconds) + offset
            let days = local >= 0 ? local / 86_400 : (local - 86_399) / 86_400
            let rest = local - days * 86_400
            let date = CivilDate(daysSinceEpoch: days)
            return LocalMinute(
                minute: rest / 60 % 60, hour: rest / 3600, day: date.day, month: date.month,
                weekday: ((days + 4) % 7 + 7) % 7, offset: offset)
        }
    }

    private static func instant(_ text: String) -> WallInstant { WallInstant(rfc3339: text)! }

    private func firings(
        _ fields: String, _ zone: ZoneRules, after start: WallInstant, _ count: Int
    )
        throws -> [WallInstant]
    {
        Self.walk(zone).firings(of: try CronTimes(fields: fields), after: start, count)
    }

    private func scheduled(
        _ fields: String, _ zone: ZoneRules, after start: WallInstant, _ count: Int
    )
        throws -> [WallInstant]
    {
        let spec = try CronSpec(fields)
        var (found, at): ([WallInstant], WallInstant) = ([], start)
        while found.count < count, let next = spec.next(after: at, in: zone) {
            found.append(next)
            at = next
        }
        let end = CronSimulation.end(after: start)
        return found.filter { $0 <= end }
    }

    /// The examples of cron(8): a fixed time that does not exist runs after the change, one that occurs
    /// twice runs once, and a wildcard follows the clock.
    @Test(
        arguments: [
            ("30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"),
            ("30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
            ("30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
            ("30 * * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"),
            ("* 2 * * *", "2026-03-29T00:59:00Z", "2026-03-30T00:00:00Z"),
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-28T23:00:00Z"),
        ])
    func changesOfTheClockAreThoseOfCron(fields: String, start: String, next: String) throws {
        let zone = try ZoneFiles().rules(named: "Europe/Berlin")
        #expect(
            try firings(fields, zone, after: Self.instant(start), 1) == [Self.instant(next)])
        #expect(
            try scheduled(fields, zone, after: Self.instant(start), 1) == [Self.instant(next)])
    }

    @Test(arguments: ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"])
    func anyFieldsAgreeWithTheSchedulesOfTimerd(name: String) throws {
        let zone = try ZoneFiles().rules(named: name)
        var random = SeededRandom(function: "anyFieldsAgreeWithTheSchedulesOfTimerd \(name)")
        for _ in 0..<60 {
            let fields = Self.fields(&random)
            let start = WallInstant(
                microsecondsSinceEpoch: 1_767_225_600_000_000
                    + Int64(random.int(below: 365 * 86_400)) * 1_000_000)
            let (walked, planned) = (
                try firings(fields, zone, after: start, 30),
                try scheduled(fields, zone, after: start, 30)
            )
            #expect(walked == planned, "\(fields) in \(name) after \(start.rfc3339)")
        }
    }

    /// Five fields as people write them.
    static func fields(_ random: inout SeededRandom) -> String {
        let ranges = [0...59, 0...23, 1...31, 1...12, 0...7]
        return ranges.enumerated().map { index, range in
            func value() -> Int { range.lowerBound + random.int(below: range.count) }
            switch random.int(below: index < 2 ? 5 : 8) {
            case 0: return "\(value())"
            case 1: return "\(value()),\(value())"
            case 2:
                let (a, b) = (value(), value())
                return "\(min(a, b))-\(max(a, b))"
            case 3: return "*/\(1 + random.int(below: max(1, range.count / 2)))"
            case 4 where index == 4: return ["mon-fri", "sun", "tue,thu"][random.int(below: 3)]
            case 4 where index == 3: return ["jan", "jun-aug", "feb,nov"][random.int(below: 3)]
            default: return "*"
            }
        }.joined(separator: " ")
    }
}
