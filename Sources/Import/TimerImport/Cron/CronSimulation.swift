// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A minute of local time, with the fields that cron compares.
public struct LocalMinute: Hashable, Sendable {
    public var minute: Int
    public var hour: Int
    public var day: Int
    public var month: Int
    /// 0 is Sunday.
    public var weekday: Int
    /// Local time minus UTC, in seconds.
    public var offset: Int

    public init(minute: Int, hour: Int, day: Int, month: Int, weekday: Int, offset: Int) {
        (self.minute, self.hour, self.day) = (minute, hour, day)
        (self.month, self.weekday, self.offset) = (month, weekday, offset)
    }
}

/// Finds the firings of crontab lines as cron does: it looks at one minute after the other.
public struct CronSimulation {
    /// How far it looks, in days.
    public static let daysMax = 366 * 9
    /// Changes of the clock up to this are handled as those of daylight saving time (cron(8)), in
    /// minutes.
    private static let jumpMax = 180

    /// The local time of a number of seconds since 1970.
    private let local: (Int64) -> LocalMinute

    /// - Parameter local: the local time of a number of seconds since 1970, such as by localtime_r(3).
    public init(local: @escaping (Int64) -> LocalMinute) { self.local = local }

    /// The last instant that a search from here looks at.
    public static func end(after start: WallInstant) -> WallInstant {
        start + .seconds(Int64(daysMax) * 86_400)
    }

    /// The next firings after an instant, at most `count`.
    ///
    /// If the clock is put forward by at most three hours, lines without a wildcard in minute and hour
    /// that were skipped run at once; if it is put back, they do not run again. Other lines follow
    /// the clock (cron(8), "Special considerations").
    ///
    /// - Complexity: O(*h*) in the hours until the last firing, at most nine years, and 60 times that
    ///   for hours that match.
    public func firings(
        of times: CronTimes, after start: WallInstant,
        _ count: Int = FiringComparison.count
    ) -> [WallInstant] {
        guard !times.isReboot else { return [] }
        var found: [WallInstant] = []
        var minute = start.microsecondsSinceEpoch.floored(by: 60_000_000)
        let end = Self.end(after: start).microsecondsSinceEpoch / 60_000_000
        // The latest minute of local time that a line without wildcards has seen.
        var seen = Self.wall(minute, local(minute * 60))
        while found.count < count, minute < end {
            minute += 1
            let now = local(minute * 60)
            let wall = Self.wall(minute, now)
            if wall - seen == 1, now.minute < 59, !times.hasHour(of: now) {
                // On to the end of this hour, unless the clock changes in it.
                let rest = Int64(59 - now.minute)
                if local((minute + rest) * 60).offset == now.offset {
                    minute += rest
                    seen = wall + rest
                    continue
                }
            }
            if fires(times, now, wall, &seen) {
                found.append(WallInstant(microsecondsSinceEpoch: minute * 60_000_000))
            }
        }
        return found
    }

    private func fires(
        _ times: CronTimes, _ now: LocalMinute, _ wall: Int64, _ seen: inout Int64
    ) -> Bool {
        let jump = wall - seen
        guard jump != 1 else {
            seen = wall
            return times.matches(now)
        }
        if jump > Self.jumpMax || jump <= -Self.jumpMax {
            seen = wall
            return times.matches(now)
        }
        guard !times.isWildcard else {
            if jump > 0 { seen = wall }
            return times.matches(now)
        }
        guard jump > 0 else { return false }
        // The minutes that the clock skipped, and this one.
        let skipped = (seen + 1)...wall
        seen = wall
        return skipped.contains { times.matches(Self.civil($0)) }
    }

    /// Minutes since 1970 as a local clock counts them.
    private static func wall(_ minute: Int64, _ time: LocalMinute) -> Int64 {
        (minute * 60 + Int64(time.offset)).floored(by: 60)
    }

    /// The fields of a minute of local time.
    private static func civil(_ wall: Int64) -> LocalMinute {
        let days = wall.floored(by: 1440)
        let rest = Int(wall - days * 1440)
        let date = CivilDate(daysSinceEpoch: Int(days))
        // 1 January 1970 was a Thursday.
        return LocalMinute(
            minute: rest % 60, hour: rest / 60, day: date.day, month: date.month,
            weekday: Int(((days + 4) % 7 + 7) % 7), offset: 0)
    }
}

extension Int64 {
    /// The quotient, rounded down also for negative numbers.
    fileprivate func floored(by divisor: Int64) -> Int64 {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }
}
