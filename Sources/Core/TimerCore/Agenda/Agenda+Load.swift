// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// How long the record of a job that was removed from the configuration is kept, in case the
    /// job returns.
    public static let recordKept: Duration = .seconds(30 * 86_400)
    /// About how many actions a start has that are not of a job.
    private static let otherActions = 64

    /// Starts a daemon instance: restores the time records of all jobs, and decides about the runs
    /// that the previous instance left open.
    mutating func load(_ jobSet: JobSet, _ saved: RecoveredState, at now: Now) -> [Action] {
        let past = saved.withoutUncertainty(at: now)
        instance = past.instance
        downtimeEnd = now
        startedAt = now
        let ending = past.previousExit(at: now)
        var credited = CreditedRecords(past, jobSet, at: now)
        counts.lost = credited.lostAtMost
        // Moved, not copied: jobs are removed from it one by one.
        swap(&archived, &credited.jobs)

        watching.use(jobSet.notifiers)
        watching.recovered = Dictionary(grouping: past.incidents) { $0.id.job }
        // Jobs that run once in each boot may have done so.
        let start = past.isRestored ? nil : past.start(at: now)
        var change = JobSetChange()
        reserve(for: jobSet.jobs)
        // One timer for each job. What comes before them is inserted last: it is not known yet, and
        // a sum of arrays would copy all timers for each of its parts.
        var actions: [Action] = []
        actions.reserveCapacity(
            jobSet.jobs.count + credited.notices.count + past.openRuns.count + Self.otherActions)
        for job in jobSet.jobs {
            actions += add(job, at: now, start: start, into: &change)
            if !past.lastRuns.isEmpty || !past.lastSkips.isEmpty, let slot = slot(of: job.name),
                entries[slot]?.boxedOutcomes == nil
            {
                entries[slot]?.boxedOutcomes = past.outcomes(of: job.name)
            }
        }
        // Most records were restored to jobs. A dictionary that contained all of them would keep
        // its memory.
        archived = Dictionary(uniqueKeysWithValues: archived.map { ($0.key, $0.value) })
        let kept = archiveOthers(at: now, into: &change)
        let (settled, taken) = recoverRuns(of: past, at: now, into: &change)
        actions += settleIntervals(at: now).timers
        takeRecords(after: past, and: kept, at: now, into: &change)
        let began = Action.log(
            .daemonStarted(
                ending, away: past.away(until: now), jobs: jobSet.jobs.count,
                wereCounting: credited.wereCounting, lostAtMost: credited.lostAtMost))
        let clock = countStep(since: past, at: now)
        let others = watching.recovered.values.joined().map { IncidentChange.remove($0.id) }
        watching.recovered = [:]
        if !taken.isEmpty { actions.append(.start(taken)) }
        actions += checkWatched()
        var first = [.storeJobSet(change, durable: true), began] + clock
        first += credited.notices
        if !others.isEmpty { first.append(.notify([], incidents: others)) }
        first += settled
        actions.insert(contentsOf: first, at: 0)
        return actions
    }

    /// Reserves memory for the jobs: an array that grows step by step may reserve twice what it
    /// needs.
    private mutating func reserve(for jobs: [Job]) {
        entries.reserveCapacity(jobs.count)
        jobSlots.reserveCapacity(jobs.count)
        runs.reserve(jobs.count)
        slots.reserve(jobs.count, in: entries)
        let counting = jobs.count { $0.schedule.span != nil }
        if counting > 0 { due.reserve(counting) }
        if counting < jobs.count { wallDue.reserve(jobs.count - counting) }
    }

    /// Takes the records of all jobs: one renewal for those that continue as they were saved, and
    /// one record for each other job. A damaged store is written record by record, because a
    /// statement for all rows fails at a row that the database does not accept.
    ///
    /// - Parameter others: the records of jobs that are not in the configuration.
    private mutating func takeRecords(
        after past: RecoveredState, and others: [JobRecord], at now: Now,
        into change: inout JobSetChange
    ) {
        let renewal = RecordRenewal(at: now, instance: instance, jobs: jobSlots.count)
        var isRenewed = [Bool](repeating: false, count: entries.count)
        var count = 0
        for stored in past.records where renewal.concerns(stored) && !past.isDamaged {
            guard let slot = slot(of: stored.job),
                entries[slot]?.record(at: now, ahead: ahead, instance: instance)
                    == renewal.renewed(stored)
            else { continue }
            isRenewed[slot] = true
            count += 1
        }
        if count > 0 { change.renewal = renewal }
        change.records.reserveCapacity(jobSlots.count - count + others.count)
        for slot in jobSlots where !isRenewed[slot] {
            guard let record = entries[slot]?.record(at: now, ahead: ahead, instance: instance)
            else { continue }
            change.records.append(record)
        }
        change.records += others
    }

    /// Counts and reports that the wall clock was set while no daemon ran.
    private mutating func countStep(since past: RecoveredState, at now: Now) -> [Action] {
        guard let previous = past.previous,
            let step = now.step(since: past.lastHeartbeat(of: previous))
        else { return [] }
        let isCorrection = step.length >= Self.correctionMin
        counts.addStep(isCorrection: isCorrection)
        return [.log(.clockStepped(by: step, isCorrection: isCorrection))]
    }

    /// Gives the job a slot. It restores the state that is saved for the name of the job, or else
    /// for the name that the job had before.
    ///
    /// - Parameter start: the start of the daemon at which the job is loaded; nil if a reload adds
    ///   the job.
    mutating func add(
        _ job: Job, at now: Now, start: Start? = nil, into change: inout JobSetChange
    ) -> [Action] {
        var entry = JobEntry(new: job, at: now, seed: seed)
        var notices: [Action] = []
        var names: Set<Job.Name> = [job.name]
        var record: JobRecord?
        forgetFormerOneOff(of: job)
        if let found = archived.removeValue(forKey: job.name) {
            record = found.record
            entry.restore(found.record, at: now)
            entry.boxedOutcomes = found.boxedOutcomes
        } else if let old = job.renamedFrom, slot(of: old) == nil,
            let found = archived.removeValue(forKey: old)
        {
            record = found.record
            entry.restore(found.record, at: now)
            entry.boxedOutcomes = found.boxedOutcomes
            names.insert(old)
            change.renamed.append(Renaming(from: old, to: job.name))
            notices = [.log(.renamed(job.name, from: old))]
        }
        entry.follow(BootFiring(after: record, at: start, now), at: now)
        if entry.isShared { entry.share(at: now) }
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
        if job.isOneOff { oneOffs += 1 }
        // If the job was removed for a while, runs from before may still be active.
        runs.attach(names, to: slot, job: job.name)
        followEnds(slot, entry)
        jobSlots.append(slot)
        let incidents = takeIncidents(of: names, for: job.name)
        if !job.policy.notify.isEmpty {
            notices += updateWatch(slot, &entry, incidents: incidents, from: record, at: now)
        } else if !incidents.isEmpty {
            notices.append(.notify([], incidents: incidents.map { .remove($0.id) }))
        }
        let timers = updateTimer(slot, &entry, at: now)
        if let record, record.phase == .finished, entry.phase == .armed,
            entry.clockEpoch > record.clockEpoch
        {
            notices.append(.log(entry.scheduledAgain(at: now)))
        }
        return timers + notices
    }

    /// Closes the records of jobs that are not in the configuration, and erases those of jobs that
    /// were removed too long ago.
    private mutating func archiveOthers(
        at now: Now, into change: inout JobSetChange
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
            record.instance = instance
            archived[name]?.record = record
            kept.append(record)
        }
        return kept
    }
}

extension JobRecord {
    /// Adds time that certainly passed after the record was taken.
    fileprivate mutating func credit(_ credit: Credit) {
        active += credit.counted
        accrued += credit.counted
        maxLoss += credit.maxLoss
    }
}

extension JobSet {
    /// The jobs that count from the boot and whose record is of an earlier boot, by the names they
    /// were saved under.
    fileprivate func newInBoot(_ records: [JobRecord], at now: Now) -> Set<Job.Name> {
        let jobs = jobs.filter(\.schedule.isSinceBoot)
        guard !jobs.isEmpty else { return [] }
        let names = Set(jobs.map(\.name) + jobs.compactMap(\.renamedFrom))
        return Set(
            records.filter { names.contains($0.job) && $0.at.bootID != now.bootID }.map(\.job))
    }
}

extension RecoveredState {
    /// What is known of the runs of a job that ended or were skipped; nil if that is nothing. A run
    /// may have succeeded after the job's record was taken.
    fileprivate func outcomes(
        of job: Job.Name, _ record: JobRecord? = nil
    ) -> Boxed<JobOutcomes>? {
        // Most jobs have no success after their record, and a new installation has no run.
        let last = lastRuns.isEmpty ? nil : lastRuns[job]
        var success = record?.lastSuccess
        if !lastSuccesses.isEmpty, let later = lastSuccesses[job] {
            success = max(success ?? later, later)
        }
        if let last, last.result == .success, let ended = last.ended {
            success = max(success ?? ended, ended)
        }
        let skip = lastSkip(of: job, last)
        guard last != nil || success != nil || skip != nil else { return nil }
        return Boxed(
            wrappedValue: JobOutcomes(last: last, lastSuccess: success, lastSkip: skip))
    }

    /// What was skipped latest. A firing that was too late for its deadline is stored as a run.
    private func lastSkip(of job: Job.Name, _ last: RunSummary?) -> LastSkip? {
        let stored = lastSkips.isEmpty ? nil : lastSkips[job]
        guard let last, last.outcome == .lost(.deadline), let ended = last.ended,
            stored.map({ $0.at <= ended }) ?? true
        else { return stored }
        return LastSkip(
            scheduled: last.id.firing.scheduled, count: 1, reason: .deadline, at: ended)
    }

    /// How long no daemon ran. Nil at the first start, and if the wall clock, the only clock that
    /// continues over a reboot, was set back meanwhile.
    fileprivate func away(until now: Now) -> Duration? {
        guard let previous else { return nil }
        let last = lastHeartbeat(of: previous)
        if last.bootID == now.bootID { return now.boot - last.boot }
        return now.wall > last.wall ? now.wall - last.wall : nil
    }
}

/// The jobs of the previous instance, with the time that counted since their records were taken.
private struct CreditedRecords {
    var jobs: [Job.Name: ArchivedJob] = [:]
    /// Reports what each job got and what it may have lost.
    var notices: [Action] = []
    /// How many jobs were counting when the previous instance ended uncleanly.
    var wereCounting = 0
    /// The most time that one of the jobs may have lost.
    var lostAtMost = Duration.zero

    init(_ past: RecoveredState, _ jobSet: JobSet, at now: Now) {
        jobs.reserveCapacity(past.records.count)
        let isClean = past.previousExit(at: now) == .clean
        // Jobs that count from the boot restart in a new boot: their saved time is from the
        // previous boot.
        let newInBoot = jobSet.newInBoot(past.records, at: now)
        for var record in past.records {
            if past.mayCount(record) {
                let credit = past.credit(for: record, at: now)
                record.credit(credit)
                if !isClean { wereCounting += 1 }
                if !isClean || credit.counted > .zero || credit.maxLoss > .zero,
                    !newInBoot.contains(record.job)
                {
                    report(credit, to: record)
                }
            }
            jobs[record.job] = ArchivedJob(
                record: record, boxedOutcomes: past.outcomes(of: record.job, record))
        }
    }
    private mutating func report(_ credit: Credit, to record: JobRecord) {
        lostAtMost = max(lostAtMost, credit.maxLoss)
        notices.append(
            .log(
                .recovered(
                    record.job, accrued: max(.zero, record.accrued), credited: credit.counted,
                    maxLoss: credit.maxLoss, record.basis)))
    }
}
