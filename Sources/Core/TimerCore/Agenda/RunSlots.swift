// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Who holds the slots, and who waits for them in which order.
///
/// A run that waits holds nothing, and takes all of its slots at once. It joins the queues of all its
/// slots at the same time, so that two runs are in the same order in each of them: the one that has
/// waited longest of all is the first in each of its queues, and starts when the runs that hold them
/// have ended. So no two runs can wait for each other.
struct RunSlots: Sendable {
    typealias Holder = (run: Run.ID, weight: Int)

    private struct Slot {
        /// Without a limit if the configuration does not have the slot any more, but a run names it.
        var max = Int.max
        var held = 0
        /// The runs that hold it, in the order in which they took it.
        var holders: [Holder] = []
        /// The runs that wait for it. It may contain runs that do not wait any more.
        var queue = Fifo<Waiter>()

        mutating func note(_ run: Run.ID, _ use: RunSlot.Use, holds: Bool) {
            held += holds ? use.weight : -use.weight
            if holds {
                holders.append((run, use.weight))
            } else if let index = holders.firstIndex(where: { $0.run == run }) {
                holders.remove(at: index)
            }
        }
    }

    private struct Waiter {
        var ticket: UInt64
        var run: Run.ID
        var uses: [RunSlot.Use]
    }

    private struct Place {
        var ticket: UInt64
        /// Whether it waits for `max-concurrent` only. It keeps its place in the queues.
        var hasSlots: Bool
    }

    private var slots: [RunSlot.Name: Slot] = [:]
    /// The runs that wait.
    private var places: [Run.ID: Place] = [:]
    /// The tickets of runs whose turn it was, and which are checked or wait for their condition: if
    /// they have to wait for a slot again, they are not behind those that came later.
    private var kept: [Run.ID: UInt64] = [:]
    private var lastTicket: UInt64 = 0
    /// The slots whose first run may be able to start.
    private var changed: [RunSlot.Name] = []

    /// Whether a run that waits may be able to start.
    var hasChanged: Bool { !changed.isEmpty }

    /// The number of runs that wait for a slot, without those that wait for `max-concurrent` only.
    private(set) var waitingCount = 0

    /// Uses the limits of a configuration. What is held stays held.
    mutating func configure(_ configured: [RunSlot]) {
        // What the configuration does not have any more is needed while a run holds it or waits for it.
        slots = slots.filter { $0.value.held > 0 || $0.value.queue.first(where: waits) != nil }
        for name in slots.keys.sorted() {
            slots[name]?.max = Int.max
            changed.append(name)
        }
        for slot in configured {
            slots[slot.name, default: Slot()].max = slot.max
            changed.append(slot.name)
        }
    }

    /// The first of these slots that a run cannot take now: it is taken, or an earlier run waits for
    /// it. Nil if it can take all of them.
    ///
    /// - Parameter run: a run that waits, or nil for one that would have to wait behind the others.
    ///
    /// - Complexity: O(*s*) in the slots, and in the runs that stopped waiting in this event.
    func busy(_ uses: [RunSlot.Use], for run: Run.ID?) -> RunSlot.Name? {
        let ticket = run.flatMap { places[$0]?.ticket ?? kept[$0] }
        return uses.first { use in
            guard let slot = slots[use.name] else { return false }
            let first = slot.queue.first(where: waits)?.ticket
            let isTurn = first.map { first in ticket.map { $0 <= first } ?? false } ?? true
            // After a reload the limit can be less than what a run of before needs. It starts alone.
            return !isTurn || slot.held > slot.max - min(use.weight, slot.max)
        }?.name
    }

    /// Whether a run waits for its slots, or keeps its place while it waits for `max-concurrent` or its
    /// condition.
    func hasPlace(_ run: Run.ID) -> Bool { places[run] != nil || kept[run] != nil }

    private func waits(_ waiter: Waiter) -> Bool { places[waiter.run]?.ticket == waiter.ticket }

    /// Applies the change of a run that has slots.
    mutating func note(from before: RunState?, to run: ActiveRun, _ uses: [RunSlot.Use]) {
        let held = before?.takesPlace == true
        if held != run.state.takesPlace {
            for use in uses { slots[use.name, default: Slot()].note(run.id, use, holds: !held) }
            if held { changed += uses.map(\.name) }
        }
        switch run.state {
        case .waiting(.slot): wait(run.id, uses, hasSlots: false)
        case .waiting(.capacity): wait(run.id, uses, hasSlots: true)
        case .waiting(.check):
            let ticket = places[run.id]?.ticket ?? kept[run.id] ?? nextTicket()
            leave(run.id, uses)
            kept[run.id] = ticket
        case .waiting(.condition): leave(run.id, uses)
        case .waiting(.previousRun), .waiting(.retryDelay), .waiting(.catchUpDelay), .starting,
            .running, .stopping, .stoppingAtStart, .ended:
            leave(run.id, uses)
            kept[run.id] = nil
        }
    }

    /// The run does not wait any more.
    private mutating func leave(_ run: Run.ID, _ uses: [RunSlot.Use]) {
        guard let place = places.removeValue(forKey: run) else { return }
        if !place.hasSlots { waitingCount -= 1 }
        changed += uses.map(\.name)
    }

    private mutating func nextTicket() -> UInt64 {
        lastTicket += 1
        return lastTicket
    }

    private mutating func wait(_ run: Run.ID, _ uses: [RunSlot.Use], hasSlots: Bool) {
        if let place = places[run] {
            places[run]?.hasSlots = hasSlots
            if place.hasSlots != hasSlots { waitingCount += hasSlots ? -1 : 1 }
            return
        }
        let old = kept.removeValue(forKey: run)
        let ticket = old ?? nextTicket()
        places[run] = Place(ticket: ticket, hasSlots: hasSlots)
        if !hasSlots { waitingCount += 1 }
        let waiter = Waiter(ticket: ticket, run: run, uses: uses)
        for use in uses {
            if old == nil {
                slots[use.name, default: Slot()].queue.append(waiter)
            } else {
                slots[use.name, default: Slot()].queue.insert(waiter) { $0.ticket > ticket }
            }
        }
    }

    /// The run that has waited longest of those that can take their slots now. It must be started,
    /// or wait for `max-concurrent`, or be removed, before the next call.
    ///
    /// - Complexity: O(*s*) in the slots that changed.
    mutating func nextToStart() -> Run.ID? {
        var best: Waiter?
        var left: [RunSlot.Name] = []
        for name in changed where !left.contains(name) {
            guard let first = first(of: name), places[first.run]?.hasSlots == false,
                busy(first.uses, for: first.run) == nil
            else { continue }
            left.append(name)
            if first.ticket < best?.ticket ?? .max { best = first }
        }
        changed = left
        return best?.run
    }

    /// Forgets the place of a run that waits for its condition, and needs no slots any more.
    mutating func forget(_ run: Run.ID) { kept[run] = nil }

    /// Changes the identity of a run that waits.
    /// - Complexity: O(*n*) in the runs that wait for its slots.
    mutating func rename(_ run: Run.ID, to new: Run.ID, _ uses: [RunSlot.Use]) {
        if let ticket = kept.removeValue(forKey: run) { kept[new] = ticket }
        guard let place = places.removeValue(forKey: run) else { return }
        places[new] = place
        for use in uses {
            slots[use.name]?.queue.update { if $0.run == run { $0.run = new } }
        }
    }

    /// The first run that waits for a slot. Those that stopped waiting are removed.
    private mutating func first(of name: RunSlot.Name) -> Waiter? {
        while let first = slots[name]?.queue.first, !waits(first) {
            _ = slots[name]?.queue.popFirst()
        }
        return slots[name]?.queue.first
    }
}

extension RunSlots {
    /// The slots of the configuration, by name.
    var names: [RunSlot.Name] { slots.filter { $0.value.max < .max }.keys.sorted() }

    /// Nil if the configuration does not have the slot.
    ///
    /// - Parameter holder: what is shown of a run that holds it.
    /// - Complexity: O(*n*) in the runs that wait for it.
    func view(
        of name: RunSlot.Name, holder: (Holder) -> RunSlotView.Holder
    ) -> RunSlotView? {
        guard let slot = slots[name], slot.max < .max else { return nil }
        return RunSlotView(
            slot: RunSlot(name: name, max: slot.max), held: slot.held,
            holders: slot.holders.map(holder), waiting: slot.queue.filter(waits).map(\.run))
    }
}

/// Who holds a slot, and who waits for it.
public struct RunSlotView: Sendable {
    public var slot: RunSlot
    /// How much of it is held. It can be more than its limit after a reload that lowered that.
    public var held: Int
    /// The runs that hold it, in the order in which they took it.
    public var holders: [Holder]
    /// The runs that wait for it, in their order.
    public var waiting: [Run.ID]

    public struct Holder: Sendable {
        public var run: Run.ID
        public var weight: Int
        /// The job that the run belongs to.
        public var job: Job.Name
        /// When its process started; nil while that is not known.
        public var began: WallInstant?
    }
}

extension Agenda {
    /// Starts the runs that wait for slots, in their order, as far as the slots are free.
    mutating func admitWaitingForSlots(at now: Now) -> [Action] {
        guard runs.slots.hasChanged, !isShutDown else { return [] }
        var batch = Batch()
        while let id = runs.nextForSlots() {
            guard let slot = slot(of: id), let run = runs[id, of: .slot(slot)]?.run else { break }
            if hasRoom {
                start(run, at: now, into: &batch)
            } else {
                _ = runs.apply(.wait(.capacity), to: id, of: .slot(slot))
            }
        }
        return batch.actions
    }

    /// The slots of the configuration, by name.
    public var slotNames: [RunSlot.Name] { runs.slots.names }

    /// Who holds a slot, and who waits for it; nil if the configuration does not have it.
    /// - Complexity: O(*n*) in the runs that wait for it.
    public func slot(_ name: RunSlot.Name) -> RunSlotView? {
        runs.slots.view(of: name) { holder in
            RunSlotView.Holder(
                run: holder.run, weight: holder.weight, job: owner(of: holder.run),
                began: activeRun(holder.run)?.began)
        }
    }

    /// The slot that a run waits for: the first of those of its job that it cannot take. Nil if it waits
    /// for none.
    public func slot(awaitedBy run: ActiveRun) -> RunSlot.Name? {
        guard run.wait == .slot, let uses = run.job?.wrappedValue.policy.slots else { return nil }
        return runs.slots.busy(uses, for: run.id)
    }

    /// The number of runs that wait for slots.
    public var waitingForSlots: Int { runs.slots.waitingCount }
}
