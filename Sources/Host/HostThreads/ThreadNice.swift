// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The nice value of the calling thread: on Linux it is an attribute of a thread, and new threads
/// inherit it (sched(7)).
package enum ThreadNice {
    /// The nice value of the scheduler's and the runner's threads, which lets them run before jobs
    /// that use all CPU time.
    package static let first: Int32 = -5

    private static var thread: __priority_which_t { __priority_which_t(PRIO_PROCESS.rawValue) }

    /// The current value, -20 to 19.
    package static var current: Int32 { getpriority(thread, 0) }

    /// Sets it. Lowering it requires a privilege (setrlimit(2), RLIMIT_NICE).
    /// - Returns: whether it could be set.
    @discardableResult
    package static func set(_ value: Int32) -> Bool { setpriority(thread, 0, value) == 0 }

    /// Raises a negative value to the default 0.
    package static func reset() { if current < 0 { set(0) } }
}
