// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Leaves the processor to other threads for a moment again and again, while the calling thread computes for long.
///
/// A low priority is not enough. Linux divides the processors among sessions first (sched(7), "The autogroup feature"),
/// or among control groups, and only then among the threads of each. A thread that computes all the time uses up the
/// share of its session. Then another thread of that session, and a process that it starts, may wait for 100 ms while
/// every processor is busy, whatever their nice values are.
package struct ThreadThrottle {
    /// How long the thread computes before it pauses, and how long it pauses, in nanoseconds.
    package static let workTime: Int64 = 4_000_000
    package static let pauseTime: Int64 = 1_000_000

    private var resumedAt = Self.now()

    package init() {}

    /// Sleeps for `pauseTime` if the last pause was `workTime` ago or more. Reading the clock takes some 30 ns.
    package mutating func pauseIfDue() {
        guard Self.now() - resumedAt >= Self.workTime else { return }
        usleep(UInt32(Self.pauseTime / 1000))
        resumedAt = Self.now()
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
