// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Runs that a user requests, now or as a retry.
extension Agenda {
    /// Makes a run independently of the schedule: the ledger and the timer do not change. It
    /// replaces a waiting retry, unless the runs of the job are independent of each other.
    mutating func runNow(
        _ slot: Int, _ entry: inout JobEntry, _ order: Order, at now: Now
    ) -> [Action] {
        if case .skip(let obstacle) = admission(of: .requested, slot, entry) {
            return [.answer(.refused(obstacle.sentence))]
        }
        if let reason = reasonAgainst(order.variables, slot, entry) {
            return [.answer(.refused(reason))]
        }
        var batch = Batch()
        let point = DueOccurrences.Point(scheduled: now.wall, age: .zero)
        let cause = Firing.Cause.requested(by: order.by, variables: order.variables)
        let run = entry.run(entry.firing(point, missed: 0, at: now, cause: cause))
        _ = recordAndStart(run, as: .requested, slot, &entry, at: now, into: &batch)
        batch.records.append(entry.record(at: now, ahead: ahead, instance: instance))
        entries[slot] = entry
        let remaining = entry.phase == .armed ? entry.remaining(at: now) : nil
        batch.notices.append(.log(.runOrdered(run, by: order.by, remaining: remaining)))
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
        case .start, .replaceRetries, .skip:
            return hasRoom
                ? nil
                : "a run with variables cannot wait, and the limit of max-concurrent is reached"
        case .wait, .replaceAll:
            return "a run with variables cannot wait, and a run of the job has not ended"
        }
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
            case .previousRun, .retryDelay: "its run \(run.id) waits for the previous run"
            }
        case .concurrencyMax(let most):
            "\(plural(most, "run")) of it \(most == 1 ? "is" : "are") still running, the limit of "
                + "concurrency-max"
        }
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
        return lastRun.outcome.intention.map { "its last run did not fail: \($0)" }
            ?? "its last run succeeded"
    }
}
