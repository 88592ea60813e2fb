// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// What a run left in its control group when it was over, and what is done about it.
///
/// A process that is about to end by itself, as the `tee` of a shell is, gets a moment for that. Then every process in
/// the group gets SIGTERM, and after the `kill-timeout` of the job SIGKILL. The run itself does not wait for any of it.
extension RunnerThread {
    /// How long the processes that a run left behind may continue.
    static let leftoversPatience: Int64 = 1_000_000_000

    /// To at most so many of them SIGTERM is sent, and so many of them are named; a fork bomb may have left any number.
    static let orphanedOutputsMax = 1024
    static let leftoversNamed = 8
    /// So many descriptors are held at a time for that.
    private static let leftoversAtOnce = 64

    /// A control group that a run left behind with processes in it.
    struct LeftGroup {
        var run: Run.ID
        var name: String
        var grace: Duration
        var stage = Stage.waiting
        /// When it is looked at again, and since when it is in this stage.
        var next: Int64
        var since: Int64

        enum Stage {
            case waiting
            case ending(killAt: Int64)
        }
    }

    /// A run is over, and its control group is not needed any more.
    /// - Parameter wasEnded: whether the run was made to end, which ends everything in the group at once.
    mutating func leaveGroup(_ name: String, of child: Child, _ serial: UInt64, wasEnded: Bool) {
        let isKept = ControlGroups.isKept(name)
        if wasEnded, !isKept { groups?.kill(name) }
        guard groups?.remove(name) == false else { return }
        let now = RunnerClock.awake()
        timers.set(serial, at: now + Self.sweepDelay)
        guard !wasEnded, !isKept else { return }
        watchGroup(name, of: child.id, grace: child.killTimeout, serial, at: now)
    }

    /// Ends what is in a control group, unless it ends by itself in a moment.
    mutating func watchGroup(
        _ name: String, of run: Run.ID, grace: Duration, _ serial: UInt64, at now: Int64
    ) {
        guard groups?.isPopulated(name) == true else { return }
        let next = now + Self.leftoversPatience
        leftGroups[serial] = LeftGroup(run: run, name: name, grace: grace, next: next, since: now)
        if isShutDown { return terminate(serial, grace: .zero, at: now) }
        timers.set(serial, at: next)
    }

    /// Looks at what a run left behind, if it is time to.
    mutating func lookAtLeftovers(of serial: UInt64, at now: Int64) {
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
            timers.set(serial, at: now + Self.sweepDelay)
        }
    }

    /// The longer they take, the less often they are looked at.
    private mutating func awaitLeftovers(_ serial: UInt64, killAt: Int64, at now: Int64) {
        guard let since = leftGroups[serial]?.since else { return }
        let next = min(killAt, now + max(Self.sweepDelay, (now - since) / 2))
        leftGroups[serial]?.next = next
        timers.set(serial, at: next)
    }

    /// Sends SIGTERM to what a run left behind, and tells of it.
    private mutating func terminate(_ serial: UInt64, grace: Duration, at now: Int64) {
        guard let left = leftGroups[serial] else { return }
        let span = max(.zero, min(grace, Runner.graceMax)).wholeNanoseconds
        leftGroups[serial]?.stage = .ending(killAt: now + span)
        leftGroups[serial]?.since = now
        let (count, named) = signalLeftovers(in: left.name)
        if count > 0 { handler(.leftBehind(left.run, count: count, named: named)) }
        awaitLeftovers(serial, killAt: now + span, at: now)
    }

    /// The runner is to end: so is what runs left behind, within the same time.
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
        rest = rest.prefix(Self.orphanedOutputsMax)
        while !rest.isEmpty {
            let opened = rest.prefix(Self.leftoversAtOnce).map { ($0, cspawn_open_process($0)) }
            rest = rest.dropFirst(Self.leftoversAtOnce)
            // Its number may be that of another process by now. One that is in the group after the descriptor was
            // opened is the one that the descriptor means, or the descriptor means none any more.
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
