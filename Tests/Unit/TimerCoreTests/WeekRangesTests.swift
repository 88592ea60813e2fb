// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing

@testable import TimerCore

/// The times of the week of a window, by a local clock.
@Suite struct WeekRangesTests {
    private static let berlin = "CET-1CEST,M3.5.0,M10.5.0/3"

    private static func instant(_ text: String) throws -> WallInstant {
        let date = try #require(try? Date(text, strategy: .iso8601))
        return WallInstant(secondsSinceEpoch: Int64(date.timeIntervalSince1970))
    }

    private static func zone(_ text: String) throws -> ZoneRules {
        text == "UTC" ? .utc : try ZoneRules(posix: text)
    }

    /// 2026-11-30 is a Monday. The clock of Berlin skips 02:00 to 03:00 on 2026-03-29, and repeats it on
    /// 2026-10-25.
    @Test(arguments: [
        ("22:00-06:00", "UTC", "2026-11-30T21:59:59Z", "2026-11-30T22:00:00Z"),
        ("22:00-06:00", "UTC", "2026-11-30T22:00:00Z", "2026-11-30T22:00:00Z"),
        ("22:00-06:00", "UTC", "2026-12-01T05:59:59Z", "2026-12-01T05:59:59Z"),
        ("22:00-06:00", "UTC", "2026-12-01T06:00:00Z", "2026-12-01T22:00:00Z"),
        ("Mon..Fri 22:00-06:00", "UTC", "2026-12-05T05:00:00Z", "2026-12-05T05:00:00Z"),
        ("Mon..Fri 22:00-06:00", "UTC", "2026-12-05T06:00:00Z", "2026-12-07T22:00:00Z"),
        ("Sat..Sun", "UTC", "2026-11-30T00:00:00Z", "2026-12-05T00:00:00Z"),
        ("Sun 22:00-06:00", "UTC", "2026-11-30T05:00:00Z", "2026-11-30T05:00:00Z"),
        ("Sun 22:00-06:00", "UTC", "2026-11-30T06:00:00Z", "2026-12-06T22:00:00Z"),
        ("Mon 8:00-12:00", "UTC", "2026-11-30T12:00:00Z", "2026-12-07T08:00:00Z"),
        ("Mon 23:00-24:00", "UTC", "2026-11-30T23:59:59Z", "2026-11-30T23:59:59Z"),
        ("10:00-11:00", berlin, "2026-11-30T00:00:00Z", "2026-11-30T09:00:00Z"),
        ("10:00-11:00", berlin, "2026-07-01T00:00:00Z", "2026-07-01T08:00:00Z"),
        // An opening in the gap is its end, if the window is open then.
        ("02:30-04:00", berlin, "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"),
        ("02:00-03:00", berlin, "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"),
        // What is repeated is open both times.
        ("02:00-02:30", berlin, "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"),
        ("02:00-02:30", berlin, "2026-10-25T01:30:00Z", "2026-10-26T01:00:00Z"),
    ])
    func opens(_ text: String, _ zone: String, _ from: String, _ expected: String) throws {
        let ranges = try WeekRanges([text])
        let opening = ranges.opening(
            notBefore: try Self.instant(from), in: try Self.zone(zone))
        #expect(opening == (try Self.instant(expected)))
    }

    @Test(arguments: [
        (["22:00-06:00"], "2026-11-30T23:00:00Z", "2026-12-01T06:00:00Z"),
        (["Sat..Sun"], "2026-12-05T00:00:00Z", "2026-12-07T00:00:00Z"),
        // What touches is one range, also over the end of the week.
        (["Mon 00:00-08:00", "Sun 20:00-24:00"], "2026-12-06T21:00:00Z", "2026-12-07T08:00:00Z"),
        (["08:00-12:00", "12:00-16:00"], "2026-11-30T09:00:00Z", "2026-11-30T16:00:00Z"),
        (["08:00-14:00", "12:00-16:00"], "2026-11-30T09:00:00Z", "2026-11-30T16:00:00Z"),
        (["Sun 22:00-06:00", "Mon 04:00-07:00"], "2026-11-30T01:00:00Z", "2026-11-30T07:00:00Z"),
    ])
    func closes(_ texts: [String], _ from: String, _ expected: String) throws {
        let ranges = try WeekRanges(texts)
        #expect(
            ranges.closing(after: try Self.instant(from), in: .utc)
                == (try Self.instant(expected)))
    }

    @Test(arguments: [["Mon..Sun"], ["00:00-24:00"], ["20:00-10:00", "09:00-21:00"]])
    func aWindowMayBeOpenAtAllTimes(_ texts: [String]) throws {
        let ranges = try WeekRanges(texts)
        #expect(ranges.isAlwaysOpen)
        #expect(ranges.closing(after: try Self.instant("2026-11-30T23:00:00Z"), in: .utc) == nil)
    }

    /// Against a search second by second, in zones that set their clocks by much and by little.
    @Test(arguments: [
        "UTC", berlin, "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        // A day is skipped or repeated; the clock is set at midnight.
        "AAA12BBB-12,M3.2.3/0,M11.1.1/0", "EST5EDT,M3.2.0/0,M11.1.0/0:10",
    ])
    func theSearchesAgreeWithEachMinute(_ text: String) throws {
        let zone = try Self.zone(text)
        var random = SeededRandom(seed: 17)
        let year = try Self.instant("2026-01-01T00:00:00Z").secondsSinceEpoch
        let change = zone.nextTransition(after: WallInstant(secondsSinceEpoch: year))
        for _ in 0..<60 {
            let ranges = try WeekRanges(Self.anyRanges(using: &random))
            let place = change?.secondsSinceEpoch ?? year
            let start =
                (place + Int64.random(in: -9 * 86_400...2 * 86_400, using: &random)) / 60 * 60
            func isOpen(_ minute: Int) -> Bool {
                ranges.isOpen(
                    at: WallInstant(secondsSinceEpoch: start + Int64(minute) * 60), in: zone)
            }
            let instant = WallInstant(secondsSinceEpoch: start)
            let minutes = 0..<12 * 1440
            #expect(
                (ranges.opening(notBefore: instant, in: zone) - instant).wholeNanoseconds
                    / 60_000_000_000 == minutes.first(where: isOpen).map(Int64.init))
            if isOpen(0) {
                #expect(
                    ranges.closing(after: instant, in: zone).map {
                        ($0 - instant).wholeNanoseconds / 60_000_000_000
                    } == minutes.first { !isOpen($0) }.map(Int64.init))
                #expect(ranges.closed(at: instant, in: zone) == nil)
            } else {
                let last = minutes.first { isOpen(-$0) }
                #expect(
                    ranges.closed(at: instant, in: zone).map {
                        (instant - $0).wholeNanoseconds / 60_000_000_000 + 1
                    } == last.map(Int64.init))
            }
        }
    }

    /// One to three ranges with whole minutes.
    private static func anyRanges(using random: inout SeededRandom) -> [String] {
        let days = ["", "Mon..Fri ", "Sat,Sun ", "Wed ", "Sun "]
        return (0..<Int.random(in: 1...3, using: &random)).map { _ in
            func time() -> String {
                let minute = Int.random(in: 0..<1440, using: &random)
                let digits = minute % 60 < 10 ? "0\(minute % 60)" : "\(minute % 60)"
                return "\(minute / 60):\(digits)"
            }
            let (from, to) = (time(), time())
            return (days.randomElement(using: &random) ?? "")
                + "\(from)-\(from == to ? "24:00" : to)"
        }
    }

    @Test(arguments: [
        ("", 0, "a time is missing, such as 22:00-06:00 or Mon..Fri 22:00-06:00"),
        ("22:00", 5, "a range has two times, such as 22:00-06:00"),
        ("22:00-", 6, "a number is missing for the hour"),
        ("22-06", 2, "a time is written as 22:00"),
        ("25:00-06:00", 0, "the hour is a number from 0 to 24"),
        ("22:60-06:00", 3, "the minute is a number from 0 to 59"),
        ("22:00-24:01", 11, "the last time of a day is 24:00"),
        ("24:00-06:00", 0, "a range begins at 23:59:59 at the latest"),
        (
            "06:00-06:00", 11,
            "a range that ends when it begins is empty; the whole day is 00:00-24:00"
        ),
        ("Mon 06:00-07:00 x", 16, "only one range can be here, such as Mon..Fri 22:00-06:00"),
        ("222:00-06:00", 0, "the hour is a number from 0 to 24"),
        ("10pm-6am", 2, "a time is written as 22:00"),
        (
            "Mo 10:00-11:00", 0,
            "\"Mo\" is not a weekday; the weekdays are Mon, Tue, Wed, Thu, Fri, Sat and Sun"
        ),
        (String(repeating: "1", count: 200), 128, "a range of a window has at most 128 characters"),
    ])
    func wrongTextsAreRefused(_ text: String, _ offset: Int, _ message: String) throws {
        let error = try #require(throws: ScheduleError.self) { try WeekRanges.Part(text) }
        #expect(error.offset == offset && error.message == message)
    }
}

extension WeekRanges {
    init(_ texts: [String]) throws {
        self.init(try texts.map { try Part($0) })
    }
}
