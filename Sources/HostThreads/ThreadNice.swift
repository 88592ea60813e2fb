// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The nice value of the calling thread: on Linux it is a thread's, and those a thread makes begin with its own
/// (sched(7)).
package enum ThreadNice {
    /// That of the threads, of the scheduler and of the runner, which go before jobs that take all there is.
    package static let first: Int32 = -5

    private static var thread: __priority_which_t { __priority_which_t(PRIO_PROCESS.rawValue) }

    /// The value as it is, -20 to 19.
    package static var current: Int32 { getpriority(thread, 0) }

    /// Sets it. A lower one takes a privilege (setrlimit(2), RLIMIT_NICE).
    /// - Returns: whether it could be set.
    @discardableResult
    package static func set(_ value: Int32) -> Bool { setpriority(thread, 0, value) == 0 }

    /// Gives up a lower one than the common 0.
    package static func reset() { if current < 0 { set(0) } }
}
