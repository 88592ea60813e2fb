// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// Terminates runs: at their time limit, by a command, or when the runner shuts down.
///
/// A run that is being terminated ends when its whole process group is empty, so that what runs
/// next does not overlap with its last processes. SIGKILL after the grace period ensures that.
/// Processes that left the process group are reached only if the run has its own control group.
extension RunnerThread {
    /// How often a process group is polled after its leader has ended, in nanoseconds: often enough
    /// that its number cannot be reused for another group in between.
    static let groupPollInterval: Int64 = 10_000_000

    mutating func end(_ run: Run.ID, grace: Duration) {
        guard let serial = children.serial(of: run) else { return cancel(run) }
        // A run that ended before this command was not stopped by it.
        reap(of: serial)
        end(serial, .stopped, grace: grace)
    }

    /// Sends SIGTERM to the process group, and SIGKILL after the grace period. If the run is
    /// already being terminated, this can only shorten the grace period.
    mutating func end(_ serial: UInt64, _ outcome: RunOutcome, grace: Duration) {
        pollLaunch(of: serial)
        guard let child = children.active(serial) else { return }
        // Before the program runs, no process could use a grace period.
        let grace = child.setUp.launch == nil ? grace : .zero
        let span = max(.zero, min(grace, Runner.graceMax)).wholeNanoseconds
        let killAt = RunnerClock.awake() + span
        switch children[serial]?.termination.begin(outcome, killAt: killAt) {
        case .terminate(let killAt):
            children[serial]?.timeLimit.remove()
            kill(serial, SIGTERM)
            // A suspended process handles SIGTERM only when it is resumed.
            kill(serial, SIGCONT)
            timers.set(serial, at: killAt)
        case .wait(let until): timers.set(serial, at: until)
        case .nothing, nil: break
        }
    }

    /// Handles the timer of a child, which may be outdated.
    mutating func handleTimer(of serial: UInt64, at now: Int64) {
        resumeReadingIfDue(serial, at: now)
        if children[serial]?.process.isTraced == true { reap(of: serial) }
        guard let child = children.active(serial) else {
            pollLeftovers(of: serial, at: now)
            groups?.removeEmpty()
            return
        }
        switch child.termination.stage {
        case .running:
            guard child.timeLimit.isOver(at: now) else { return }
            // The process may have ended just before its time limit.
            reap(of: serial)
            end(serial, .timedOut, grace: child.killTimeout)
        case .ending(_, let killAt):
            guard now >= killAt, !killProgram(of: serial, at: now) else { break }
            let abandonAt = now + Runner.killWait.wholeNanoseconds
            children[serial]?.termination.kill(abandonAt: abandonAt)
            kill(serial, SIGKILL)
            if let group = child.controlGroup, !ControlGroups.isKept(group) { groups?.kill(group) }
            timers.set(serial, at: abandonAt)
        case .killed(let outcome, let abandonAt):
            guard now >= abandonAt else { break }
            // A tracer can keep an ended process for any time.
            if child.process.hasEnded { return finish(serial, outcome) }
            // Only the shutdown of the runner cannot wait. Otherwise the runner waits for a process
            // that is blocked in the kernel, so that no other run overlaps with it.
            if isShutDown { return finish(serial, .lost(.runner)) }
        }
        pollProcessGroup(of: serial, at: now)
    }

    /// Polls the process group after its leader has ended. The other processes get the rest of the
    /// grace period.
    mutating func pollProcessGroup(of serial: UInt64, at now: Int64) {
        guard let child = children[serial], child.process.reaped != nil else { return }
        guard kill(serial, 0) else {
            if let outcome = child.termination.outcome { finish(serial, outcome) }
            return
        }
        timers.set(serial, at: now + Self.groupPollInterval)
    }

    // MARK: - Signals

    /// Suspends the process group and the time limit.
    mutating func suspend(_ serial: UInt64) {
        guard let child = children[serial], child.termination.isRunning else { return }
        children[serial]?.timeLimit.suspend(at: RunnerClock.awake())
        kill(serial, SIGSTOP)
    }

    /// Resumes the process group and the time limit.
    mutating func resume(_ serial: UInt64) {
        if let deadline = children[serial]?.timeLimit.resume(at: RunnerClock.awake()) {
            timers.set(serial, at: deadline)
        }
        kill(serial, SIGCONT)
    }

    /// Sends a signal to the process group of a run, or checks with 0 whether it has a member.
    /// - Returns: whether the group has a member.
    @discardableResult
    mutating func kill(_ serial: UInt64, _ number: Int32) -> Bool {
        guard let child = children.active(serial) else { return false }
        let isSetUp = child.setUp.launch == nil
        return children[serial]?.process.signalGroup(number, isSetUp: isSetUp) ?? false
    }
}
