// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
package import TimerCore

/// The clocks of the machine, for both ends of the connection.
package enum RunnerClock {
    /// CLOCK_MONOTONIC, in nanoseconds.
    package static func awake() -> Int64 {
        let time = read(CLOCK_MONOTONIC)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// CLOCK_BOOTTIME, which also counts while the machine sleeps.
    package static func boot() -> BootInstant {
        let time = read(CLOCK_BOOTTIME)
        return BootInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// CLOCK_REALTIME, which can be set.
    package static func wall() -> WallInstant {
        let time = read(CLOCK_REALTIME)
        return WallInstant(clockSeconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }

    private static func read(_ clock: Int32) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
