// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension FleetMember {
    /// The next attempt at the last firing, whose run failed or was lost; nil if there is none to be
    /// made by this machine now. A newer firing takes its place.
    mutating func retry(_ job: FleetJob, _ known: Versioned<JobValue>, _ now: Now) -> Claim? {
        guard job.retriesOfLost > 0 || job.retry.retries > 0, mayClaim(now),
            known.value.pause == nil, known.value.live.isEmpty
        else { return nil }
        guard let last = lastAttempt(of: known.value, in: job.name),
            !isFromBeforeAdoption(last.key),
            isRetryDue(last.key, last.value.value, job, now)
        else { return nil }
        let run = Run.ID(firing: last.key.firing, attempt: last.key.attempt + 1)
        var value = known.value
        value.live.append(
            JobValue.LiveRun(
                run: run, machine: configuration.machine, incarnation: incarnation, state: .claimed)
        )
        let record = RunValue(
            machine: configuration.machine, incarnation: incarnation, nonce: nonce(),
            claimed: now.wall)
        return Claim(
            run: run, value: record, job: value, known: known.modified,
            previous: Versioned(
                last.key, created: last.value.created, modified: last.value.modified),
            removed: removable(job.name))
    }

    /// The last attempt at the last firing of a job.
    func lastAttempt(of job: JobValue, in name: Job.Name) -> (
        key: Run.ID, value: Versioned<RunValue>
    )? {
        view?.runs[name]?.filter { $0.key.firing.scheduled == job.cursor }
            .max { $0.key.attempt < $1.key.attempt }
    }

    private mutating func isRetryDue(
        _ run: Run.ID, _ value: RunValue, _ job: FleetJob, _ now: Now
    ) -> Bool {
        guard let rank = rank(of: job) else { return false }
        switch (value.state, value.outcome) {
        case (.lost, _):
            // Only after a whole TTL, when the start deadline of the lost run has passed on any
            // clock.
            guard run.attempt <= job.retriesOfLost else { return false }
            guard let since = absences.lostSince(run) else {
                absences.isLost(run, since: now.boot)
                return false
            }
            return now.boot >= since + (session.deadline.lease + job.takeoverDelay * rank)
        case (.ended, let outcome?):
            // All machines calculate the same instant, by the clock of the one that ran it.
            guard outcome.isRetried(job.successExitCodes), run.attempt <= job.retry.retries,
                let ended = value.ended
            else { return false }
            return now.wall >= ended
                + (job.retry.delay(after: run.attempt)
                    + job.takeoverDelay * rank)
        default: return false
        }
    }
}
