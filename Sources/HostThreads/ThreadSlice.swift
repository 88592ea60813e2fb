// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux

/// How long a turn at the processor the calling thread takes where others want one too: each thread's own, and
/// those a thread makes begin with its (sched_setattr(2)).
///
/// With the shortest, it runs when it wakes though every processor is taken, and not only when the turn of another
/// is over, which is milliseconds; at each step from a timer to a process. No privilege is needed. Where Linux is
/// older than 6.12, or filters the call, all goes on as before.
package enum ThreadSlice {
    /// Takes the shortest, for the calling thread and those it makes from then on. The processes of runs that
    /// it starts have the system's own.
    package static func takeShortest() { clinux_take_short_slice() }

    /// Takes the shortest, and this nice value, for the calling thread alone: what it starts begins as any process
    /// does.
    /// - Returns: false if that is not granted; nothing is changed then.
    package static func keepShortest(nice: Int32) -> Bool { clinux_keep_precedence(nice) }

    /// Takes the shortest again together with what it starts, at the common nice value.
    package static func shareShortest() { clinux_share_precedence() }

    /// Gives it up, for the calling thread and those it makes from then on.
    package static func reset() { clinux_give_up_short_slice() }
}
