// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

extension RunnerThread {
    /// Serves what is ready: of the child in the upper bits, its process (0), its standard output (1), its
    /// standard error (2) or the reports of its PAM session (3).
    mutating func serve(_ token: UInt64) {
        let serial = token >> 2
        guard token & 3 != 0 else { return reap(of: serial) }
        guard token & 3 != 3 else { return hearSession(of: serial) }
        // Whatever it wrote, its program runs.
        pollLaunch(of: serial)
        beginIfItWrote(serial, stream: Int(token & 3) - 1)
        readSome(of: serial, stream: Int(token & 3) - 1)
        dropIfDone(serial)
    }

    // MARK: - Ends

    /// Takes the end of the process, if it has ended. Unless it was made to end, that is the end of the run.
    mutating func reap(of serial: UInt64) {
        guard let child = children[serial], let pidfd = child.pidfd else { return }
        var end = cspawn_end()
        let isKnown: Bool
        if child.isOwn {
            let result = cspawn_reap(pidfd, &end)
            if result == 0 { return awaitTracer(of: serial, child) }
            // Else somebody else in this process took it: a wait for any child.
            isKnown = result == 1
        } else {
            guard hasEnded(child) else { return }
            isKnown = false
        }
        didReap(end, of: serial, isKnown: isKnown)
    }

    /// Whoever traces a process has its end first. Until then its descriptor would have the thread turn for devNull.
    private mutating func awaitTracer(of serial: UInt64, _ child: Child) {
        guard orphanWatch == nil, let pidfd = child.pidfd, hasEnded(child) else { return }
        epoll_ctl(epoll, EPOLL_CTL_DEL, pidfd, nil)
        children[serial]?.isTraced = true
        timers.set(serial, at: RunnerClock.awake() + Self.tracerLook)
    }

    /// The end of the process is taken, whatever is known of it.
    private mutating func didReap(_ end: cspawn_end, of serial: UInt64, isKnown: Bool) {
        guard let child = children[serial], let pidfd = child.pidfd else { return }
        processes[child.pid] = nil
        children[serial]?.pidfd = nil
        children[serial]?.group = pidfd
        children[serial]?.taken = Child.Taken(end: end, isKnown: isKnown)
        if case .running = child.stage {
            finish(serial, isKnown ? Self.outcome(of: end) : .lost(.runner))
        } else {
            killRest(of: serial)
            pollProcessGroup(of: serial, at: RunnerClock.awake())
        }
    }

    /// Takes the ends of the children: of runs, and of processes that were left to this one, which are
    /// nobody's to know.
    /// - Complexity: O(*n*) in the children for each.
    mutating func reapAll() {
        guard let orphanWatch else { return }
        cspawn_hush(orphanWatch)
        var end = cspawn_end()
        for _ in 0..<Self.endsPerTurn {
            let pid = cspawn_reap_any(&end)
            guard pid > 0 else {
                mayHaveMoreEnds = false
                return
            }
            if let serial = processes[pid] { didReap(end, of: serial, isKnown: true) }
        }
        // The kernel has told of the others already.
        mayHaveMoreEnds = true
    }

    /// Ends a run. Whoever it left behind with a pipe in hand does not hold it up; what is in the pipes
    /// already still belongs to it.
    mutating func finish(_ serial: UInt64, _ outcome: RunOutcome) {
        finishLaunch(of: serial)
        if let pidfd = children[serial]?.pidfd ?? children[serial]?.group {
            close(pidfd)
            children[serial]?.pidfd = nil
            children[serial]?.group = nil
        }
        for stream in 0..<2 { drain(serial, stream: stream) }
        tellLimited(serial)
        closeProgram(of: serial)
        children[serial]?.program = nil
        guard let child = children[serial] else { return }
        var outcome = outcome
        if case .running = child.stage, let failure = child.failure { outcome = failure }
        serials[child.id] = nil
        processes[child.pid] = nil
        if let group = child.controlGroup {
            var wasEnded = true
            if case .running = child.stage { wasEnded = false }
            leaveGroup(group, of: child, serial, wasEnded: wasEnded)
        }
        credentials?.remove(child.id)
        var usage = RunUsage(elapsed: .nanoseconds(RunnerClock.awake() - child.began))
        if let taken = child.taken, taken.isKnown {
            usage.user = .microseconds(taken.end.user_microseconds)
            usage.system = .microseconds(taken.end.system_microseconds)
            usage.peakResidentBytes = taken.end.peak_kibibytes << 10
        }
        // What never ran used devNull.
        if case .spawnFailed = outcome { usage = RunUsage() }
        let end = RunEnd(outcome, usage, at: RunnerClock.wall(), tail: child.tail.last)
        registry.note(end, of: child.id)
        handler(.ended(child.id, end))
        keepOrphanedOutput(of: serial)
    }

    private static func outcome(of end: cspawn_end) -> RunOutcome {
        if end.code == CLD_EXITED { return .exited(end.status) }
        let name = cspawn_signal_name(end.status).map { "SIG\(String(cString: $0))" }
        return .signalled(name ?? "signal \(end.status)")
    }

    // MARK: - What is left behind

    /// Whoever holds a pipe of an ended run may write on as long as it likes; only so many are kept.
    private mutating func keepOrphanedOutput(of serial: UInt64) {
        guard children[serial]?.streams.contains(where: { $0 != nil }) == true else {
            if let child = children.removeValue(forKey: serial) { unread[child.id] = nil }
            return
        }
        // The end has been told: what comes now goes into no tail.
        children[serial]?.tail = Tail(limit: 0)
        orphanedOutputs.append(serial)
        if orphanedOutputs.count > Runner.orphanedOutputsMax { drop(orphanedOutputs.removeFirst()) }
    }

    mutating func dropIfDone(_ serial: UInt64) {
        guard let child = children[serial], serials[child.id] != serial,
            child.streams.allSatisfy({ $0 == nil })
        else { return }
        tellLimited(serial)
        children[serial] = nil
        unread[child.id] = nil
        orphanedOutputs.removeAll { $0 == serial }
    }

    /// Closes everything of a child. A line it had begun is told.
    mutating func drop(_ serial: UInt64) {
        for stream in 0..<2 { finishLine(of: serial, stream: stream) }
        tellLimited(serial)
        guard let child = children.removeValue(forKey: serial) else { return }
        unread[child.id] = nil
        for case .some(let stream) in child.streams { close(stream.descriptor) }
        for case .some(let own) in [
            child.pidfd ?? child.group, child.program, child.launch?.session?.socket,
        ] {
            close(own)
        }
    }
}
