// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// Makes a run of a firing, unless it is let go by order or by a run that lives.
    ///
    /// - Parameter isCatchUp: whether it is one of several that are made up for one after the other.
    mutating func begin(
        _ firing: Firing, late: Duration, _ slot: Int, _ entry: inout Entry, isCatchUp: Bool,
        at now: Now, into batch: inout Batch
    ) {
        if entry.skips > 0 {
            entry.skips -= 1
            return letGo(firing, .byOrder(left: entry.skips), &entry, at: now, into: &batch)
        }
        let run = entry.run(firing)
        if let reason = place(run, slot, &entry, isCatchUp: isCatchUp, at: now, into: &batch) {
            return letGo(firing, reason, &entry, at: now, into: &batch)
        }
        let remaining = entry.phase == .armed ? entry.remaining(at: now) : nil
        batch.notices.append(.tell(.fired(run, late: late, remaining: remaining)))
        if entry.held.last?.run.id == run.id, let other = entry.live.dropLast().last?.id {
            batch.notices.append(.tell(.held(run, behind: other)))
        }
    }

    /// Records a run and starts it, or has it wait for those before it, as `concurrency` says.
    ///
    /// - Returns: why it is not to be, with nothing changed; nil if it is.
    mutating func place(
        _ run: Run, _ slot: Int, _ entry: inout Entry, isCatchUp: Bool, at now: Now,
        into batch: inout Batch
    ) -> Notice.SkipReason? {
        if let last = entry.live.last {
            switch entry.job.policy.concurrency {
            case .allow: break
            case .forbid where !isCatchUp: return .stillRunning(last.id)
            case .queue where !isCatchUp:
                if let other = entry.live.first(where: { $0.wait == .turn }) {
                    return .queueFull(other.id)
                }
            case .replace where !isCatchUp: replace(slot, &entry, by: run, into: &batch)
            case .forbid, .queue, .replace: break
            }
        }
        batch.runs.append(run)
        if entry.live.isEmpty || entry.job.policy.concurrency == .allow {
            entry.live.append(RunSummary(id: run.id))
            admit(run, &entry, into: &batch)
        } else {
            entry.live.append(RunSummary(id: run.id, wait: .turn))
            entry.held.append(HeldRun(run: run, retryAt: nil))
        }
        return nil
    }

    /// Makes room for a newer run: those that wait are called off, those that live are ended.
    private mutating func replace(
        _ slot: Int, _ entry: inout Entry, by run: Run, into batch: inout Batch
    ) {
        callOff(slot, &entry, .replaced, into: &batch)
        for summary in entry.live where ending[summary.id] == nil {
            ending[summary.id] = .replaced
            batch.ends.append(.end(summary.id, grace: entry.job.execution.killTimeout))
            batch.notices.append(.tell(.replacing(summary.id, by: run.id)))
        }
    }

    /// Closes every run of the job that waits for something, and takes the timer of a further attempt down.
    mutating func callOff(
        _ slot: Int, _ entry: inout Entry, _ outcome: RunOutcome, into batch: inout Batch
    ) {
        for summary in entry.live {
            guard let wait = summary.wait else { continue }
            if wait == .place { calledOff.insert(summary.id) }
            batch.ends.append(.close(summary.id, outcome, RunUsage()))
            batch.notices.append(.tell(.runEnded(summary.id, outcome, RunUsage(), failed: false)))
            entry.lastRun = RunSummary(id: summary.id, outcome: outcome)
        }
        entry.live.removeAll { $0.wait != nil }
        entry.held = []
        batch.timers += settleRetry(slot, entry)
    }

    /// Gives the run one of the places for live runs, or lets it wait for one.
    mutating func admit(_ run: Run, _ entry: inout Entry, into batch: inout Batch) {
        let index = entry.live.lastIndex { $0.id == run.id }
        guard live.count < concurrentRunsMax, waiting.count == calledOff.count, !isShutDown else {
            waiting.append(run)
            if let index { entry.live[index].wait = .place }
            return
        }
        live[run.id] = ToldRun(run)
        if let index { entry.live[index].wait = nil }
        batch.start.append(run)
    }

    mutating func noteBegin(of run: Run.ID, at instant: WallInstant) -> [Action] {
        if let slot = slot(of: run.firing.job),
            let index = entries[slot]?.live.firstIndex(where: { $0.id == run })
        {
            entries[slot]?.live[index].began = instant
        }
        return [.tell(.runBegan(run))]
    }

    mutating func noteEnd(
        of run: Run.ID, _ told: RunOutcome, _ usage: RunUsage, at now: Now
    ) -> [Action] {
        // The end of a run is told once; a second telling would free a place that is not taken.
        guard let ended = live.removeValue(forKey: run) else { return [] }
        let outcome = ending.removeValue(forKey: run) ?? told
        let codes = ended.job?.wrappedValue.execution.successExitCodes ?? [0]
        var batch = Batch()
        batch.notices.append(
            .tell(.runEnded(run, outcome, usage, failed: outcome.isFailure(codes))))
        if let slot = slot(of: run.firing.job), var entry = entries[slot] {
            if let index = entry.live.firstIndex(where: { $0.id == run }) {
                var summary = entry.live.remove(at: index)
                summary.outcome = outcome
                summary.usage = usage
                entry.lastRun = summary
            }
            if outcome.isRetried(codes) { retry(run, ended, slot, &entry, at: now, into: &batch) }
            entries[slot] = entry
            admitWaiting(at: now, into: &batch)
            release(slot, at: now, into: &batch)
        } else {
            admitWaiting(at: now, into: &batch)
        }
        return [.close(run, outcome, usage)] + batch.actions
    }

    /// Puts a further attempt on record, to be made after a delay. It is on record from the first, so that it
    /// is made even if the daemon goes down before.
    private mutating func retry(
        _ run: Run.ID, _ ended: ToldRun, _ slot: Int, _ entry: inout Entry, at now: Now,
        into batch: inout Batch
    ) {
        guard let boxed = ended.job, entry.phase != .stopped,
            run.attempt <= boxed.wrappedValue.policy.retry.retries
        else { return }
        let retry = boxed.wrappedValue.policy.retry
        let delay = retry.delay(after: run.attempt)
        let attempt = Run(firing: ended.firing, attempt: run.attempt + 1, job: boxed)
        let instant = now.awake + delay
        entry.live.append(RunSummary(id: attempt.id, wait: .retry(instant)))
        entry.held.append(HeldRun(run: attempt, retryAt: instant))
        batch.runs.append(attempt)
        batch.timers += settleRetry(slot, entry)
        batch.notices.append(
            .tell(.retrying(attempt.id, after: delay, retries: retry.retries)))
    }

    /// Gives free places to the runs that wait for one, in their order.
    private mutating func admitWaiting(at now: Now, into batch: inout Batch) {
        while !isShutDown, live.count < concurrentRunsMax, let run = waiting.popFirst() {
            guard calledOff.remove(run.id) == nil else { continue }
            guard let slot = slot(of: run.id.firing.job), var entry = entries[slot],
                let index = entry.live.firstIndex(where: { $0.id == run.id })
            else {
                live[run.id] = ToldRun(run)
                batch.start.append(run)
                continue
            }
            if entry.phase.isPaused {
                entry.live[index].wait = .turn
                // It came before whatever is held behind it.
                let place = entry.held.firstIndex { held in
                    entry.live.firstIndex { $0.id == held.run.id } ?? index > index
                }
                entry.held.insert(
                    HeldRun(run: run, retryAt: nil), at: place ?? entry.held.endIndex)
            } else if !lapse(run, &entry, at: now, into: &batch) {
                entry.live[index].wait = nil
                live[run.id] = ToldRun(run)
                batch.start.append(run)
            }
            entries[slot] = entry
        }
    }

    /// Starts what of the job's held runs may start now: further attempts whose time has come, and the one
    /// whose turn it is.
    mutating func release(_ slot: Int, at now: Now, into batch: inout Batch) {
        // Nearly always there is nothing to do.
        if entries[slot]?.held.isEmpty == true, retryDue[slot] == nil { return }
        guard !isShutDown, var entry = entries[slot] else {
            retryDue.remove(slot)
            return
        }
        if !entry.phase.isPaused, !entry.held.isEmpty {
            for held in entry.held {
                guard let instant = held.retryAt, instant <= now.awake else { continue }
                entry.held.removeAll { $0.run.id == held.run.id }
                admit(held.run, &entry, into: &batch)
            }
            while let held = entry.held.first(where: { $0.retryAt == nil }),
                entry.job.policy.concurrency == .allow
                    || entry.live.allSatisfy({ $0.wait == .turn })
            {
                entry.held.removeAll { $0.run.id == held.run.id }
                if lapse(held.run, &entry, at: now, into: &batch) { continue }
                admit(held.run, &entry, into: &batch)
            }
        }
        batch.timers += settleRetry(slot, entry)
        entries[slot] = entry
    }

    /// Closes a run that waited past its starting deadline. A further attempt has none: its firing started in
    /// time.
    private func lapse(
        _ run: Run, _ entry: inout Entry, at now: Now, into batch: inout Batch
    ) -> Bool {
        guard let deadline = run.job.policy.startingDeadline, run.id.attempt == 1,
            now.wall - run.id.firing.scheduled
                > deadline + run.job.policy.accuracy + run.job.policy.randomDelay
        else { return false }
        entry.live.removeAll { $0.id == run.id }
        entry.lastRun = RunSummary(id: run.id, outcome: .lost(.deadline))
        batch.ends.append(.close(run.id, .lost(.deadline), RunUsage()))
        letGo(run.firing, .deadline, &entry, at: now, into: &batch)
        return true
    }
}
