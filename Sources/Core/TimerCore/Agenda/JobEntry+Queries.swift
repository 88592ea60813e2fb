// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension JobEntry {
    func snapshot(at now: Now, _ runs: [ActiveRun]) -> JobSnapshot {
        let next = next(at: now)
        let hasNext = next != nil || phase != .armed || !job.hasLimitedPoints
        var snapshot = JobSnapshot(
            at: now, job: job, phase: phase, active: max(.zero, active(at: now)),
            accrued: max(.zero, accrued(at: now)), remaining: hasNext ? remaining(at: now) : nil,
            next: next, offset: offset,
            lastScheduled: lastScheduled, firings: firings, live: runs, lastRun: lastRun,
            lastSkip: outcomes.lastSkip, skips: skips, maxLoss: maxLoss, checkpoint: checkpoint,
            incidents: watch?.wrappedValue.notifiedIncidents ?? [])
        snapshot.chain = chainView(at: now)
        if job.limit != nil { snapshot.tally = tally }
        if job.hasLimitedPoints { snapshot.nextPoint = nextPoint(at: now) }
        if job.schedule == .onDemand, !phase.isPaused, let due = snapshot.chain?.due {
            snapshot.remaining = due - now.wall
            snapshot.next = due
        }
        return snapshot
    }

    /// When the next firing is due if nothing changes until then. For a pause with an end, that is
    /// after the pause, as `on-resume` says.
    func next(at now: Now) -> WallInstant? {
        guard !isSpent else { return nil }
        if case .paused(let pause) = phase {
            return pause.until.flatMap { next(after: pause, $0, now) }
        }
        if let due = dueOccurrence { return start(ofDue: due, at: now) }
        guard ledger.isOpen, let left = remaining(at: now) else { return nil }
        // For years, no point of its interval may be in its window.
        if let window = job.window, nextPoint(at: now).map(window.isOutside) == true { return nil }
        return now.wall + left
    }

    private func next(after pause: Pause, _ until: WallInstant, _ now: Now) -> WallInstant? {
        let end = max(until, now.wall)
        if case .wall(let schedule) = job.schedule {
            let through = startedThrough(end)
            if job.policy.onResume == .fireIfDue,
                let first = occurrence(after: processedThrough, schedule), first <= through
            {
                return start(of: end)
            }
            return occurrence(after: max(processedThrough, through), schedule).map {
                start(of: $0, delay: delay(ordinal: $0.microsecondsSinceEpoch))
            }
        }
        return nextCounted(after: pause, end, now).map { start(of: $0) }
    }

    private func nextCounted(after pause: Pause, _ end: WallInstant, _ now: Now) -> WallInstant? {
        guard let dueTarget else { return nil }
        let left = max(.zero, dueTarget - accrued(at: now))
        switch job.policy.onResume ?? .keepRemaining {
        case .keepRemaining, .nextSlot: return end + left
        case .restart: return end + dueTarget
        case .fireIfDue:
            return passed(since: pause, until: end, at: now) >= left ? end : end + left
        }
    }

    /// How long a pause will have lasted at its end, as far as it delays the job. For a job that
    /// counts from the boot, the time before the boot does not delay it, and for one that counts
    /// from the end of its runs, the time before that end.
    func passed(since pause: Pause, until end: WallInstant, at now: Now) -> Duration {
        let passed = max(.zero, end - (endedInPause(of: pause) ?? pause.since))
        guard job.schedule.isSinceBoot else { return passed }
        return min(passed, .nanoseconds(now.boot.nanoseconds) + (end - now.wall))
    }

    func measures(at now: Now, live: Int) -> JobMeasures {
        let outcomes = outcomes
        return JobMeasures(
            job: job, phase: phase, live: live, next: latestFiring(at: now),
            remaining: remaining(at: now), active: active(at: now), lastRun: outcomes.last,
            lastSuccess: outcomes.lastSuccess, runs: outcomes.counts, skips: outcomes.skipCounts,
            durations: outcomes.durations)
    }

    private func latestFiring(at now: Now) -> WallInstant? {
        let accuracy = job.policy.accuracy
        if phase == .armed, !job.hasLimitedPoints, ledger.isOpen, let dueTarget {
            return now.wall + (dueTarget - accrued(at: now)) + accuracy
        }
        return next(at: now).map { $0 + accuracy }
    }

    func account(at now: Now) -> JobAccount {
        JobAccount(
            job: job.name, state: phase.word, basis: job.count, active: active(at: now),
            accrued: accrued(at: now))
    }

    /// When the last run of a finished job ended, or when the job was due if it had no run.
    var finishedAt: WallInstant {
        var end = max(job.schedule.at ?? processedThrough, processedThrough)
        if let last = lastRun {
            end = max(end, (last.began ?? last.id.firing.scheduled) + last.usage.elapsed)
        }
        return end
    }
}

extension JobEntry {
    /// Why there is nothing to run again; nil if the last run failed.
    ///
    /// - Parameter active: the runs of the job that have not ended.
    func reasonNotToRetry(beside active: [ActiveRun]) -> String? {
        guard let lastRun else {
            return active.first.map { "its first run, \($0.id), has not ended" }
                ?? "it has never run"
        }
        // A retry that was cancelled before it started did nothing, so the failed attempt before it counts.
        let isCancelledRetry =
            lastRun.outcome == .stopped && lastRun.began == nil && lastRun.id.attempt > 1
        guard !lastRun.failed, !isCancelledRetry else { return nil }
        if case .skipped(let skip) = lastRun.outcome {
            return "its last run did not fail: it was skipped (\(skip))"
        }
        return lastRun.outcome.intention.map { "its last run did not fail: \($0)" }
            ?? "its last run succeeded"
    }
}
