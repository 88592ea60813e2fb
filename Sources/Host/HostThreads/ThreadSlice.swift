// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux

/// The time slice of the calling thread when other threads want the processor too. Each thread has
/// its own, and new threads inherit it (sched_setattr(2)).
///
/// A thread with the shortest slice runs as soon as it wakes although every processor is busy,
/// instead of milliseconds later when the slice of another thread ends. This counts at each step
/// from a timer to a process. It needs no privilege. On Linux before 6.12, or if the call is
/// filtered, nothing changes.
package enum ThreadSlice {
    /// Sets the shortest slice for the calling thread and the threads it creates later. The
    /// processes of runs that it starts have the system's default slice.
    package static func takeShortest() { clinux_take_short_slice() }

    /// Sets the shortest slice and this nice value for the calling thread only: what it starts has
    /// the defaults.
    /// - Returns: false if that is not permitted; nothing is changed then.
    package static func keepShortest(nice: Int32) -> Bool { clinux_raise_thread_priority(nice) }

    /// Lets what the thread starts inherit the shortest slice again, with the default nice value.
    package static func shareShortest() { clinux_restore_thread_priority() }

    /// Restores the default slice for the calling thread and the threads it creates later.
    package static func reset() { clinux_reset_slice() }
}
