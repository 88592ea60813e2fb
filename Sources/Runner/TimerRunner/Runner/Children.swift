// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// The children of the runner, by serial number: those of active runs, and those whose runs have
/// ended while another process has their pipes open. Of the latter only so many are kept.
struct Children {
    private var table: [UInt64: Child] = [:]
    /// The serial numbers of the children of active runs.
    private var active: [Run.ID: UInt64] = [:]
    /// The active runs that send messages.
    private var messages: Set<Run.ID> = []
    /// The active commands of conditions.
    private var checks: Set<Run.ID> = []
    /// The serial numbers of the children whose processes are not reaped, by process id.
    private var processes: [Int32: UInt64] = [:]
    /// The children of runs that have ended, oldest first.
    private var orphaned: [UInt64] = []
    private let orphanedMax: Int
    private var last: UInt64 = 0

    init(orphanedMax: Int) { self.orphanedMax = orphanedMax }

    /// A child; nil if it is removed.
    subscript(_ serial: UInt64) -> Child? { table[serial] }

    /// The serial number for the next child, from 1 on.
    mutating func nextSerial() -> UInt64 {
        last += 1
        return last
    }

    /// Adds the child of an active run.
    mutating func add(_ child: Child, _ serial: UInt64) {
        table[serial] = child
        active[child.id] = serial
        processes[child.process.pid] = serial
        if child.id.isMessage { messages.insert(child.id) }
        if child.id.isCheck { checks.insert(child.id) }
    }

    /// The child of an active run.
    func serial(of run: Run.ID) -> UInt64? { active[run] }

    /// The child whose process has this id, if that is not reaped.
    func serial(ofProcess pid: Int32) -> UInt64? { processes[pid] }

    /// A child if its run is active.
    func active(_ serial: UInt64) -> Child? {
        guard let child = table[serial], active[child.id] == serial else { return nil }
        return child
    }

    /// Whether the run of a child has ended and all of its pipes are closed.
    func isDone(_ serial: UInt64) -> Bool {
        guard let child = table[serial], active[child.id] != serial else { return false }
        return child.output.isClosed
    }

    /// The process with this id is reaped, so another child may get the id.
    mutating func didReap(_ pid: Int32) { processes[pid] = nil }

    /// The run of a child has ended.
    mutating func endRun(of serial: UInt64) {
        guard let child = table[serial] else { return }
        active[child.id] = nil
        messages.remove(child.id)
        checks.remove(child.id)
        // Once its process is reaped, its id may be that of another child.
        if processes[child.process.pid] == serial { processes[child.process.pid] = nil }
    }

    /// Keeps a child whose run has ended.
    /// - Returns: the oldest one, to be removed, if there are too many.
    mutating func keepOrphaned(_ serial: UInt64) -> UInt64? {
        orphaned.append(serial)
        return orphaned.count > orphanedMax ? orphaned.first : nil
    }

    /// Removes a child whose run has ended.
    mutating func remove(_ serial: UInt64) -> Child? {
        if !orphaned.isEmpty { orphaned.removeAll { $0 == serial } }
        return table.removeValue(forKey: serial)
    }

    /// The children of active runs.
    var activeSerials: [UInt64] { Array(active.values) }

    /// All children.
    var serials: [UInt64] { Array(table.keys) }

    /// Whether a run is active.
    var hasActive: Bool { !active.isEmpty }

    /// How many there are.
    var occupancy: StartQueue.Occupancy {
        StartQueue.Occupancy(
            runs: active.count - messages.count - checks.count, messages: messages.count,
            places: table.count, checks: checks.count)
    }
}
