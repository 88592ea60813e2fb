// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TimerCore

@Suite struct CalendarTests {
    static func zone(_ name: String) throws -> ZoneRules {
        if name.isEmpty || name == "UTC" { return .utc }
        return try ZoneTests.rules(name)
    }

    private func refusal(_ text: String) -> String {
        do throws(ScheduleError) {
            _ = try CalendarSpec(text)
            return "taken"
        } catch {
            return "\(error.offset): \(error)"
        }
    }

    @Test(arguments: [
        ("Mom..Fri 08:30", 0, "\"Mom\" is not a weekday (did you mean \"Mon\"?); the weekdays are"),
        ("Mon..Fry 08:30", 5, "\"Fry\" is not a weekday (did you mean \"Fri\"?)"),
        ("Mon,Tus 08:30", 4, "\"Tus\" is not a weekday (did you mean \"Tue\"?)"),
        ("Mondays 08:30", 0, "\"Mondays\" is not a weekday (did you mean \"Monday\"?)"),
        ("dayly", 0, "\"dayly\" is not a weekday (did you mean \"daily\"?)"),
        ("tomorrow", 0, "\"tomorrow\" is not a weekday; the weekdays are Mon, Tue"),
        ("Mon..5", 5, "a weekday is missing"),
        ("Sat*-*-* 05:00:42", 3, "a blank is missing behind the weekday"),
        ("Europe/Berlin 08:30", 0, "a time zone goes at the end"),
        (
            "TZ=Europe/Berlin 08:30", 0,
            "only a calendar event may be here; for a time zone, use timezone ="
        ),
        ("Mon 8:30am", 8, "not a number, a range, a list or a step; a time has 24 hours"),
        ("0 5 * * *", 0, "this is a line of a crontab; use cron instead of calendar"),
    ])
    func saysWhatIsWrong_andWhere(text: String, offset: Int, message: String) {
        let error = #expect(throws: ScheduleError.self) { try CalendarSpec(text) }
        #expect(error?.offset == offset, "\(text)")
        #expect(error?.message.hasPrefix(message) == true, "\(text): \(error?.message ?? "")")
    }

    /// The results of systemd 252 for each row: the normal form, the refusals, and the next five
    /// times, to the microsecond, if the schedule uses systemd's rule for daylight saving time.
    @Test func agreesWithSystemdOnEveryRow() throws {
        let table = try Table("oncalendar_public.tsv")
        var zones: [String: ZoneRules] = [:]
        var compared = 0
        var refused = 0
        for row in table.rows
        where row["category"] != "tz-local-abbrev" || row["expression"].hasSuffix("UTC") {
            let text = row["expression"].unescaped
            let place = "row \(row["id"]): \"\(text)\""
            if row["expression"].hasSuffix(" EDT") { continue }
            guard let spec = try? CalendarSpec(text) else {
                #expect(row["status"].hasPrefix("ERROR"), "\(place) was refused: \(refusal(text))")
                refused += 1
                continue
            }
            let name = spec.zoneName ?? row["tz"]
            let rules =
                try? zones[name] ?? (name.contains(",") ? ZoneRules(posix: name) : Self.zone(name))
            guard let zone = rules else {
                #expect(row["status"].hasPrefix("ERROR"), "\(place) names no zone: \(name)")
                refused += 1
                continue
            }
            zones[name] = zone
            #expect(!row["status"].hasPrefix("ERROR"), "\(place) was taken")
            #expect(spec.description == row["normalized"], "\(place)")
            #expect(try CalendarSpec(spec.description) == spec, "\(place) is no fixed point")
            guard row["first_pass"] == "same" else { continue }
            let rule = DSTRule(gap: .skip, overlap: .first)
            var at = try #require(WallInstant(rfc3339: row["base_utc"]), "\(place)")
            for column in 1...5 {
                let next = spec.next(after: at, in: zone, rule: rule)
                let expected = row["next\(column)"]
                #expect(
                    next == WallInstant(rfc3339: expected), "\(place) in \(name), next \(column)")
                guard let next else { break }
                #expect(
                    spec.previous(before: next + .microseconds(1), in: zone, rule: rule) == next)
                if column > 1 { #expect(spec.previous(before: next, in: zone, rule: rule) == at) }
                at = next
            }
            compared += 1
        }
        print("calendar: \(table.rows.count) rows, \(compared) compared, \(refused) refused")
        #expect(table.rows.count == 739 && compared > 600)
    }
}
