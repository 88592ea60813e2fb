// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// Does what is ordered. Every pair of verb and phase has its line: none is an error, and doing a
    /// thing twice is doing it once.
    mutating func obey(_ order: Order, at now: Now) -> [Action] {
        guard let slot = slots[order.job], var entry = entries[slot] else {
            return [.answer(.noSuchJob)]
        }
        guard !isShutDown else { return [.answer(.refused("the daemon is stopping"))] }
        switch (order.verb, entry.phase) {
        case (.pause, .armed):
            return pause(slot, &entry, order, at: now)
        case (.pause, .paused(let pause)):
            return [.answer(.unchanged("paused already, by \(pause.by)"))]
        case (.pause, .stopped), (.resume, .stopped):
            return [.answer(.unchanged("stopped; `timerctl start` begins it at zero"))]
        case (.pause, .finished), (.resume, .finished):
            return [.answer(.unchanged("finished; `timerctl start` begins it at zero"))]

        case (.resume, .paused):
            return resume(slot, &entry, order, at: now)
        case (.resume, .armed):
            return [.answer(.unchanged("not paused"))]

        case (.start, .stopped), (.start, .finished):
            return start(slot, &entry, order, at: now)
        case (.start, .armed):
            return [.answer(.unchanged("started already"))]
        case (.start, .paused(let pause)):
            return [
                .answer(.unchanged("paused by \(pause.by); `timerctl resume` loses nothing of it"))
            ]

        case (.stop, .armed), (.stop, .paused), (.stop, .finished):
            return stop(slot, &entry, order, at: now)
        case (.stop, .stopped):
            return [.answer(.unchanged("stopped already"))]

        case (.run, .armed), (.run, .paused), (.run, .stopped), (.run, .finished):
            return runNow(slot, &entry, at: now)
        }
    }

    private mutating func pause(
        _ slot: Int, _ entry: inout Entry, _ order: Order, at now: Now
    ) -> [Action] {
        let pause = Pause(since: now.wall, by: order.by, note: order.note)
        entry.phase = .paused(pause)
        return commit(slot, &entry, at: now) { entry in
            .paused(
                entry.job.name, pause, accrued: entry.ledger.accrued(at: now.awake),
                remaining: entry.remaining(at: now))
        }
    }

    private mutating func resume(
        _ slot: Int, _ entry: inout Entry, _ order: Order, at now: Now
    ) -> [Action] {
        entry.phase = .armed
        // Slots that passed meanwhile are not made up for.
        entry.seen = max(entry.seen, now.wall)
        return commit(slot, &entry, at: now) { entry in
            .resumed(
                entry.job.name, by: order.by, accrued: entry.ledger.accrued(at: now.awake),
                remaining: entry.remaining(at: now))
        }
    }

    private mutating func start(
        _ slot: Int, _ entry: inout Entry, _ order: Order, at now: Now
    ) -> [Action] {
        entry.phase = .armed
        entry.firings = 0
        entry.seen = now.wall
        entry.ledger.dropAccrued(at: now.awake)
        return commit(slot, &entry, at: now) { entry in
            .started(entry.job.name, by: order.by, remaining: entry.remaining(at: now))
        }
    }

    private mutating func stop(
        _ slot: Int, _ entry: inout Entry, _ order: Order, at now: Now
    ) -> [Action] {
        let dropped = entry.ledger.accrued(at: now.awake)
        entry.phase = .stopped
        entry.ledger.dropAccrued(at: now.awake)
        return commit(slot, &entry, at: now) { entry in
            .stopped(entry.job.name, by: order.by, dropped: dropped)
        }
    }

    /// A run apart from the schedule: the ledger and the timer are not touched.
    private mutating func runNow(_ slot: Int, _ entry: inout Entry, at now: Now) -> [Action] {
        if let live = entry.live.last {
            return [.answer(.refused("its last run still lives (\(live.id))"))]
        }
        let scheduled = entry.schedule(at: now.wall)
        let run = Run(
            firing: Firing(
                id: Firing.ID(job: entry.job.name, scheduled: scheduled), missed: 0,
                active: entry.ledger.active(at: now.awake)),
            job: entry.job)
        entry.live.append(RunSummary(id: run.id))
        let start = admit(run) ? [run] : []
        let record = entry.record(at: now, life: life)
        entries[slot] = entry
        let remaining = entry.phase == .armed ? entry.remaining(at: now) : nil
        return [
            .begin([run], start: start, records: [record]),
            .tell(.fired(run, late: .zero, remaining: remaining)), .answer(.done),
        ]
    }

    /// What every order ends with: the timer at once, the record on the disk, and only then the word.
    private mutating func commit(
        _ slot: Int, _ entry: inout Entry, at now: Now, notice: (Entry) -> Notice
    ) -> [Action] {
        let timer = settle(slot, &entry, at: now)
        let record = entry.record(at: now, life: life)
        entries[slot] = entry
        return timer + [.save([record], durable: true), .tell(notice(entry)), .answer(.done)]
    }
}
