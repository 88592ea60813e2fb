// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Whether the daemon goes before what else there is to do, as its runner does: what is due begins though jobs
/// take all the processors there are. A lower nice value takes a privilege (setrlimit(2), RLIMIT_NICE); without
/// it all is done at the common one, and nothing is tried that would be refused.
enum Precedence {
    /// The nice value of the threads that are not Dispatch's.
    private static let nice: Int32 = -5
    private static var thread: __priority_which_t { __priority_which_t(PRIO_PROCESS.rawValue) }

    /// Set with the first look, for the calling thread and those it makes (sched(7), the nice value is a
    /// thread's on Linux). One that was set higher by whoever started the daemon stays.
    private static let isGranted: Bool = {
        let before = getpriority(thread, 0)
        return before <= 0 && setpriority(thread, 0, min(before, nice)) == 0
    }()

    /// Takes it, for the calling thread and those it makes. To be called before there are others.
    static func take() { _ = isGranted }

    /// Of the queues on which it is decided and recorded what is due. Dispatch has nice values of its own for
    /// its threads, and says so in the system's log for each that it may not set.
    static var qos: DispatchQoS { isGranted ? .userInteractive : .default }

    /// Has the calling thread go behind those again, whoever made it.
    static func giveUp() {
        if getpriority(thread, 0) < 0 { setpriority(thread, 0, 0) }
    }
}
