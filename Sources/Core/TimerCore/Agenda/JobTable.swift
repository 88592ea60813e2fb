// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The jobs of the configuration, by slot and by name, and their order.
///
/// A slot is a small number that a job keeps for as long as it is in the configuration, so that
/// queues hold numbers and not names. A name belongs to at most one slot. The slot of a removed job
/// is used again, but only after it has left the order.
struct JobTable: Sendable {
    /// Nil where a job was removed.
    private var entries: [JobEntry?] = []
    /// Slots that can be used again.
    private var free: [Int] = []
    private var index = SlotIndex()
    /// The slots in the order of the configuration. During a reload this is the old order, followed
    /// by the new jobs, and the slots of removed jobs are empty.
    private(set) var order: [Int] = []
    /// How many ledgers are open.
    private(set) var openLedgers = 0
    /// How many of the jobs are one-off jobs.
    private(set) var oneOffs = 0
    /// The hold of the machine; nil while it is not held.
    private var boxedHold: Boxed<MachineHold>?

    /// The number of jobs.
    var count: Int { index.count }

    /// The number of slots, with those that are empty.
    var slotCount: Int { entries.count }

    /// The job in a slot; nil if it is empty.
    ///
    /// The name of a job and whether it is a one-off job are changed with `rename` and `redefine`. While
    /// the machine is held, each job is as the hold leaves it.
    subscript(slot: Int) -> JobEntry? {
        // Most readers want one property, for which a job is not copied.
        _read {
            if let boxedHold {
                yield entries[slot]?.under(boxedHold.wrappedValue)
            } else {
                yield entries[slot]
            }
        }
        set { entries[slot] = newValue }
    }

    /// The hold of the machine; nil while it is not held.
    var hold: MachineHold? { boxedHold?.wrappedValue }

    var isHeld: Bool { boxedHold != nil }

    /// Holds the machine, or changes the terms of its hold. No ledger is open then, whatever is stored of
    /// the jobs.
    /// - Complexity: O(1).
    mutating func hold(_ hold: MachineHold) {
        boxedHold = Boxed(wrappedValue: hold)
        openLedgers = 0
    }

    /// Ends the hold. What it was for each job is a pause from now on, which the caller ends.
    /// - Complexity: O(*n*) in the number of jobs.
    mutating func endHold() {
        guard isHeld else { return }
        for slot in entries.indices { entries[slot] = self[slot] }
        boxedHold = nil
    }

    /// Counts the ledger of a job as open, or not any more. The code that opens and closes ledgers calls
    /// it: a look at the stored job at each change would cost more.
    mutating func noteLedger(wasOpen: Bool, isOpen: Bool) {
        openLedgers += (isOpen ? 1 : 0) - (wasOpen ? 1 : 0)
    }

    /// Takes a record of a job for the store, as `JobEntry.record`; nil if the slot is empty.
    mutating func record(
        _ slot: Int, at now: Now, ahead: Duration, instance: DaemonInstance.ID
    ) -> JobRecord? {
        if isHeld { entries[slot] = self[slot] }
        return entries[slot]?.record(at: now, ahead: ahead, instance: instance)
    }

    /// The slot of a job; nil if there is no job of this name.
    /// - Complexity: O(1) on average.
    func slot(of job: Job.Name) -> Int? { index.slot(of: job, in: entries) }

    /// Reserves memory for this many further jobs: an array that grows step by step may reserve
    /// twice what it needs.
    mutating func reserve(_ count: Int) {
        entries.reserveCapacity(entries.count + count)
        order.reserveCapacity(order.count + count)
        index.reserve(index.count + count, in: entries)
    }

    /// Adds a job, whose ledger is closed, at the end of the order.
    ///
    /// - Parameter isOneOff: whether it is a one-off job.
    /// - Returns: its slot, which may be the one after the last.
    mutating func add(_ entry: JobEntry, isOneOff: Bool) -> Int {
        let slot: Int
        if let unused = free.popLast() {
            slot = unused
            entries[slot] = entry
        } else {
            slot = entries.count
            entries.append(entry)
        }
        index.insert(slot, in: entries)
        order.append(slot)
        if isOneOff { oneOffs += 1 }
        return slot
    }

    /// Stores a job that has another name than before.
    mutating func rename(_ slot: Int, to entry: JobEntry) {
        if let old = entries[slot]?.job.name { index.remove(old, in: entries) }
        entries[slot] = entry
        index.insert(slot, in: entries)
    }

    /// Counts the job as the one-off job that it becomes, or stops to be.
    mutating func redefine(_ slot: Int, as job: Job) {
        let wasOneOff = entries[slot]?.job.isOneOff == true
        oneOffs += (job.isOneOff ? 1 : 0) - (wasOneOff ? 1 : 0)
    }

    /// Empties a slot. It stays in the order, and is not used again, until `reorder` or `close`.
    mutating func remove(_ slot: Int) {
        guard let entry = self[slot] else { return }
        noteLedger(wasOpen: entry.ledger.isOpen, isOpen: false)
        if entry.job.isOneOff { oneOffs -= 1 }
        index.remove(entry.job.name, in: entries)
        entries[slot] = nil
    }

    /// Sets the order of all jobs, after which these empty slots can be used again.
    mutating func reorder(_ slots: [Int], freeing empty: [Int]) {
        order = slots
        free += empty
    }

    /// Takes these empty slots out of the order, after which they can be used again.
    /// - Complexity: O(*n*) in the number of jobs.
    mutating func close(_ empty: Set<Int>) {
        order.removeAll { empty.contains($0) }
        free += empty
    }
}
