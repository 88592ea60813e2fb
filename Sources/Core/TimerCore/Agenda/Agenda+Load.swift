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
        let ending = past.previousExit(at: now)
        var credited = CreditedRecords(past, jobSet, at: now)
        counts.lost = credited.lostAtMost
        // Moved, not copied: jobs are taken out of it one by one.
        swap(&archive, &credited.archive)

        if let hold = past.hold { entries.hold(hold) }
        watching.use(jobSet.notifiers)
        runs.configure(jobSet.slots)
        chains.configure(jobSet)
        watching.recover(past.incidents)
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
        // Most records were restored to jobs.
        archive.shrink()
        let (kept, dropped) = archive.close(at: now, instance: instance)
        change.erased += dropped
        let (settled, taken, checks) = recoverRuns(of: past, at: now, into: &change)
        actions += noteEndsBeforeStart(at: now)
        actions += settleIntervals(at: now).timers
        let released = entries.isHeld ? endHoldBeforeStart(at: now) : []
        takeRecords(after: past, and: kept, at: now, into: &change)
        let began = Action.log(
            .daemonStarted(
                ending, away: past.away(until: now), jobs: jobSet.jobs.count,
                wereCounting: credited.wereCounting, lostAtMost: credited.lostAtMost))
        let clock = countStep(since: past, at: now)
        let others = watching.takeOtherRecovered().map { IncidentChange.remove($0.id) }
        if !taken.isEmpty { actions.append(.start(taken)) }
        if !checks.isEmpty { actions.append(.check(checks)) }
        actions += released
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
        entries.reserve(jobs.count)
        runs.reserve(jobs.count)
        alarms.reserve(jobs.count, counting: jobs.count { $0.schedule.span != nil })
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
        let renewal = RecordRenewal(at: now, instance: instance, jobs: entries.order.count)
        var isRenewed = [Bool](repeating: false, count: entries.slotCount)
        var count = 0
        for stored in past.records where renewal.concerns(stored) && !past.isDamaged {
            guard let slot = slot(of: stored.job),
                entries.record(slot, at: now, ahead: ahead, instance: instance)
                    == renewal.renewed(stored)
            else { continue }
            isRenewed[slot] = true
            count += 1
        }
        if count > 0 { change.renewal = renewal }
        change.records.reserveCapacity(entries.order.count - count + others.count)
        for slot in entries.order where !isRenewed[slot] {
            guard let record = entries.record(slot, at: now, ahead: ahead, instance: instance)
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

    // MARK: - Open runs

    /// Decides about the runs that had not ended when the previous instance ended. A run that was
    /// released may have done its work, so it is never started again: it is lost, unless the runner
    /// still has it. A runner that does not know it proves nothing: it may have lost its memory. A
    /// run that was not released starts now, or waits as it did before, also after a reboot.
    mutating func recoverRuns(
        of past: RecoveredState, at now: Now, into change: inout JobSetChange
    ) -> (actions: [Action], start: [Run], checks: [ConditionCheck]) {
        var batch = Batch()
        var found = past.openRuns
        if !change.renamed.isEmpty { follow(&change.renamed, in: &found) }
        // The runs that are still running are added first, because they count for `concurrency` and
        // `max-concurrent`.
        for open in found where open.isLive { reattach(open, into: &batch) }
        var recovered: [Int] = []
        for open in found where !open.isLive {
            if isStartable(open), let slot = slot(of: open.job),
                let entry = entries[slot], entry.phase != .stopped
            {
                recover(open, slot, entry, at: now, into: &batch)
                recovered.append(slot)
            } else {
                lose(open, as: past.loss(of: open, at: now), into: &batch)
            }
        }
        for slot in recovered { release(slot, at: now, into: &batch) }
        for slot in entries.order
        where !runs[slot].isEmpty && entries[slot]?.job.window?.stopsAtEnd == true {
            guard let entry = entries[slot] else { continue }
            batch.timers += updateRetryTimer(slot, entry)
        }
        return (batch.decided + batch.timers + batch.notices, batch.start, batch.checks)
    }

    /// Whether a run waits and may start now. A run of a fleet may not: another machine can have
    /// taken its place.
    private func isStartable(_ open: RecoveredState.OpenRun) -> Bool {
        !open.isLive && !open.isReleased && !open.firing.cause.variables.areLost
            && open.firing.cause.claim == nil
    }

    /// Assigns the runs of renamed jobs to the new names. Runs that have not started yet also get
    /// the new name.
    private func follow(
        _ renamings: inout [Renaming], in runs: inout [RecoveredState.OpenRun]
    ) {
        let places = Dictionary(renamings.indices.map { (renamings[$0].from, $0) }) { $1 }
        for index in runs.indices {
            guard let place = places[runs[index].job] else { continue }
            let new = renamings[place].to
            runs[index].job = new
            guard isStartable(runs[index]) else { continue }
            renamings[place].waiting.append(runs[index].id)
            runs[index].id = runs[index].id.renamed(new)
            runs[index].firing.id = runs[index].id.firing
        }
    }

    private mutating func lose(
        _ open: RecoveredState.OpenRun, as outcome: RunOutcome, into batch: inout Batch
    ) {
        let summary = summary(of: open.id, outcome, failed: true)
        noteEnd(summary, open.firing.cause, of: open.job)
        batch.ends.append(.close(summary))
        batch.ends += notices(of: summary, of: open.job)
        batch.notices.append(.log(.runEnded(open.id, outcome, RunUsage(), failed: true)))
    }

    /// Adds a run that kept running across the restart to the active runs.
    private mutating func reattach(_ open: RecoveredState.OpenRun, into batch: inout Batch) {
        batch.notices.append(.log(.runReattached(open.id)))
        let slot = slot(of: open.job)
        let run = ActiveRun(
            id: open.id, firing: open.firing, job: slot.flatMap { entries[$0]?.boxedJob },
            .running(since: open.recorded))
        runs.reattach(run, to: open.job, slot: slot)
    }

    /// Starts a run that waited, or lets it wait again: for the rest of its delay, for the previous run,
    /// or for the end of a pause.
    private mutating func recover(
        _ open: RecoveredState.OpenRun, _ slot: Int, _ entry: JobEntry, at now: Now,
        into batch: inout Batch
    ) {
        let run = entry.run(open.firing, attempt: open.id.attempt)
        var wait = RunState.Wait.previousRun
        let waited = max(.zero, now.wall - open.recorded)
        let catchUpDelay = entry.catchUpDelay(of: run) ?? .zero
        if run.id.attempt > 1 {
            let delay = entry.job.policy.retry.delay(after: run.id.attempt - 1)
            wait = .retryDelay(until: now.awake + max(.zero, delay - waited))
        } else if catchUpDelay > waited {
            wait = .catchUpDelay(until: now.awake + (catchUpDelay - waited))
        }
        var active = ActiveRun(run, .waiting(wait))
        if mustCheck(run), run.id.attempt == 1, !active.isDelayed {
            // How long it has waited for its condition is not saved.
            active.condition = ConditionWait(since: now.awake - (waited - catchUpDelay))
        }
        runs.add(active, of: .slot(slot))
        batch.notices.append(.log(.runRecovered(run.id)))
    }
}

extension RecoveredState {
    /// The state without what may have happened since, if it is an older one: occurrences up to now
    /// count as handled, and runs that waited may have started. Otherwise a run could start a second
    /// time.
    func withoutUncertainty(at now: Now) -> RecoveredState {
        guard isRestored else { return self }
        var state = self
        for index in records.indices {
            let through = records[index].processedThrough ?? now.wall
            state.records[index].processedThrough = max(through, now.wall)
        }
        for index in openRuns.indices { state.openRuns[index].isReleased = true }
        return state
    }

    /// What became of a run that neither runs nor starts now. After a clean stop everything that was
    /// released had been sent, so that it is the runner that does not know it any more.
    fileprivate func loss(of open: OpenRun, at now: Now) -> RunOutcome {
        if open.firing.cause.claim != nil, !open.isReleased { return .lost(.unstarted) }
        guard open.bootID == now.bootID else { return .lost(.reboot) }
        return .lost(open.isReleased && previousExit(at: now) == .clean ? .runner : .daemon)
    }
}
