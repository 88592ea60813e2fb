// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Dispatch
import Glibc
import TimerRunnerClient

/// Where the daemon is the first process of a container, it becomes the parent of every process whose own parent has
/// ended (pid_namespaces(7)): its runner, what is left of a runner that was killed, and what was started beside it in
/// the container. They would stay as zombies if nobody took their ends.
final class OrphanReaper {
    /// Whether this process is the one.
    static var isNeeded: Bool { getpid() == 1 }

    private let source: any DispatchSourceRead

    /// Blocks SIGCHLD in the calling thread, and so in all that it makes: signals that are blocked are not lost. To be
    /// called before there are others; does nothing where no reaper is needed.
    static func block() {
        guard isNeeded else { return }
        var signals = set
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Begins to take ends; nil where that is not needed, or not possible.
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
