// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The runs that have not ended. Each run is in exactly one place and in one state. A job without
/// runs allocates nothing.
struct RunTable: Sendable {
    /// Where the runs of a job are kept: by slot, or by name if the job is not in the
    /// configuration.
    enum JobKey {
        /// A job of the configuration, by its slot.
        case slot(Int)
        /// A job that the configuration does not name.
        case other(Job.Name)
    }

    /// The effect of a transition on a run. A run that has ended is not in the table any more.
    struct Change {
        var before: RunState
        var run: ActiveRun
    }

    /// The runs of configured jobs by slot, oldest first.
    private var bySlot: [[ActiveRun]] = []
    /// The runs of jobs that are not in the configuration.
    private var others: [Job.Name: [ActiveRun]] = [:]
    /// The current name of the job, for runs that were started under another name.
    private var owners: [Run.ID: Job.Name] = [:]
    /// The runs that wait for `max-concurrent`, in the order in which they were due. It may contain
    /// runs that have been cancelled.
    private var capacityQueue = Fifo<(ticket: UInt64, run: Run.ID)>()
    private var lastTicket: UInt64 = 0
    /// Who holds the slots, and who waits for them.
    private(set) var slots = RunSlots()
    /// The number of runs that were started and have not ended.
    private(set) var startedCount = 0
    /// The number of runs that wait for `max-concurrent`.
    private(set) var capacityCount = 0
    /// The number of runs that wait for their condition, or for the answer to a check of it.
    private(set) var conditionCount = 0
    /// Whether any job depends on when its last run ends.
    private var followsEnds = false
    /// The slots whose jobs may have got their first run or lost their last one.
    private var changed: [Int] = []

    /// The runs of the job in this slot, oldest first.
    subscript(slot: Int) -> [ActiveRun] { bySlot[slot] }

    /// The runs of a job that is not in the configuration, oldest first.
    subscript(removed job: Job.Name) -> [ActiveRun] { others[job] ?? [] }

    /// All slots.
    var slotIndices: Range<Int> { bySlot.indices }

    /// Reserves memory for this many further slots.
    mutating func reserve(_ count: Int) { bySlot.reserveCapacity(bySlot.count + count) }

    /// Adds this slot, without runs, if it is the one after the last.
    mutating func addSlot(_ slot: Int) { if slot == bySlot.count { bySlot.append([]) } }

    /// The state of a run; nil if it is not in the table.
    func state(of run: Run.ID, of job: JobKey) -> RunState? { self[run, of: job]?.state }

    /// A run of the job; nil if it is not in the table.
    subscript(run: Run.ID, of job: JobKey) -> ActiveRun? {
        let runs: [ActiveRun]
        switch job {
        case .slot(let slot): runs = self[slot]
        case .other(let name): runs = others[name] ?? []
        }
        return runs.first { $0.id == run }
    }

    /// Adds a run to those of its job.
    mutating func add(_ run: ActiveRun, of job: JobKey) {
        var run = run
        run.takeTicket(after: &lastTicket)
        switch job {
        case .slot(let slot):
            bySlot[slot].append(run)
            if followsEnds { changed.append(slot) }
        case .other(let name): others[name, default: []].append(run)
        }
        count(from: nil, to: run)
    }

    /// Applies a transition to a run, if its state allows it.
    /// - Returns: the effect; nil if there is no such run, or if its state does not allow the
    ///   transition.
    mutating func apply(
        _ transition: RunTransition, to run: Run.ID, of job: JobKey
    ) -> Change? {
        let change: Change?
        switch job {
        case .slot(let slot):
            change = Self.apply(transition, to: run, in: &bySlot[slot], &lastTicket)
            if followsEnds, bySlot[slot].isEmpty { changed.append(slot) }
        case .other(let name):
            guard others[name] != nil else { return nil }
            change = Self.apply(
                transition, to: run, in: &others[name, default: []], &lastTicket)
            if others[name]?.isEmpty == true { others[name] = nil }
        }
        if let change { count(from: change.before, to: change.run) }
        return change
    }

    /// Cancels the selected runs of the job in this slot, as far as they have not started.
    /// - Returns: the runs that were cancelled, which are not in the table any more.
    /// - Complexity: O(*n*) in the number of runs of the job.
    mutating func cancel(
        _ slot: Int, as outcome: RunOutcome, where isChosen: (ActiveRun) -> Bool
    ) -> [ActiveRun] {
        var cancelled: [ActiveRun] = []
        var left: [ActiveRun] = []
        for var run in self[slot] {
            guard isChosen(run), let state = run.state.after(.cancel(outcome)) else {
                left.append(run)
                continue
            }
            let before = run.state
            run.state = state
            cancelled.append(run)
            count(from: before, to: run)
        }
        if !cancelled.isEmpty { bySlot[slot] = left }
        if followsEnds, left.isEmpty { changed.append(slot) }
        return cancelled
    }

    private static func apply(
        _ transition: RunTransition, to run: Run.ID, in runs: inout [ActiveRun],
        _ lastTicket: inout UInt64
    ) -> Change? {
        guard let index = runs.firstIndex(where: { $0.id == run }),
            let state = runs[index].state.after(transition)
        else { return nil }
        let before = runs[index].state
        runs[index].state = state
        runs[index].takeTicket(after: &lastTicket)
        if case .start(let event) = transition { runs[index].event = event }
        if case .ended = state { return Change(before: before, run: runs.remove(at: index)) }
        return Change(before: before, run: runs[index])
    }

    /// Updates the counts and the queue after a change of a run.
    private mutating func count(from before: RunState?, to run: ActiveRun) {
        if before?.takesPlace == true { startedCount -= 1 }
        if run.state.takesPlace { startedCount += 1 }
        if case .waiting(.capacity) = before { capacityCount -= 1 }
        if case .waiting(.capacity) = run.state {
            capacityCount += 1
            let waiter = (ticket: run.ticket, run: run.id)
            if run.ticket == lastTicket {
                capacityQueue.append(waiter)
            } else {
                capacityQueue.insert(waiter) { $0.ticket > run.ticket }
            }
        }
        if before?.awaitsCondition == true { conditionCount -= 1 }
        if run.state.awaitsCondition { conditionCount += 1 }
        if let job = run.job, !job.wrappedValue.policy.slots.isEmpty {
            slots.note(from: before, to: run, job.wrappedValue.policy.slots)
        }
    }

    /// Changes a run without a change of its state.
    mutating func change(_ run: Run.ID, _ slot: Int, _ body: (inout ActiveRun) -> Void) {
        guard let index = bySlot[slot].firstIndex(where: { $0.id == run }) else { return }
        body(&bySlot[slot][index])
    }

    /// Forgets the place of a run that needs no slots any more.
    mutating func forgetPlace(of run: Run.ID) { slots.forget(run) }

    /// Notes that the job in this slot depends on when its last run ends.
    mutating func follow(_ slot: Int) {
        followsEnds = true
        changed.append(slot)
    }

    /// The slots that were noted since the last call, once or more often each.
    mutating func takeChanged() -> [Int] {
        guard !changed.isEmpty else { return [] }
        defer { changed.removeAll(keepingCapacity: true) }
        return changed
    }

    /// Uses the limits of a configuration for the slots.
    mutating func configure(_ configured: [RunSlot]) { slots.configure(configured) }

    /// The first slot that a run, which may wait already, cannot take now; nil if it can start as far
    /// as slots are concerned.
    func busySlot(for run: Run) -> RunSlot.Name? {
        let uses = run.boxedJob.wrappedValue.policy.slots
        return uses.isEmpty ? nil : slots.busy(uses, for: run.id)
    }

    /// Gives the place of the first run in this slot that waits for the slots of its job, or has had
    /// them and waits for its condition, to a new run that replaces it, if that has the same slots.
    mutating func passPlace(_ slot: Int, to run: Run) {
        let uses = run.boxedJob.wrappedValue.policy.slots
        guard !uses.isEmpty, let old = bySlot[slot].first(where: { slots.hasPlace($0.id) }),
            old.job?.wrappedValue.policy.slots == uses
        else { return }
        slots.rename(old.id, to: run.id, uses)
    }

    /// The run that has waited longest of those that can take their slots now. It must be started,
    /// or wait for `max-concurrent`, before the next call.
    mutating func nextForSlots() -> Run.ID? { slots.nextToStart() }

    /// Removes the run that has waited longest for `max-concurrent` from the queue. It may have
    /// been cancelled.
    mutating func nextForCapacity() -> Run.ID? { capacityQueue.popFirst()?.run }
}

/// The assignment of runs to jobs. When a job is renamed, its runs keep the identity they were
/// started with, which contains the old name.
extension RunTable {
    /// The name of the job that a run belongs to.
    /// - Complexity: O(1).
    func job(of run: Run.ID) -> Job.Name {
        owners.isEmpty ? run.firing.job : owners[run] ?? run.firing.job
    }

    /// Forgets the job of a run that ended.
    mutating func forgetJob(of run: Run.ID) {
        if !owners.isEmpty { owners[run] = nil }
    }

    /// Records that a run belongs to a job of this name although its identity contains another
    /// name. Retries are made under this name.
    mutating func give(_ run: Run.ID, to job: Job.Name, slot: Int) {
        noteJob(job, of: run)
        guard let index = bySlot[slot].firstIndex(where: { $0.id == run }) else { return }
        bySlot[slot][index].rename(job)
    }

    private mutating func noteJob(_ job: Job.Name, of run: Run.ID) {
        if run.firing.job != job { owners[run] = job } else { owners[run] = nil }
    }

    /// Adds a run that an earlier instance started.
    mutating func reattach(_ run: ActiveRun, to job: Job.Name, slot: Int?) {
        noteJob(job, of: run.id)
        var run = run
        run.rename(job)
        add(run, of: slot.map { .slot($0) } ?? .other(job))
    }

    /// Handles the removal of the job in this slot from the configuration. None of its runs is
    /// waiting.
    mutating func detach(_ slot: Int, job: Job.Name) {
        guard !self[slot].isEmpty else { return }
        others[job, default: []] += bySlot[slot]
        bySlot[slot] = []
    }

    /// Assigns the runs that were started under these names to the job in this slot, which is in
    /// the configuration again or has now the saved state of another name.
    mutating func attach(_ names: Set<Job.Name>, to slot: Int, job: Job.Name) {
        guard !others.isEmpty else { return }
        var found: [ActiveRun] = []
        for name in names { found += others.removeValue(forKey: name) ?? [] }
        guard !found.isEmpty else { return }
        for index in found.indices {
            noteJob(job, of: found[index].id)
            found[index].rename(job)
        }
        // They are older than the runs that wait, whose order does not change.
        found.sort { $0.id.firing.scheduled < $1.id.firing.scheduled }
        bySlot[slot] = found + bySlot[slot]
    }

    /// Renames the job in this slot. Runs that were started keep their identity, because the runner
    /// and the store know them by it. Runs that wait get the new name, under which they will start.
    /// - Returns: the runs that got the new name, by their old identities.
    mutating func rename(_ slot: Int, to job: Job.Name) -> [Run.ID] {
        var waiting: [Run.ID] = []
        for run in self[slot] {
            guard let wait = run.wait else {
                give(run.id, to: job, slot: slot)
                continue
            }
            waiting.append(run.id)
            if let index = bySlot[slot].firstIndex(where: { $0.id == run.id }) {
                bySlot[slot][index].id = run.id.renamed(job)
                bySlot[slot][index].rename(job)
            }
            if wait == .capacity {
                capacityQueue.update { if $0.run == run.id { $0.run = $0.run.renamed(job) } }
            }
            let uses = run.job?.wrappedValue.policy.slots ?? []
            slots.rename(run.id, to: run.id.renamed(job), uses)
        }
        return waiting
    }
}

extension ActiveRun {
    /// Changes the name of the job. The definition stays as it was when the job fired.
    fileprivate mutating func rename(_ name: Job.Name) {
        firing.id.job = name
        guard let definition = job, definition.wrappedValue.name != name else { return }
        var renamed = definition.wrappedValue
        renamed.name = name
        job = Boxed(wrappedValue: renamed)
    }

    /// The run, as it is passed to the runner; nil for a run of an earlier instance whose job is
    /// not in the configuration.
    var run: Run? { job.map { Run(id: id, firing: firing, job: $0) } }

    /// How long it may take to end, by the definition with which it was started; the default for a
    /// run of an earlier instance whose job is not in the configuration.
    var killTimeout: Duration { (job?.wrappedValue.execution ?? Execution()).killTimeout }
}
