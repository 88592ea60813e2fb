// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension ZoneRules {
    /// The instants at which the local clock reads so many microseconds after 1970-01-01 00:00, the first one
    /// first; if the clocks skip that time, the end of the gap alone. Never empty.
    ///
    /// - Parameter local: of the years 1 to 9999.
    /// - Complexity: O(*t* log *n*) for *t* changes of the offset within two days.
    func instants(atLocalMicroseconds local: Int64) -> [WallInstant] {
        // No offset is more than 26 hours.
        let margin = Duration.seconds(27 * 3600)
        let clock = WallInstant(microsecondsSinceEpoch: local)
        var found: [WallInstant] = []
        var gapEnd: WallInstant?
        var start = clock - margin
        while true {
            let offset = Duration.seconds(self.offset(at: start))
            let end = nextTransition(after: start)
            let instant = clock - offset
            if instant >= start, end.map({ instant < $0 }) ?? true { found.append(instant) }
            guard let end, end <= clock + margin else { break }
            let next = Duration.seconds(self.offset(at: end))
            if end + offset <= clock, clock < end + next { gapEnd = gapEnd ?? end }
            start = end
        }
        return found.isEmpty ? [gapEnd ?? clock] : found
    }
}

extension CivilDate {
    /// The weekdays' names, Monday first.
    static let weekdayNames = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]
    /// The same in short.
    static let weekdays = weekdayNames.map { String($0.prefix(3)) }

    /// The weekday of a day, 0 for Monday.
    static func weekday(ofDaysSinceEpoch days: Int) -> Int { ((days + 3) % 7 + 7) % 7 }
}
