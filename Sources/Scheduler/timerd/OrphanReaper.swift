// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Dispatch
import Glibc
import TimerRunnerClient

/// Reaps orphaned processes. The daemon becomes the parent of every orphan if it is the first
/// process of a container (pid_namespaces(7)): of its runner, of what is left of a runner that was
/// killed, and of processes that were started beside it in the container. They would stay as
/// zombies if the daemon did not wait for them.
final class OrphanReaper {
    /// Whether this process is the first one of its container, to which the kernel gives orphans.
    static var isNeeded: Bool { getpid() == 1 }

    private let source: any DispatchSourceRead

    /// Blocks SIGCHLD in the calling thread and in all threads that it creates: blocked signals are
    /// not lost. Must be called before there are other threads. Does nothing where no reaper is
    /// needed.
    static func block() {
        guard isNeeded else { return }
        var signals = set
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Starts to reap; nil where that is not needed or not possible.
    init?() {
        guard Self.isNeeded else { return nil }
        var signals = Self.set
        let descriptor = clinux_signal_descriptor(&signals)
        guard descriptor >= 0 else { return nil }
        source = DispatchSource.makeReadSource(
            fileDescriptor: descriptor, queue: Daemon.background)
        source.setEventHandler { @Sendable in
            while clinux_signal_take(descriptor) != 0 {}
            RunnerProgram.reapOthers()
        }
        source.activate()
    }

    private static var set: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGCHLD)
        return signals
    }
}
