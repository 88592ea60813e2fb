// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// Handles what the descriptors of children report, up to the end of their runs.
extension RunnerThread {
    /// How often a process that has ended and is being traced is polled, in nanoseconds.
    static let tracerPollInterval: Int64 = 100_000_000

    /// Handles what is ready of a child.
    mutating func serve(_ part: Epoll.Part, of serial: UInt64) {
        switch part {
        case .process: reap(of: serial)
        case .reports: receiveReports(of: serial)
        case .output: serveOutput(of: serial, stream: 0)
        case .error: serveOutput(of: serial, stream: 1)
        }
    }

    private mutating func serveOutput(of serial: UInt64, stream: Int) {
        // If there is output, the program runs, so its start is reported first.
        pollLaunch(of: serial)
        reportStartIfItWrote(serial, stream: stream)
        readSome(of: serial, stream: stream)
        noteUnfinished(serial)
        dropIfDone(serial)
    }

    // MARK: - Reaping

    /// Reaps the process, if it has ended. Unless the run is being terminated, that ends the run.
    mutating func reap(of serial: UInt64) {
        guard children.active(serial) != nil else { return }
        if children[serial]?.process.reap() == true {
            didReap(serial)
        } else if parts.orphanWatch == nil, let pidfd = children[serial]?.process.noteTracer() {
            // The pidfd of a traced process stays readable and would wake the loop again and again,
            // so it is polled by a timer instead.
            epoll.ignore(pidfd)
            timers.set(serial, at: RunnerClock.awake() + Self.tracerPollInterval)
        }
    }

    /// Called when the process is reaped.
    private mutating func didReap(_ serial: UInt64) {
        guard let child = children[serial], let reaped = child.process.reaped else { return }
        children.didReap(child.process.pid)
        if child.termination.isRunning {
            finish(serial, reaped.isKnown ? Self.outcome(of: reaped.end) : .lost(.runner))
        } else {
            killGroupOfProgram(of: serial)
            pollProcessGroup(of: serial, at: RunnerClock.awake())
        }
    }

    /// Reaps all ended children: the processes of runs, and orphans, whose exit statuses are
    /// ignored.
    /// - Complexity: O(*n*) in the number of child processes, for each one.
    mutating func reapAll() {
        guard let orphanWatch = parts.orphanWatch else { return }
        cspawn_drain_watch(orphanWatch)
        var end = cspawn_end()
        for _ in 0..<Self.reapsPerIteration {
            let pid = cspawn_reap_any(&end)
            guard pid > 0 else { return ends.didReap(areAll: true) }
            guard let serial = children.serial(ofProcess: pid) else { continue }
            children[serial]?.process.didReap(end, isKnown: true)
            didReap(serial)
        }
        // The kernel does not signal again for the remaining ones.
        ends.didReap(areAll: false)
    }

    // MARK: - The end of a run

    /// Reports the end of a run. A descendant that still has a pipe open does not delay it; the
    /// output that is in the pipes now still belongs to the run.
    mutating func finish(_ serial: UInt64, _ outcome: RunOutcome) {
        pollLaunch(of: serial)
        guard !isTriedAgain(serial) else { return }
        finishLaunch(of: serial)
        children[serial]?.process.close()
        for stream in 0..<2 { drain(serial, stream: stream) }
        reportDropped(serial)
        children[serial]?.program.close()
        guard let child = children[serial] else { return }
        var outcome = outcome
        if child.termination.isRunning, case .failed(let failure, _) = child.setUp {
            outcome = outcomeAfterRetries(of: child.id, failure)
        }
        retries.remove(child.id)
        children.endRun(of: serial)
        if let group = child.controlGroup {
            removeGroup(group, of: child, serial, wasEnded: !child.termination.isRunning)
        }
        credentials?.remove(child.id)
        let at = Self.wall(notBefore: AwakeInstant(nanoseconds: child.began))
        let usage = Self.usage(of: child, outcome)
        let end = RunEnd(outcome, usage, at: at, tail: child.output.cleanTail)
        parts.registry.recordEnd(end, of: child.id)
        events.report(.ended(child.id, end))
        keepOrphanedOutput(of: serial)
    }

    private static func outcome(of end: cspawn_end) -> RunOutcome {
        if end.code == CLD_EXITED { return .exited(end.status) }
        let name = cspawn_signal_name(end.status).map { "SIG\(String(cString: $0))" }
        return .signalled(name ?? "signal \(end.status)")
    }

    private static func usage(of child: Child, _ outcome: RunOutcome) -> RunUsage {
        // A program that never ran used no resources.
        if case .spawnFailed = outcome { return RunUsage() }
        // Below zero if the process ended while it waited until the run was due.
        let elapsed = Duration.nanoseconds(RunnerClock.awake() - child.began)
        var usage = RunUsage(elapsed: max(.zero, elapsed))
        if let reaped = child.process.reaped, reaped.isKnown {
            usage.user = .microseconds(reaped.end.user_microseconds)
            usage.system = .microseconds(reaped.end.system_microseconds)
            usage.peakResidentBytes = reaped.end.peak_kibibytes << 10
        }
        return usage
    }

    // MARK: - Output after the end

    /// Continues to read the pipes that another process has open after the run has ended, for a
    /// limited number of runs.
    private mutating func keepOrphanedOutput(of serial: UInt64) {
        guard children[serial]?.output.isClosed == false else {
            _ = remove(serial)
            return
        }
        children[serial]?.output.endTail()
        if let oldest = children.keepOrphaned(serial) { drop(oldest) }
    }

    mutating func dropIfDone(_ serial: UInt64) {
        guard children.isDone(serial) else { return }
        reportDropped(serial)
        _ = remove(serial)
    }

    /// Closes all descriptors of a child. A partial line is reported.
    mutating func drop(_ serial: UInt64) {
        for stream in 0..<2 { finishLine(of: serial, stream: stream) }
        reportDropped(serial)
        guard let child = remove(serial) else { return }
        child.output.closeAll()
        child.process.close()
        child.program.close()
        child.setUp.closeReports()
    }

    private mutating func remove(_ serial: UInt64) -> Child? {
        guard let child = children.remove(serial) else { return nil }
        _ = output.resume(child.id)
        return child
    }
}
