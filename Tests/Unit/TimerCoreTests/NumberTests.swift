// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Numbers in all texts that have their own parser. The initializers of Swift accept a sign, so
/// that a second sign would be accepted after one that was already read.
@Suite struct NumberTests {
    @Test(arguments: [
        ("2026-11-21T05:38:52+01:00", true), ("2026-11-21T05:38:52-00:00", true),
        ("2026-11-21T05:38:52++1:00", false), ("2026-11-21T05:38:52+-1:00", false),
        ("2026-11-21T05:38:52+01:+5", false), ("2026-11-21T05:38:52+01:-0", false),
        ("2026-11-21T05:38:52-+1:00", false), ("2026-11-21T05:38:52+24:00", false),
        ("2026-11-21T+5:38:52Z", false), ("2026-11-21T05:+8:52Z", false),
        ("2026-11-21T05:38:+2Z", false), ("2026-11-21T05:38:52.+5Z", false),
        ("+026-11-21T05:38:52Z", false), ("2026-+1-21T05:38:52Z", false),
        ("2026-11-21T05:38:52+٠1:00", false),
    ])
    func instants(text: String, isGood: Bool) {
        #expect((WallInstant(rfc3339: text) != nil) == isGood, "\(text)")
    }

    /// One sign is accepted as in systemd, because strtoll(3) accepts it.
    @Test(arguments: [
        ("+5s", true), ("++5s", false), ("+-5s", false), ("-5s", false), ("5.+5s", false),
        ("1h +5min", true), ("1h ++5min", false), ("+", false), ("0x5s", false), ("٥s", false),
    ])
    func timeSpans(text: String, isGood: Bool) {
        #expect(((try? TimeSpan.parse(text)) != nil) == isGood, "\(text)")
    }

    @Test(arguments: [
        "+5 * * * *", "-5 * * * *", "5-+9 * * * *", "*/+5 * * * *", "1,+2 * * * *", "0 0 * * 5#+2",
        "0 0 +1 * *", "0 0 * +1 *", "0 0 * * +1", "٥ * * * *",
    ])
    func cronFields(text: String) {
        #expect(throws: ScheduleError.self, "\(text)") { try CronSpec(text) }
    }

    @Test(arguments: [
        "*:+5", "+5:00", "*-+1-1", "*-*-+1", "+2026-*-*", "*:0/+5", "*:*:+5", "*:*:5.+5", "@+5",
        "@-5",
        "*:1..+5", "*-*~+1", "٠5:00",
    ])
    func calendarFields(text: String) {
        #expect(throws: ScheduleError.self, "\(text)") { try CalendarSpec(text) }
    }

    @Test(arguments: [
        ("EST5", true), ("EST+5", true), ("EST-5", true), ("EST++5", false), ("EST+-5", false),
        ("EST5:+3", false), ("EST5:-3", false), ("EST5EDT,M+3.2.0,M11.1.0", false),
        ("EST5EDT,M3.+2.0,M11.1.0", false), ("EST5EDT,M3.2.+0,M11.1.0", false),
        ("EST5EDT,J+60,J300", false), ("EST5EDT,+60,300", false),
        ("EST5EDT,M3.2.0/+2,M11.1.0/-1", true), ("EST5EDT,M3.2.0/++2,M11.1.0", false),
    ])
    func zones(text: String, isGood: Bool) {
        #expect(((try? ZoneRules(posix: text)) != nil) == isGood, "\(text)")
    }

    @Test(arguments: [
        ("exited(3)", true), ("exited(-3)", true), ("exited(+3)", false), ("exited()", false),
    ])
    func outcomes(text: String, isGood: Bool) {
        #expect((RunOutcome(text) != nil) == isGood, "\(text)")
    }

    @Test(
        arguments: [
            ("0", 0, 0), ("17", 17, 17), ("", nil, nil), ("+5", nil, nil), ("-5", nil, -5),
            ("-", nil, nil),
            ("--5", nil, nil), ("5 ", nil, nil), ("128", nil, nil), ("-128", nil, -128),
            ("٥", nil, nil),
        ] as [(String, Int8?, Int8?)])
    func digits(text: String, plain: Int8?, signed: Int8?) {
        #expect(Int8(digits: text) == plain && Int8(decimal: text) == signed, "\(text)")
        #expect(UInt8(digits: "-0") == nil && UInt32(digits: "+7", radix: 8) == nil)
    }
}

/// Instants at the ends of the 64-bit range, which a broken clock or a damaged file could produce.
@Suite struct InstantRangeTests {
    @Test func arithmeticEndsAtTheFirstAndTheLastInstant() {
        let first = WallInstant(microsecondsSinceEpoch: .min)
        let last = WallInstant(microsecondsSinceEpoch: .max)
        let year = Duration.seconds(31_557_600)
        #expect(last + year == last && first - year == first && last - year < last)
        #expect(last - first == .microseconds(Int64.max))
        #expect(first - last == .microseconds(Int64.min))
        #expect(WallInstant(secondsSinceEpoch: .max) == last)
        #expect(WallInstant(secondsSinceEpoch: .min) == first)
        let awake = AwakeInstant(nanoseconds: .max)
        #expect(
            awake + year == awake
                && awake - AwakeInstant(nanoseconds: -5) == .nanoseconds(Int64.max))
        let counted = CountedInstant(nanoseconds: .min)
        #expect(counted + (.zero - year) == counted)
        for instant in [first, last] {
            #expect(instant.rfc3339.hasSuffix("Z") && instant.basicISO8601.hasSuffix("Z"))
        }
    }
}
