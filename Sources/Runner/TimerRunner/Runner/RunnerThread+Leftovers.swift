// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// Terminates the processes that a run left in its control group when it ended.
///
/// A process that is about to end by itself, such as a `tee` started by a shell, gets a moment for
/// that. Then every process in the group gets SIGTERM, and after the `kill-timeout` of the job
/// SIGKILL. The run itself does not wait for this.
extension RunnerThread {
    /// How long the processes that a run left behind may continue.
    static let leftoversTimeout: Int64 = 1_000_000_000

    /// How many of them get SIGTERM, and how many of them are named; a fork bomb may have left any
    /// number.
    static let leftoversMax = 1024
    static let leftoversNamed = 8
    /// How many pidfds are open at a time for that.
    private static let leftoversAtOnce = 64

    /// A control group that a run left behind with processes in it.
    struct LeftoverGroup {
        var run: Run.ID
        var name: String
        var grace: Duration
        var stage = Stage.waiting
        /// When it is polled next, and since when it is in this stage.
        var next: Int64
        var since: Int64

        enum Stage {
            case waiting
            case ending(killAt: Int64)
        }
    }

    /// Removes the control group of a run that is over.
    /// - Parameter wasEnded: whether the run was terminated, which kills everything in the group at
    ///   once.
    mutating func removeGroup(_ name: String, of child: Child, _ serial: UInt64, wasEnded: Bool) {
        let isKept = ControlGroups.isKept(name)
        if wasEnded, !isKept { groups?.kill(name) }
        guard groups?.remove(name) == false else { return }
        let now = RunnerClock.awake()
        timers.set(serial, at: now + Self.cleanupDelay)
        guard !wasEnded, !isKept else { return }
        watchGroup(name, of: child.id, grace: child.killTimeout, serial, at: now)
    }

    /// Terminates the processes in a control group, unless they end by themselves in a moment.
    mutating func watchGroup(
        _ name: String, of run: Run.ID, grace: Duration, _ serial: UInt64, at now: Int64
    ) {
        guard groups?.isPopulated(name) == true else { return }
        let next = now + Self.leftoversTimeout
        leftGroups[serial] = LeftoverGroup(
            run: run, name: name, grace: grace, next: next, since: now)
        if isShutDown { return terminate(serial, grace: .zero, at: now) }
        timers.set(serial, at: next)
    }

    /// Polls the processes that a run left behind, if that is due.
    mutating func pollLeftovers(of serial: UInt64, at now: Int64) {
        guard let left = leftGroups[serial], now >= left.next else { return }
        guard groups?.isPopulated(left.name) == true else {
            leftGroups[serial] = nil
            return
        }
        switch left.stage {
        case .waiting: terminate(serial, grace: left.grace, at: now)
        case .ending(let killAt):
            guard now >= killAt else { return awaitLeftovers(serial, killAt: killAt, at: now) }
            groups?.kill(left.name)
            leftGroups[serial] = nil
            timers.set(serial, at: now + Self.cleanupDelay)
        }
    }

    /// The longer the processes take to end, the less often they are polled.
    private mutating func awaitLeftovers(_ serial: UInt64, killAt: Int64, at now: Int64) {
        guard let since = leftGroups[serial]?.since else { return }
        let next = min(killAt, now + max(Self.cleanupDelay, (now - since) / 2))
        leftGroups[serial]?.next = next
        timers.set(serial, at: next)
    }

    /// Sends SIGTERM to the processes that a run left behind, and reports them.
    private mutating func terminate(_ serial: UInt64, grace: Duration, at now: Int64) {
        guard let left = leftGroups[serial] else { return }
        let span = max(.zero, min(grace, Runner.graceMax)).wholeNanoseconds
        leftGroups[serial]?.stage = .ending(killAt: now + span)
        leftGroups[serial]?.since = now
        let (count, named) = signalLeftovers(in: left.name)
        if count > 0 { handler(.leftBehind(left.run, count: count, named: named)) }
        awaitLeftovers(serial, killAt: now + span, at: now)
    }

    /// Terminates what runs left behind when the runner shuts down, within the same grace period.
    mutating func shutDownLeftovers(grace: Duration) {
        let now = RunnerClock.awake()
        for (serial, left) in leftGroups {
            switch left.stage {
            case .waiting: terminate(serial, grace: min(grace, left.grace), at: now)
            case .ending(let before):
                let span = max(.zero, min(grace, Runner.graceMax)).wholeNanoseconds
                let killAt = min(before, now + span)
                leftGroups[serial]?.stage = .ending(killAt: killAt)
                awaitLeftovers(serial, killAt: killAt, at: now)
            }
        }
    }

    /// - Returns: how many processes there were, and the first of them as `sleep (4711), sh (4712)`.
    private func signalLeftovers(in name: String) -> (count: Int, named: [UInt8]) {
        guard let groups else { return (0, []) }
        var rest = groups.processes(in: name)[...]
        let count = rest.count
        var named: [String] = []
        rest = rest.prefix(Self.leftoversMax)
        while !rest.isEmpty {
            let opened = rest.prefix(Self.leftoversAtOnce).map { ($0, cspawn_open_process($0)) }
            rest = rest.dropFirst(Self.leftoversAtOnce)
            // The process id may have been reused. If it is in the group after the pidfd was
            // opened, the pidfd refers to that process, or to a process that has ended.
            let members = Set(groups.processes(in: name))
            for (pid, descriptor) in opened where descriptor >= 0 {
                defer { close(descriptor) }
                guard members.contains(pid) else { continue }
                if named.count < Self.leftoversNamed { named.append(Self.title(of: pid)) }
                _ = cspawn_signal(descriptor, SIGTERM)
                // A process that is stopped takes SIGTERM only once it continues.
                _ = cspawn_signal(descriptor, SIGCONT)
            }
        }
        if count > named.count { named.append("…") }
        return (count, Array(named.joined(separator: ", ").utf8))
    }

    private static func title(of pid: Int32) -> String {
        let name = ProcFile.text("/proc/\(pid)/comm").flatMap { ProcFile.lines(of: $0).first }
        return "\(name ?? "?") (\(pid))"
    }
}
