// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// Makes a run of a firing, unless it is let go by order or by a run that lives.
    ///
    /// - Parameter candidate: why it is made.
    mutating func begin(
        _ firing: Firing, late: Duration, _ slot: Int, _ entry: inout Entry,
        as candidate: Candidate, at now: Now, into batch: inout Batch
    ) {
        if entry.skips > 0 {
            entry.skips -= 1
            return letGo(firing, .byOrder(left: entry.skips), &entry, at: now, into: &batch)
        }
        let run = entry.run(firing)
        if let obstacle = place(run, as: candidate, slot, &entry, into: &batch) {
            return letGo(firing, obstacle.skipReason, &entry, at: now, into: &batch)
        }
        let remaining = entry.phase == .armed ? entry.remaining(at: now) : nil
        batch.notices.append(.tell(.fired(run, late: late, remaining: remaining)))
        if entry.held.last?.run.id == run.id, let other = entry.live.dropLast().last?.id {
            batch.notices.append(.tell(.held(run, behind: other)))
        }
    }

    /// Records a run and starts it, or lets it wait for those before it, as `concurrency` says.
    ///
    /// - Returns: why it is not made, with nothing changed; nil if it is.
    mutating func place(
        _ run: Run, as candidate: Candidate, _ slot: Int, _ entry: inout Entry,
        into batch: inout Batch
    ) -> Obstacle? {
        let mayStart: Bool
        switch entry.admission(of: candidate) {
        case .skip(let obstacle): return obstacle
        case .start: mayStart = true
        case .wait: mayStart = false
        case .replaceRetries:
            replaceRetries(slot, &entry, by: run, into: &batch)
            mayStart = true
        case .replaceAll:
            replace(slot, &entry, by: run, into: &batch)
            mayStart = entry.live.isEmpty
        }
        record(run, wait: mayStart ? nil : .turn, &entry, into: &batch)
        if mayStart {
            admit(run, &entry, into: &batch)
        } else {
            entry.held.append(HeldRun(run: run, retryAt: nil))
        }
        return nil
    }

    /// Puts a run of the job on record, and among those that have not ended.
    func record(
        _ run: Run, wait: RunSummary.Wait?, _ entry: inout Entry, into batch: inout Batch
    ) {
        var summary = RunSummary(id: run.id, wait: wait)
        summary.event = eventNumber
        entry.live.append(summary)
        batch.runs.append(run)
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
        if let index {
            entry.live[index].wait = nil
            entry.live[index].event = eventNumber
        }
        batch.start.append(run)
    }

    mutating func noteBegin(of run: Run.ID, at instant: WallInstant) -> [Action] {
        var grace = Execution().killTimeout
        if let slot = slot(of: run),
            let index = entries[slot]?.live.firstIndex(where: { $0.id == run })
        {
            entries[slot]?.live[index].began = instant
            if let job = entries[slot]?.job { grace = job.execution.killTimeout }
        }
        guard live[run]?.endsWhenBegun == true else { return [.tell(.runBegan(run))] }
        live[run]?.endsWhenBegun = false
        return [.end(run, grace: grace), .tell(.runBegan(run))]
    }

    mutating func noteEnd(
        of run: Run.ID, _ told: RunOutcome, _ usage: RunUsage, at now: Now
    ) -> [Action] {
        // The end of a run is told once; a second telling would free a place that is not taken.
        guard let ended = live.removeValue(forKey: run) else { return [] }
        let outcome = ending.removeValue(forKey: run) ?? told
        let codes = ended.job?.wrappedValue.execution.successExitCodes ?? [0]
        let failed = outcome.isFailure(codes)
        var batch = Batch()
        batch.notices.append(.tell(.runEnded(run, outcome, usage, failed: failed)))
        let job = owner(of: run)
        forgetOwner(of: run)
        if let slot = slot(of: job), var entry = entries[slot] {
            if let index = entry.live.firstIndex(where: { $0.id == run }) {
                var summary = entry.live.remove(at: index)
                summary.outcome = outcome
                summary.usage = usage
                summary.failed = failed
                entry.lastRun = summary
            }
            if outcome.isRetried(codes) { retry(run, ended, slot, &entry, at: now, into: &batch) }
            entries[slot] = entry
            admitWaiting(at: now, into: &batch)
            release(slot, at: now, into: &batch)
        } else {
            noteLastRun(
                RunSummary(id: run, outcome: outcome, usage: usage, failed: failed), of: job)
            admitWaiting(at: now, into: &batch)
        }
        return [.close(run, outcome, usage, failed: failed)] + batch.actions
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
        record(attempt, wait: .retry(instant), &entry, into: &batch)
        entry.held.append(HeldRun(run: attempt, retryAt: instant))
        batch.timers += settleRetry(slot, entry)
        batch.notices.append(
            .tell(.retrying(attempt.id, after: delay, retries: retry.retries)))
    }

    /// Gives free places to the runs that wait for one, in their order.
    mutating func admitWaiting(at now: Now, into batch: inout Batch) {
        while !isShutDown, live.count < concurrentRunsMax, let run = waiting.popFirst() {
            guard calledOff.remove(run.id) == nil else { continue }
            start(run, at: now, into: &batch)
        }
    }

    /// Starts a run for which there is a place, unless its job is paused by now or its deadline has passed.
    mutating func start(_ run: Run, at now: Now, into batch: inout Batch) {
        guard let slot = slot(of: run.id), var entry = entries[slot],
            let index = entry.live.firstIndex(where: { $0.id == run.id })
        else {
            live[run.id] = ToldRun(run)
            batch.start.append(run)
            return
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
            entry.live[index].event = eventNumber
            live[run.id] = ToldRun(run)
            give(run.id, to: entry.job.name)
            batch.start.append(run)
        }
        entries[slot] = entry
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
            releaseRetries(&entry, at: now, into: &batch)
            while let held = entry.held.first(where: { $0.retryAt == nil }),
                case .start = entry.admission(of: .firstInLine)
            {
                entry.held.removeAll { $0.run.id == held.run.id }
                if lapse(held.run, &entry, at: now, into: &batch) { continue }
                admit(held.run, &entry, into: &batch)
            }
        }
        batch.timers += settleRetry(slot, entry)
        entries[slot] = entry
    }

    /// Starts the further attempts whose time has come. Where as many runs as may are running, they wait for their
    /// turn.
    private mutating func releaseRetries(
        _ entry: inout Entry, at now: Now, into batch: inout Batch
    ) {
        for held in entry.held {
            guard let instant = held.retryAt, instant <= now.awake,
                let index = entry.held.firstIndex(where: { $0.run.id == held.run.id })
            else { continue }
            if case .start = entry.admission(of: .retry) {
                entry.held.remove(at: index)
                admit(held.run, &entry, into: &batch)
                continue
            }
            entry.held[index].retryAt = nil
            if let place = entry.live.firstIndex(where: { $0.id == held.run.id }) {
                entry.live[place].wait = .turn
            }
        }
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
        entry.lastRun = RunSummary(id: run.id, outcome: .lost(.deadline), failed: true)
        batch.ends.append(.close(run.id, .lost(.deadline), RunUsage(), failed: true))
        letGo(run.firing, .deadline, &entry, at: now, into: &batch)
        return true
    }
}

extension Entry {
    /// What becomes of a run of the job because of the others.
    func admission(of candidate: Candidate) -> Admission {
        job.policy.admission(of: candidate, beside: live)
    }
}
