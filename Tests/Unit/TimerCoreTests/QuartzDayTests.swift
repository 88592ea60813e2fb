// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// `L-3`, `15W` and `LW` as the day of the month, which Quartz defines.
@Suite struct QuartzDayTests {
    /// The first case is from the documentation of Quartz's `CronExpression`: "if you specify 15W
    /// …, if the 15th is a Saturday, the trigger will fire on Friday the 14th. If the 15th is a
    /// Sunday, the trigger will fire on Monday the 16th. If the 15th is a Tuesday, then it will fire
    /// on Tuesday the 15th. However if you specify 1W … and the 1st is a Saturday, the trigger will
    /// fire on Monday the 3rd, as it will not 'jump' over the boundary of a month's days."
    @Test(arguments: [
        // The 15th of August 2026 is a Saturday, of November a Sunday, of December a Tuesday.
        (
            "0 0 15W * *", "2026-08-01",
            ["2026-08-14", "2026-09-15", "2026-10-15", "2026-11-16", "2026-12-15"]
        ),
        // The 1st of August 2026 is a Saturday, of November a Sunday.
        (
            "0 0 1W * *", "2026-07-31",
            ["2026-08-03", "2026-09-01", "2026-10-01", "2026-11-02", "2026-12-01"]
        ),
        // The last day is a Saturday in January 2026, February and October, a Sunday in May.
        (
            "0 0 LW * *", "2026-01-01",
            [
                "2026-01-30", "2026-02-27", "2026-03-31", "2026-04-30", "2026-05-29", "2026-06-30",
                "2026-07-31", "2026-08-31", "2026-09-30", "2026-10-30",
            ]
        ),
        (
            "0 0 31W * *", "2026-01-01",
            ["2026-01-30", "2026-03-31", "2026-05-29", "2026-07-31", "2026-08-31", "2026-10-30"]
        ),
        (
            "0 0 L-3 * *", "2026-01-01",
            ["2026-01-28", "2026-02-25", "2026-03-28", "2026-04-27", "2026-05-28"]
        ),
        ("0 0 L-3 2 *", "2026-01-01", ["2026-02-25", "2027-02-25", "2028-02-26"]),
        ("0 0 L-30 * *", "2026-01-01", ["2026-03-01", "2026-05-01", "2026-07-01"]),
        ("0 0 L-28 2 *", "2026-01-01", ["2028-02-01", "2032-02-01"]),
        // The third day before the last is a Saturday in March, a Sunday in June.
        (
            "0 0 L-3W * *", "2026-03-01",
            ["2026-03-27", "2026-04-27", "2026-05-28", "2026-06-26"]
        ),
        ("0 0 29W 2 *", "2026-01-01", ["2028-02-29", "2032-02-27", "2036-02-29"]),
        // Both day fields are restricted: one of them is enough.
        ("0 0 15W * 6", "2026-08-08", ["2026-08-14", "2026-08-15", "2026-08-22"]),
        // A weekday field that starts with a star restricts it, as in Debian's cron.
        ("0 0 15W * */2", "2026-08-01", ["2026-09-15", "2026-10-15", "2026-12-15"]),
    ])
    func fires(text: String, after day: String, on days: [String]) throws {
        let spec = try CronSpec(text)
        var at = try #require(WallInstant(rfc3339: "\(day)T00:00:00Z"))
        for day in days {
            let next = try #require(spec.next(after: at, in: .utc))
            #expect(next.rfc3339 == "\(day)T00:00:00Z", "\(text)")
            #expect(spec.previous(before: next + .microseconds(1), in: .utc) == next)
            at = next
        }
    }

    /// The days that Quartz's own steps find, for each length of a month and each weekday of its
    /// first day, over the 400 years after which the calendar repeats.
    @Test func everyMonthHasTheDayThatTheDefinitionSays() throws {
        for text in ["L", "LW", "L-1", "L-3", "L-30", "L-29W", "L-3W"] + (1...31).map({ "\($0)W" })
        {
            let days = try CronSpec("0 0 \(text) * *").pattern.days
            for year in 1800..<2200 {
                for month in 1...12 {
                    let expected = Self.day(text, month, year)
                    #expect(
                        days.bits(in: month, of: year) == expected.map { 1 << $0 } ?? 0,
                        "\(text) in \(year)-\(month)")
                }
            }
        }
    }

    /// The day of a month by the definition, step by step; nil if the month does not have it.
    private static func day(_ text: String, _ month: Int, _ year: Int) -> Int? {
        let length = CivilDate.days(in: month, of: year)
        let digits = Int(text.filter(\.isNumber))
        let day = text.hasPrefix("L") ? length - (digits ?? 0) : digits ?? 0
        guard (1...length).contains(day) else { return nil }
        guard text.hasSuffix("W") else { return day }
        let candidates = (1...length).filter {
            // 1970-01-05 was a Monday.
            let days = CivilDate(year: year, month: month, day: $0).daysSinceEpoch - 4
            return Int64(days).remainder(flooringBy: 7) < 5
        }
        return candidates.min { abs($0 - day) < abs($1 - day) }
    }

    /// A missing hour moves the firing to its end, and a repeated hour has one firing.
    @Test func clockChangesAreAsForOtherLines() throws {
        let zone = try CalendarTests.zone("Europe/Berlin")
        // The last weekday of March 2028 is Friday, the 31st; L-5 is Sunday, the 26th, of the gap.
        let gap = try CronSpec("30 2 L-5 3 *")
        let start = try #require(WallInstant(rfc3339: "2028-01-01T00:00:00Z"))
        #expect(gap.next(after: start, in: zone)?.rfc3339 == "2028-03-26T01:00:00Z")
        let overlap = try CronSpec("30 2 L-2 10 *")
        let first = try #require(overlap.next(after: start, in: zone))
        #expect(first.rfc3339 == "2028-10-29T00:30:00Z")
        #expect(overlap.next(after: first, in: zone)?.rfc3339 == "2029-10-29T01:30:00Z")
    }

    @Test(arguments: [
        ("0 0 31W * *", "skipped-months"), ("0 0 29W 2 *", "leap-day-only"),
        ("0 0 L-29 2 *", "never-fires"), ("0 0 30W 2 *", "never-fires"),
        ("0 0 L-30 * *", "skipped-months"), ("0 0 15W * 1", "day-fields-both-restricted"),
    ])
    func whatIsProbablyNotMeantIsFound(text: String, code: String) throws {
        let schedule = WallSchedule([.cron(try CronSpec(text), .utc)])
        let now = WallInstant(secondsSinceEpoch: 1_800_000_000)
        #expect(schedule.findings(at: now).map(\.code.rawValue) == [code])
    }

    @Test(arguments: ["0 0 LW * *", "0 0 L-3 * *", "0 0 15W * *"])
    func ordinaryOnesAreFoundFaultless(text: String) throws {
        let schedule = WallSchedule([.cron(try CronSpec(text), .utc)])
        #expect(schedule.findings(at: WallInstant(secondsSinceEpoch: 1_800_000_000)) == [])
    }
}
