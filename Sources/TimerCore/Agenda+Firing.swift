// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// Fires every job that is due by now, whichever timer rang: all starts of one wake are one batch.
    mutating func wake(_ job: Job.Name, at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        var batch = Batch()
        while let next = due.first, next.due <= now.awake {
            fire(next.slot, at: now, into: &batch)
        }
        while let next = wallDue.first, next.due <= now.wall {
            fireSlot(next.slot, at: now, into: &batch)
        }
        // A timer that rang early is set to the same instant again; nothing is worked out from now.
        if let slot = slots[job], let instant = due[slot], !batch.fired.contains(slot) {
            batch.timers.append(.arm(job, instant))
        } else if let slot = slots[job], let instant = wallDue[slot], !batch.fired.contains(slot) {
            batch.timers.append(.armAt(job, instant))
        }
        return batch.actions
    }

    /// What comes of one wake, in the order it is to be done: what is due is written and started first,
    /// then the timers are set, then it is told.
    private struct Batch {
        var runs: [Run] = []
        var start: [Run] = []
        var records: [JobRecord] = []
        var timers: [Action] = []
        var notices: [Action] = []
        var fired: Set<Int> = []

        var actions: [Action] {
            let kept: [Action] =
                if !runs.isEmpty {
                    [.begin(runs, start: start, records: records)]
                } else if !records.isEmpty {
                    [.save(records, durable: false)]
                } else {
                    []
                }
            return kept + timers + notices
        }
    }

    private mutating func fire(_ slot: Int, at now: Now, into batch: inout Batch) {
        guard var entry = entries[slot], let span = entry.span,
            let crossing = entry.ledger.cross(target: entry.target, every: span, at: now.awake)
        else {
            due.remove(slot)
            return
        }
        batch.fired.insert(slot)
        let missed: Int
        switch entry.job.schedule {
        case .every:
            missed = crossing.missed
        case .after, .wall:
            missed = 0
            entry.phase = .finished
            entry.ledger.dropAccrued(at: now.awake)
        }
        let scheduled = entry.schedule(at: now.wall - crossing.late)
        finish(slot, &entry, scheduled, missed: missed, late: crossing.late, at: now, into: &batch)
    }

    /// Fires a job whose slot by the calendar clock has come; slots that passed as well are folded into it.
    private mutating func fireSlot(_ slot: Int, at now: Now, into batch: inout Batch) {
        guard var entry = entries[slot], case .wall(let schedule) = entry.job.schedule,
            let due = entry.slot
        else {
            wallDue.remove(slot)
            return
        }
        batch.fired.insert(slot)
        let missed = schedule.slots(after: due, through: now.wall)
        entry.seen = now.wall
        entry.slot = nil
        let scheduled = entry.schedule(at: due + .microseconds(entry.corrections))
        finish(
            slot, &entry, scheduled, missed: missed, late: now.wall - due, at: now, into: &batch)
    }

    /// What every firing ends with: a run, unless the last one lives, and the next instant.
    private mutating func finish(
        _ slot: Int, _ entry: inout Entry, _ scheduled: WallInstant, missed: Int, late: Duration,
        at now: Now, into batch: inout Batch
    ) {
        entry.firings += 1 + missed
        // First, so that what is told of the next firing is so.
        batch.timers += settle(slot, &entry, at: now)
        let firing = Firing(
            id: Firing.ID(job: entry.job.name, scheduled: scheduled), missed: missed,
            active: entry.ledger.active(at: now.awake))
        if let blocker = entry.live.last?.id {
            batch.notices.append(.tell(.skipped(firing, .stillRunning(blocker))))
        } else {
            let run = Run(firing: firing, job: entry.job)
            entry.live.append(RunSummary(id: run.id))
            batch.runs.append(run)
            if admit(run) { batch.start.append(run) }
            batch.notices.append(
                .tell(
                    .fired(
                        run, late: late,
                        remaining: entry.phase == .armed ? entry.remaining(at: now) : nil)))
        }
        if entry.phase == .finished {
            batch.notices.append(.tell(.finished(entry.job.name)))
        }
        batch.records.append(entry.record(at: now, life: life))
        entries[slot] = entry
    }

    /// Brings the ledger, the queue and the timer in line with the entry's phase, and stores the entry.
    ///
    /// - Returns: the timer's action, if its instant changed.
    mutating func settle(_ slot: Int, _ entry: inout Entry, at now: Now) -> [Action] {
        let wasOpen = entry.ledger.isOpen
        let before = due[slot]
        switch entry.phase {
        case .armed where !isShutDown: entry.ledger.open(at: now.awake)
        case .armed, .paused, .stopped, .finished: entry.ledger.close(at: now.awake)
        }
        counting += (entry.ledger.isOpen ? 1 : 0) - (wasOpen ? 1 : 0)
        if case .wall(let schedule) = entry.job.schedule {
            return settle(slot, &entry, by: schedule, before: before)
        }
        let instant = entry.ledger.instant(reaching: entry.target)
        entries[slot] = entry
        let wasByCalendar = wallDue[slot] != nil
        wallDue.remove(slot)
        guard instant != before else { return [] }
        guard let instant else {
            due.remove(slot)
            return before != nil || wasByCalendar ? [.disarm(entry.job.name)] : []
        }
        due.set(slot, due: instant)
        return [.arm(entry.job.name, instant)]
    }

    /// The same for a schedule by the calendar clock. One that has no slot any more is finished.
    private mutating func settle(
        _ slot: Int, _ entry: inout Entry, by schedule: WallSchedule, before: AwakeInstant?
    ) -> [Action] {
        if entry.phase == .armed, !isShutDown {
            if entry.slot == nil { entry.slot = schedule.next(after: entry.seen) }
            if entry.slot == nil { finishForGood(&entry) }
        } else {
            entry.slot = nil
        }
        entries[slot] = entry
        let wallBefore = wallDue[slot]
        due.remove(slot)
        guard entry.slot != wallBefore else { return [] }
        guard let instant = entry.slot else {
            wallDue.remove(slot)
            return [.disarm(entry.job.name)]
        }
        wallDue.set(slot, due: instant)
        return [.armAt(entry.job.name, instant)]
    }

    private mutating func finishForGood(_ entry: inout Entry) {
        if entry.ledger.isOpen { counting -= 1 }
        entry.phase = .finished
        if let lastNow { entry.ledger.close(at: lastNow.awake) }
    }

    /// Gives the run one of the places for live runs, or lets it wait.
    mutating func admit(_ run: Run) -> Bool {
        guard live.count < concurrentRunsMax, waiting.count == 0, !isShutDown else {
            waiting.append(run)
            return false
        }
        live[run.id] = run.id.firing.job
        return true
    }

    mutating func noteBegin(of run: Run.ID, at now: Now) -> [Action] {
        if let slot = slots[run.firing.job],
            let index = entries[slot]?.live.firstIndex(where: { $0.id == run })
        {
            entries[slot]?.live[index].began = now.wall
        }
        return [.tell(.runBegan(run))]
    }

    mutating func noteEnd(
        of run: Run.ID, _ outcome: RunOutcome, _ usage: RunUsage, at now: Now
    ) -> [Action] {
        // The end of a run is told once; a second telling would free a place that is not taken.
        guard live.removeValue(forKey: run) != nil else { return [] }
        if let slot = slots[run.firing.job],
            let index = entries[slot]?.live.firstIndex(where: { $0.id == run })
        {
            var summary = entries[slot]?.live.remove(at: index) ?? RunSummary(id: run)
            summary.outcome = outcome
            summary.usage = usage
            entries[slot]?.lastRun = summary
        }
        var actions: [Action] = [
            .close(run, outcome, usage), .tell(.runEnded(run, outcome, usage)),
        ]
        if !isShutDown, live.count < concurrentRunsMax, let next = waiting.popFirst() {
            live[next.id] = next.id.firing.job
            actions.append(.start([next]))
        }
        return actions
    }

    /// Writes down every account that counts; nothing is said of it.
    mutating func checkpoint(at now: Now) -> [Action] {
        var records: [JobRecord] = []
        for slot in order where entries[slot]?.ledger.isOpen == true {
            if let record = entries[slot]?.record(at: now, life: life) { records.append(record) }
        }
        return records.isEmpty ? [] : [.save(records, durable: true)]
    }

    /// Closes every ledger and takes every timer down. Runs go on and their ends are still taken.
    mutating func shutDown(at now: Now) -> [Action] {
        guard !isShutDown else { return [] }
        let wereCounting = counting
        isShutDown = true
        var timers: [Action] = []
        var records: [JobRecord] = []
        for slot in order {
            guard var entry = entries[slot] else { continue }
            timers += settle(slot, &entry, at: now)
            records.append(entry.record(at: now, life: life))
            entries[slot] = entry
        }
        return timers + [
            .save(records, durable: true),
            .tell(.shutDown(counting: wereCounting, live: live.count)),
        ]
    }
}
