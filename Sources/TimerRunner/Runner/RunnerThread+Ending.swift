// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// Making runs end: for their time limit, by order, for the runner's own stop.
///
/// A run that is made to end is over once its whole process group is, so that what comes after it does not
/// meet the last of it. SIGKILL after the grace makes sure of that. Whoever left the group is out of reach,
/// but for a control group of the run's own.
extension RunnerThread {
    /// How often a group is looked at that outlives its leader: often enough that its number cannot come
    /// round to another group in between.
    static let groupLook: Int64 = 10_000_000

    /// How often a process is looked at that has ended and is traced.
    static let tracerLook: Int64 = 100_000_000

    /// How long after its end a control group is looked at again, if somebody was in it.
    static let sweepDelay: Int64 = 100_000_000

    mutating func end(_ run: Run.ID, grace: Duration) {
        guard let serial = serials[run] else { return cancel(run) }
        // Who ended before it was asked to was not stopped.
        reap(of: serial)
        end(serial, .stopped, grace: grace)
    }

    /// A run that was not begun is not begun.
    private mutating func cancel(_ run: Run.ID) {
        if let index = waiting.firstIndex(where: { $0.request.id == run }) {
            mailbox.finishStart(waiting.remove(at: index))
        } else if !cancelReading(run) {
            return
        }
        forgetEarly(run)
        handler(.ended(run, RunEnd(.stopped, at: RunnerClock.wall())))
    }

    /// Sends SIGTERM to the group, and SIGKILL after the grace. What is ending already may only end sooner.
    mutating func end(_ serial: UInt64, _ outcome: RunOutcome, grace: Duration) {
        pollLaunch(of: serial)
        guard let child = children[serial], serials[child.id] == serial else { return }
        // Before its program runs there is nobody who could make use of a grace.
        let grace = child.launch == nil ? grace : .zero
        let span = max(.zero, min(grace, Runner.graceMax)).wholeNanoseconds
        let killAt = RunnerClock.awake() + span
        switch child.stage {
        case .running:
            children[serial]?.stage = .ending(outcome, killAt: killAt)
            children[serial]?.deadline = nil
            children[serial]?.left = nil
            kill(child, SIGTERM)
            // Who stands still takes SIGTERM only once it goes on.
            kill(child, SIGCONT)
        case .ending(let outcome, let before):
            guard killAt < before else { return }
            children[serial]?.stage = .ending(outcome, killAt: killAt)
        case .killed(_, let giveUpAt):
            // It may be long past, and nothing but the stop of the runner gives up then.
            return timers.set(serial, at: giveUpAt)
        }
        timers.set(serial, at: killAt)
    }

    /// Its alarm rang, for whatever it was set, or for nothing any more.
    mutating func handleTimer(of serial: UInt64, at now: Int64) {
        readOnIfDue(serial, at: now)
        if children[serial]?.isTraced == true { reap(of: serial) }
        guard let child = children[serial], serials[child.id] == serial else {
            lookAtLeftovers(of: serial, at: now)
            groups?.removeEmpty()
            return
        }
        switch child.stage {
        case .running:
            guard let deadline = child.deadline, now >= deadline else { return }
            // Its end may have come just before.
            reap(of: serial)
            end(serial, .timedOut, grace: child.killTimeout)
        case .ending(let outcome, let killAt):
            guard now >= killAt, !killProgram(of: serial, outcome, at: now) else { break }
            let giveUpAt = now + Runner.killPatience.wholeNanoseconds
            children[serial]?.stage = .killed(outcome, giveUpAt: giveUpAt)
            kill(child, SIGKILL)
            if let group = child.controlGroup, !ControlGroups.isKept(group) { groups?.kill(group) }
            timers.set(serial, at: giveUpAt)
        case .killed(let outcome, let giveUpAt):
            guard now >= giveUpAt else { break }
            // A process that is traced stays, though it has ended, for as long as whoever traces it likes.
            if child.taken != nil || hasEnded(child) { return finish(serial, outcome) }
            // Only the stop of the runner cannot wait: else whatever still stands in the kernel is waited
            // for, so that no other run meets it.
            if isShutDown { return finish(serial, .lost(.runner)) }
        }
        pollProcessGroup(of: serial, at: now)
    }

    /// The leader of the group ended. The others have as long as it had.
    mutating func pollProcessGroup(of serial: UInt64, at now: Int64) {
        guard let child = children[serial], child.taken != nil else { return }
        guard kill(child, 0) else {
            switch child.stage {
            case .running: return
            case .ending(let outcome, _), .killed(let outcome, _): return finish(serial, outcome)
            }
        }
        timers.set(serial, at: now + Self.groupLook)
    }

    mutating func shutDown(_ grace: Duration) {
        isShutDown = true
        // What was never begun has no mark, and the next life begins it.
        waiting = []
        early = [:]
        reading = [:]
        for serial in Array(serials.values) {
            reap(of: serial)
            end(serial, .stopped, grace: grace)
        }
        shutDownLeftovers(grace: grace)
    }

    // MARK: - Standing still

    /// Stops the group where it stands. Its time limit stands still with it.
    mutating func suspend(_ run: Run.ID) {
        guard let serial = serials[run], let child = children[serial],
            case .running = child.stage
        else { return }
        if let deadline = child.deadline {
            children[serial]?.left = max(0, deadline - RunnerClock.awake())
            children[serial]?.deadline = nil
        }
        kill(child, SIGSTOP)
    }

    /// Lets it go on, and its time limit with it.
    mutating func resume(_ run: Run.ID) {
        guard let serial = serials[run], let child = children[serial] else { return }
        if let left = child.left {
            let deadline = RunnerClock.awake() + left
            children[serial]?.left = nil
            children[serial]?.deadline = deadline
            timers.set(serial, at: deadline)
        }
        kill(child, SIGCONT)
    }

    /// Sends a signal to the process group of a run, or asks with 0 whether it has a member.
    /// - Returns: whether there was somebody to send it to.
    @discardableResult
    func kill(_ child: Child, _ number: Int32) -> Bool {
        guard let descriptor = child.pidfd ?? child.group else { return false }
        // The process of a run that an earlier runner began is somebody else's, who takes its end.
        let isTaken = child.pidfd == nil || !child.isOwn && hasEnded(child)
        let result = cspawn_signal_group(descriptor, child.pid, isTaken, number)
        let isThere = result == 0 || errno == EPERM
        // Before its program runs it may not have made its group yet.
        if child.launch != nil, number != 0 {
            return cspawn_signal(descriptor, number) == 0 || isThere
        }
        return isThere
    }

    /// Whether the process has ended, be it that its end cannot be taken yet.
    func hasEnded(_ child: Child) -> Bool {
        guard let pidfd = child.pidfd else { return true }
        var ending = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        return poll(&ending, 1, 0) > 0
    }
}
