// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Runs that a user requests, now or as a retry, and runs that a user ends.
extension Agenda {
    /// Makes a run independently of the schedule: the ledger and the timer do not change. It
    /// replaces a waiting retry, unless the runs of the job are independent of each other.
    mutating func runNow(
        _ slot: Int, _ entry: inout JobEntry, _ command: JobCommand, at now: Now
    ) -> [Action] {
        if let hold = entries.hold, !command.isForced, !command.ignoresHold {
            return [.answer(.refused(hold.reasonNotToRun))]
        }
        if case .skip(let obstacle) = admission(of: .requested, slot, entry) {
            return [.answer(.refused(obstacle.sentence))]
        }
        if let reason = reasonAgainst(command.variables, slot, entry) {
            return [.answer(.refused(reason))]
        }
        if let reason = command.arguments.refusal(allowed: entry.job.execution.runArguments) {
            return [.answer(.refused(reason))]
        }
        var batch = Batch()
        let point = DueOccurrences.Point(scheduled: now.wall, age: .zero)
        let cause = Firing.Cause.requested(
            by: command.by, variables: command.variables, arguments: command.arguments,
            isAlone: command.isAlone, isForced: command.isForced)
        let run = entry.run(entry.firing(point, missed: 0, at: now, cause: cause))
        _ = recordAndStart(run, as: .requested, slot, &entry, at: now, into: &batch)
        batch.records.append(entry.record(at: now, ahead: ahead, instance: instance))
        entries[slot] = entry
        let remaining = entry.phase == .armed ? entry.remaining(at: now) : nil
        batch.notices.append(.log(.runOrdered(run, by: command.by, remaining: remaining)))
        return batch.actions + [.answer(.requested(run.id))]
    }

    /// Why a run cannot be made with these variables; nil if it can. Variables are not saved, so
    /// the run must start without waiting.
    private func reasonAgainst(
        _ variables: RunVariables, _ slot: Int, _ entry: JobEntry
    ) -> String? {
        guard !variables.isEmpty else { return nil }
        if let fault = variables.fault(allowed: entry.job.execution.runVariables) { return fault }
        switch admission(of: .requested, slot, entry) {
        case .start, .replaceDelayed, .skip:
            if let slot = runs.slots.busy(entry.job.policy.slots, for: nil) {
                return "a run with variables cannot wait, and the slot \(slot) is taken"
            }
            return hasRoom
                ? nil
                : "a run with variables cannot wait, and the limit of max-concurrent is reached"
        case .wait, .replaceAll:
            return "a run with variables cannot wait, and a run of the job has not ended"
        }
    }

    /// Ends the active runs of a job and cancels those that wait for their delay or their condition, or
    /// sends the active runs a signal. A run that waits for the previous run or for `max-concurrent` is
    /// cancelled only if it is named: it belongs to another firing, and a user who ends a run that hangs
    /// wants the waiting runs to start.
    mutating func kill(
        _ slot: Int, _ entry: inout JobEntry, _ command: JobCommand, at now: Now
    ) -> [Action] {
        var batch = Batch()
        let asked = runs[slot].filter { command.run == nil || $0.id == command.run }
        let killTimeout = entry.job.execution.killTimeout
        let (running, isEnding) = endActive(asked, command, of: .slot(slot), into: &batch) { _ in
            killTimeout
        }
        var cancelled: [Run.ID] = []
        if command.signal == nil {
            cancelled = asked.filter {
                $0.isDelayed || $0.awaitsCondition || (command.run != nil && $0.wait != nil)
            }.map(\.id)
            cancelPending(
                slot, &entry, .stopped, into: &batch, notice: { .cancelled($0, by: command.by) }
            ) { cancelled.contains($0.id) }
        }
        entries[slot] = entry
        guard !running.isEmpty || !cancelled.isEmpty else {
            return [.answer(.unchanged(Self.nothingToEnd(command, isEnding: isEnding)))]
        }
        // Runs that waited behind a cancelled retry may start now.
        release(slot, at: now, into: &batch)
        guard !cancelled.isEmpty else {
            return batch.actions + [.answer(.killed(running, cancelled: []))]
        }
        // The cancellation is on the disk before the answer and the notices.
        let notices = batch.notices
        batch.notices = []
        return batch.actions + [.save([], durable: true)] + notices
            + [.answer(.killed(running, cancelled: cancelled))]
    }

    /// The same for the active runs of a job that was removed while they ran. None of them waits.
    mutating func killRemoved(_ job: Job.Name, _ command: JobCommand) -> [Action] {
        let removed = runs[removed: job]
        guard !removed.isEmpty else { return [.answer(.noSuchJob)] }
        var batch = Batch()
        let asked = removed.filter { command.run == nil || $0.id == command.run }
        let (running, isEnding) = endActive(asked, command, of: .other(job), into: &batch) {
            $0.killTimeout
        }
        guard !running.isEmpty else {
            return [.answer(.unchanged(Self.nothingToEnd(command, isEnding: isEnding)))]
        }
        return batch.actions + [.answer(.killed(running, cancelled: []))]
    }

    /// Ends the active ones of these runs of a job, or sends them a signal.
    ///
    /// - Returns: the runs to which that happened, and whether one is being ended already.
    private mutating func endActive(
        _ asked: [ActiveRun], _ command: JobCommand, of job: RunTable.JobKey,
        into batch: inout Batch,
        grace: (ActiveRun) -> Duration
    ) -> (running: [Run.ID], isEnding: Bool) {
        var running: [Run.ID] = []
        var isEnding = false
        for run in asked where run.wait == nil {
            if let signal = command.signal {
                guard !isUnrecorded(run) else { continue }
                batch.ends.append(.signal(run.id, signal))
            } else if run.state.isStopping {
                isEnding = true
                continue
            } else {
                end(run, as: .stopped, of: job, grace: grace(run), into: &batch)
            }
            running.append(run.id)
            batch.notices.append(.log(.killed(run.id, by: command.by, signal: command.signal)))
        }
        return (running, isEnding)
    }

    private static func nothingToEnd(_ command: JobCommand, isEnding: Bool) -> String {
        let which = command.run.map { "run \($0)" }
        if isEnding { return "\(which ?? "its run") is being ended already" }
        return which.map { "\($0) is not running" } ?? "no run of it is running"
    }
}

extension Obstacle where Other == ActiveRun {
    /// The reason why the job cannot be run now, as a sentence.
    fileprivate var sentence: String {
        switch self {
        case .stillRunning(let run), .queueFull(let run):
            switch run.wait {
            case nil: "its run \(run.id) is still running"
            case .capacity: "its run \(run.id) waits for max-concurrent"
            case .slot: "its run \(run.id) waits for a slot"
            case .check, .condition: "its run \(run.id) waits for its condition"
            case .previousRun, .retryDelay, .catchUpDelay:
                "its run \(run.id) waits for the previous run"
            }
        case .concurrencyMax(let most):
            "\(plural(most, "run")) of it \(most == 1 ? "is" : "are") still running, the limit of "
                + "concurrency-max"
        case .slotBusy(let slot): "the slot \(slot) is taken, and on-busy-slot is skip"
        }
    }
}
