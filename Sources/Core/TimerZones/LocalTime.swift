// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

extension ZoneRules {
    /// The instants at which the local clock reads this many microseconds after 1970-01-01 00:00,
    /// in order. If the local time does not exist because the clocks skip it, the result is only
    /// the end of the gap. Never empty.
    ///
    /// - Parameter local: a local time of the years 1 to 9999.
    /// - Complexity: O(*t* log *n*) for *t* changes of the offset within two days.
    public func instants(atLocalMicroseconds local: Int64) -> [WallInstant] {
        // No offset is longer than 26 hours.
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
    /// The names of the weekdays, starting with Monday.
    static let weekdayNames = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]
    /// The weekdays with three letters, starting with Monday.
    static let weekdays = weekdayNames.map { String($0.prefix(3)) }

    /// The weekday of a day, 0 for Monday.
    static func weekday(ofDaysSinceEpoch days: Int) -> Int { ((days + 3) % 7 + 7) % 7 }
}
