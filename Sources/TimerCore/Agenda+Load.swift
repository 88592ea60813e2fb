// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// How long the record of a job that left the configuration is kept for its name to come back.
    public static let recordKept: Duration = .seconds(30 * 86_400)

    /// Begins a life: every job takes up its account, and what the last life left open is settled.
    mutating func load(_ roster: Roster, _ past: Recollection, at now: Now) -> [Action] {
        life = past.life
        darkUntil = now
        let ending = past.ending(at: now)
        var records = Dictionary(past.records.map { ($0.job, $0) }) { _, later in later }
        let lastRuns = Dictionary(past.lastRuns.map { ($0.id.firing.job, $0) }) { _, later in later
        }
        var notices: [Action] = []
        var wereCounting = 0
        for record in past.records where past.mayCount(record) {
            let credit = past.credit(for: record, at: now)
            records[record.job]?.credit(credit)
            if ending != .clean { wereCounting += 1 }
            guard ending != .clean || credit.counted > .zero || credit.maxLoss > .zero else {
                continue
            }
            notices.append(
                .tell(
                    .recovered(
                        record.job, accrued: record.accrued + credit.counted,
                        credited: credit.counted, forfeitedAtMost: credit.maxLoss, record.basis)))
        }
        retired = records

        var timers: [Action] = []
        var renamed: [Job.Name] = []
        // Arrays that grow by themselves end up with room for up to twice as many.
        entries.reserveCapacity(roster.jobs.count)
        order.reserveCapacity(roster.jobs.count)
        slots.reserve(roster.jobs.count, in: entries)
        let counting = roster.jobs.count { $0.schedule.span != nil }
        if counting > 0 { due.reserve(counting) }
        if counting < roster.jobs.count { wallDue.reserve(roster.jobs.count - counting) }
        for job in roster.jobs {
            let last = lastRuns[job.name] ?? job.formerly.flatMap { lastRuns[$0] }
            timers += add(job, at: now, renamed: &renamed)
            if let slot = slot(of: job.name) { entries[slot]?.lastRun = last }
        }
        // Most are taken up again; what held them all would keep its room.
        retired = Dictionary(uniqueKeysWithValues: retired.map { ($0.key, $0.value) })
        let (forgotten, kept) = retireOthers(at: now)
        let erased = renamed + forgotten
        let (settled, taken) = settleRuns(past.openRuns, at: now)
        let saved = order.compactMap { entries[$0]?.record(at: now, life: life) } + kept
        let began = Action.tell(
            .lifeBegan(
                ending, away: past.away(until: now), jobs: roster.jobs.count,
                wereCounting: wereCounting))
        return [.save(saved, durable: true)] + (erased.isEmpty ? [] : [.erase(erased)]) + [began]
            + notices + settled + timers + (taken.isEmpty ? [] : [.start(taken)])
    }

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
        if let record = retired[job.name] { return record.accrued }
        guard let old = job.formerly else { return .zero }
        if let entry = slot(of: old).flatMap({ entries[$0] }) { return entry.accrued(at: now) }
        return retired[old]?.accrued ?? .zero
    }

    /// Takes a newly read configuration: jobs are told apart by name, and one whose definition is the
    /// same keeps its timer to the nanosecond.
    mutating func reload(_ roster: Roster, at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        let names = Set(roster.jobs.map(\.name))
        var actions: [Action] = []
        var batch = Batch()
        var records: [JobRecord] = []
        var removed: [Job.Name] = []
        var renamed: [Job.Name] = []
        for slot in order {
            guard let entry = entries[slot], !names.contains(entry.job.name) else { continue }
            removed.append(entry.job.name)
            actions += remove(slot, at: now, into: &records, &batch)
        }
        var added: [Job.Name] = []
        var changed: [Job.Name] = []
        var newOrder: [Int] = []
        order = []
        for job in roster.jobs {
            if let slot = slot(of: job.name) {
                newOrder.append(slot)
                guard var entry = entries[slot], entry.job != job else { continue }
                changed.append(job.name)
                replace(slot, &entry, with: job, at: now, into: &batch)
                records.append(entry.record(at: now, life: life))
                entries[slot] = entry
                // What had to wait by the old policy may not have to by the new one.
                release(slot, at: now, into: &batch)
            } else {
                added.append(job.name)
                actions += add(job, at: now, renamed: &renamed)
                guard let slot = slot(of: job.name) else { continue }
                newOrder.append(slot)
                if let record = entries[slot]?.record(at: now, life: life) {
                    records.append(record)
                }
            }
        }
        order = newOrder
        records.removeAll { renamed.contains($0.job) }
        actions += batch.actions
        if !records.isEmpty { actions.append(.save(records, durable: true)) }
        if !renamed.isEmpty { actions.append(.erase(renamed)) }
        let kept = roster.jobs.count - added.count - changed.count
        return actions
            + [.tell(.reloaded(added: added, changed: changed, removed: removed, kept: kept))]
    }

    /// Gives the job a slot, with the account its name had before if there is one, or else with that of the
    /// name it had.
    private mutating func add(
        _ job: Job, at now: Now, renamed: inout [Job.Name]
    ) -> [Action] {
        var entry = Entry(new: job, at: now, seed: seed)
        var told: [Action] = []
        if let record = retired.removeValue(forKey: job.name) {
            entry.adopt(record, at: now)
        } else if let old = job.formerly, slot(of: old) == nil,
            let record = retired.removeValue(forKey: old)
        {
            var account = record
            // One that this very reload took out was not without its job for a moment.
            if account.removed == now.wall { account.removed = nil }
            entry.adopt(account, at: now)
            renamed.append(old)
            told = [.tell(.renamed(job.name, from: old))]
        }
        // A job that was gone for a while may have runs that live since before.
        for run in live.keys where run.firing.job == job.name {
            entry.live.append(RunSummary(id: run))
        }
        entry.live.sort { $0.id.firing.scheduled < $1.id.firing.scheduled }
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
            entries[slot] = entry
        } else {
            slot = entries.count
            entries.append(entry)
        }
        slots.insert(slot, in: entries)
        order.append(slot)
        return settle(slot, &entry, at: now) + told
    }

    /// Puts a changed definition in the place of the old one. The account stays: what accrued counts
    /// towards the new interval, and if it is past that already the job is due at once.
    private mutating func replace(
        _ slot: Int, _ entry: inout Entry, with job: Job, at now: Now, into batch: inout Batch
    ) {
        let changesSlots =
            entry.job.schedule != job.schedule
            || entry.job.policy.randomOffset != job.policy.randomOffset
        if changesSlots {
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
    }

    /// Takes the job out and keeps its record. A run of it goes on.
    private mutating func remove(
        _ slot: Int, at now: Now, into records: inout [JobRecord], _ batch: inout Batch
    ) -> [Action] {
        guard var entry = entries[slot] else { return [] }
        let hadTimer = due[slot] != nil || wallDue[slot] != nil
        unqueue(slot)
        heldUp.remove(slot)
        if entry.ledger.isOpen { counting -= 1 }
        entry.ledger.close(at: entry.counted(at: now))
        if case .paused(let pause) = entry.phase, pause.withRun {
            batch.ends += entry.toldRuns.map { .resume($0) }
        }
        callOff(slot, &entry, .stopped, into: &batch)
        let record = entry.record(at: now, life: life, removed: now.wall)
        records.append(record)
        retired[entry.job.name] = record
        slots.remove(entry.job.name, in: entries)
        entries[slot] = nil
        freeSlots.append(slot)
        return hadTimer ? [.disarm(entry.job.name)] : []
    }

    /// Closes the accounts of jobs the configuration does not name, and lets go of those it has not named
    /// for too long.
    private mutating func retireOthers(
        at now: Now
    ) -> (erased: [Job.Name], kept: [JobRecord]) {
        var erased: [Job.Name] = []
        var kept: [JobRecord] = []
        for (name, var record) in retired.sorted(by: { $0.key < $1.key }) {
            if let removed = record.removed, now.wall - removed > Self.recordKept {
                erased.append(name)
                retired[name] = nil
                continue
            }
            guard record.removed == nil || record.isCounting else { continue }
            record.isCounting = false
            record.removed = record.removed ?? now.wall
            record.at = now
            record.life = life
            retired[name] = record
            kept.append(record)
        }
        return (erased, kept)
    }
}

extension JobRecord {
    /// Counts time that is known to have passed after the record was taken.
    fileprivate mutating func credit(_ credit: Credit) {
        active += credit.counted
        accrued += credit.counted
        uncertain += credit.maxLoss
    }
}

extension Recollection {
    /// For how long no daemon ran; nil at the first start, and where the calendar clock, the only one
    /// that spans boots, ran backwards meanwhile.
    fileprivate func away(until now: Now) -> Duration? {
        guard let previous else { return nil }
        let last = lastSign(of: previous)
        if last.bootID == now.bootID { return now.boot - last.boot }
        return now.wall > last.wall ? now.wall - last.wall : nil
    }
}
