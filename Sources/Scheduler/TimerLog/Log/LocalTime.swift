// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
package import TimerCore

/// Instants for people, in the machine's time zone.
package enum LocalTime {
    /// Such as `2026-11-21 04:38:52`; with milliseconds, `2026-11-21 04:38:52.123`.
    package static func text(_ instant: WallInstant, milliseconds: Bool = false) -> String {
        var seconds = time_t(instant.secondsSinceEpoch)
        var parts = tm()
        localtime_r(&seconds, &parts)
        let text = String(unsafeUninitializedCapacity: 64) { buffer in
            buffer.withMemoryRebound(to: CChar.self) {
                strftime($0.baseAddress!, $0.count, "%Y-%m-%d %H:%M:%S", &parts)
            }
        }
        guard milliseconds else { return text }
        let millisecond =
            (instant.microsecondsSinceEpoch - instant.secondsSinceEpoch * 1_000_000) / 1000
        let digits = String(millisecond)
        return text + "." + String(repeating: "0", count: 3 - digits.utf8.count) + digits
    }
}
