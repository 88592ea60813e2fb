// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension FleetMember {
    /// The next attempt at the last firing, whose run failed or was lost; nil if there is none to be
    /// made by this machine now. A newer firing takes its place.
    mutating func retry(_ job: FleetJob, _ known: Versioned<JobValue>, _ now: Now) -> Claim? {
        guard job.isRetried, mayClaim(now),
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
        switch retryTime(of: run, value, job) {
        case .afterLoss(let span):
            guard let since = absences.lostSince(run) else {
                absences.isLost(run, since: now.boot)
                return false
            }
            return now.boot >= since + span
        case .at(let instant): return now.wall >= instant
        case nil: return false
        }
    }

    /// When this machine makes the next attempt at a firing, if no other one does; nil: it makes none.
    func retryTime(of run: Run.ID, _ value: RunValue, _ job: FleetJob) -> RetryTime? {
        guard let outcome = value.result(of: job), let rank = rank(of: job) else { return nil }
        let turn = job.takeoverDelay * rank
        let next = job.policy.retry.next(
            after: outcome, attempt: run.attempt, success: job.success,
            retriesOfLost: job.retriesOfLost)
        switch next {
        case .none: return nil
        // Only after a whole TTL, when the start deadline of the lost run has passed on any clock.
        case .onceCertain: return .afterLoss(session.deadline.lease + turn)
        // All machines calculate the same instant, by the clock of the one that ran it.
        case .after(let delay): return value.ended.map { .at($0 + (delay + turn)) }
        }
    }

    enum RetryTime {
        /// So long after this machine noticed that the run is lost.
        case afterLoss(Duration)
        case at(WallInstant)
    }
}
