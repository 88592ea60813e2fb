// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
public import TimerCore

/// The environment variable TZ, which replaces the zone of the machine for one process (tzset(3)).
public enum ZoneEnvironment {
    /// The value of TZ; nil if it is not set.
    ///
    /// It is read with getenv(3), so no other thread may change the environment at the same time.
    public static var value: String? { getenv("TZ").map { String(cString: $0) } }

    /// The abbreviation of the zone of this process at an instant, such as `CET`; nil if it is not
    /// known.
    public static func abbreviation(at instant: WallInstant) -> String? {
        var second = time_t(instant.secondsSinceEpoch)
        var parts = tm()
        guard localtime_r(&second, &parts) != nil else { return nil }
        // The name is in memory of the C library, which keeps it until the process ends.
        return parts.tm_zone.map { String(cString: $0) }
    }

    /// Removes a TZ that is not a valid time zone from the environment. The C library would
    /// silently use UTC for it, so that the log would use another zone than the jobs.
    ///
    /// It must be called before other threads start.
    ///
    /// - Returns: what is wrong with the value and what is used instead; nil if the value is valid
    ///   or not set.
    public static func dropUnusable(_ files: ZoneFiles = ZoneFiles()) -> String? {
        guard let value, let fault = files.environmentFault else { return nil }
        unsetenv("TZ")
        tzset()
        return "the environment variable TZ is \"\(value)\", which is not a time zone (\(fault)); "
            + "the machine's own zone is used instead"
    }
}
