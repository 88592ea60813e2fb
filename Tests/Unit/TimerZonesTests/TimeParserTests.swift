// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore

@testable import TimerZones

/// The one grammar of times (timerctl(1), TIMES).
@Suite struct TimeParserTests {
    /// A Sunday, 12:48:00 CET.
    static let noon = "2026-11-22T11:48:00Z"

    static func parser(_ now: String = noon, in name: String = "Europe/Berlin") throws -> TimeParser
    {
        let zone = try ZoneFiles().rules(named: name)
        return TimeParser(
            now: WallInstant(rfc3339: now)!, zone: zone,
            abbreviation: { instant in
                // As far as the tests need them.
                let offset = zone.offset(at: instant)
                switch (name, offset) {
                case ("Europe/Berlin", 3600): return "CET"
                case ("Europe/Berlin", 7200): return "CEST"
                case ("UTC", _): return "UTC"
                default: return nil
                }
            }
        ) { (name) throws(ZoneFiles.Failure) in try ZoneFiles().rules(named: name) }
    }

    private func check(
        _ text: String, _ sense: TimeParser.Sense, _ expected: String, now: String = noon,
        in zone: String = "Europe/Berlin", _ place: SourceLocation = #_sourceLocation
    ) throws {
        let found = try Self.parser(now, in: zone).parse(text, as: sense)
        #expect(found.rfc3339 == expected, "\(text)", sourceLocation: place)
    }

    @Test(
        arguments: [
            ("2026-12-24T18:00:00Z", "2026-12-24T18:00:00Z"),
            ("2026-12-24T18:00:00+01:00", "2026-12-24T17:00:00Z"),
            ("2026-12-24t18:00:00.25z", "2026-12-24T18:00:00.25Z"),
            ("2026-12-24T18:00:00.123456-05:30", "2026-12-24T23:30:00.123456Z"),
            ("2026-12-24T18:00", "2026-12-24T17:00:00Z"),
            ("2026-12-24", "2026-12-23T23:00:00Z"), ("2026-12-24 9:05", "2026-12-24T08:05:00Z"),
            ("2026-12-24 18:00", "2026-12-24T17:00:00Z"),
            ("  2026-12-24\t18:00:30  ", "2026-12-24T17:00:30Z"),
            ("2026-12-24 18:00 UTC", "2026-12-24T18:00:00Z"),
            ("2026-12-24 18:00 utc", "2026-12-24T18:00:00Z"),
            ("2026-12-24 18:00Z", "2026-12-24T18:00:00Z"),
            ("2026-12-24 18:00 +0200", "2026-12-24T16:00:00Z"),
            ("2026-12-24 18:00+02", "2026-12-24T16:00:00Z"),
            ("2026-12-24 18:00 -00:00:30", "2026-12-24T18:00:30Z"),
            ("2026-12-24 18:00 Asia/Tokyo", "2026-12-24T09:00:00Z"),
            ("2026-12-24 Asia/Tokyo", "2026-12-23T15:00:00Z"),
            ("Thu 2026-12-24 18:00 CET", "2026-12-24T17:00:00Z"),
            ("thursday 2026-12-24", "2026-12-23T23:00:00Z"),
            ("now", nil), ("NOW", nil), ("18:00", "2026-11-22T17:00:00Z"),
            ("today", "2026-11-21T23:00:00Z"), ("today 18:00", "2026-11-22T17:00:00Z"),
            ("tomorrow 03:00", "2026-11-23T02:00:00Z"), ("Tomorrow", "2026-11-22T23:00:00Z"),
            ("yesterday", "2026-11-20T23:00:00Z"), ("yesterday 9:00", "2026-11-21T08:00:00Z"),
            // Today is another day there.
            ("today 18:00 Pacific/Kiritimati", "2026-11-23T04:00:00Z"),
            ("fri 18:00", "2026-11-27T17:00:00Z"), ("FRIDAY", "2026-11-26T23:00:00Z"),
            ("sun 09:00", "2026-11-22T08:00:00Z"), ("mon", "2026-11-22T23:00:00Z"),
            ("+2h", "2026-11-22T13:48:00Z"), ("2h", "2026-11-22T13:48:00Z"),
            ("in 2h", "2026-11-22T13:48:00Z"), ("-30min", "2026-11-22T11:18:00Z"),
            ("+ 1h 30min", "2026-11-22T13:18:00Z"), ("2 days", "2026-11-24T11:48:00Z"),
            ("2h ago", "2026-11-22T09:48:00Z"), ("1.5h ago", "2026-11-22T10:18:00Z"),
        ] as [(String, String?)])
    func readsWhatPeopleWrite(text: String, expected: String?) throws {
        try check(text, .any, expected ?? Self.noon)
    }

    /// A time that leaves the day open is the next or the last one, as the option demands.
    @Test func goesInTheDirectionThatTheOptionDemands() throws {
        for (text, future, past) in [
            ("18:00", "2026-11-22T17:00:00Z", "2026-11-21T17:00:00Z"),
            ("12:00", "2026-11-23T11:00:00Z", "2026-11-22T11:00:00Z"),
            ("12:48", "2026-11-23T11:48:00Z", "2026-11-22T11:48:00Z"),
            ("sun", "2026-11-28T23:00:00Z", "2026-11-21T23:00:00Z"),
            ("sun 12:48", "2026-11-29T11:48:00Z", "2026-11-22T11:48:00Z"),
            ("mon 08:00", "2026-11-23T07:00:00Z", "2026-11-16T07:00:00Z"),
            ("2h", "2026-11-22T13:48:00Z", "2026-11-22T09:48:00Z"),
            ("18:00 Asia/Tokyo", "2026-11-23T09:00:00Z", "2026-11-22T09:00:00Z"),
        ] {
            try check(text, .future, future)
            try check(text, .past, past)
        }
        try check("12:48", .nowOrFuture, Self.noon)
        try check("now", .nowOrFuture, Self.noon)
        try check("now", .past, Self.noon)
    }

    @Test(
        arguments: [
            // The clocks go from 02:00 to 03:00: the end of the gap.
            ("2026-03-29 02:30", "2026-03-29T01:00:00Z"),
            ("2026-03-29 01:59:59.999999", "2026-03-29T00:59:59.999999Z"),
            ("2026-03-29 03:00", "2026-03-29T01:00:00Z"),
            // From 03:00 back to 02:00: the first one, or the one that the zone says.
            ("2026-10-25 02:30", "2026-10-25T00:30:00Z"),
            ("2026-10-25 02:30 CEST", "2026-10-25T00:30:00Z"),
            ("2026-10-25 02:30 CET", "2026-10-25T01:30:00Z"),
            ("2026-10-25 02:30 +01:00", "2026-10-25T01:30:00Z"),
            ("2026-10-25 03:00", "2026-10-25T02:00:00Z"),
            // The leap day, and the borders of years.
            ("2028-02-29 12:00", "2028-02-29T11:00:00Z"), ("2000-02-29", "2000-02-28T23:00:00Z"),
            ("2026-12-31 23:59:59", "2026-12-31T22:59:59Z"),
            ("2027-01-01", "2026-12-31T23:00:00Z"),
        ])
    func followsTheClocks(text: String, expected: String) throws {
        try check(text, .any, expected)
    }

    @Test func knowsMidnightsAndDaysThatDoNotExist() throws {
        try check("2026-04-24", .any, "2026-04-23T22:00:00Z", in: "Africa/Cairo")
        try check("2011-12-30 12:00", .any, "2011-12-30T10:00:00Z", in: "Pacific/Apia")
        // A gap of half an hour.
        try check("2026-10-04 02:15", .any, "2026-10-03T15:30:00Z", in: "Australia/Lord_Howe")
        let eve = "2026-12-31T23:30:00Z"
        try check("tomorrow", .future, "2027-01-01T23:00:00Z", now: eve)
        try check("yesterday", .past, "2026-12-30T23:00:00Z", now: eve)
        try check(
            "tomorrow", .future, "2028-02-29T00:00:00Z", now: "2028-02-28T12:00:00Z", in: "UTC")
        try check("02:30", .future, "2026-03-29T01:00:00Z", now: "2026-03-29T00:59:00Z")
    }

    @Test(
        arguments: [
            (
                "today 08:00", .future,
                "that is Sun 2026-11-22 08:00:00 CET, 4 h 48 min ago; it must be"
            ),
            ("-30min", .future, "30 min ago; it must be in the future"),
            ("now", .future, "now; it must be in the future"),
            ("2026-11-22T11:47:59Z", .nowOrFuture, "1 s ago; it must be in the future"),
            ("+2h", .past, "in 2 h; it must not be in the future"),
            (
                "tomorrow", .past,
                "that is Mon 2026-11-23 00:00:00 CET, in 11 h 12 min; it must not be"
            ),
        ] as [(String, TimeParser.Sense, String)])
    func saysWhatItUnderstood(text: String, sense: TimeParser.Sense, message: String) throws {
        let error = #expect(throws: TimeParserError.self) {
            try Self.parser().parse(text, as: sense)
        }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        #expect(error?.offset == nil)
    }

    @Test func saysWhatAnOtherInstantWasChosenFor() throws {
        let later = try Self.parser().relative(to: WallInstant(rfc3339: "2027-01-01T00:00:00Z")!)
        #expect(try later.parse("+1h", as: .future).rfc3339 == "2027-01-01T01:00:00Z")
        let error = #expect(throws: TimeParserError.self) {
            try later.parse("2026-12-31", as: .future)
        }
        #expect(
            error?.message
                == "that is Thu 2026-12-31 00:00:00 CET; it must be after Fri 2027-01-01 01:00:00 CET"
        )
    }

    @Test(
        arguments: [
            ("tomorow 03:00", 0, "\"tomorow\" is not understood; a time is such as 18:00"),
            ("tomorrow 3", 9, "a time is such as 18:00"),
            ("tomorrow 25:00", 9, "from 00:00 to 23:59:59"),
            ("24:00", 0, "from 00:00 to 23:59:59"), ("18:0", 0, "a time is such as 18:00"),
            ("18:00:60", 0, "from 00:00 to 23:59:59"), ("18:00:00.", 0, "1 to 6 digits"),
            ("18:00:00.1234567", 0, "1 to 6 digits"), ("18:00:", 0, "a time is such as"),
            ("2026-02-29", 0, "there is no such day"), ("2026-13-01 18:00", 0, "no such day"),
            ("0000-01-01", 0, "there is no such day"), ("2026-1-5", 0, "a date is such as"),
            ("mon 2026-11-24", 0, "that day is a Tuesday"),
            ("fri today", 4, "\"today\" is not a time zone"),
            ("tomorrow 03:00 Mars/Base", 15, "\"Mars/Base\" is not a time zone"),
            ("18:00 ../../etc/passwd", 6, "is not the name of a time zone"),
            ("18:00 +99:00", 6, "an offset is such as +01:00"),
            ("18:00 +1", 6, "an offset is such as"), ("18:00 ++01", 6, "an offset is such as"),
            ("18:00 UTC UTC", 10, "\"UTC\" is not understood"),
            ("18", 0, "a unit is missing"), ("+90", 1, "a unit is missing"),
            ("2026", 0, "a unit is missing"), ("2fortnights", 1, "\"fortnights\" is not a unit"),
            ("+-2h", 0, "is not understood"), ("++2h", 0, "is not understood"),
            ("-2h ago", 0, "is not understood"), ("+01:00", 0, "is not understood"),
            ("infinity", 0, "is not understood"), ("UTC", 0, "is not understood"),
            ("Europe/Berlin 18:00", 0, "is not understood"), ("18:00 tomorrow", 6, "time zone"),
            ("99999999999999999999h", 0, "too large"), ("999999999 years", 0, "too long"),
            ("200000 years", 0, "outside the years 1 to 9999"), ("now now", 0, "is not understood"),
            ("9999-12-31 23:00 -05:00", 0, "outside the years 1 to 9999"),
            ("18:00\n", 5, "a control character"), ("\u{1b}[31m", 0, "a control character"),
        ])
    func saysWhereAndWhatIsAccepted(text: String, offset: Int, message: String) throws {
        let error = #expect(throws: TimeParserError.self, "\(text)") {
            try Self.parser().parse(text, as: .any)
        }
        #expect(error?.offset == offset, "\(text)")
        #expect(error?.message.contains(message) == true, "\(text): \(error?.message ?? "")")
    }

    @Test func refusesWhatIsEmptyOrLong() throws {
        for text in ["", " ", "\t", String(repeating: "1", count: 100_000)] {
            #expect(throws: TimeParserError.self) { try Self.parser().parse(text, as: .any) }
        }
    }

    @Test func theErrorShowsThePlace() throws {
        let error = try #require(throws: TimeParserError.self) {
            try Self.parser().parse("fri 25:00", as: .any)
        }
        let text = error.text(option: "--until", value: "fri 25:00")
        #expect(text.hasSuffix("\n  fri 25:00\n      ^"))
        #expect(text.hasPrefix("--until \"fri 25:00\": a time is such as 18:00"))
        #expect(!error.text(option: "--until", value: "fri\n25:00").hasSuffix("^"))
    }

    @Test func spansAreChecked() throws {
        let range = Duration.microseconds(1)...Duration.seconds(3600)
        #expect(try TimeParser.span("30min", in: range) == .seconds(1800))
        for (text, message) in [
            ("0", "must be at least 1 us"), ("2h", "must be at most 1 h"),
            ("infinity", "must be at most 1 h"), ("-5min", "cannot be negative"),
            ("18:00", "18:00 is an instant"), ("", "a time span is missing"),
        ] {
            let error = #expect(throws: TimeParserError.self) {
                try TimeParser.span(text, in: range)
            }
            #expect(error?.message.contains(message) == true, "\(text): \(error?.message ?? "")")
        }
    }

    /// Neither a crash nor an endless loop, and whatever is read can be written.
    @Test func whateverComesIsReadOrRefused() throws {
        var random = SeededRandom()
        let parser = try Self.parser()
        let pieces = [
            "18:00", "2026-11-24", "tomorrow", "fri", "+", "-", "2h", "ago", "in", "UTC", "CET",
            ":",
            ".", "T", "Z", "9", "0", "\u{e9}", "\0", "Europe/Berlin", " ", " ", "\t", "now", "min",
        ]
        for _ in 0..<20_000 {
            let text = (0...random.int(below: 6)).map { _ in pieces[random.int(below: pieces.count)]
            }
            .joined()
            for sense in [TimeParser.Sense.any, .past, .future] {
                guard let instant = try? parser.parse(text, as: sense) else { continue }
                let written = parser.text(of: instant)
                #expect(try parser.parse(written, as: .any) == instant, "\(text) -> \(written)")
            }
        }
    }
}
