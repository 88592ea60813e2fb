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
    /// How often a process group is polled after its leader has ended: often enough that its number
    /// cannot be reused for another group in between.
    static let groupPollInterval: Int64 = 10_000_000

    /// How often a process that has ended and is being traced is polled.
    static let tracerPollInterval: Int64 = 100_000_000

    /// How long after the end of a run its control group is polled again, if it was not empty.
    static let cleanupDelay: Int64 = 100_000_000

    mutating func end(_ run: Run.ID, grace: Duration) {
        guard let serial = serials[run] else { return cancel(run) }
        // A run that ended before this command was not stopped by it.
        reap(of: serial)
        end(serial, .stopped, grace: grace)
    }

    /// Cancels a run that has not started, and reports it as stopped.
    private mutating func cancel(_ run: Run.ID) {
        var end = RunnerClock.wall()
        if let index = waiting.firstIndex(where: { $0.request.id == run }) {
            let cancelled = waiting.remove(at: index)
            end = Self.wall(notBefore: cancelled.request.notBefore)
            mailbox.finishStart(cancelled)
        } else if let index = messages.firstIndex(where: { $0.request.id == run }) {
            mailbox.finishStart(messages.remove(at: index))
        } else if !cancelReading(run), !cancelRetry(run) {
            return
        }
        retries[run] = nil
        removePendingCommands(run)
        handler(.ended(run, RunEnd(.stopped, at: end)))
    }

    /// Sends SIGTERM to the process group, and SIGKILL after the grace period. If the run is
    /// already being terminated, this can only shorten the grace period.
    mutating func end(_ serial: UInt64, _ outcome: RunOutcome, grace: Duration) {
        pollLaunch(of: serial)
        guard let child = children[serial], serials[child.id] == serial else { return }
        // Before the program runs, no process could use a grace period.
        let grace = child.launch == nil ? grace : .zero
        let span = max(.zero, min(grace, Runner.graceMax)).wholeNanoseconds
        let killAt = RunnerClock.awake() + span
        switch child.stage {
        case .running:
            children[serial]?.stage = .ending(outcome, killAt: killAt)
            children[serial]?.deadline = nil
            children[serial]?.left = nil
            kill(serial, SIGTERM)
            // A suspended process handles SIGTERM only when it is resumed.
            kill(serial, SIGCONT)
        case .ending(let outcome, let before):
            guard killAt < before else { return }
            children[serial]?.stage = .ending(outcome, killAt: killAt)
        case .killed(_, let abandonAt):
            // The instant may be long past; only the shutdown of the runner abandons the run.
            return timers.set(serial, at: abandonAt)
        }
        timers.set(serial, at: killAt)
    }

    /// Handles the timer of a child, which may be outdated.
    mutating func handleTimer(of serial: UInt64, at now: Int64) {
        resumeReadingIfDue(serial, at: now)
        if children[serial]?.isTraced == true { reap(of: serial) }
        guard let child = children[serial], serials[child.id] == serial else {
            pollLeftovers(of: serial, at: now)
            groups?.removeEmpty()
            return
        }
        switch child.stage {
        case .running:
            guard let deadline = child.deadline, now >= deadline else { return }
            // The process may have ended just before its time limit.
            reap(of: serial)
            end(serial, .timedOut, grace: child.killTimeout)
        case .ending(let outcome, let killAt):
            guard now >= killAt, !killProgram(of: serial, outcome, at: now) else { break }
            let abandonAt = now + Runner.killWait.wholeNanoseconds
            children[serial]?.stage = .killed(outcome, abandonAt: abandonAt)
            kill(serial, SIGKILL)
            if let group = child.controlGroup, !ControlGroups.isKept(group) { groups?.kill(group) }
            timers.set(serial, at: abandonAt)
        case .killed(let outcome, let abandonAt):
            guard now >= abandonAt else { break }
            // A tracer can keep an ended process for any time.
            if child.reaped != nil || hasEnded(child) { return finish(serial, outcome) }
            // Only the shutdown of the runner cannot wait. Otherwise the runner waits for a process
            // that is blocked in the kernel, so that no other run overlaps with it.
            if isShutDown { return finish(serial, .lost(.runner)) }
        }
        pollProcessGroup(of: serial, at: now)
    }

    /// Polls the process group after its leader has ended. The other processes get the rest of the
    /// grace period.
    mutating func pollProcessGroup(of serial: UInt64, at now: Int64) {
        guard let child = children[serial], child.reaped != nil else { return }
        guard kill(serial, 0) else {
            switch child.stage {
            case .running: return
            case .ending(let outcome, _), .killed(let outcome, _): return finish(serial, outcome)
            }
        }
        timers.set(serial, at: now + Self.groupPollInterval)
    }

    mutating func shutDown(_ grace: Duration) {
        isShutDown = true
        // A run that was never started has no record, and the next runner starts it.
        waiting = []
        messages = []
        pendingCommands = [:]
        reading = [:]
        retries = [:]
        for serial in Array(serials.values) {
            reap(of: serial)
            end(serial, .stopped, grace: grace)
        }
        shutDownLeftovers(grace: grace)
    }

    // MARK: - Suspending

    /// Suspends the process group and the time limit.
    mutating func suspend(_ run: Run.ID) {
        guard let serial = serials[run], let child = children[serial], child.isRunning
        else { return }
        if let deadline = child.deadline {
            children[serial]?.left = max(0, deadline - RunnerClock.awake())
            children[serial]?.deadline = nil
        }
        kill(serial, SIGSTOP)
    }

    /// Resumes the process group and the time limit.
    mutating func resume(_ run: Run.ID) {
        guard let serial = serials[run], let child = children[serial] else { return }
        if let left = child.left {
            let deadline = RunnerClock.awake() + left
            children[serial]?.left = nil
            children[serial]?.deadline = deadline
            timers.set(serial, at: deadline)
        }
        kill(serial, SIGCONT)
    }

    /// Sends a signal to the process group of a run, or checks with 0 whether it has a member.
    /// - Returns: whether the group has a member.
    @discardableResult
    mutating func kill(_ serial: UInt64, _ number: Int32) -> Bool {
        guard let child = children[serial], serials[child.id] == serial else { return false }
        let pidfd = openedPidfd(of: serial, child)
        // The process of a run that an earlier runner started is the child of another process,
        // which reaps it.
        let isReaped = child.reaped != nil || !child.isOwn && hasEnded(child)
        let result = cspawn_signal_group(pidfd, child.pid, isReaped, number)
        let isThere = result == 0 || errno == EPERM
        // Before the program runs, the process may not have created its process group yet.
        if child.launch != nil, child.reaped == nil, number != 0 {
            let result =
                pidfd < 0 ? Glibc.kill(child.pid, number) : cspawn_signal(pidfd, number)
            return result == 0 || isThere
        }
        return isThere
    }

    /// The pidfd of a child, which is opened if it has none, so that its process group can still be
    /// found when the child is reaped. -1 if that is not possible; the group is found by its number
    /// then.
    private mutating func openedPidfd(of serial: UInt64, _ child: Child) -> Int32 {
        if let pidfd = child.pidfd { return pidfd }
        guard child.reaped == nil else { return -1 }
        let pidfd = cspawn_open_process(child.pid)
        if pidfd >= 0 { children[serial]?.pidfd = pidfd }
        return pidfd
    }

    /// Whether the process has ended, even if it cannot be reaped yet.
    func hasEnded(_ child: Child) -> Bool {
        guard child.reaped == nil else { return true }
        guard let pidfd = child.pidfd else { return false }
        var ending = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        return poll(&ending, 1, 0) > 0
    }
}
