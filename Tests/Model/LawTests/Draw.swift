// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom

@testable import TimerCore

/// Random schedules and instants.
enum Draw {
    /// Instants near changes of clocks in the last decades, some with microseconds.
    static func instant(_ random: inout SeededRandom) -> WallInstant {
        let second = 946_684_800 + Int64(random.int(below: 1_200_000_000))
        let fraction = random.int(below: 3) == 0 ? Int64(random.int(below: 1_000_000)) : 0
        return WallInstant(microsecondsSinceEpoch: second * 1_000_000 + fraction)
    }

    /// A crontab line. A dense one has occurrences within hours of any instant.
    static func cron(_ random: inout SeededRandom, isDense: Bool) -> String {
        func field(_ low: Int, _ high: Int) -> String {
            let first = low + random.int(below: high - low + 1)
            let last = first + random.int(below: high - first + 1)
            switch random.int(below: 8) {
            case 0, 1, 2: return "*"
            case 3: return "*/\(1 + random.int(below: high))"
            case 4: return "\(first)-\(last)"
            case 5: return "\(first)-\(last)/\(1 + random.int(below: 9))"
            case 6: return "\(first),\(last)"
            default: return "\(first)"
            }
        }
        let hour = isDense && random.int(below: 4) > 0 ? "*" : field(0, 23)
        let quartz = [
            "L", "LW", "L-\(random.int(below: 31))", "L-4W", "\(1 + random.int(below: 31))W",
        ]
        let day = random.int(below: 6) == 0 ? quartz[random.int(below: 5)] : field(1, 31)
        let days = isDense ? ["*", "*", "*"] : [day, field(1, 12), field(0, 7)]
        return ([field(0, 59), hour] + days).joined(separator: " ")
    }

    /// A calendar event with whole minutes.
    static func calendar(_ random: inout SeededRandom, isDense: Bool) -> String {
        func field(_ low: Int, _ high: Int) -> String {
            let first = low + random.int(below: high - low + 1)
            let last = first + random.int(below: high - first + 1)
            switch random.int(below: 8) {
            case 0, 1, 2: return "*"
            // A step that is longer than its range is refused.
            case 3 where first < high: return "\(first)/\(1 + random.int(below: high - first))"
            case 4: return "\(first)..\(last)"
            case 5 where first < last:
                return "\(first)..\(last)/\(1 + random.int(below: last - first))"
            case 6: return "\(first),\(last)"
            default: return "\(first)"
            }
        }
        let hour = isDense && random.int(below: 4) > 0 ? "*" : field(0, 23)
        let time = "\(hour):\(field(0, 59))"
        guard !isDense else { return time }
        let weekdays = ["Mon", "Sat,Sun", "Mon..Fri", "Wed,Fri", "", "", ""]
        let year = random.int(below: 4) == 0 ? "20\(10 + random.int(below: 50))" : "*"
        let isFromEnd = random.int(below: 5) == 0
        let day = isFromEnd ? "~0\(1 + random.int(below: 9))" : "-\(field(1, 31))"
        let weekday = weekdays[random.int(below: weekdays.count)]
        return (weekday.isEmpty ? "" : weekday + " ") + "\(year)-\(field(1, 12))\(day) \(time)"
    }

    /// Rules with lists of dates around a date.
    static func rules(_ random: inout SeededRandom, around date: CivilDate) -> FiringRules {
        func list(_ name: String) -> DateList {
            let entries = (0..<random.int(below: 5)).map { _ -> DaySet.Entry in
                let first = CivilDate(
                    daysSinceEpoch: date.daysSinceEpoch - 3 + random.int(below: 40))
                guard random.int(below: 4) > 0 else {
                    return .yearly(month: first.month, day: first.day)
                }
                let length = random.int(below: 4) == 0 ? 200 : 4
                return .range(
                    first,
                    CivilDate(daysSinceEpoch: first.daysSinceEpoch + random.int(below: length)))
            }
            return DateList(name: DateList.Name(name)!, days: DaySet(entries))
        }
        return FiringRules(
            except: (0..<random.int(below: 3)).map { list("except-\($0)") },
            onlyOn: random.int(below: 3) == 0 ? [list("only")] : [],
            everyNth: random.int(below: 3) == 0
                ? EveryNth(
                    2 + random.int(below: 4),
                    from: CivilDate(
                        daysSinceEpoch: date.daysSinceEpoch + random.int(below: 2000) - 1000)) : nil
        )
    }

    /// Whether a schedule may fire on a date, found by counting from day to day.
    static func allows(
        _ rules: FiringRules, _ date: CivilDate, _ pattern: OccurrencePattern
    ) -> Bool {
        guard rules.reason(on: date) == nil else { return false }
        let day = date.daysSinceEpoch
        guard let nth = rules.everyNth, pattern.occurs(on: day) else { return true }
        let days = nth.start <= day ? nth.start..<day : day..<nth.start
        return days.count { pattern.occurs(on: $0) } % nth.number == 0
    }
}
