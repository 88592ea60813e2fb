// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import PausableTimers
import TimerCore
import TimerStore

/// One-off jobs: a command creates them, and they are removed when they are over.
extension Loop {
    /// The shortest time between two removals of finished one-off jobs, which are removed together.
    private static let expiryPause: Duration = .seconds(60)

    /// The result of a command that adds or removes a one-off job.
    enum OneOffAnswer: Sendable {
        case done(JobSnapshot?)
        case refused(String)
        case noSuchJob([Job.Name])
    }

    /// Adds a one-off job, and answers once it is on the disk.
    ///
    /// - Parameter jobsMax: the most jobs there may be.
    func include(
        _ job: Job, jobsMax: Int, by initiator: String,
        reply: @escaping @Sendable (OneOffAnswer) -> Void
    ) {
        after([.clocks, .decision]) {
            $0.includeNow(job, jobsMax: jobsMax, by: initiator, reply: reply)
        }
    }

    private func includeNow(
        _ job: Job, jobsMax: Int, by initiator: String,
        reply: @escaping @Sendable (OneOffAnswer) -> Void
    ) {
        guard agenda.isOneOff(job.name) == nil else {
            return reply(.refused("there is already a job of this name"))
        }
        guard agenda.jobCount < jobsMax else {
            return reply(.refused("there are \(jobsMax) jobs, which is the limit (jobs-max)"))
        }
        guard !agenda.isShutDown else { return reply(.refused("the daemon is stopping")) }
        let name = job.name
        decideAndPerform(
            .include(job),
            onDelayed: { reply(.refused("accepted, but not on the disk yet: \($0)")) },
            done: { loop in
                loop.log(.oneOffCreated(job, by: initiator))
                reply(.done(loop.agenda.snapshot(of: name, at: loop.steadyNow())))
            })
        followOneOffs()
    }

    /// Removes a one-off job whose definition is deleted already, and answers once that is on the
    /// disk.
    func exclude(
        _ job: Job.Name, by initiator: String, reply: @escaping @Sendable (OneOffAnswer) -> Void
    ) {
        after([.clocks, .decision]) { $0.excludeNow(job, by: initiator, reply: reply) }
    }

    private func excludeNow(
        _ job: Job.Name, by initiator: String, reply: @escaping @Sendable (OneOffAnswer) -> Void
    ) {
        let (snapshot, names) = snapshot(of: job)
        guard let snapshot else { return reply(.noSuchJob(names)) }
        guard snapshot.job.isOneOff else {
            return reply(
                .refused("it is in the configuration; `timerctl stop \(job)` stops its timer"))
        }
        removeOneOffs([job]) { loop in
            loop.log(.oneOffCancelled(job, by: initiator))
            reply(.done(snapshot))
        } onDelayed: {
            reply(.refused("done, but not on the disk yet: \($0)"))
        }
        // If only the job were removed, its definition would bring it back at the next start.
        launcher.discard([job])
    }

    private func removeOneOffs(
        _ jobs: [Job.Name], done: (@Sendable (isolated Loop) -> Void)? = nil,
        onDelayed: (@Sendable (StoreError) -> Void)? = nil
    ) {
        decideAndPerform(.exclude(jobs), onDelayed: onDelayed, done: done)
        restartPortions()
    }

    /// Sets the timer for the removal of finished one-off jobs.
    private func followOneOffs() {
        guard agenda.oneOffs > 0, oneOffTimer == nil,
            let next = agenda.expiredOneOffs(at: reading().wall).next
        else { return }
        let wait = max(Self.expiryPause, next - reading().wall)
        oneOffTimer = try? .after(wait, for: self, tolerance: Self.expiryPause, on: timerQueue) {
            loop, _ in loop.assumeIsolated { $0.expireOneOffs() }
        }
    }

    /// Removes the one-off jobs that finished long enough before this instant (nil: now), with
    /// their definitions.
    func expireOneOffs(at instant: WallInstant? = nil) {
        after(.decision) { $0.expireOneOffsNow(at: instant) }
    }

    private func expireOneOffsNow(at instant: WallInstant?) {
        oneOffTimer = nil
        guard agenda.oneOffs > 0 else { return }
        let expired = agenda.expiredOneOffs(at: instant ?? reading().wall).jobs
        if !expired.isEmpty {
            removeOneOffs(expired) { loop in
                for job in expired { loop.log(.oneOffRemoved(job)) }
            }
            launcher.discard(expired)
        }
        followOneOffs()
    }
}
