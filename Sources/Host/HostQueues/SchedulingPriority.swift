// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import Dispatch
import Glibc
import HostThreads

/// Whether the daemon has a higher priority than other programs, as its runner has. Due runs then
/// start on time although jobs use all processors. A lower nice value needs a privilege
/// (setrlimit(2), RLIMIT_NICE). Without it the daemon keeps the normal value and does not try what
/// would be refused. The shortest time slice needs no privilege.
package enum SchedulingPriority {
    /// Set on first use, for the calling thread and the threads that it creates. A higher priority
    /// that the daemon was started with is kept.
    private static let isGranted: Bool = {
        let before = ThreadNice.current
        return before <= 0 && ThreadNice.set(min(before, ThreadNice.first))
    }()

    /// Raises the priority of the calling thread and of the threads that it creates. Must be called
    /// before there are other threads.
    package static func raise() {
        ThreadSlice.takeShortest()
        // Dispatch always asks for a higher priority for the thread of its timers, and writes an
        // entry to the system's log for each refusal, which an administrator cannot act on. The
        // variable can be set to see these entries (libdispatch, init.c).
        if !isGranted { setenv("LIBDISPATCH_LOG", "NO", 0) }
    }

    /// Gives the calling thread, and the threads that it creates, the normal priority again.
    package static func drop() {
        ThreadSlice.reset()
        ThreadNice.reset()
    }

    /// The class of the queues that decide and record what is due. Dispatch has its own nice values
    /// for its threads, and writes to the system's log when it may not set one.
    package static var qos: DispatchQoS { isGranted ? .userInteractive : .default }
}
