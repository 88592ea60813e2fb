// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// Makes a run of a firing, unless a user requested to skip it or other runs of the job prevent
    /// it.
    ///
    /// - Parameter candidate: why the run is made.
    mutating func begin(
        _ firing: Firing, late: Duration, _ slot: Int, _ entry: inout JobEntry,
        as candidate: Candidate, at now: Now, into batch: inout Batch
    ) {
        guard !entry.isSpent else { return }
        if let left = SkipNext.left(of: entry.skips) {
            entry.skips = left
            return skip(firing, .byOrder(left: left), &entry, at: now, into: &batch)
        }
        if entry.job.window?.outside == .skip, entry.isOutsideWindow(at: now.wall) {
            return skip(firing, .outsideWindow, &entry, at: now, into: &batch)
        }
        let run = entry.run(firing)
        if let obstacle = recordAndStart(run, as: candidate, slot, &entry, at: now, into: &batch) {
            return skip(firing, obstacle.skipReason, &entry, at: now, into: &batch)
        }
        if entry.count(run) { batch.timers += updateTimer(slot, &entry, at: now) }
        if case .schedule = firing.cause { counts.lateness.add(late) }
        let remaining = entry.phase == .armed ? entry.remaining(at: now) : nil
        batch.notices.append(.log(.fired(run, late: late, remaining: remaining)))
        let active = runs[slot]
        switch active.last?.wait {
        case .previousRun:
            guard let other = active.dropLast().last?.id else { return }
            batch.notices.append(.log(.held(run, behind: other)))
        case .catchUpDelay(let until):
            batch.notices.append(.log(.catchUpDelayed(run.id, by: until - now.awake)))
        case .capacity, .slot, .retryDelay, .check, .condition, nil: break
        }
    }

    /// Decides what to do with a run, given the other runs of the job and who holds its slots.
    func admission(of candidate: Candidate, _ slot: Int, _ entry: JobEntry) -> Admission<ActiveRun>
    {
        let admission = entry.job.policy.admission(of: candidate, beside: runs[slot])
        guard !entry.job.policy.slots.isEmpty, entry.job.policy.onBusySlot == .skip,
            candidate.isNew, admission.startsNow(beside: runs[slot]),
            let busy = runs.slots.busy(entry.job.policy.slots, for: nil)
        else { return admission }
        return .skip(.slotBusy(busy))
    }

    /// Records a run and starts it, or queues it behind the runs before it, as `concurrency` says.
    ///
    /// - Returns: why the run is not made, with nothing changed; nil if it is made.
    mutating func recordAndStart(
        _ run: Run, as candidate: Candidate, _ slot: Int, _ entry: inout JobEntry, at now: Now,
        into batch: inout Batch
    ) -> Obstacle<ActiveRun>? {
        let mayStart: Bool
        switch admission(of: candidate, slot, entry) {
        case .skip(let obstacle): return obstacle
        case .start: mayStart = true
        case .wait: mayStart = false
        case .replaceDelayed:
            replaceDelayed(slot, &entry, by: run, into: &batch)
            mayStart = true
        case .replaceAll:
            replace(slot, &entry, by: run, into: &batch)
            mayStart = runs[slot].isEmpty
        }
        if mayStart {
            recordAndStart(run, slot, &entry, at: now, into: &batch)
        } else {
            record(run, .waiting(.previousRun), slot, into: &batch)
        }
        // The job's record is written together with the run, so it says that the run is awaited.
        if entry.countsFromEnd { entry.awaitEnd(at: now) }
        noteChange(slot, entry)
        return nil
    }

    /// Records a run that no other run of its job delays. It starts, unless it waits for its delay, for
    /// its slots or for `max-concurrent`.
    mutating func recordAndStart(
        _ run: Run, _ slot: Int, _ entry: inout JobEntry, at now: Now, into batch: inout Batch
    ) {
        if entry.isOutsideWindow(at: now.wall), !run.firing.isRequested(attempt: run.id.attempt) {
            record(run, .waiting(.previousRun), slot, into: &batch)
            batch.timers += updateRetryTimer(slot, entry)
            return
        }
        if let delay = entry.catchUpDelay(of: run) {
            record(run, .waiting(.catchUpDelay(until: now.awake + delay)), slot, into: &batch)
            batch.timers += updateRetryTimer(slot, entry)
            return
        }
        if let wait = waitOfStart(of: run) {
            return record(run, .waiting(wait), slot, into: &batch)
        }
        if mustCheck(run) {
            record(run, .waiting(.check), slot, into: &batch)
            return noteCheck(of: run, slot, into: &batch)
        }
        record(run, .starting, slot, into: &batch)
        batch.start.append(run)
        noteStart(run.id, slot, &entry, into: &batch)
    }

    /// What a run waits for that no other run of its job delays; nil: it can start.
    private func waitOfStart(of run: Run) -> RunState.Wait? {
        if runs.busySlot(for: run) != nil { return .slot }
        return hasRoom ? nil : .capacity
    }

    /// Records a run of the job and adds it to the runs that have not ended.
    mutating func record(
        _ run: Run, _ state: RunState, _ slot: Int, into batch: inout Batch
    ) {
        runs.add(ActiveRun(run, state, event: hold.event), of: .slot(slot))
        batch.runs.append(run)
    }

    /// Whether `max-concurrent` allows one more run and no other run waits for that.
    var hasRoom: Bool {
        runs.startedCount < concurrentRunsMax && runs.capacityCount == 0 && !isShutDown
    }

    /// Starts a recorded run, or queues it for its slots or `max-concurrent`. If it has a condition, that
    /// is checked first.
    mutating func startOrQueue(
        _ active: ActiveRun, _ slot: Int, _ entry: inout JobEntry, into batch: inout Batch
    ) {
        guard let run = active.run else { return }
        if let wait = waitOfStart(of: run) {
            _ = runs.apply(.wait(wait), to: run.id, of: .slot(slot))
        } else if mustCheck(run) {
            check(run, slot, into: &batch)
        } else {
            _ = runs.apply(.start(event: hold.event), to: run.id, of: .slot(slot))
            batch.start.append(run)
            noteStart(run.id, slot, &entry, into: &batch)
        }
    }

    /// The job of a run, as the key of the table of runs.
    func jobKey(of run: Run.ID) -> RunTable.JobKey {
        let job = owner(of: run)
        return slot(of: job).map { .slot($0) } ?? .other(job)
    }

    mutating func noteBegin(of run: Run.ID, at instant: WallInstant) -> [Action] {
        let key = jobKey(of: run)
        let change = runs.apply(.begin(at: instant), to: run, of: key)
        if case .slot(let slot) = key, entries[slot]?.watch != nil {
            watching.noteChange(slot)
        }
        guard let change,
            case .stoppingAtStart = change.before
        else { return [.log(.runBegan(run))] }
        var grace = change.run.killTimeout
        if case .slot(let slot) = key, let job = entries[slot]?.job {
            grace = job.execution.killTimeout
        }
        return [.end(run, grace: grace), .log(.runBegan(run))]
    }

    /// - Parameter isStarted: false if it waited, and does not start.
    mutating func noteEnd(
        of run: Run.ID, _ reported: RunOutcome, _ usage: RunUsage, ended: WallInstant,
        hasOutput: Bool, isStarted: Bool = true, at now: Now
    ) -> [Action] {
        let job = owner(of: run)
        let slot = slot(of: job)
        // The end of a run counts only once. A second report would free capacity that is not in
        // use.
        guard
            let change = runs.apply(
                isStarted ? .end(reported) : .cancel(reported), to: run,
                of: slot.map { .slot($0) } ?? .other(job)),
            case .ended(let end) = change.run.state
        else { return [] }
        runs.forgetJob(of: run)
        let execution = change.run.job?.wrappedValue.execution ?? .standard
        let outcome = end.judged(skipExitCodes: execution.skipExitCodes)
        let failed = outcome.isFailure(execution.success)
        var batch = Batch()
        var closing: [Action] = []
        batch.notices.append(.log(.runEnded(run, outcome, usage, failed: failed)))
        let summary = RunSummary(
            id: run, began: change.before.began, ended: ended, outcome: outcome, usage: usage,
            failed: failed)
        if let slot, var entry = entries[slot] {
            let willRetry = retry(change.run, after: outcome, slot, &entry, at: now, into: &batch)
            noteEnd(summary, change.run.firing.cause, willRetry: willRetry, in: &entry)
            closing = countEnd(of: summary, slot, &entry, at: now, into: &batch)
            closing += notices(
                of: summary, slot, &entry, willRetry: willRetry, hasOutput: hasOutput)
            entries[slot] = entry
            admitWaiting(at: now, into: &batch)
            release(slot, at: now, into: &batch)
        } else {
            noteEnd(summary, change.run.firing.cause, of: job)
            admitWaiting(at: now, into: &batch)
        }
        return [.close(summary)] + closing + batch.actions
    }

    /// Records a retry that starts after a delay. It is recorded at once, so that it is made even
    /// if the daemon ends before the delay has passed.
    ///
    /// - Returns: whether there is a retry.
    private mutating func retry(
        _ ended: ActiveRun, after outcome: RunOutcome, _ slot: Int, _ entry: inout JobEntry,
        at now: Now, into batch: inout Batch
    ) -> Bool {
        guard let boxed = ended.job else { return false }
        let retry = boxed.wrappedValue.policy.retry
        // A fleet decides itself about another attempt.
        guard
            case .after(let delay) = retry.next(
                after: outcome, attempt: ended.id.attempt,
                success: boxed.wrappedValue.execution.success),
            entry.phase != .stopped, ended.firing.cause.claim == nil,
            !ended.firing.cause.variables.areLost
        else { return false }
        let attempt = Run(firing: ended.firing, attempt: ended.id.attempt + 1, job: boxed)
        // Of two retries with one identity only the first could start, and the other would be due for
        // ever.
        guard runs[attempt.id, of: .slot(slot)] == nil else { return false }
        counts.runs.addRetry()
        entry.outcomes.counts.addRetry()
        record(attempt, .waiting(.retryDelay(until: now.awake + delay)), slot, into: &batch)
        batch.timers += updateRetryTimer(slot, entry)
        batch.notices.append(
            .log(.retrying(attempt.id, after: delay, retries: retry.retries)))
        return true
    }

    /// Starts the runs that wait for `max-concurrent`, in their order, as far as the limit allows.
    mutating func admitWaiting(at now: Now, into batch: inout Batch) {
        while !isShutDown, runs.startedCount < concurrentRunsMax, let id = runs.nextForCapacity() {
            guard let slot = slot(of: id),
                let active = runs[slot].first(where: { $0.id == id && $0.wait == .capacity }),
                let run = active.run
            else { continue }
            // A reload may have made its slot smaller meanwhile.
            guard runs.busySlot(for: run) == nil else {
                _ = runs.apply(.wait(.slot), to: id, of: .slot(slot))
                continue
            }
            start(run, at: now, into: &batch)
        }
    }

    /// Starts a recorded run, unless its deadline has passed, or its job has been paused meanwhile: a
    /// pause holds what the schedule makes, and not what a user has requested. If it has a condition,
    /// that is checked first.
    ///
    /// - Parameter isMet: whether that was checked.
    mutating func start(_ run: Run, at now: Now, isMet: Bool = false, into batch: inout Batch) {
        let key = jobKey(of: run.id)
        guard case .slot(let slot) = key, var entry = entries[slot] else {
            _ = runs.apply(.start(event: hold.event), to: run.id, of: key)
            return batch.start.append(run)
        }
        if isHeldBack(entry, at: now), !passesPause(run) {
            _ = runs.apply(.wait(.previousRun), to: run.id, of: key)
            batch.timers += updateRetryTimer(slot, entry)
        } else if expire(run, slot, &entry, at: now, into: &batch) {
            // It is closed, and nothing follows.
        } else if !isMet, mustCheck(run), runs.state(of: run.id, of: key) != .starting {
            check(run, slot, into: &batch)
        } else {
            let change = runs.apply(.start(event: hold.event), to: run.id, of: key)
            runs.give(run.id, to: entry.job.name, slot: slot)
            batch.start.append(run)
            // A run that was written late was already about to start.
            if change?.before != .starting { noteStart(run.id, slot, &entry, into: &batch) }
        }
        entries[slot] = entry
    }

    /// Starts the runs of the job that may start now: retries whose delay has passed, and the first
    /// run that waits for the previous run.
    mutating func release(_ slot: Int, at now: Now, into batch: inout Batch) {
        // This is a fast path: in nearly all cases there is nothing to do.
        let isWaiting = runs[slot].contains { $0.wait != nil && !$0.isStarted }
        if !isWaiting, alarms.retry(of: slot) == nil, !awaitsCondition(slot) { return }
        guard !isShutDown, var entry = entries[slot] else {
            alarms.setRetry(slot, to: nil)
            return
        }
        checkAgain(slot, &entry, at: now, into: &batch)
        stopOutsideWindow(slot, entry, at: now, into: &batch)
        if !isSuspended(entry), isWaiting {
            let isClosed = entry.isOutsideWindow(at: now.wall)
            if !isClosed { releaseDelayed(slot, &entry, at: now, into: &batch) }
            while let first = firstInLine(slot, isClosed: isClosed),
                case .start = admission(of: .firstInLine, slot, entry), let run = first.run
            {
                if !expire(run, slot, &entry, at: now, into: &batch) {
                    startOrQueue(first, slot, &entry, into: &batch)
                }
                // At the end of the clock's range firings have no instants of their own any more, so
                // that two runs have one identity, of which only the first changes.
                if first.id == firstInLine(slot, isClosed: isClosed)?.id { break }
            }
        }
        batch.timers += updateRetryTimer(slot, entry)
        entries[slot] = entry
    }
}
