// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// Read access to the state of the jobs.
extension Loop {
    /// A reading of the clocks for what is shown. It is never ahead of them, as `reading` can be.
    func steadyNow() -> Now { steadyReading.steady(clocks.now()) }

    /// The zones of the schedules, by name.
    func zoneNames() -> [String] { agenda.zoneNames }

    /// The parts of the configuration that are not in use.
    struct Unusable: Sendable {
        /// The jobs that are not loaded.
        var rejected: [String]
        /// Why a configuration was refused, in a sentence; nil if none was.
        var refusal: String?
    }

    /// Collects the snapshots of all jobs, some jobs at a time, so that jobs that become due
    /// meanwhile do not wait for the last of many.
    func gather(_ done: @escaping @Sendable (Snapshot, Unusable) -> Void) {
        gatherings.append(done)
        gatherOn()
    }

    /// Starts to collect, if a request waits for it and it has not started.
    func gatherOn() {
        guard !gatherings.isEmpty, !isGathering else { return }
        isGathering = true
        gatherSome()
    }

    private func gatherSome() {
        // The snapshots would mix the old and the new configuration, so this continues after the
        // reload.
        guard !agenda.isReloading else {
            isGathering = false
            return
        }
        // Otherwise the array would be moved again and again while it grows, which takes 60 ms for
        // 250 000 jobs.
        if gathered.isEmpty { gathered.reserveCapacity(agenda.jobCount) }
        let now = steadyNow()
        let more = agenda.snapshots(from: gathered.count, count: Self.jobsPerTurn, at: now)
        gathered += fleet == nil ? more : more.map { shown($0) }
        guard more.count < Self.jobsPerTurn else { return later { $0.gatherSome() } }
        let snapshot = Snapshot(at: now, jobs: gathered)
        gathered = []
        gatherings.removeFirst()(
            snapshot, Unusable(rejected: rejected.map(\.name), refusal: configRefusal))
        isGathering = false
        if !gatherings.isEmpty { later { $0.gatherOn() } }
    }

    /// Some jobs as they are, looked at some at a time as well.
    func gather(
        _ names: [Job.Name], found: [JobSnapshot] = [],
        _ done: @escaping @Sendable ([JobSnapshot]) -> Void
    ) {
        let now = steadyNow()
        let some = names.prefix(Self.jobsPerTurn)
        let found =
            found
            + some.compactMap { name in
                agenda.snapshot(of: name, at: now).map { shown($0) }
            }
        guard some.count < names.count else { return done(found) }
        let rest = Array(names.dropFirst(some.count))
        later { $0.gather(rest, found: found, done) }
    }

    /// The job of a run. Its identity has the earlier name if the job was renamed.
    func owner(of run: Run.ID) -> Job.Name { agenda.owner(of: run) }

    /// The active runs of a job that was removed while they ran.
    func removedRuns(of job: Job.Name) -> [ActiveRun] { agenda.removedRuns(of: job) }

    /// A run and its job as they are now.
    func view(of run: Run.ID) -> RunView {
        let now = steadyNow()
        let job = agenda.owner(of: run)
        let further = Run.ID(firing: run.firing, attempt: run.attempt + 1)
        return RunView(
            now: now, job: job, active: agenda.activeRun(run), further: agenda.activeRun(further),
            snapshot: agenda.snapshot(of: job, at: now).map { shown($0) }, live: agenda.liveRuns,
            maxConcurrent: agenda.concurrentRunsMax)
    }

    /// The names for a suggestion if a name is unknown; empty if there are very many jobs.
    /// Otherwise a client that asks for unknown names again and again would slow down all others.
    private var namesForHints: [Job.Name] {
        agenda.jobCount <= Self.hintNamesMax ? agenda.names : []
    }

    /// One job; nil if no job has this name, and then the existing names.
    func snapshot(of job: Job.Name) -> (JobSnapshot?, names: [Job.Name]) {
        let found = agenda.snapshot(of: job, at: steadyNow()).map { shown($0) }
        return (found, found == nil ? namesForHints : [])
    }

    /// Why a job is not loaded, or keeps an earlier definition; nil if neither is so.
    func rejection(of job: Job.Name) -> Rejection? {
        rejected.first { $0.name == job.description }
            ?? outdated.first { $0.name == job.description }
    }

    /// The data for an explanation why a job has not run; nil if no job has this name, and then the
    /// existing names.
    func why(_ job: Job.Name) -> (WhyReply?, names: [Job.Name]) {
        let now = steadyNow()
        let found = agenda.snapshot(of: job, at: now).map { shown($0) }
        let template = found?.job.fleet?.template?.description
        let rejection = rejection(of: job) ?? outdated.first { $0.name == template }
        guard found != nil || rejection != nil else { return (nil, namesForHints) }
        return (
            WhyReply(
                job: job.description, now: now.wall.rfc3339Micros,
                status: found.map { JobStatus($0) },
                rejection: rejection, activeRuns: agenda.liveRuns,
                maxConcurrent: agenda.concurrentRunsMax), []
        )
    }
}

/// What the loop knows about a run.
struct RunView: Sendable {
    var now: Now
    /// Its job, by its present name.
    var job: Job.Name
    /// The run; nil if it has ended or is unknown.
    var active: ActiveRun?
    /// The next attempt after it, if that has not ended.
    var further: ActiveRun?
    /// Its job; nil if that is not configured.
    var snapshot: JobSnapshot?
    /// How many runs of all jobs are active, and how many may be.
    var live: Int
    var maxConcurrent: Int
}
