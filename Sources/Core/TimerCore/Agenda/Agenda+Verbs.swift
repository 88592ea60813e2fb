// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// Executes a command of a user, unless its job does not exist, the daemon is stopping, or the
    /// command cannot be meant.
    mutating func execute(_ command: JobCommand, at now: Now) -> [Action] {
        // A run is identified by the name that its job had when the run started.
        let job = command.run.map { owner(of: $0) } ?? command.job
        guard let slot = slot(of: job), var entry = entries[slot] else {
            return command.verb == .kill ? killRemoved(job, command) : [.answer(.noSuchJob)]
        }
        // While the daemon stops, a run that delays the stop can still be ended.
        guard !isShutDown || command.verb == .kill else {
            return [.answer(.refused("the daemon is stopping"))]
        }
        if let fault = command.pauseFault(at: now) { return [.answer(.refused(fault))] }
        guard !entry.isShared || command.verb == .kill else {
            return [.answer(.refused(Self.isShared(command.verb)))]
        }
        return execute(command, slot, &entry, at: now)
    }

    /// Each pair of verb and phase has a case, so that a new verb or phase does not compile until it
    /// is decided for all of them. No pair is an error, and all verbs are idempotent except `run`,
    /// `retry` and `kill` with a signal.
    private mutating func execute(
        _ command: JobCommand, _ slot: Int, _ entry: inout JobEntry, at now: Now
    ) -> [Action] {
        func unchanged(_ reason: String) -> [Action] { .unchanged(reason) }

        switch (command.verb, entry.phase) {
        case (.pause, .armed): return pause(slot, &entry, command, at: now)
        case (.pause, .paused(let pause)) where pause.isOfHold:
            return self.pause(slot, &entry, command, after: pause, at: now)
        case (.pause, .paused(let pause)):
            if let end = pause.until, end <= now.wall {
                return endPause(slot, &entry, pause, at: now) + execute(command, at: now)
            }
            return change(slot, &entry, pause, command, at: now)
        case (.pause, .stopped), (.resume, .stopped):
            return unchanged("stopped; `timerctl start` restarts its timer")
        case (.pause, .finished), (.resume, .finished):
            return unchanged("finished; `timerctl start` restarts its timer")

        case (.resume, .armed): return unchanged("not paused")
        case (.resume, .paused(let pause)) where pause.isOfHold,
            (.start, .paused(let pause)) where pause.isOfHold:
            return unchanged("the machine is held; `timerctl release` ends that")
        case (.resume, .paused(let pause)) where !command.means(pause):
            return [.answer(.refused(pause.changedFault))]
        case (.resume, .paused(let pause)): return resume(slot, &entry, pause, command, at: now)

        case (.start, .armed): return unchanged("started already")
        case (.start, .paused(let pause)):
            return unchanged(
                "paused by \(pause.by); `timerctl resume` continues it without losing elapsed time")
        case (.start, .stopped), (.start, .finished): return start(slot, &entry, command, at: now)

        case (.stop, .armed), (.stop, .paused), (.stop, .finished):
            return stop(slot, &entry, command, at: now)
        case (.stop, .stopped): return unchanged("stopped already")

        case (.run, .armed), (.run, .paused), (.run, .stopped), (.run, .finished):
            return runNow(slot, &entry, command, at: now)
        case (.retry, .armed), (.retry, .paused), (.retry, .stopped), (.retry, .finished):
            if let reason = entry.reasonNotToRetry(beside: runs[slot]) { return unchanged(reason) }
            return runNow(slot, &entry, command, at: now)
        case (.kill, .armed), (.kill, .paused), (.kill, .stopped), (.kill, .finished):
            return kill(slot, &entry, command, at: now)

        case (.skipNext, .armed), (.skipNext, .paused):
            return skipNext(slot, &entry, command, at: now)
        case (.skipNext, .stopped): return unchanged("stopped; there is no run to skip")
        case (.skipNext, .finished): return unchanged("finished; there is no run to skip")
        }
    }

    /// - Parameter held: the pause that the hold of the machine is for the job. It and this one are one
    ///   pause, which goes on after the hold.
    private mutating func pause(
        _ slot: Int, _ entry: inout JobEntry, _ command: JobCommand, after held: Pause? = nil,
        at now: Now
    ) -> [Action] {
        let wasWithRun = held?.withRun == true
        let pause = Pause(
            since: held?.since ?? now.wall, by: command.by, note: command.note,
            until: command.pauseEnd(at: now), withRun: command.withRun || wasWithRun)
        if held == nil { entry.begin(pause, at: now) } else { entry.phase = .paused(pause) }
        var batch = Batch()
        if pause.withRun, !wasWithRun { batch.ends += startedRuns(slot).map { .suspend($0) } }
        return commit(slot, &entry, batch, at: now) { entry in
            .paused(
                entry.job.name, pause, accrued: entry.accrued(at: now),
                remaining: entry.remaining(at: now))
        }
    }

    /// Changes the terms of a pause that the command names. The other terms, and the start of the
    /// pause, are kept.
    private mutating func change(
        _ slot: Int, _ entry: inout JobEntry, _ pause: Pause, _ command: JobCommand, at now: Now
    ) -> [Action] {
        var wanted = pause
        wanted.note = command.note ?? pause.note
        wanted.until = command.pauseEnd(at: now) ?? pause.until
        wanted.withRun = pause.withRun || command.withRun
        guard wanted != pause else {
            return .unchanged("already paused by \(pause.by)")
        }
        wanted.by = command.by
        entry.phase = .paused(wanted)
        var batch = Batch()
        if wanted.withRun, !pause.withRun {
            batch.ends = startedRuns(slot).map { .suspend($0) }
        }
        return commit(slot, &entry, batch, at: now, answer: .pauseChanged(from: pause)) { entry in
            .pauseChanged(entry.job.name, from: pause, to: wanted)
        }
    }

    /// Ends a pause whose end has passed before its timer expired.
    private mutating func endPause(
        _ slot: Int, _ entry: inout JobEntry, _ pause: Pause, at now: Now
    ) -> [Action] {
        var batch = Batch()
        unpause(slot, &entry, pause, by: .pauseEnd, at: now, into: &batch)
        batch.records.append(entry.record(at: now, ahead: ahead, instance: instance))
        entries[slot] = entry
        return batch.actions
    }

    private mutating func resume(
        _ slot: Int, _ entry: inout JobEntry, _ pause: Pause, _ command: JobCommand, at now: Now
    ) -> [Action] {
        var batch = Batch()
        unpause(slot, &entry, pause, by: command.by, at: now, into: &batch)
        let record = entry.record(at: now, ahead: ahead, instance: instance)
        entries[slot] = entry
        // The notices are logged after the write. The actions that follow from the end of the pause
        // do not wait for it.
        let notices = batch.notices
        batch.notices = []
        return batch.actions + [.save([record], durable: true)] + notices + [.answer(.done)]
    }

    /// Ends a pause as `on-resume` of the job says.
    mutating func unpause(
        _ slot: Int, _ entry: inout JobEntry, _ pause: Pause, by initiator: Initiator, at now: Now,
        into batch: inout Batch
    ) {
        if let hold = entries.hold {
            return keepHeld(slot, &entry, pause, hold, by: initiator, at: now, into: &batch)
        }
        let end = entry.phase.pauseEnd(before: now.wall)
        entry.phase = .armed
        if pause.withRun { batch.ends += startedRuns(slot).map { .resume($0) } }
        let due = entry.resumeSchedule(after: pause, by: initiator, at: now)
        if initiator == .pauseEnd, let until = pause.until {
            entry.ledger.credit(clocks.passed(since: until, by: entry.job.count))
        }
        // It ended on time, also if no daemon was running then, or if a user ends it just before its
        // late timer does.
        let success = entry.watch == nil ? nil : entry.outcomes.lastSuccess
        entry.watch?.wrappedValue.endInactiveTime(lastSuccess: success, at: end, now: now)
        entry.ledger.credit(entry.countedAfterPause)
        entry.countedAfterPause = .zero
        // The notices say what follows after this firing.
        if due != nil, case .after = entry.job.schedule { entry.phase = .finished }
        batch.timers += updateTimer(slot, &entry, at: now)
        batch.notices.append(
            .log(
                .resumed(
                    entry.job.name, from: pause, by: initiator, accrued: entry.accrued(at: now),
                    remaining: entry.remaining(at: now))))
        if let due {
            begin(due, late: .zero, slot, &entry, as: .due, at: now, into: &batch)
        }
        if entry.phase == .finished { batch.notices.append(.log(entry.finished)) }
        entries[slot] = entry
        release(slot, at: now, into: &batch)
        entry = entries[slot] ?? entry
        resumeChain(slot, &entry, at: now, into: &batch)
    }

    private mutating func start(
        _ slot: Int, _ entry: inout JobEntry, _ command: JobCommand, at now: Now
    ) -> [Action] {
        entry.phase = .armed
        entry.firings = 0
        entry.tally = RunTally()
        entry.progress.restart(after: now.wall)
        entry.isDueThisBoot = entry.job.schedule.isSinceBoot
        entry.dropAccrued(at: now)
        return commit(slot, &entry, Batch(), at: now) { entry in
            .started(entry.job.name, by: command.by, remaining: entry.remaining(at: now))
        }
    }

    private mutating func stop(
        _ slot: Int, _ entry: inout JobEntry, _ command: JobCommand, at now: Now
    ) -> [Action] {
        let dropped = entry.accrued(at: now)
        var batch = Batch()
        var former: Pause?
        if case .paused(let pause) = entry.phase {
            if pause.withRun { batch.ends += startedRuns(slot).map { .resume($0) } }
            former = pause
        }
        entry.ledger.credit(entry.countedAfterPause)
        entry.countedAfterPause = .zero
        entry.phase = .stopped
        entry.isDueThisBoot = false
        entry.skips = 0
        entry.chain = ChainWait()
        entry.dropAccrued(at: now)
        cancelPending(slot, &entry, .stopped, into: &batch)
        return commit(slot, &entry, batch, at: now) { entry in
            .stopped(entry.job.name, from: former, by: command.by, dropped: dropped)
        }
    }

    private mutating func skipNext(
        _ slot: Int, _ entry: inout JobEntry, _ command: JobCommand, at now: Now
    ) -> [Action] {
        guard command.count != entry.skips else {
            let count = plural(entry.skips, "run", "runs")
            return .unchanged("the next \(count) will be skipped already")
        }
        entry.skips = SkipNext.accepted(command.count)
        return commit(slot, &entry, Batch(), at: now) { entry in
            .skipNextSet(entry.job.name, entry.skips, by: command.by)
        }
    }

    /// The runs of the job that were started and have not ended.
    func startedRuns(_ slot: Int) -> [Run.ID] {
        runs[slot].filter(\.isActive).map(\.id)
    }

    /// The last steps of every command: the timer is set at once, then the record is written to the
    /// disk, and only then come the notice and the answer.
    private mutating func commit(
        _ slot: Int, _ entry: inout JobEntry, _ batch: Batch, at now: Now, answer: Answer = .done,
        notice: (JobEntry) -> Notice
    ) -> [Action] {
        let timer = updateTimer(slot, &entry, at: now) + updateRetryTimer(slot, entry)
        let record = entry.record(at: now, ahead: ahead, instance: instance)
        entries[slot] = entry
        return timer + batch.actions
            + [.save([record], durable: true), .log(notice(entry)), .answer(answer)]
    }
}

extension [Action] {
    /// The answer to a command that has nothing to do. What it wants may be what an earlier command did a
    /// moment ago: the answer waits until that is on the disk, so that no kill takes it back.
    static func unchanged(_ reason: String) -> [Action] {
        [.save([], durable: true), .answer(.unchanged(reason))]
    }
}

extension Pause {
    /// Why a command is refused that was meant for the pause before this one.
    public var changedFault: String {
        "its pause has changed: it is paused by \(by) since \(since.rfc3339)"
    }
}

extension JobCommand {
    /// The end of a pause that starts now; nil if it has none.
    public func pauseEnd(at now: Now) -> WallInstant? { until?.instant(at: now) }

    /// What is wrong with the end of a pause that is requested; nil if nothing is.
    public func pauseFault(at now: Now) -> String? {
        guard verb == .pause, let end = pauseEnd(at: now), end <= now.wall else { return nil }
        return Self.pastEnd("pause", end, at: now)
    }

    /// Why a pause or a hold is refused that would be over already.
    static func pastEnd(_ what: String, _ end: WallInstant, at now: Now) -> String {
        "the \(what) would end at \(end.rfc3339), which is in the past: it is \(now.wall.rfc3339)"
    }
}

extension JobCommand.PauseEnd {
    /// The instant, for a pause or a hold that is requested now.
    public func instant(at now: Now) -> WallInstant {
        switch self {
        case .at(let instant): instant
        case .after(let span): now.wall + span
        }
    }
}
