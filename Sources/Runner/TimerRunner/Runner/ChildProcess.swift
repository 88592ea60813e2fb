// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc

/// The leader of the process group of a run. Until it is reaped, its process id and the number of
/// the group are not reused; after that, a pidfd finds the rest of the group.
struct ChildProcess {
    struct Reaped {
        var end: cspawn_end
        /// Whether the exit status is known.
        var isKnown: Bool
    }

    let pid: Int32
    /// Whether it is a child of this process: false for a run that an earlier runner started.
    let isOwn: Bool
    /// A child of this process may have none until it is needed.
    private var pidfd: Int32?
    /// Whether it has ended and its tracer has not released it yet.
    private(set) var isTraced = false
    /// Its exit status, while the rest of its process group has time to end.
    private(set) var reaped: Reaped?

    init(pid: Int32, pidfd: Int32?, isOwn: Bool) {
        self.pid = pid
        self.pidfd = pidfd
        self.isOwn = isOwn
    }

    /// Reaps it, if it has ended and is not reaped.
    /// - Returns: whether it was reaped now.
    mutating func reap() -> Bool {
        guard reaped == nil else { return false }
        guard isOwn else {
            guard hasEnded else { return false }
            didReap(cspawn_end(), isKnown: false)
            return true
        }
        var end = cspawn_end()
        let result = pidfd.map { cspawn_reap($0, &end) } ?? cspawn_reap_child(pid, &end)
        guard result != 0 else { return false }
        // Otherwise other code in this process reaped it by waiting for any child.
        didReap(end, isKnown: result == 1)
        return true
    }

    /// It was reaped together with others.
    mutating func didReap(_ end: cspawn_end, isKnown: Bool) {
        reaped = Reaped(end: end, isKnown: isKnown)
    }

    /// Whether it has ended, even if it cannot be reaped yet.
    var hasEnded: Bool {
        guard reaped == nil else { return true }
        guard let pidfd else { return false }
        var ending = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        return poll(&ending, 1, 0) > 0
    }

    /// Notes that it has ended and that its tracer, which gets its exit status first, has not
    /// released it.
    /// - Returns: its pidfd, which stays readable until then; nil if it is not so.
    mutating func noteTracer() -> Int32? {
        guard reaped == nil, isOwn, let pidfd, hasEnded else { return nil }
        isTraced = true
        return pidfd
    }

    /// Sends a signal to the process group, or checks with 0 whether it has a member.
    ///
    /// - Parameter isSetUp: whether the program runs. Before that, the process may not have created
    ///   its process group yet.
    /// - Returns: whether the group has a member.
    mutating func signalGroup(_ number: Int32, isSetUp: Bool) -> Bool {
        let pidfd = openedPidfd()
        // The process of a run that an earlier runner started is the child of another process,
        // which reaps it.
        let isReaped = reaped != nil || !isOwn && hasEnded
        let result = cspawn_signal_group(pidfd, pid, isReaped, number)
        let isThere = result == 0 || errno == EPERM
        if !isSetUp, reaped == nil, number != 0 {
            let result = pidfd < 0 ? Glibc.kill(pid, number) : cspawn_signal(pidfd, number)
            return result == 0 || isThere
        }
        return isThere
    }

    /// The pidfd, which is opened if there is none, so that the process group can still be found when
    /// the process is reaped. -1 if that is not possible; the group is found by its number then.
    private mutating func openedPidfd() -> Int32 {
        if let pidfd { return pidfd }
        guard reaped == nil else { return -1 }
        let opened = cspawn_open_process(pid)
        if opened >= 0 { pidfd = opened }
        return opened
    }

    mutating func close() {
        if let pidfd { Glibc.close(pidfd) }
        pidfd = nil
    }
}
