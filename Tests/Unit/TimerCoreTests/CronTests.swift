// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TimerCore

@Suite struct CronTests {
    /// The results of cronsim and Debian's cron for each row. If they differ: a line that Debian's
    /// cron accepts but that has no meaning is an error; if there are two starts in one minute, one
    /// counts; and if the offsets differ by half an hour, Debian's cron is right.
    @Test func agreesWithTheOraclesOnEveryRow() throws {
        let table = try Table("cron_public.tsv")
        var compared = 0
        for row in table.rows {
            let text = row["expression"].unescaped
            let place = "row \(row["id"]): \"\(text)\" in \(row["tz"])"
            // Debian's cron refuses words in capitals, which have an obvious meaning.
            if text.hasPrefix("@"), text != text.lowercased(),
                let spec = try? CronSpec(text.lowercased())
            {
                #expect(try CronSpec(text) == spec, "\(place)")
                continue
            }
            guard let expected = expectation(row, text) else {
                #expect(throws: ScheduleError.self, "\(place) was taken") { try CronSpec(text) }
                continue
            }
            let spec = try CronSpec(text)
            #expect(try CronSpec(spec.description) == spec, "\(place)")
            if spec.isReboot { continue }
            let zone = try CalendarTests.zone(row["tz"])
            var at = try #require(WallInstant(rfc3339: row["base_utc"]))
            for instant in expected {
                let next = spec.next(after: at, in: zone)
                #expect(next == WallInstant(rfc3339: instant), "\(place), after \(at.rfc3339)")
                guard let next else { break }
                #expect(
                    spec.previous(before: next + .microseconds(1), in: zone) == next, "\(place)")
                at = next
            }
            if expected.isEmpty { #expect(spec.next(after: at, in: zone) == nil, "\(place)") }
            compared += 1
        }
        print("cron: \(table.rows.count) rows, \(compared) compared")
        #expect(table.rows.count == 360)
    }

    /// Lines that both refuse or never run, and that are accepted here with their obvious meaning:
    /// ranges of names that cross the end of the week, full names, and days of Quartz. The search
    /// starts on Thursday, 2026-01-15, 10:30 UTC.
    private static let accepted = [
        "0 0 1 january *": ["2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"],
        // The 15th of February and of March is a Sunday, and so is the 1st of both.
        "0 0 15W * *": ["2026-02-16T00:00:00Z", "2026-03-16T00:00:00Z", "2026-04-15T00:00:00Z"],
        "0 0 1W * *": ["2026-02-02T00:00:00Z", "2026-03-02T00:00:00Z", "2026-04-01T00:00:00Z"],
        "0 0 L-3 * *": ["2026-01-28T00:00:00Z", "2026-02-25T00:00:00Z", "2026-03-28T00:00:00Z"],
        "0 0 * * sat-sun": [
            "2026-01-17T00:00:00Z", "2026-01-18T00:00:00Z", "2026-01-24T00:00:00Z",
        ],
        "0 0 * * fri-mon": [
            "2026-01-16T00:00:00Z", "2026-01-17T00:00:00Z", "2026-01-18T00:00:00Z",
            "2026-01-19T00:00:00Z", "2026-01-23T00:00:00Z",
        ],
    ]

    /// The expected result of a row: its instants, or nil for a refusal.
    private func expectation(_ row: Table.Row, _ text: String) -> [String]? {
        let own = (1...5).map { row["next\($0)"] }.filter { !$0.isEmpty }
        if let accepted = Self.accepted[text] { return accepted }
        switch row["debian"] {
        case "same": return row["status"] == "ERROR" ? nil : own
        case "NEVER": return text.contains("-") ? nil : []
        // These extensions are accepted: L, 5L and 5#2, and a step after a number, as in cronie.
        case "ERROR" where text.lowercased().contains("l") && row["status"] == "OK": return own
        case "ERROR" where text.contains("/") && row["status"] == "OK": return own
        case "ERROR", "n/a": return nil
        case let list:
            guard row["status"] == "OK" else { return nil }
            if text.contains("#") || !row["tz"].contains("Lord_Howe") { return own }
            var instants: [String] = []
            for instant in list.split(separator: " ").map(String.init)
            where instants.last != instant {
                instants.append(instant)
            }
            return instants
        }
    }

    @Test(arguments: [
        ("* * * *", 6, "a line has five fields: minute, hour, day, month and weekday"),
        ("* * * * * *", 10, "a line has five fields; for seconds, use calendar = \"*:*:0/10\""),
        (
            "0 0 * * 5-1", 8,
            "day of the week: the range 5-1 runs backwards and never matches; write it as two"
        ),
        (
            "0 0 * * fri-1", 8,
            "day of the week: the range 5-1 runs backwards and never matches; write it as two"
        ),
        (
            "0 4 * * * root", 10,
            "a line has five fields; a user belongs in user = \"root\", a command in command or shell"
        ),
        (
            "0 4 * * * root /usr/bin/backup -v", 10,
            "a line has five fields; a user belongs in user = \"root\", a command in command or shell"
        ),
        (
            "@daily root", 7,
            "nothing may follow \"@…\"; a user belongs in user = \"root\", a command in command or shell"
        ),
        (
            "0 4 * * * /usr/bin/backup", 10,
            "a line has five fields; a command belongs in command or shell"
        ),
        ("0 0 12 * * MON", 11, "a line has five fields; for seconds, use calendar = \"*:*:0/10\""),
        (
            "0 0 * * sund", 8,
            "day of the week: \"sund\" is not one of sun, mon, tue, wed, thu, fri, sat (did you mean \"sun\"?)"
        ),
        (
            "0 0 * Janu *", 6,
            "month: \"janu\" is not one of jan, feb, mar, apr, may, jun, jul, aug, sep, oct, nov, dec (did you mean \"jan\"?)"
        ),
        (
            "TZ=Europe/Berlin 0 5 * * *", 0,
            "a time zone belongs in timezone = \"Europe/Berlin\""
        ),
        ("CRON_TZ=UTC 0 5 * * *", 0, "a time zone belongs in timezone = \"UTC\""),
        ("@every 1h30m", 0, "an interval belongs in every = \"1h30m\", without cron"),
        ("@every", 0, "an interval belongs in every = \"5min\", without cron"),
        ("*-*-* 05:00", 0, "this is a calendar event; use calendar instead of cron"),
        ("0 0 * * fril", 11, "day of the week: the last weekday is written with its number, 5L"),
        ("5/0 * * * *", 3, "minute: a step of 0 leads nowhere"),
        ("60/5 * * * *", 0, "minute: must be 0 to 59"),
        ("H * * * *", 0, "minute: H and ~ are drawn for each job, and this line belongs to none"),
        ("1~5 * * * *", 0, "minute: H and ~ are drawn for each job, and this line belongs to none"),
        ("60 * * * *", 0, "minute: must be 0 to 59"),
        ("0 0 ? * *", 4, "day of the month: '?' is not known here; use '*'"),
        (
            "0 0 W * *", 4,
            "day of the month: a day is missing before 'W', such as 15W, or LW for the last weekday"
        ),
        ("0 0 15W,20 * *", 4, "day of the month: \"15W\" must stand alone, not in a list"),
        ("0 0 1,L-3 * *", 6, "day of the month: \"L-3\" must stand alone, not in a list"),
        ("0 0 L,LW * *", 6, "day of the month: \"LW\" must stand alone, not in a list"),
        (
            "0 0 L-31 * *", 6,
            "day of the month: at most 30 days before the last are possible, not 31"
        ),
        ("0 0 L- * *", 6, "day of the month: a number is missing"),
        ("0 0 32W * *", 4, "day of the month: must be 1 to 31"),
        ("0 0 1-5W * *", 7, "day of the month: not a number, a range, a list or a step"),
        ("0 0 15W/2 * *", 7, "day of the month: not a number, a range, a list or a step"),
        (
            "0 0 WL * *", 4,
            "day of the month: a day is missing before 'W', such as 15W, or LW for the last weekday"
        ),
        ("15W 0 * * *", 2, "minute: not a number, a range, a list or a step"),
        ("1;2 * * * *", 1, "minute: not a number, a range, a list or a step"),
        ("@every 5m", 0, "an interval belongs in every = \"5m\", without cron"),
    ])
    func saysWhatIsWrong_andWhere(text: String, offset: Int, message: String) {
        let error = #expect(throws: ScheduleError.self) { try CronSpec(text) }
        #expect(error?.offset == offset && error?.message == message)
    }

    @Test(arguments: [
        ("0 0 L * *", ["01-31", "02-28", "03-31"]), ("0 0 * * 5L", ["01-30", "02-27", "03-27"]),
        ("0 0 * * 1#1,3#2", ["02-02", "02-11", "03-02"]), ("0 0 15,L 2 *", ["02-15", "02-28"]),
        ("0 0 1 * 0-7", ["01-16", "01-17"]), ("0 0 13 * 5", ["01-16", "01-23"]),
        ("0 0 */10 * 1", ["05-11", "06-01"]), ("0 0 * * Friday", ["01-16", "01-23"]),
        ("0 0 1 MARCH *", ["03-01"]), ("0 0 1 Nov-Feb *", ["02-01", "11-01", "12-01"]),
        ("0 0 * * Fri-Mon/2", ["01-16", "01-18", "01-23", "01-25"]),
        ("0 0 * * sat-sun", ["01-17", "01-18", "01-24"]),
        ("0 0 1/10 * *", ["01-21", "01-31", "02-01"]),
        ("0 0 1 oct-mar/3 *", ["10-01"]), ("@MONTHLY", ["02-01", "03-01"]),
        ("0 0 * * 5/2", ["01-16", "01-18", "01-23"]),
    ])
    func fires(text: String, on days: [String]) throws {
        let spec = try CronSpec(text)
        var at = WallInstant(rfc3339: "2026-01-15T10:30:00Z")!
        for day in days {
            at = try #require(spec.next(after: at, in: .utc))
            #expect(at.rfc3339 == "2026-\(day)T00:00:00Z")
        }
    }
}

/// The rule for times that do not exist or occur twice, with examples of real zones.
@Suite struct DaylightSavingTests {
    /// A schedule, a zone, an instant, and the next times by the default rule of the schedule.
    @Test(arguments: [
        // In Berlin, 02:00 to 03:00 does not exist on March 29 and occurs twice on October 25.
        (
            "02:30", "Europe/Berlin", "2026-03-28T12:00:00Z",
            ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
        ),
        (
            "02:30", "Europe/Berlin", "2026-10-24T12:00:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        ),
        (
            "*:30", "Europe/Berlin", "2026-03-29T00:00:00Z",
            ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"]
        ),
        (
            "*:30", "Europe/Berlin", "2026-10-25T00:00:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"]
        ),
        // Several times in the gap make one firing.
        (
            "02:00,15,30,45", "Europe/Berlin", "2026-03-29T00:30:00Z",
            ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]
        ),
        (
            "02:30", "America/New_York", "2026-03-07T12:00:00Z",
            ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]
        ),
        (
            "01:30", "America/New_York", "2026-10-31T12:00:00Z",
            ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]
        ),
        // Lord Howe changes its clocks by half an hour.
        (
            "02:15", "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
            ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"]
        ),
        (
            "01:45", "Australia/Lord_Howe", "2026-04-04T12:00:00Z",
            ["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"]
        ),
        // Apia had no December 30 in 2011.
        (
            "12:00", "Pacific/Apia", "2011-12-29T23:00:00Z",
            ["2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"]
        ),
        (
            "*:00", "Pacific/Apia", "2011-12-30T08:30:00Z",
            ["2011-12-30T09:00:00Z", "2011-12-30T10:00:00Z"]
        ),
        // Dublin's daylight saving time is in winter, one hour behind standard time.
        (
            "01:30", "Europe/Dublin", "2026-03-28T12:00:00Z",
            ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
        ),
        (
            "01:30", "Europe/Dublin", "2026-10-24T12:00:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        ),
        // Midnight does not exist on this day.
        (
            "daily", "Africa/Cairo", "2026-04-23T12:00:00Z",
            ["2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"]
        ),
        (
            "daily", "America/Havana", "2026-03-07T12:00:00Z",
            ["2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"]
        ),
        (
            "daily", "Asia/Beirut", "2026-03-28T12:00:00Z",
            ["2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"]
        ),
        (
            "daily", "America/Sao_Paulo", "2018-11-03T12:00:00Z",
            ["2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"]
        ),
        // The last occurrence of a schedule that ends in the hour that occurs twice.
        (
            "2026-10-29 *:48", "Africa/Cairo", "2026-10-29T20:30:00Z",
            ["2026-10-29T20:48:00Z", "2026-10-29T21:48:00Z"]
        ),
        (
            "2026-10-25 02:*:00", "Europe/Berlin", "2026-10-25T00:59:00Z",
            ["2026-10-25T01:00:00Z"]
        ),
        // Casablanca sets its clocks back by an hour for Ramadan.
        (
            "02:30", "Africa/Casablanca", "2026-02-14T12:00:00Z",
            ["2026-02-15T01:30:00Z", "2026-02-16T02:30:00Z"]
        ),
        (
            "02:30", "Africa/Casablanca", "2026-03-21T12:00:00Z",
            ["2026-03-22T02:00:00Z", "2026-03-23T01:30:00Z"]
        ),
        (
            "0/2:00", "Africa/Cairo", "2026-04-23T20:30:00Z",
            ["2026-04-23T23:00:00Z", "2026-04-24T01:00:00Z"]
        ),
    ])
    func fires(text: String, zone name: String, after base: String, at expected: [String]) throws {
        let spec = try CalendarSpec(text)
        let zone = try ZoneTests.rules(name)
        var at = try #require(WallInstant(rfc3339: base))
        for instant in expected {
            at = try #require(spec.next(after: at, in: zone))
            #expect(at.rfc3339 == instant)
        }
    }

    @Test(arguments: [
        (
            DSTRule(gap: .skip, overlap: .first), "2026-03-30T00:30:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        ),
        (
            DSTRule(gap: .runAfter, overlap: .both), "2026-03-29T01:00:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]
        ),
    ])
    func theRuleCanBeChosen(rule: DSTRule, spring: String, autumn: [String]) throws {
        let spec = try CalendarSpec("02:30")
        let zone = try ZoneTests.rules("Europe/Berlin")
        let march = WallInstant(rfc3339: "2026-03-28T12:00:00Z")!
        #expect(spec.next(after: march, in: zone, rule: rule)?.rfc3339 == spring)
        var at = WallInstant(rfc3339: "2026-10-24T12:00:00Z")!
        for instant in autumn {
            at = try #require(spec.next(after: at, in: zone, rule: rule))
            #expect(at.rfc3339 == instant)
        }
    }
}
