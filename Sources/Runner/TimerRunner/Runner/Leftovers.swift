// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The control groups with processes that runs left behind when they ended.
///
/// A process that is about to end by itself, such as a `tee` started by a shell, gets `timeout` for
/// that. Then every process in the group gets SIGTERM, and after the `kill-timeout` of the job
/// SIGKILL. The longer that takes, the less often the group is looked at. Instants are of
/// CLOCK_MONOTONIC, in nanoseconds.
struct Leftovers {
    /// How long the processes may continue.
    static let timeout: Int64 = 1_000_000_000
    /// How soon a group is looked at again that was not empty.
    static let pollInterval: Int64 = 100_000_000

    /// The control group of a run that is over.
    struct Group: Hashable {
        var run: Run.ID
        var name: String
        /// How long its processes have between SIGTERM and SIGKILL.
        var grace: Duration
    }

    /// What to do with a group, and when to call `step` again.
    enum Step: Hashable {
        case wait(until: Int64)
        /// Terminate the processes, which have time until they are killed.
        case terminate(Group, until: Int64)
        /// Kill the processes. The group was removed from here.
        case kill(Group, until: Int64)
    }

    private struct Entry {
        var group: Group
        var stage = Stage.waiting
        /// When it is looked at next, and since when it is in this stage.
        var next: Int64
        var since: Int64

        /// The longer the processes take to end, the less often they are looked at.
        mutating func look(before killAt: Int64, at now: Int64) -> Int64 {
            next = min(killAt, now + max(Leftovers.pollInterval, (now - since) / 2))
            return next
        }

        mutating func terminate(grace: Duration, at now: Int64) -> Step {
            let killAt = now + Leftovers.span(grace)
            stage = .ending(killAt: killAt)
            since = now
            return .terminate(group, until: look(before: killAt, at: now))
        }
    }

    private enum Stage {
        case waiting
        case ending(killAt: Int64)
    }

    /// By the serial numbers of the children.
    private var entries: [UInt64: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }
    var serials: [UInt64] { Array(entries.keys) }

    /// Adds a group with processes in it.
    /// - Returns: when to call `step`.
    mutating func add(_ group: Group, _ serial: UInt64, at now: Int64) -> Int64 {
        let next = now + Self.timeout
        entries[serial] = Entry(group: group, next: next, since: now)
        return next
    }

    /// The group to look at now; nil if that is not due.
    func due(_ serial: UInt64, at now: Int64) -> Group? {
        guard let entry = entries[serial], now >= entry.next else { return nil }
        return entry.group
    }

    /// Removes a group in which no process remains.
    mutating func remove(_ serial: UInt64) { entries[serial] = nil }

    /// The next step for a group that was due and is not empty.
    mutating func step(_ serial: UInt64, at now: Int64) -> Step? {
        guard let entry = entries[serial] else { return nil }
        switch entry.stage {
        case .waiting: return entries[serial]?.terminate(grace: entry.group.grace, at: now)
        case .ending(let killAt) where now >= killAt:
            entries[serial] = nil
            return .kill(entry.group, until: now + Self.pollInterval)
        case .ending(let killAt):
            return (entries[serial]?.look(before: killAt, at: now)).map { .wait(until: $0) }
        }
    }

    /// Ends the processes of a group within this time, because the runner shuts down.
    mutating func end(_ serial: UInt64, within grace: Duration, at now: Int64) -> Step? {
        guard let entry = entries[serial] else { return nil }
        switch entry.stage {
        case .waiting:
            return entries[serial]?.terminate(grace: min(grace, entry.group.grace), at: now)
        case .ending(let before):
            let killAt = min(before, now + Self.span(grace))
            entries[serial]?.stage = .ending(killAt: killAt)
            return (entries[serial]?.look(before: killAt, at: now)).map { .wait(until: $0) }
        }
    }

    private static func span(_ grace: Duration) -> Int64 {
        max(.zero, min(grace, Runner.graceMax)).wholeNanoseconds
    }
}
