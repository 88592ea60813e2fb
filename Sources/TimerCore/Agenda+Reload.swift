// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A newly read configuration on its way into the agenda.
public struct Reload: Sendable {
    let roster: Roster
    let names: Set<Job.Name>
    /// Which job takes over the state of a job whose name the configuration does not have any more.
    let heirs: [Job.Name: Int]

    /// Prepares a reload; this needs no agenda.
    /// - Complexity: O(*n*) in the number of jobs.
    public init(_ roster: Roster) {
        self.roster = roster
        names = Set(roster.jobs.map(\.name))
        var heirs: [Job.Name: Int] = [:]
        for (index, job) in roster.jobs.enumerated() {
            if let old = job.renamedFrom { heirs[old] = index }
        }
        self.heirs = heirs
    }
}

extension Agenda {
    /// What a reload to this roster would do, as of now. Nothing is changed.
    /// - Complexity: O(*n*) in the number of jobs.
    public func preview(_ roster: Roster, at now: Now) -> ReloadPreview {
        var preview = ReloadPreview()
        let names = Set(roster.jobs.map(\.name))
        for job in roster.jobs {
            if let entry = slot(of: job.name).flatMap({ entries[$0] }) {
                let line = ReloadPreview.Line(job: job.name, accrued: entry.accrued(at: now))
                if entry.job == job {
                    preview.kept.append(line)
                } else {
                    preview.changed.append(line)
                }
            } else {
                preview.added.append(
                    ReloadPreview.Line(job: job.name, accrued: accruedOfNew(job, at: now)))
            }
        }
        for slot in order {
            guard let entry = entries[slot], !names.contains(entry.job.name) else { continue }
            preview.removed.append(
                ReloadPreview.Line(job: entry.job.name, accrued: entry.accrued(at: now)))
        }
        return preview
    }

    /// What a job that is new would begin with: the account of its name, or of the name it had before.
    private func accruedOfNew(_ job: Job, at now: Now) -> Duration {
        if let found = archived[job.name] { return found.record.accrued }
        guard let old = job.renamedFrom else { return .zero }
        if let entry = slot(of: old).flatMap({ entries[$0] }) { return entry.accrued(at: now) }
        return archived[old]?.record.accrued ?? .zero
    }

    /// Takes a newly read configuration: jobs are told apart by name, and one whose definition is the
    /// same keeps its timer to the nanosecond.
    mutating func reload(_ reload: Reload, at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        var batch = Batch()
        var actions: [Action] = []
        var change = RosterChange()
        var removed: [Job.Name] = []
        var added: [Job.Name] = []
        var changed: [Job.Name] = []
        for slot in order {
            guard let entry = entries[slot], !reload.names.contains(entry.job.name) else {
                continue
            }
            removed.append(entry.job.name)
            if let heir = heir(of: entry, in: reload) {
                added.append(heir.name)
                rename(slot, to: heir.name, at: now, into: &change, &batch)
            } else {
                remove(slot, at: now, into: &change, &batch)
            }
        }
        let renamed = Set(change.renamed.map(\.to))
        var newOrder: [Int] = []
        order = []
        for job in reload.roster.jobs {
            if let slot = slot(of: job.name) {
                newOrder.append(slot)
                guard let entry = entries[slot], entry.job != job else { continue }
                if !renamed.contains(job.name) { changed.append(job.name) }
                replace(slot, with: job, at: now, into: &change, &batch)
            } else {
                added.append(job.name)
                actions += add(job, at: now, into: &change)
                guard let slot = slot(of: job.name) else { continue }
                newOrder.append(slot)
                if let record = entries[slot]?.record(at: now, life: life) {
                    change.records.append(record)
                }
            }
        }
        order = newOrder
        // What is to be written of a run finds its job under the new name.
        if !change.isEmpty { actions = [.adopt(change, durable: false)] + actions }
        actions += batch.actions
        if !actions.isEmpty { actions.append(.save([], durable: true)) }
        let kept = reload.roster.jobs.count - added.count - changed.count
        return actions
            + [.tell(.reloaded(added: added, changed: changed, removed: removed, kept: kept))]
    }

    /// The job that takes over the state of this one, whose name the configuration does not have any more: it
    /// says so, and has no state of its own.
    private func heir(of entry: Entry, in reload: Reload) -> Job? {
        guard let index = reload.heirs[entry.job.name] else { return nil }
        let heir = reload.roster.jobs[index]
        return slot(of: heir.name) == nil && archived[heir.name] == nil ? heir : nil
    }

    /// Gives a job another name: its state, its active and waiting runs and what is known of its last one stay
    /// with it.
    private mutating func rename(
        _ slot: Int, to name: Job.Name, at now: Now, into change: inout RosterChange,
        _ batch: inout Batch
    ) {
        guard var entry = entries[slot] else { return }
        let old = entry.job.name
        takeTimerDown(slot, of: old, into: &batch)
        if retryDue[slot] != nil {
            retryDue.remove(slot)
            batch.timers.append(.disarmRetry(old))
        }
        slots.remove(old, in: entries)
        entry.job.name = name
        // What chance adds to it is drawn by the name.
        entry.chance = Chance(seed: seed, job: name)
        entry.dropSlot()
        var renaming = Renaming(from: old, to: name)
        renameRuns(&entry, &renaming)
        change.renamed.append(renaming)
        change.records.append(entry.record(at: now, life: life))
        entries[slot] = entry
        slots.insert(slot, in: entries)
        batch.notices.append(.tell(.renamed(name, from: old)))
    }

    /// Moves the runs of a job that has another name now. Those that were told to start are known to others by
    /// their identity, and keep it; the others take the new name, under which they will be started.
    private mutating func renameRuns(_ entry: inout Entry, _ renaming: inout Renaming) {
        for index in entry.live.indices {
            let run = entry.live[index].id
            guard let wait = entry.live[index].wait else {
                give(run, to: renaming.to)
                continue
            }
            renaming.waiting.append(run)
            entry.live[index].id = run.renamed(renaming.to)
            if wait == .place {
                waiting.update { if $0.id == run { $0 = $0.renamed(renaming.to) } }
            }
        }
        for index in entry.held.indices {
            entry.held[index].run = entry.held[index].run.renamed(renaming.to)
        }
    }

    /// Puts a changed definition in the place of the old one. The account stays: what accrued counts
    /// towards the new interval, and if it is past that already the job is due at once.
    private mutating func replace(
        _ slot: Int, with job: Job, at now: Now, into change: inout RosterChange,
        _ batch: inout Batch
    ) {
        guard var entry = entries[slot] else { return }
        let runsBefore = batch.runs.count
        let changesSlots =
            entry.job.schedule != job.schedule
            || entry.job.policy.randomOffset != job.policy.randomOffset
        if changesSlots {
            // A job that is to fire so long after the boot is so still if that is another time.
            entry.isDueThisBoot =
                entry.isDueThisBoot && entry.job.schedule.isSinceBoot && job.schedule.isSinceBoot
            entry.slot = nil
            entry.seen = now.wall
        }
        if entry.job.count != job.count {
            // What follows counts by another clock.
            if entry.ledger.isOpen { counting -= 1 }
            entry.ledger.close(at: entry.counted(at: now))
        }
        entry.job = job
        let ended = entry.follow(configuredPaused: job.paused, at: now)
        entry.leaveFinishedIfRecurring(at: now)
        if let ended {
            unpause(slot, &entry, ended, by: .configuration, at: now, into: &batch)
        } else {
            batch.timers += settle(slot, &entry, at: now)
        }
        let record = entry.record(at: now, life: life)
        entries[slot] = entry
        // A run and what it changes of its job's state are written together.
        if batch.runs.count > runsBefore {
            batch.records.append(record)
        } else {
            change.records.append(record)
        }
        // What had to wait by the old policy may not have to by the new one.
        release(slot, at: now, into: &batch)
    }

    /// Takes the job out and keeps its record. A run of it goes on.
    private mutating func remove(
        _ slot: Int, at now: Now, into change: inout RosterChange, _ batch: inout Batch
    ) {
        guard var entry = entries[slot] else { return }
        takeTimerDown(slot, of: entry.job.name, into: &batch)
        heldUp.remove(slot)
        if entry.ledger.isOpen { counting -= 1 }
        entry.ledger.close(at: entry.counted(at: now))
        if case .paused(let pause) = entry.phase, pause.withRun {
            batch.ends += entry.toldRuns.map { .resume($0) }
        }
        callOff(slot, &entry, .stopped, into: &batch)
        let record = entry.record(at: now, life: life, removed: now.wall)
        change.records.append(record)
        archived[entry.job.name] = ArchivedJob(record: record, lastRun: entry.lastRun)
        slots.remove(entry.job.name, in: entries)
        entries[slot] = nil
        freeSlots.append(slot)
    }

    private mutating func takeTimerDown(
        _ slot: Int, of job: Job.Name, into batch: inout Batch
    ) {
        let hadTimer = due[slot] != nil || wallDue[slot] != nil
        unqueue(slot)
        if hadTimer { batch.timers.append(.disarm(job)) }
    }
}
