// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Runs that wait for their delay: retries, and missed runs that are caught up (`catch-up-delay`).
extension Agenda {
    /// Starts the retries whose delay has passed. If the maximum number of runs is active, they
    /// wait for the previous run, as a missed run does whose delay has passed: it is the first in
    /// line then, if no other run is before it.
    mutating func releaseDelayed(
        _ slot: Int, _ entry: inout JobEntry, at now: Now, into batch: inout Batch
    ) {
        for attempt in runs[slot] {
            guard let instant = attempt.startsAt, instant <= now.awake else { continue }
            if attempt.isRetry, case .start = admission(of: .retry, slot, entry) {
                startOrQueue(attempt, slot, &entry, into: &batch)
            } else {
                _ = runs.apply(.wait(.previousRun), to: attempt.id, of: .slot(slot))
            }
        }
    }
}

extension JobEntry {
    /// How long a missed run of the job waits before it is caught up; nil if it does not. It depends on
    /// the run alone, so it is the same after a restart. What fires once in each boot is late because
    /// the daemon starts after the machine, and not because anything was away.
    func catchUpDelay(of run: Run) -> Duration? {
        // First what is so for few runs: this is asked at each firing.
        guard case .catchUp = run.firing.cause, run.id.attempt == 1 else { return nil }
        let most = job.policy.catchUpDelay
        guard most > .zero, !job.schedule.isOncePerBoot else { return nil }
        // Another number than that for the random delay of the same instant.
        let ordinal = ~run.firing.id.scheduled.microsecondsSinceEpoch
        return jitter.draw(ordinal: ordinal, below: most)
    }
}
