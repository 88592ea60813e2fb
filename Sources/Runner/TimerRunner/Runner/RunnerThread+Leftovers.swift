// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// Terminates the processes that a run left in its control group when it ended. The run itself does
/// not wait for this.
extension RunnerThread {
    /// How many of them get SIGTERM, and how many of them are named; a fork bomb may have left any
    /// number.
    static let leftoversMax = 1024
    static let leftoversNamed = 8
    /// How many pidfds are open at a time for that.
    private static let leftoversAtOnce = 64

    /// Removes the control group of a run that is over.
    /// - Parameter wasEnded: whether the run was terminated, which kills everything in the group at
    ///   once.
    mutating func removeGroup(_ name: String, of child: Child, _ serial: UInt64, wasEnded: Bool) {
        let isKept = ControlGroups.isKept(name)
        if wasEnded, !isKept { groups?.kill(name) }
        guard groups?.remove(name) == false else { return }
        let now = RunnerClock.awake()
        timers.set(serial, at: now + Leftovers.pollInterval)
        guard !wasEnded, !isKept else { return }
        watchGroup(
            Leftovers.Group(run: child.id, name: name, grace: child.killTimeout), serial, at: now)
    }

    /// Takes over the control group of a run that ended while no runner was running, or shortly
    /// before.
    mutating func takeOverGroup(_ group: RunRegistry.Group, of run: Run.ID) {
        guard groups?.has(group.name) == true, !ControlGroups.isKept(group.name) else { return }
        watchGroup(
            Leftovers.Group(run: run, name: group.name, grace: group.killTimeout),
            children.nextSerial(), at: RunnerClock.awake())
    }

    /// Terminates the processes in a control group, unless they end by themselves in a moment.
    private mutating func watchGroup(_ group: Leftovers.Group, _ serial: UInt64, at now: Int64) {
        guard groups?.isPopulated(group.name) == true else { return }
        let next = leftovers.add(group, serial, at: now)
        if isShutDown {
            perform(leftovers.end(serial, within: .zero, at: now), serial)
        } else {
            timers.set(serial, at: next)
        }
    }

    /// Polls the processes that a run left behind, if that is due.
    mutating func pollLeftovers(of serial: UInt64, at now: Int64) {
        guard let group = leftovers.due(serial, at: now) else { return }
        if groups?.isPopulated(group.name) == true {
            perform(leftovers.step(serial, at: now), serial)
        } else {
            leftovers.remove(serial)
        }
    }

    /// Terminates what runs left behind when the runner shuts down, within the same grace period.
    mutating func shutDownLeftovers(grace: Duration) {
        let now = RunnerClock.awake()
        for serial in leftovers.serials {
            perform(leftovers.end(serial, within: grace, at: now), serial)
        }
    }

    private mutating func perform(_ step: Leftovers.Step?, _ serial: UInt64) {
        switch step {
        case nil: break
        case .wait(let until): timers.set(serial, at: until)
        case .terminate(let group, let until):
            let (count, named) = signalLeftovers(in: group.name)
            if count > 0 { events.report(.leftBehind(group.run, count: count, named: named)) }
            timers.set(serial, at: until)
        case .kill(let group, let until):
            groups?.kill(group.name)
            timers.set(serial, at: until)
        }
    }

    /// Sends SIGTERM to the processes that a run left behind.
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
