// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostThreads

/// Whether the daemon goes before what else there is to do, as its runner does: what is due begins though jobs
/// take all the processors there are. A lower nice value takes a privilege (setrlimit(2), RLIMIT_NICE); without
/// it all is done at the common one, and nothing is tried that would be refused. The shortest slice takes none.
enum SchedulingPriority {
    /// Set with the first look, for the calling thread and those it makes. One that was set higher by whoever
    /// started the daemon stays.
    private static let isGranted: Bool = {
        let before = ThreadNice.current
        return before <= 0 && ThreadNice.set(min(before, ThreadNice.first))
    }()

    /// Takes it, for the calling thread and those it makes. To be called before there are others.
    static func raise() {
        ThreadSlice.takeShortest()
        // Dispatch asks for a higher priority for the thread of its timers in any case, and has an entry in the
        // system's log for each refusal, which nobody can do anything about. Whoever wants its log sets the variable
        // (libdispatch, init.c).
        if !isGranted { setenv("LIBDISPATCH_LOG", "NO", 0) }
    }

    /// Has the calling thread, and those it makes, go behind those again.
    static func drop() {
        ThreadSlice.reset()
        ThreadNice.reset()
    }

    /// Of the queues on which it is decided and recorded what is due. Dispatch has nice values of its own for
    /// its threads, and says so in the system's log for each that it may not set.
    static var qos: DispatchQoS { isGranted ? .userInteractive : .default }
}
