// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Leaves the processor to other threads for a moment again and again, while the calling thread computes for long.
///
/// A low priority is not enough. Linux divides the processors among sessions first (sched(7), "The autogroup feature"),
/// or among control groups, and only then among the threads of each. A thread that computes all the time uses up the
/// share of its session. Then another thread of that session, and a process that it starts, may wait for 100 ms while
/// every processor is busy, whatever their nice values are.
package struct ThreadThrottle {
    /// How long the thread computes before it pauses.
    package static let workTime = Duration.milliseconds(4)
    /// How long the thread pauses after that.
    package static let pauseTime = Duration.milliseconds(1)

    private var resumedAt = clinux_awake()

    package init() {}

    /// Sleeps for `pauseTime` if the last pause was `workTime` ago or more. Reading the clock takes some 30 ns.
    package mutating func pauseIfDue() {
        guard .nanoseconds(clinux_awake() - resumedAt) >= Self.workTime else { return }
        usleep(UInt32(Self.pauseTime / .microseconds(1)))
        resumedAt = clinux_awake()
    }
}
