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
        var notices: [Action] = []
        // What they had accrued was of the boot before.
        let newInBoot = roster.newInBoot(past.records, at: now)
        var wereCounting = 0
        var lostAtMost = Duration.zero
        for record in past.records where past.mayCount(record) {
            let credit = past.credit(for: record, at: now)
            records[record.job]?.credit(credit)
            if ending != .clean { wereCounting += 1 }
            guard ending != .clean || credit.counted > .zero || credit.maxLoss > .zero,
                !newInBoot.contains(record.job)
            else { continue }
            lostAtMost = max(lostAtMost, credit.maxLoss)
            notices.append(
                .tell(
                    .recovered(
                        record.job, accrued: record.accrued + credit.counted,
                        credited: credit.counted, forfeitedAtMost: credit.maxLoss, record.basis)))
        }
        archived = records.mapValues { record in
            ArchivedJob(record: record, lastRun: past.lastRuns[record.job])
        }

        let start = past.start(at: now)
        var timers: [Action] = []
        var change = RosterChange()
        // Arrays that grow by themselves end up with room for up to twice as many.
        entries.reserveCapacity(roster.jobs.count)
        jobSlots.reserveCapacity(roster.jobs.count)
        runs.reserve(roster.jobs.count)
        slots.reserve(roster.jobs.count, in: entries)
        let counting = roster.jobs.count { $0.schedule.span != nil }
        if counting > 0 { due.reserve(counting) }
        if counting < roster.jobs.count { wallDue.reserve(roster.jobs.count - counting) }
        for job in roster.jobs {
            timers += add(job, at: now, start: start, into: &change)
            if let slot = slot(of: job.name), entries[slot]?.lastRun == nil {
                entries[slot]?.lastRun = past.lastRuns[job.name]
            }
        }
        // Most are taken up again; what held them all would keep its room.
        archived = Dictionary(uniqueKeysWithValues: archived.map { ($0.key, $0.value) })
        let kept = archiveOthers(at: now, into: &change)
        let (settled, taken) = recoverRuns(past.openRuns, at: now, into: &change)
        change.records = jobSlots.compactMap { entries[$0]?.record(at: now, life: life) } + kept
        let began = Action.tell(
            .lifeBegan(
                ending, away: past.away(until: now), jobs: roster.jobs.count,
                wereCounting: wereCounting, lostAtMost: lostAtMost))
        var clock: [Action] = []
        if let previous = past.previous, let step = now.step(since: past.lastSign(of: previous)) {
            let isCorrection = step.length >= Self.correctionMin
            clock = [.tell(.clockStepped(by: step, isCorrection: isCorrection))]
        }
        return [.adopt(change, durable: true), began] + clock
            + notices + settled + timers + (taken.isEmpty ? [] : [.start(taken)])
    }

    /// Gives the job a slot, with the saved state of its name if there is one, or else with that of the name it
    /// had before.
    ///
    /// - Parameter start: which start of the daemon it is there at; nil if it is added by a reload.
    mutating func add(
        _ job: Job, at now: Now, start: Start? = nil, into change: inout RosterChange
    ) -> [Action] {
        var entry = JobEntry(new: job, at: now, seed: seed)
        var told: [Action] = []
        var names: Set<Job.Name> = [job.name]
        var record: JobRecord?
        if let found = archived.removeValue(forKey: job.name) {
            record = found.record
            entry.adopt(found.record, at: now)
            entry.lastRun = found.lastRun
        } else if let old = job.renamedFrom, slot(of: old) == nil,
            let found = archived.removeValue(forKey: old)
        {
            record = found.record
            entry.adopt(found.record, at: now)
            entry.lastRun = found.lastRun
            names.insert(old)
            change.renamed.append(Renaming(from: old, to: job.name))
            told = [.tell(.renamed(job.name, from: old))]
        }
        entry.follow(BootFiring(after: record, at: start, now), at: now)
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
            entries[slot] = entry
        } else {
            slot = entries.count
            entries.append(entry)
            runs.addSlot()
        }
        slots.insert(slot, in: entries)
        // A job that was gone for a while may have runs that are active since before.
        runs.attach(names, to: slot, job: job.name)
        jobSlots.append(slot)
        let timers = updateTimer(slot, &entry, at: now)
        if let record, record.phase == .finished, entry.phase == .armed,
            entry.corrections > record.corrections
        {
            told.append(.tell(entry.scheduledAgain(at: now)))
        }
        return timers + told
    }

    /// Closes the saved state of jobs the configuration does not name, and erases that of jobs it has not named
    /// for too long.
    private mutating func archiveOthers(
        at now: Now, into change: inout RosterChange
    ) -> [JobRecord] {
        var kept: [JobRecord] = []
        for (name, job) in archived.sorted(by: { $0.key < $1.key }) {
            var record = job.record
            if let removed = record.removed, now.wall - removed > Self.recordKept {
                change.erased.append(name)
                archived[name] = nil
                continue
            }
            guard record.removed == nil || record.isCounting else { continue }
            record.isCounting = false
            record.removed = record.removed ?? now.wall
            record.at = now
            record.life = life
            archived[name]?.record = record
            kept.append(record)
        }
        return kept
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

extension Roster {
    /// The jobs whose time begins with this boot, by the names they were saved under.
    fileprivate func newInBoot(_ records: [JobRecord], at now: Now) -> Set<Job.Name> {
        let jobs = jobs.filter(\.schedule.isSinceBoot)
        guard !jobs.isEmpty else { return [] }
        let names = Set(jobs.map(\.name) + jobs.compactMap(\.renamedFrom))
        return Set(
            records.filter { names.contains($0.job) && $0.at.bootID != now.bootID }.map(\.job))
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
