// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
public import TimerCore

/// The environment variable TZ, which replaces the machine's own zone for one process (tzset(3)).
public enum ZoneEnvironment {
    /// Its value; nil if it is not set.
    ///
    /// It is read with getenv(3), so no other thread may change the environment meanwhile.
    public static var value: String? { getenv("TZ").map { String(cString: $0) } }

    /// What the zone of this process is called at an instant, such as `CET`; nil if it is not known.
    public static func abbreviation(at instant: WallInstant) -> String? {
        var second = time_t(instant.secondsSinceEpoch)
        var parts = tm()
        guard localtime_r(&second, &parts) != nil else { return nil }
        // The name belongs to the C library, which keeps it for as long as the process lasts.
        return parts.tm_zone.map { String(cString: $0) }
    }

    /// Takes a value that is no time zone out of the environment. What the C library makes of such a value is
    /// UTC, without a word, so that the log would be in another zone than the jobs.
    ///
    /// To be called before there are other threads.
    ///
    /// - Returns: what is wrong with the value and what is used instead; nil if the value can be used, or
    ///   there is none.
    public static func dropUnusable(_ files: ZoneFiles = ZoneFiles()) -> String? {
        guard let value, let fault = files.environmentFault else { return nil }
        unsetenv("TZ")
        tzset()
        return "the environment variable TZ is \"\(value)\", which is not a time zone (\(fault)); "
            + "the machine's own zone is used instead"
    }
}
