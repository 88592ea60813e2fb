// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// When a job must be decided about again, if nothing changes before: by the first of these clocks.
struct JobWake: Hashable {
    /// By the wall clock of this machine.
    var wall: WallInstant?
    /// By its clock since the boot.
    var boot: BootInstant?
    /// By the fleet clock.
    var fleet: Duration?

    /// Adds an instant of the wall clock. What has passed already waits for a change and not for a
    /// time, and is left out.
    mutating func add(wall instant: WallInstant, after now: Now) {
        if instant > now.wall { wall = min(wall ?? instant, instant) }
    }

    /// Adds an instant since the boot, likewise.
    mutating func add(boot instant: BootInstant, after now: Now) {
        if instant > now.boot { boot = min(boot ?? instant, instant) }
    }

    /// Adds a reading of the fleet clock, likewise.
    mutating func add(fleet target: Duration, after reading: Duration) {
        if target > reading { fleet = min(fleet ?? target, target) }
    }
}

/// The jobs that must be decided about: those of which something changed, and those that are due.
///
/// The due times of interval jobs that count active time are readings of the fleet clock, so a change of
/// the estimate moves none of them.
struct JobQueue {
    private var slots: [Job.Name: Int] = [:]
    private var names: [Job.Name?] = []
    private var free: [Int] = []
    private var changed: Set<Job.Name> = []
    private var wall = DueQueue<WallInstant>()
    private var boot = DueQueue<BootInstant>()
    private var fleet = DueQueue<Duration>()
    private var circumstances = Circumstances()
    /// The ends of pauses that were noticed.
    private var endedPauses: [Job.Name: WallInstant] = [:]

    /// The first due time by each clock.
    var first: JobWake {
        JobWake(wall: wall.first?.due, boot: boot.first?.due, fleet: fleet.first?.due)
    }

    /// What decides about all jobs alike.
    ///
    /// - Returns: whether it has changed.
    mutating func note(_ new: Circumstances) -> Bool {
        defer { circumstances = new }
        return new != circumstances
    }

    /// Something of the job changed, or of what decides about it.
    mutating func change(_ job: Job.Name) { changed.insert(job) }

    /// Whether the end of a pause, which has passed, was not noticed before.
    mutating func isNew(endOfPause end: WallInstant, of job: Job.Name) -> Bool {
        endedPauses.updateValue(end, forKey: job) != end
    }

    /// Sets when the job is due.
    ///
    /// - Complexity: O(log *n*).
    mutating func set(_ job: Job.Name, _ wake: JobWake) {
        let slot = slots[job] ?? add(job)
        if let due = wake.wall { wall.set(slot, due: due) } else { wall.remove(slot) }
        if let due = wake.boot { boot.set(slot, due: due) } else { boot.remove(slot) }
        if let due = wake.fleet { fleet.set(slot, due: due) } else { fleet.remove(slot) }
    }

    private mutating func add(_ job: Job.Name) -> Int {
        let slot = free.popLast() ?? names.count
        if slot == names.count { names.append(job) } else { names[slot] = job }
        slots[job] = slot
        return slot
    }

    /// Forgets a job that is neither configured nor in the store.
    ///
    /// - Complexity: O(log *n*).
    mutating func remove(_ job: Job.Name) {
        guard let slot = slots.removeValue(forKey: job) else { return }
        wall.remove(slot)
        boot.remove(slot)
        fleet.remove(slot)
        names[slot] = nil
        free.append(slot)
    }

    /// Takes the jobs that changed or are due, in the order of their names.
    ///
    /// - Parameter reading: of the fleet clock; nil while it stands or is not known.
    /// - Complexity: O(*k* log *n*) for *k* jobs.
    mutating func take(at now: Now, reading: Duration?) -> [Job.Name] {
        while let first = wall.first, first.due <= now.wall {
            wall.remove(first.slot)
            change(slot: first.slot)
        }
        while let first = boot.first, first.due <= now.boot {
            boot.remove(first.slot)
            change(slot: first.slot)
        }
        while let reading, let first = fleet.first, first.due <= reading {
            fleet.remove(first.slot)
            change(slot: first.slot)
        }
        defer { changed = [] }
        return changed.sorted()
    }

    private mutating func change(slot: Int) {
        if let name = names[slot] { changed.insert(name) }
    }
}

/// The runs of this machine whose end is not yet in the store.
struct LocalRuns {
    private var rows: [Run.ID: LocalRun] = [:]
    private var runs: [Job.Name: Set<Run.ID>] = [:]
    /// Up to when claimed runs that are not yet handed to the runner may be started.
    private var startable: [Run.ID: BootInstant] = [:]
    /// Those that were ended because this machine lost the store.
    private var isolated: Set<Run.ID> = []

    /// The jobs that have such runs.
    var jobs: Dictionary<Job.Name, Set<Run.ID>>.Keys { runs.keys }

    subscript(run: Run.ID) -> LocalRun? {
        get { rows[run] }
        set {
            rows[run] = newValue
            let job = run.firing.job
            if newValue == nil {
                runs[job]?.remove(run)
                if runs[job]?.isEmpty == true { runs[job] = nil }
            } else {
                runs[job, default: []].insert(run)
            }
        }
    }

    /// A run was claimed.
    ///
    /// - Parameter before: up to when it may be started; nil: not at all.
    mutating func claimed(_ run: Run.ID, startBefore before: BootInstant?) {
        startable[run] = before
    }

    /// Up to when a run may be started that is handed to the runner now.
    mutating func takeStart(_ run: Run.ID) -> BootInstant? { startable.removeValue(forKey: run) }

    /// The store is lost, and the run must end.
    ///
    /// - Returns: whether that is new.
    mutating func endIsolated(_ run: Run.ID) -> Bool { isolated.insert(run).inserted }

    /// The process of the run has ended.
    mutating func isOver(_ run: Run.ID) { isolated.remove(run) }

    /// The runs of a job, the oldest first.
    func of(_ job: Job.Name) -> [LocalRun] {
        (runs[job] ?? []).compactMap { rows[$0] }.sorted {
            ($0.run.firing.scheduled, $0.run.attempt) < ($1.run.firing.scheduled, $1.run.attempt)
        }
    }
}
