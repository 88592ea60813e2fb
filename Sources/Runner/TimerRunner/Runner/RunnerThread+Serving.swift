// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

extension RunnerThread {
    /// Handles an epoll event. The upper bits of the token are the serial number of the child; the
    /// lower two say what is ready: its process (0), its standard output (1), its standard error
    /// (2) or the reports of its PAM session (3).
    mutating func serve(_ token: UInt64) {
        let serial = token >> 2
        guard token & 3 != 0 else { return reap(of: serial) }
        guard token & 3 != 3 else { return receiveReports(of: serial) }
        // If there is output, the program runs, so its start is reported first.
        pollLaunch(of: serial)
        reportStartIfItWrote(serial, stream: Int(token & 3) - 1)
        readSome(of: serial, stream: Int(token & 3) - 1)
        noteUnfinished(serial)
        dropIfDone(serial)
    }

    // MARK: - Reaping

    /// Reaps the process, if it has ended. Unless the run is being terminated, that ends the run.
    mutating func reap(of serial: UInt64) {
        guard let child = children[serial], serials[child.id] == serial, child.reaped == nil else {
            return
        }
        var end = cspawn_end()
        let isKnown: Bool
        if child.isOwn {
            let result =
                child.pidfd.map { cspawn_reap($0, &end) } ?? cspawn_reap_child(child.pid, &end)
            if result == 0 { return pollTracedProcess(of: serial, child) }
            // Otherwise other code in this process reaped it by waiting for any child.
            isKnown = result == 1
        } else {
            guard hasEnded(child) else { return }
            isKnown = false
        }
        didReap(end, of: serial, isKnown: isKnown)
    }

    /// The tracer of a process gets its exit status first. Until then the pidfd stays readable and
    /// would wake the loop again and again, so it is polled by a timer instead.
    private mutating func pollTracedProcess(of serial: UInt64, _ child: Child) {
        guard orphanWatch == nil, let pidfd = child.pidfd, hasEnded(child) else { return }
        epoll_ctl(epoll, EPOLL_CTL_DEL, pidfd, nil)
        children[serial]?.isTraced = true
        timers.set(serial, at: RunnerClock.awake() + Self.tracerPollInterval)
    }

    /// Called when the process is reaped.
    /// - Parameter isKnown: whether its exit status is known.
    private mutating func didReap(_ end: cspawn_end, of serial: UInt64, isKnown: Bool) {
        guard let child = children[serial] else { return }
        processes[child.pid] = nil
        children[serial]?.reaped = Child.Reaped(end: end, isKnown: isKnown)
        if child.isRunning {
            finish(serial, isKnown ? Self.outcome(of: end) : .lost(.runner))
        } else {
            killGroupOfProgram(of: serial)
            pollProcessGroup(of: serial, at: RunnerClock.awake())
        }
    }

    /// Reaps all ended children: the processes of runs, and orphans, whose exit statuses are
    /// ignored.
    /// - Complexity: O(*n*) in the number of child processes, for each one.
    mutating func reapAll() {
        guard let orphanWatch else { return }
        cspawn_drain_watch(orphanWatch)
        var end = cspawn_end()
        for _ in 0..<Self.reapsPerIteration {
            let pid = cspawn_reap_any(&end)
            guard pid > 0 else {
                mayHaveMoreEnds = false
                return
            }
            if let serial = processes[pid] { didReap(end, of: serial, isKnown: true) }
        }
        // The kernel does not signal again for the remaining ones.
        mayHaveMoreEnds = true
    }

    /// Reports the end of a run. A descendant that still has a pipe open does not delay it; the
    /// output that is in the pipes now still belongs to the run.
    mutating func finish(_ serial: UInt64, _ outcome: RunOutcome) {
        pollLaunch(of: serial)
        guard !isTriedAgain(serial) else { return }
        finishLaunch(of: serial)
        if let pidfd = children[serial]?.pidfd {
            close(pidfd)
            children[serial]?.pidfd = nil
        }
        for stream in 0..<2 { drain(serial, stream: stream) }
        reportLimited(serial)
        closeProgram(of: serial)
        children[serial]?.program = nil
        guard let child = children[serial] else { return }
        var outcome = outcome
        if child.isRunning, let failure = child.failure {
            outcome = outcomeAfterRetries(of: child.id, failure.reason)
        }
        retries[child.id] = nil
        serials[child.id] = nil
        // Once its process is reaped, its id may be that of another child.
        if processes[child.pid] == serial { processes[child.pid] = nil }
        activeMessages.remove(child.id)
        if let group = child.controlGroup {
            removeGroup(group, of: child, serial, wasEnded: !child.isRunning)
        }
        credentials?.remove(child.id)
        // Below zero if the process ended while it waited until the run was due.
        let elapsed = Duration.nanoseconds(RunnerClock.awake() - child.began)
        var usage = RunUsage(elapsed: max(.zero, elapsed))
        if let reaped = child.reaped, reaped.isKnown {
            usage.user = .microseconds(reaped.end.user_microseconds)
            usage.system = .microseconds(reaped.end.system_microseconds)
            usage.peakResidentBytes = reaped.end.peak_kibibytes << 10
        }
        // A program that never ran used no resources.
        if case .spawnFailed = outcome { usage = RunUsage() }
        let at = Self.wall(notBefore: AwakeInstant(nanoseconds: child.began))
        let end = RunEnd(outcome, usage, at: at, tail: child.cleanTail)
        registry.recordEnd(end, of: child.id)
        handler(.ended(child.id, end))
        keepOrphanedOutput(of: serial)
    }

    private static func outcome(of end: cspawn_end) -> RunOutcome {
        if end.code == CLD_EXITED { return .exited(end.status) }
        let name = cspawn_signal_name(end.status).map { "SIG\(String(cString: $0))" }
        return .signalled(name ?? "signal \(end.status)")
    }

    // MARK: - Output after the end

    /// Continues to read the pipes that another process has open after the run has ended, for a
    /// limited number of runs.
    private mutating func keepOrphanedOutput(of serial: UInt64) {
        guard children[serial]?.streams.contains(where: { $0 != nil }) == true else {
            if let child = children.removeValue(forKey: serial) { unread[child.id] = nil }
            return
        }
        // The end was reported, so further output goes into no tail.
        children[serial]?.tail = Tail(limit: 0)
        orphanedOutputs.append(serial)
        // Of few places, most are for active runs.
        let most = min(Runner.orphanedOutputsMax, max(1, placesMax / 4))
        if orphanedOutputs.count > most { drop(orphanedOutputs.removeFirst()) }
    }

    mutating func dropIfDone(_ serial: UInt64) {
        guard let child = children[serial], serials[child.id] != serial,
            child.streams.allSatisfy({ $0 == nil })
        else { return }
        reportLimited(serial)
        children[serial] = nil
        unread[child.id] = nil
        orphanedOutputs.removeAll { $0 == serial }
    }

    /// Closes all descriptors of a child. A partial line is reported.
    mutating func drop(_ serial: UInt64) {
        for stream in 0..<2 { finishLine(of: serial, stream: stream) }
        reportLimited(serial)
        guard let child = children.removeValue(forKey: serial) else { return }
        unread[child.id] = nil
        for case .some(let stream) in child.streams { close(stream.descriptor) }
        for case .some(let own) in [
            child.pidfd, child.program, child.launch?.session?.socket,
        ] {
            close(own)
        }
    }
}
