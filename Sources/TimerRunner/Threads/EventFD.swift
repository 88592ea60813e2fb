// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What wakes a thread that waits for descriptors; an eventfd(2), as `cspawn_eventfd` makes it.
enum EventFD {
    /// Makes it readable. It cannot fail: the counter is far from full, and the descriptor is ours.
    static func ring(_ descriptor: Int32) {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// Takes that back. To be called before what it was rung for is taken.
    static func hush(_ descriptor: Int32) {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }
}
