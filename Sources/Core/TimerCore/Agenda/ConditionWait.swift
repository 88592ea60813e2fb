// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is known of the checks of a run whose job has a condition.
public struct ConditionWait: Hashable, Sendable {
    /// When it was first about to start. The time that it may wait counts from here.
    public internal(set) var since: AwakeInstant
    /// What was not met at the last check, in the words of the file; empty before the first answer.
    public internal(set) var what = ""
    /// How many checks have found that it is not met.
    var answers = 0
    /// The number of the last check.
    var asked: UInt64 = 0
    /// Whether the machine has changed since then, so that a no may be out of date.
    var isOutdated = false

    init(since: AwakeInstant) { self.since = since }
}

/// A check of the condition of a run, which a runner makes.
public struct ConditionCheck: Hashable, Sendable {
    public var run: Run
    /// Distinguishes several checks for one run: an answer has the number of its check.
    public var number: UInt64

    public init(run: Run, number: UInt64) {
        self.run = run
        self.number = number
    }
}

/// Conditions: what must be true when a run is about to start. The row of the run says that it waits
/// until the answer is yes; only then is it released. While it is checked it has its slots and its
/// place of `max-concurrent`, and while it waits it has neither.
extension Agenda {
    /// Whether the condition of a run must be checked before it starts.
    func mustCheck(_ run: Run) -> Bool {
        run.boxedJob.wrappedValue.execution.hasCondition && !run.firing.cause.isForced
    }

    /// Lets a recorded run wait for the answer to a check.
    mutating func check(_ run: Run, _ slot: Int, into batch: inout Batch) {
        _ = runs.apply(.wait(.check), to: run.id, of: .slot(slot))
        noteCheck(of: run, slot, into: &batch)
    }

    /// Asks for a check of a run that is recorded, or is in this event.
    mutating func noteCheck(of run: Run, _ slot: Int, into batch: inout Batch) {
        runs.change(run.id, slot) { active in
            var wait = active.condition ?? ConditionWait(since: clocks.last.awake)
            wait.asked = hold.event
            wait.isOutdated = false
            active.condition = wait
        }
        batch.checks.append(ConditionCheck(run: run, number: hold.event))
    }

    /// Handles the answer to a check. It may be late: then its run is gone, waits for something else
    /// or is being checked once more, and nothing happens.
    mutating func noteChecked(
        _ run: Run.ID, number: UInt64, _ answer: Condition.Answer, at now: Now
    ) -> [Action] {
        guard !isShutDown, case .slot(let slot) = jobKey(of: run),
            let active = runs[run, of: .slot(slot)], active.wait == .check,
            active.condition?.asked == number, let checked = active.run
        else { return [] }
        switch answer {
        case .yes:
            var batch = Batch()
            start(checked, at: now, isMet: true, into: &batch)
            admitWaiting(at: now, into: &batch)
            release(slot, at: now, into: &batch)
            return batch.actions
        case .no(let what):
            if let until = nextCheck(of: active, at: now) {
                return wait(active, slot, until: until, for: what, at: now)
            }
            return close(run, as: .skipped(.condition(what)), at: now)
        case .failed(let errno, let why):
            return close(
                run, as: .spawnFailed(errno: errno, what: "condition: \(why)"), at: now)
        }
    }

    /// When a run is asked again whose condition is not met; nil if it is skipped.
    private func nextCheck(of run: ActiveRun, at now: Now) -> AwakeInstant? {
        // Variables are not saved, so a run with them does not wait.
        guard let wait = run.condition, let end = run.conditionEnd, now.awake < end,
            run.firing.cause.variables.isEmpty
        else { return nil }
        guard !wait.isOutdated else { return now.awake }
        return min(now.awake + Condition.delay(afterAnswers: wait.answers + 1), end)
    }

    /// Asks the runs again that wait for a condition on these parts of the machine. Those that are being
    /// checked are asked again after a no, because it may be older than the change.
    ///
    /// - Complexity: O(*n*) in the number of jobs while a run waits for a condition, otherwise O(1).
    mutating func noteMachineChange(_ parts: MachineParts, at now: Now) -> [Action] {
        guard !isShutDown, runs.conditionCount > 0 else { return [] }
        var actions: [Action] = []
        for slot in runs.slotIndices {
            var isSooner = false
            for run in runs[slot] where run.awaitsCondition {
                guard let condition = run.job?.wrappedValue.execution.condition,
                    !condition.watched.isDisjoint(with: parts)
                else { continue }
                if run.wait == .check {
                    runs.change(run.id, slot) { $0.condition?.isOutdated = true }
                } else {
                    _ = runs.apply(
                        .wait(.condition(until: now.awake)), to: run.id, of: .slot(slot))
                    isSooner = true
                }
            }
            guard isSooner, let entry = entries[slot] else { continue }
            noteChange(slot, entry)
            actions += updateRetryTimer(slot, entry)
        }
        return actions
    }

    /// Lets a run wait until it is asked again.
    private mutating func wait(
        _ run: ActiveRun, _ slot: Int, until: AwakeInstant, for what: String, at now: Now
    ) -> [Action] {
        var batch = Batch()
        let isFirst = run.condition?.what.isEmpty ?? true
        runs.change(run.id, slot) { active in
            active.condition?.answers += 1
            active.condition?.what = what
        }
        _ = runs.apply(.wait(.condition(until: until)), to: run.id, of: .slot(slot))
        if let entry = entries[slot] {
            noteChange(slot, entry)
            batch.timers += updateRetryTimer(slot, entry)
        }
        if isFirst, let end = run.conditionEnd {
            batch.notices.append(.log(.awaitsCondition(run.id, what, atMost: end - now.awake)))
        }
        // Its place is free.
        admitWaiting(at: now, into: &batch)
        return batch.actions
    }

    /// Closes a run that does not start.
    private mutating func close(
        _ run: Run.ID, as outcome: RunOutcome, at now: Now
    ) -> [Action] {
        noteEnd(
            of: run, outcome, RunUsage(), ended: now.wall, hasOutput: false, isStarted: false,
            at: now)
    }

    /// Asks the runs of a job again that wait for their condition, and whose time has come. In a pause
    /// these are only runs that a user has requested.
    mutating func checkAgain(
        _ slot: Int, _ entry: inout JobEntry, at now: Now, into batch: inout Batch
    ) {
        for active in runs[slot] {
            guard case .waiting(.condition(let until)) = active.state, until <= now.awake,
                !isHeldBack(entry, at: now) || active.isRequested, let run = active.run
            else { continue }
            if !expire(run, slot, &entry, at: now, into: &batch) {
                startOrQueue(active, slot, &entry, into: &batch)
            }
        }
    }

    /// Takes the checks of a job back, so that its runs are checked once more as soon as they may be. Nothing
    /// follows from answers that are still to come.
    mutating func takeBackChecks(_ slot: Int) {
        for run in runs[slot] where run.wait == .check {
            _ = runs.apply(
                .wait(.condition(until: clocks.last.awake)), to: run.id, of: .slot(slot))
        }
    }

    /// Gives the runs of a job that wait for their condition the new definition of the job: the runner
    /// has no other one any more. With another condition they are asked again at once.
    mutating func redefineChecked(_ slot: Int, from old: Job, to entry: JobEntry) {
        guard old.execution.hasCondition, !runs[slot].isEmpty else { return }
        takeBackChecks(slot)
        let isOther = old.execution.condition != entry.job.execution.condition
        for run in runs[slot] {
            guard case .waiting(.condition) = run.state else { continue }
            runs.change(run.id, slot) { $0.job = entry.boxedJob }
            if entry.job.policy.slots.isEmpty { runs.forgetPlace(of: run.id) }
            guard isOther else { continue }
            _ = runs.apply(
                .wait(.condition(until: clocks.last.awake)), to: run.id, of: .slot(slot))
        }
    }

    /// Starts the runs that wait for `max-concurrent` at the end of an event: a run that was cancelled
    /// while it was checked had a place.
    mutating func admitWaiting(at now: Now) -> [Action] {
        guard runs.capacityCount > 0, runs.startedCount < concurrentRunsMax, !isShutDown else {
            return []
        }
        var batch = Batch()
        admitWaiting(at: now, into: &batch)
        return batch.actions
    }

    /// Whether a run of the job in this slot waits for its condition.
    func awaitsCondition(_ slot: Int) -> Bool {
        runs.conditionCount > 0 && runs[slot].contains { $0.checkedAgainAt != nil }
    }

    /// The number of runs that wait for their condition.
    public var waitingForCondition: Int { runs.conditionCount }
}

extension Firing {
    /// Whether a user requested this attempt: a pause of its job does not hold it then. A retry was
    /// not requested.
    func isRequested(attempt: Int) -> Bool { cause.requester != nil && attempt == 1 }
}

extension ActiveRun {
    /// Whether it is being checked, or waits for its condition.
    var awaitsCondition: Bool { state.awaitsCondition }

    /// See `Firing.isRequested(attempt:)`.
    public var isRequested: Bool { firing.isRequested(attempt: id.attempt) }

    /// When it is asked again whether its condition is met; nil if it does not wait for that.
    public var checkedAgainAt: AwakeInstant? {
        if case .waiting(.condition(let until)) = state { until } else { nil }
    }

    /// Until when it may wait for its condition; nil if it may not wait.
    public var conditionEnd: AwakeInstant? {
        guard let wait = condition, let asked = job?.wrappedValue.execution.condition else {
            return nil
        }
        return asked.otherwise == .wait ? wait.since + asked.waitMax : nil
    }
}
