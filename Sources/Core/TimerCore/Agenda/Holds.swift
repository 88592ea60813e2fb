// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The hold of this machine: nothing starts until it is released.
extension Agenda {
    /// Holds the machine, or changes the terms of its hold that are given.
    /// - Complexity: O(1), and O(*n*) in the number of jobs if active runs are suspended.
    mutating func holdMachine(_ terms: MachineHold.Terms, at now: Now) -> [Action] {
        guard !isShutDown else { return [.answer(.refused("the daemon is stopping"))] }
        let until = terms.until?.instant(at: now)
        if let until, until <= now.wall {
            return [.answer(.refused(JobCommand.pastEnd("hold", until, at: now)))]
        }
        let before = entries.hold
        var hold =
            before
            ?? MachineHold(
                since: now.advanced(by: .zero - ahead), instance: instance, by: terms.by)
        hold.note = terms.note ?? hold.note
        hold.until = until ?? hold.until
        hold.withRun = hold.withRun || terms.withRun
        if let before, hold == before {
            return .unchanged("already held by \(before.by)")
        }
        hold.by = terms.by
        entries.hold(hold)
        let suspended = hold.withRun && before?.withRun != true ? runsToSuspend() : []
        return suspended.map { .suspend($0) } + [
            .storeJobSet(JobSetChange(hold: .set(hold)), durable: true), .armHold(hold.until),
            .log(.machineHeld(hold, isChange: before != nil)), .answer(.done),
        ]
    }

    /// Ends the hold because a user says so.
    /// - Complexity: O(*n* log *n*) in the number of jobs.
    mutating func releaseMachine(by initiator: Initiator, at now: Now) -> [Action] {
        guard !isShutDown else { return [.answer(.refused("the daemon is stopping"))] }
        guard let hold = entries.hold else { return .unchanged("not held") }
        return end(hold, by: initiator, at: now) + [.answer(.done)]
    }

    /// Ends a hold whose end has come.
    mutating func endHoldIfOver(at now: Now) -> [Action] {
        guard !isShutDown, let hold = entries.hold, let until = hold.until, until <= now.wall
        else { return [] }
        return end(hold, by: .pauseEnd, at: now)
    }

    /// Ends a hold whose end came while no daemon ran.
    ///
    /// - Returns: what follows; for a hold that goes on, its timer.
    mutating func endHoldBeforeStart(at now: Now) -> [Action] {
        let actions = endHoldIfOver(at: now)
        return actions.isEmpty ? [.armHold(holdAlarm)] : actions
    }

    /// Ends the hold: each job continues as at the end of a pause. The records of the jobs are written
    /// first, with the runs that `on-resume` makes: a kill before the hold is over leaves a hold of jobs
    /// that lost nothing.
    private mutating func end(_ hold: MachineHold, by initiator: Initiator, at now: Now) -> [Action]
    {
        entries.endHold()
        var batch = Batch()
        var count = 0
        for slot in entries.order {
            guard var entry = entries[slot] else { continue }
            guard case .paused(let pause) = entry.phase, pause.isOfHold else {
                if hold.withRun, !entry.isShared, !entry.phase.isPausedWithRun {
                    batch.ends += startedRuns(slot).map { .resume($0) }
                }
                // What was made before it was finished or stopped may wait.
                release(slot, at: now, into: &batch)
                runDueChain(slot, at: now, into: &batch)
                continue
            }
            count += 1
            unpause(slot, &entry, pause, by: initiator, at: now, into: &batch)
            batch.records.append(entry.record(at: now, ahead: ahead, instance: instance))
            entries[slot] = entry
        }
        // One entry for all jobs says it.
        batch.notices.removeAll { if case .log(.resumed) = $0 { true } else { false } }
        return batch.actions + [
            .storeJobSet(JobSetChange(hold: .ended), durable: true), .armHold(nil),
            .log(.machineReleased(hold, by: initiator, jobs: count)),
        ]
    }

    /// A pause ends while the machine is held: the job stays in the hold, and both are one pause.
    mutating func keepHeld(
        _ slot: Int, _ entry: inout JobEntry, _ pause: Pause, _ hold: MachineHold,
        by initiator: Initiator, at now: Now, into batch: inout Batch
    ) {
        entry.phase = .paused(hold.pause(since: pause.since))
        entry.countedAfterPause = .zero
        if pause.withRun, !hold.withRun { batch.ends += startedRuns(slot).map { .resume($0) } }
        batch.timers += updateTimer(slot, &entry, at: now)
        batch.notices.append(
            .log(
                .resumed(
                    entry.job.name, from: pause, by: initiator, accrued: entry.accrued(at: now),
                    remaining: nil)))
        entries[slot] = entry
    }

    /// The active runs of all jobs, except those of a fleet.
    private func runsToSuspend() -> [Run.ID] {
        entries.order.filter { entries[$0]?.isShared == false }.flatMap { startedRuns($0) }
    }

    /// Whether a run starts although its job is paused: a pause holds what the schedule makes, and not
    /// what a user has requested. A hold of the machine holds that too, unless it is forced.
    func passesPause(_ run: Run) -> Bool {
        run.firing.isRequested(attempt: run.id.attempt)
            && (!entries.isHeld || run.firing.cause.isForced)
    }
}

extension MachineHold {
    /// Why a run is refused that a user requests.
    var reasonNotToRun: String {
        let reason = note.map { ": \($0)" } ?? ""
        return "the machine is held by \(by) since \(since.wall.rfc3339)\(reason); "
            + "`timerctl release` ends that, and `timerctl run --force` runs the job anyway"
    }
}

extension Phase {
    fileprivate var isPausedWithRun: Bool {
        if case .paused(let pause) = self { pause.withRun } else { false }
    }
}
