// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Wakes a thread that waits for descriptors; an eventfd(2).
package enum EventFD {
    /// Creates one. Returns it, or -1 with errno set.
    package static func make() -> Int32 { clinux_eventfd() }

    /// Makes it readable. It cannot fail: the counter is far from full, and the descriptor is ours.
    package static func signal(_ descriptor: Int32) {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// Makes it unreadable again. Call it before you handle what it was signalled for.
    package static func drain(_ descriptor: Int32) {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }
}
