// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The times of a local clock at which a schedule occurs, for calendar events and crontab lines. It
/// does not know time zones; a local time is in microseconds since 1970-01-01T00:00 by the local
/// clock.
struct OccurrencePattern: Hashable, Sendable {
    /// The years that are searched, as in systemd. There are no occurrences outside them.
    static let years = 1970...2199
    static let microsecondsPerDay: Int64 = 86_400_000_000

    /// The years; empty means every year.
    var years: [ScheduleComponent] = []
    /// The months: bits 1 to 12.
    var months: UInt64
    var days: DayPattern
    /// The hours: bits 0 to 23.
    var hours: UInt64
    /// The minutes: bits 0 to 59.
    var minutes: UInt64
    var seconds: SecondPattern

    /// The seconds of a minute; as bits, unless the text has fractions.
    enum SecondPattern: Hashable, Sendable {
        /// Whole seconds: bits 0 to 59.
        case whole(UInt64)
        /// In microseconds of the minute, if the text has fractions.
        case fractions([ScheduleComponent])

        private static let last = 59_999_999

        /// The first second at or after this many microseconds of the minute.
        func next(notBelow microsecond: Int64) -> Int64? {
            switch self {
            case .whole(let bits):
                bits.bit(notBelow: Int((microsecond + 999_999) / 1_000_000)).map {
                    Int64($0) * 1_000_000
                }
            case .fractions(let parts):
                parts.next(notBelow: Int(microsecond), limit: Self.last).map(Int64.init)
            }
        }

        func previous(notAbove microsecond: Int64) -> Int64? {
            switch self {
            case .whole(let bits):
                bits.bit(notAbove: Int(microsecond / 1_000_000)).map { Int64($0) * 1_000_000 }
            case .fractions(let parts):
                parts.previous(notAbove: Int(microsecond), limit: Self.last).map(Int64.init)
            }
        }
    }

    /// The first occurrence at or after a local time; nil if there is none before the year 2200.
    ///
    /// - Complexity: O(*y*) for *y* years until the occurrence, at most 230.
    func next(notBefore local: Int64) -> Int64? {
        let first = Int64(CivilDate(year: Self.years.lowerBound, month: 1, day: 1).daysSinceEpoch)
        let local = max(local, first * Self.microsecondsPerDay)
        let day = local.quotient(flooringBy: Self.microsecondsPerDay)
        let date = CivilDate(daysSinceEpoch: Int(day))
        if matches(date), let time = nextTime(notBefore: local - day * Self.microsecondsPerDay) {
            return day * Self.microsecondsPerDay + time
        }
        guard let next = nextDate(after: date), let time = nextTime(notBefore: 0) else {
            return nil
        }
        return Int64(next.daysSinceEpoch) * Self.microsecondsPerDay + time
    }

    /// The last occurrence at or before a local time; nil if there is none since 1970.
    ///
    /// - Complexity: as `next`.
    func previous(notAfter local: Int64) -> Int64? {
        let end = Int64(CivilDate(year: Self.years.upperBound + 1, month: 1, day: 1).daysSinceEpoch)
        let local = min(local, end * Self.microsecondsPerDay - 1)
        let day = local.quotient(flooringBy: Self.microsecondsPerDay)
        let date = CivilDate(daysSinceEpoch: Int(day))
        if matches(date), let time = previousTime(notAfter: local - day * Self.microsecondsPerDay) {
            return day * Self.microsecondsPerDay + time
        }
        guard let last = previousDate(before: date),
            let time = previousTime(notAfter: Self.microsecondsPerDay - 1)
        else { return nil }
        return Int64(last.daysSinceEpoch) * Self.microsecondsPerDay + time
    }

    // MARK: - Dates

    private func nextYear(notBelow year: Int) -> Int? {
        guard year <= Self.years.upperBound else { return nil }
        let year = max(year, Self.years.lowerBound)
        return years.isEmpty ? year : years.next(notBelow: year, limit: Self.years.upperBound)
    }

    private func previousYear(notAbove year: Int) -> Int? {
        guard year >= Self.years.lowerBound else { return nil }
        let found =
            years.isEmpty ? year : years.previous(notAbove: year, limit: Self.years.upperBound)
        return found.flatMap { $0 >= Self.years.lowerBound ? $0 : nil }
    }

    private func matches(_ date: CivilDate) -> Bool {
        months & 1 << date.month != 0 && nextYear(notBelow: date.year) == date.year
            && days.bits(in: date.month, of: date.year) & 1 << date.day != 0
    }

    /// Whether there is at most one time of the day at which it occurs.
    var isOncePerDay: Bool {
        guard hours.nonzeroBitCount <= 1, minutes.nonzeroBitCount <= 1 else { return false }
        return switch seconds {
        case .whole(let bits): bits.nonzeroBitCount <= 1
        case .fractions(let parts): parts.count == 1 && parts[0].step == 0
        }
    }

    /// How many of its dates are from one day until before another one, in days since 1970.
    ///
    /// - Complexity: O(*m*) in the months between them.
    func dateCount(from start: Int, until end: Int) -> Int {
        guard start < end else { return 0 }
        let first = CivilDate(daysSinceEpoch: start)
        let last = CivilDate(daysSinceEpoch: end)
        var (year, month, count) = (first.year, first.month, 0)
        while (year, month) <= (last.year, last.month) {
            if months & 1 << month != 0, nextYear(notBelow: year) == year {
                var bits = days.bits(in: month, of: year)
                if (year, month) == (first.year, first.month) { bits &= ~0 << first.day }
                if (year, month) == (last.year, last.month) { bits &= (1 << last.day) - 1 }
                count += bits.nonzeroBitCount
            }
            (year, month) = month == 12 ? (year + 1, 1) : (year, month + 1)
        }
        return count
    }

    /// The first of its dates after a day, or the last one before it.
    func date(after day: Int) -> Int? {
        nextDate(after: CivilDate(daysSinceEpoch: day))?.daysSinceEpoch
    }

    func date(before day: Int) -> Int? {
        previousDate(before: CivilDate(daysSinceEpoch: day))?.daysSinceEpoch
    }

    func occurs(on day: Int) -> Bool { matches(CivilDate(daysSinceEpoch: day)) }

    private func nextDate(after date: CivilDate) -> CivilDate? {
        var month = date.month
        var day = date.day + 1
        var year = date.year
        while let found = nextYear(notBelow: year) {
            if found != year { (month, day) = (1, 1) }
            year = found
            while let next = months.bit(notBelow: month), next <= 12 {
                if next != month { day = 1 }
                if let found = days.bits(in: next, of: year).bit(notBelow: day) {
                    return CivilDate(year: year, month: next, day: found)
                }
                (month, day) = (next + 1, 1)
            }
            (year, month, day) = (year + 1, 1, 1)
        }
        return nil
    }

    private func previousDate(before date: CivilDate) -> CivilDate? {
        var month = date.month
        var day = date.day - 1
        var year = date.year
        while let found = previousYear(notAbove: year) {
            if found != year { (month, day) = (12, 31) }
            year = found
            while let last = months.bit(notAbove: month), last >= 1 {
                if last != month { day = 31 }
                if let found = days.bits(in: last, of: year).bit(notAbove: day) {
                    return CivilDate(year: year, month: last, day: found)
                }
                (month, day) = (last - 1, 31)
            }
            (year, month, day) = (year - 1, 12, 31)
        }
        return nil
    }

    // MARK: - Times

    private func nextTime(notBefore time: Int64) -> Int64? {
        let hour = Int(time / 3_600_000_000)
        let minute = Int(time / 60_000_000 % 60)
        if hours & 1 << hour != 0 {
            if minutes & 1 << minute != 0, let second = seconds.next(notBelow: time % 60_000_000) {
                return Self.time(hour, minute, second)
            }
            if let minute = minutes.bit(notBelow: minute + 1),
                let second = seconds.next(notBelow: 0)
            {
                return Self.time(hour, minute, second)
            }
        }
        guard let hour = hours.bit(notBelow: hour + 1), let minute = minutes.bit(notBelow: 0),
            let second = seconds.next(notBelow: 0)
        else { return nil }
        return Self.time(hour, minute, second)
    }

    private func previousTime(notAfter time: Int64) -> Int64? {
        let hour = Int(time / 3_600_000_000)
        let minute = Int(time / 60_000_000 % 60)
        if hours & 1 << hour != 0 {
            if minutes & 1 << minute != 0,
                let second = seconds.previous(notAbove: time % 60_000_000)
            {
                return Self.time(hour, minute, second)
            }
            if let minute = minutes.bit(notAbove: minute - 1),
                let second = seconds.previous(notAbove: 59_999_999)
            {
                return Self.time(hour, minute, second)
            }
        }
        guard let hour = hours.bit(notAbove: hour - 1), let minute = minutes.bit(notAbove: 59),
            let second = seconds.previous(notAbove: 59_999_999)
        else { return nil }
        return Self.time(hour, minute, second)
    }

    private static func time(_ hour: Int, _ minute: Int, _ microsecond: Int64) -> Int64 {
        Int64(hour * 60 + minute) * 60_000_000 + microsecond
    }
}

/// The days of a month, by date, by weekday or by both.
struct DayPattern: Hashable, Sendable {
    /// Bits 1 to 31 for months of 28, 29, 30 and 31 days.
    var byLength: [UInt64]
    /// Weekdays, bit 0 for Monday.
    var weekdays: UInt64 = 0x7f
    /// Weekdays by their number in the month: `ordinals[n]` has the weekdays whose n-th occurrence
    /// in the month is meant, and `ordinals[0]` those whose last occurrence is meant.
    var ordinals: [UInt64] = []
    /// How the dates and the weekdays are combined.
    var rule = Rule.both

    /// How the dates and the weekdays are combined. One value and not two, because `bits` compares
    /// it for each month that a search goes through.
    enum Rule: UInt8, Hashable, Sendable {
        /// The date and the weekday must match.
        case both
        /// It is enough that one of them matches, as in cron if both are restricted.
        case either
        /// As `both`, with the nearest of Monday to Friday in place of each date.
        case nearestAndWeekday
        /// As `either`, with the nearest of Monday to Friday in place of each date.
        case nearestOrWeekday

        init(isEither: Bool, isNearest: Bool) {
            self =
                switch (isEither, isNearest) {
                case (false, false): .both
                case (true, false): .either
                case (false, true): .nearestAndWeekday
                case (true, true): .nearestOrWeekday
                }
        }

        var isEither: Bool { self == .either || self == .nearestOrWeekday }
        var isNearest: Bool { self == .nearestAndWeekday || self == .nearestOrWeekday }
    }

    /// Bits 1 to 31 of the days of this month.
    func bits(in month: Int, of year: Int) -> UInt64 {
        let length = CivilDate.days(in: month, of: year)
        let byDate = byLength[length - 28]
        guard weekdays != 0x7f || rule != .both else { return byDate }
        return combined(byDate, month, year, length)
    }

    private func combined(_ byDate: UInt64, _ month: Int, _ year: Int, _ length: Int) -> UInt64 {
        // 1970-01-01 was a Thursday, 3 from Monday.
        let first = CivilDate(year: year, month: month, day: 1).daysSinceEpoch
        let weekday = ((first + 3) % 7 + 7) % 7
        let byWeekday = weekdayBits(weekday, length)
        return switch rule {
        case .both: byDate & byWeekday
        case .either: byDate | byWeekday
        case .nearestAndWeekday: Self.nearest(to: byDate, weekday, length) & byWeekday
        case .nearestOrWeekday: Self.nearest(to: byDate, weekday, length) | byWeekday
        }
    }

    /// The weekdays, Monday to Friday, that are nearest to these days in the same month: a Saturday
    /// becomes the Friday before it, a Sunday the Monday after it, unless they are in another month
    /// (Quartz's `W`). `first` is the weekday of the first day of the month.
    private static func nearest(to days: UInt64, _ first: Int, _ length: Int) -> UInt64 {
        let saturdays = days & repeated(1 << 5, from: first)
        let sundays = days & repeated(1 << 6, from: first)
        let firstDay = UInt64(1) << 1
        let lastDay = UInt64(1) << length
        let others = days & ~(saturdays | sundays)
        let fridays = (saturdays & ~firstDay) >> 1 | (sundays & lastDay) >> 2
        let mondays = (saturdays & firstDay) << 2 | (sundays & ~lastDay) << 1
        return others | fridays | mondays
    }

    private func weekdayBits(_ weekday: Int, _ length: Int) -> UInt64 {
        let all = (UInt64(1) << (length + 1)) - 2
        var bits = Self.repeated(weekdays, from: weekday)
        for (number, weekdays) in ordinals.enumerated() where weekdays != 0 {
            let days = Self.repeated(weekdays, from: weekday)
            if number == 0 {
                // Each weekday occurs once in the last seven days.
                bits |= days & ~((UInt64(1) << (length - 6)) - 1)
            } else {
                bits |= days & ((UInt64(0x7f) << 1) << (7 * (number - 1)))
            }
        }
        return bits & all
    }

    /// The bits of the weekdays repeated for all weeks of a month. Bit 1 is the first day of the
    /// month, whose weekday is `first`.
    private static func repeated(_ weekdays: UInt64, from first: Int) -> UInt64 {
        let week = (weekdays >> first | weekdays << (7 - first)) & 0x7f
        return (week | week << 7 | week << 14 | week << 21 | week << 28) << 1
    }
}
