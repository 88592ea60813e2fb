// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// How long the record of a job that left the configuration is kept for its name to come back.
    public static let recordKept: Duration = .seconds(30 * 86_400)

    /// Begins a life: every job takes up its account, and what the last life left open is settled.
    mutating func load(_ roster: Roster, _ past: Recollection, at now: Now) -> [Action] {
        life = past.life
        let ending = past.ending(at: now)
        var records = Dictionary(past.records.map { ($0.job, $0) }) { _, later in later }
        let lastRuns = Dictionary(past.lastRuns.map { ($0.id.firing.job, $0) }) { _, later in later
        }
        var notices: [Action] = []
        var wereCounting = 0
        for record in past.records where record.isCounting {
            let credit = past.credit(for: record)
            records[record.job]?.credit(credit)
            guard ending != .clean else { continue }
            wereCounting += 1
            notices.append(
                .tell(
                    .recovered(
                        record.job, accrued: record.accrued + credit, credited: credit,
                        forfeitedAtMost: past.forfeit(for: record, at: now))))
        }
        retired = records

        var timers: [Action] = []
        for job in roster.jobs {
            timers += add(job, at: now)
            if let slot = slots[job.name] { entries[slot]?.lastRun = lastRuns[job.name] }
        }
        let (erased, kept) = retireOthers(at: now)
        let saved = order.compactMap { entries[$0]?.record(at: now, life: life) } + kept
        let (settled, taken) = settleRuns(past.openRuns, at: now)
        let began = Action.tell(
            .lifeBegan(
                ending, away: past.away(until: now), jobs: roster.jobs.count,
                wereCounting: wereCounting))
        return [.save(saved, durable: true)] + (erased.isEmpty ? [] : [.erase(erased)]) + [began]
            + notices + settled + timers + (taken.isEmpty ? [] : [.start(taken)])
    }

    /// Takes a newly read configuration: jobs are told apart by name, and one whose definition is the
    /// same keeps its timer to the nanosecond.
    mutating func reload(_ roster: Roster, at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        let names = Set(roster.jobs.map(\.name))
        var actions: [Action] = []
        var records: [JobRecord] = []
        var removed: [Job.Name] = []
        for slot in order {
            guard let entry = entries[slot], !names.contains(entry.job.name) else { continue }
            removed.append(entry.job.name)
            actions += remove(slot, at: now, into: &records)
        }
        var added: [Job.Name] = []
        var changed: [Job.Name] = []
        var newOrder: [Int] = []
        order = []
        for job in roster.jobs {
            if let slot = slots[job.name] {
                newOrder.append(slot)
                guard var entry = entries[slot], entry.job != job else { continue }
                changed.append(job.name)
                actions += replace(slot, &entry, with: job, at: now)
                records.append(entry.record(at: now, life: life))
                entries[slot] = entry
            } else {
                added.append(job.name)
                actions += add(job, at: now)
                guard let slot = slots[job.name] else { continue }
                newOrder.append(slot)
                if let record = entries[slot]?.record(at: now, life: life) {
                    records.append(record)
                }
            }
        }
        order = newOrder
        if !records.isEmpty { actions.append(.save(records, durable: true)) }
        let kept = roster.jobs.count - added.count - changed.count
        return actions
            + [.tell(.reloaded(added: added, changed: changed, removed: removed, kept: kept))]
    }

    /// Gives the job a slot, with the account its name had before if there is one.
    private mutating func add(_ job: Job, at now: Now) -> [Action] {
        var entry = Entry(new: job, at: now)
        if let record = retired.removeValue(forKey: job.name) { entry.adopt(record, at: now) }
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
            entries[slot] = entry
        } else {
            slot = entries.count
            entries.append(entry)
        }
        slots[job.name] = slot
        order.append(slot)
        return settle(slot, &entry, at: now)
    }

    /// Puts a changed definition in the place of the old one. The account stays: what accrued counts
    /// towards the new interval, and if it is past that already the job is due at once.
    private mutating func replace(
        _ slot: Int, _ entry: inout Entry, with job: Job, at now: Now
    ) -> [Action] {
        if entry.job.schedule != job.schedule {
            entry.slot = nil
            entry.seen = now.wall
        }
        entry.job = job
        entry.follow(configuredPaused: job.paused, at: now)
        entry.leaveFinishedIfRecurring(at: now)
        return settle(slot, &entry, at: now)
    }

    /// Takes the job out and keeps its record. A run of it goes on.
    private mutating func remove(
        _ slot: Int, at now: Now, into records: inout [JobRecord]
    ) -> [Action] {
        guard var entry = entries[slot] else { return [] }
        let hadTimer = due[slot] != nil || wallDue[slot] != nil
        wallDue.remove(slot)
        if entry.ledger.isOpen { counting -= 1 }
        entry.ledger.close(at: now.awake)
        due.remove(slot)
        let record = entry.record(at: now, life: life, removed: now.wall)
        records.append(record)
        retired[entry.job.name] = record
        entries[slot] = nil
        slots[entry.job.name] = nil
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

    /// Decides about the runs whose end the last life did not see. One that was begun may have done its
    /// work, so it is never begun again: it is lost. One that certainly never was is begun now.
    private mutating func settleRuns(
        _ runs: [Recollection.OpenRun], at now: Now
    ) -> (actions: [Action], start: [Run]) {
        var actions: [Action] = []
        var start: [Run] = []
        for open in runs {
            guard !open.wasBegun, open.bootID == now.bootID,
                let slot = slots[open.id.firing.job], let entry = entries[slot], entry.live.isEmpty
            else {
                let outcome = RunOutcome.lost(open.bootID == now.bootID ? .daemon : .reboot)
                if let slot = slots[open.id.firing.job] {
                    entries[slot]?.lastRun = RunSummary(id: open.id, outcome: outcome)
                }
                actions += [
                    .close(open.id, outcome, RunUsage()),
                    .tell(.runEnded(open.id, outcome, RunUsage())),
                ]
                continue
            }
            let run = Run(firing: open.firing, attempt: open.id.attempt, job: entry.job)
            entries[slot]?.live.append(RunSummary(id: run.id))
            actions.append(.tell(.runTakenUp(run.id)))
            if admit(run) { start.append(run) }
        }
        return (actions, start)
    }
}

extension Entry {
    /// Takes up the account a record holds.
    mutating func adopt(_ record: JobRecord, at now: Now) {
        ledger = Ledger(active: record.active, accrued: record.accrued)
        phase = record.phase
        firings = record.firings
        lastScheduled = record.lastScheduled
        configuredPaused = record.configuredPaused
        // What passed since the account was written is missed; a reading far in the future was wrong.
        let last = max(record.lastScheduled ?? record.at.wall, record.at.wall)
        seen = last - now.wall >= Agenda.correctionMin ? now.wall : last
        if record.at.bootID == now.bootID { slot = nil }
        follow(configuredPaused: job.paused, at: now)
        leaveFinishedIfRecurring(at: now)
    }

    /// Follows `paused` in the configuration where it changed, and only there: what was ordered at run
    /// time holds against a configuration that says what it said before.
    mutating func follow(configuredPaused: Bool, at now: Now) {
        guard configuredPaused != self.configuredPaused else { return }
        self.configuredPaused = configuredPaused
        switch (phase, configuredPaused) {
        case (.armed, true): phase = .paused(Pause(since: now.wall, by: .configuration))
        case (.paused(let pause), false) where pause.by == .configuration: phase = .armed
        case (.armed, false), (.paused, _), (.stopped, _), (.finished, _): break
        }
    }

    /// A job that was to fire once and fired, and whose schedule recurs now, begins at zero.
    mutating func leaveFinishedIfRecurring(at now: Now) {
        switch job.schedule {
        case .after: return
        case .wall(let schedule) where slot == nil && schedule.next(after: seen) == nil: return
        case .every, .wall: break
        }
        guard phase == .finished else { return }
        phase = .armed
        firings = 0
        ledger.dropAccrued(at: now.awake)
    }
}

extension JobRecord {
    /// Counts time that is known to have passed after the record was taken.
    fileprivate mutating func credit(_ span: Duration) {
        active += span
        accrued += span
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
