// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore

@testable import TimerZones

/// Instants as they are written for people.
extension TimeParserTests {
    @Test func theDistanceIsShort() throws {
        let parser = try Self.parser()
        for (seconds, text) in [
            (65_523, "in 18 h 12 min"), (-65_523, "18 h 12 min ago"), (61, "in 1 min 1 s"),
            (0, "now"),
            (300_000, "in 3 d 11 h 20 min"), (40 * 86_400 + 3601, "in 1 month 1 w 2 d"),
        ] as [(Int64, String)] {
            #expect(parser.distance(to: parser.now + .seconds(seconds)) == text)
        }
        #expect(parser.distance(to: parser.now + .microseconds(1_500_400)) == "in 1.500 s")
    }

    @Test(arguments: [
        "Europe/Berlin", "UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe",
        "Pacific/Apia", "Africa/Casablanca", "Europe/Dublin", "America/Sao_Paulo",
    ])
    func whatIsWrittenIsReadAgain(zone: String) throws {
        var random = SeededRandom()
        let parser = try Self.parser(in: zone)
        let rules = parser.zone
        for round in 0..<5000 {
            // Half of them are near a change of the clocks.
            var instant = WallInstant(
                microsecondsSinceEpoch: Int64(random.next() % 4_000_000_000_000_000))
            if round % 2 == 0, let change = rules.nextTransition(after: instant) {
                instant =
                    change + .microseconds(Int64(random.next() % 10_800_000_000) - 5_400_000_000)
            }
            if round % 3 == 0 {
                instant = WallInstant(secondsSinceEpoch: instant.secondsSinceEpoch)
            }
            let text = parser.text(of: instant)
            #expect(try parser.parse(text, as: .any) == instant, "\(text)")
            #expect(try parser.parse(instant.rfc3339, as: .any) == instant)
        }
    }

    /// The zone of this process may call itself anything.
    @Test func aMisleadingAbbreviationIsNotWritten() throws {
        let rules = try ZoneRules(posix: "UTC-3")
        for name in ["UTC", "utc", "+05", "Z", "", "a b"] {
            let parser = TimeParser(
                now: WallInstant(rfc3339: Self.noon)!, zone: rules, abbreviation: { _ in name },
                zoneNamed: { (name) throws(ZoneFiles.Failure) in try ZoneFiles().rules(named: name)
                })
            let text = parser.text(of: parser.now)
            #expect(text == "Sun 2026-11-22 14:48:00 +03:00")
            #expect(try parser.parse(text, as: .any) == parser.now)
        }
    }
}
