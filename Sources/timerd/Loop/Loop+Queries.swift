// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// What there is to see.
extension Loop {
    /// The zones that schedules go by, by name.
    func zoneNames() -> [String] { agenda.zoneNames }

    /// What of the configuration is not in use.
    struct Unusable: Sendable {
        /// The jobs that are not loaded.
        var rejected: [String]
        /// What was refused, in a sentence; nil: nothing.
        var refusal: String?
    }

    /// Everything there is to show, gathered some jobs at a time: what comes due meanwhile does not wait for
    /// the last of many.
    func gather(_ done: @escaping @Sendable (Snapshot, Unusable) -> Void) {
        gatherings.append(done)
        gatherOn()
    }

    /// Begins to gather, if somebody waits for it and nobody has begun.
    func gatherOn() {
        guard !gatherings.isEmpty, !isGathering else { return }
        isGathering = true
        gatherSome()
    }

    private func gatherSome() {
        // Half of one configuration and half of another would be shown: it goes on behind the reload.
        guard !agenda.isReloading else {
            isGathering = false
            return
        }
        let now = clocks.now()
        let more = agenda.snapshots(from: gathered.count, count: Self.jobsPerTurn, at: now)
        gathered += more
        guard more.count < Self.jobsPerTurn else { return later { $0.gatherSome() } }
        let snapshot = Snapshot(at: now, jobs: gathered)
        gathered = []
        gatherings.removeFirst()(
            snapshot, Unusable(rejected: rejected.map(\.name), refusal: configRefusal))
        isGathering = false
        if !gatherings.isEmpty { later { $0.gatherOn() } }
    }

    /// The job that a run belongs to: not the one whose name is in its identity, if its job was renamed.
    func owner(of run: Run.ID) -> Job.Name { agenda.owner(of: run) }

    /// A run and its job as they are now.
    func view(of run: Run.ID) -> RunView {
        let now = clocks.now()
        let job = agenda.owner(of: run)
        let further = Run.ID(firing: run.firing, attempt: run.attempt + 1)
        return RunView(
            now: now, job: job, active: agenda.activeRun(run), further: agenda.activeRun(further),
            snapshot: agenda.snapshot(of: job, at: now), live: agenda.liveRuns,
            maxConcurrent: agenda.concurrentRunsMax)
    }

    /// The names to find the one that was probably meant among. None if there are very many: a client that asks
    /// for names that do not exist, again and again, would take the time of all others.
    private var namesForHints: [Job.Name] {
        agenda.jobCount <= Self.hintNamesMax ? agenda.names : []
    }

    /// One job; nil if there is none of the name, and then the names there are.
    func snapshot(of job: Job.Name) -> (JobSnapshot?, names: [Job.Name]) {
        let found = agenda.snapshot(of: job, at: clocks.now())
        return (found, found == nil ? namesForHints : [])
    }

    /// What is needed to say why a job has not run; nil if nobody knows the name, and then the names there
    /// are.
    func why(_ job: Job.Name) -> (WhyReply?, names: [Job.Name]) {
        let now = clocks.now()
        let found = agenda.snapshot(of: job, at: now)
        let rejection =
            rejected.first { $0.name == job.description }
            ?? outdated.first { $0.name == job.description }
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

/// What is known in memory of a run.
struct RunView: Sendable {
    var now: Now
    /// The job it belongs to, by its name now.
    var job: Job.Name
    /// The run; nil if it has ended, or nobody knows it.
    var active: ActiveRun?
    /// The attempt that follows it, if that has not ended.
    var further: ActiveRun?
    /// Its job; nil if that is not configured.
    var snapshot: JobSnapshot?
    /// How many runs are active, of all jobs, and how many may be.
    var live: Int
    var maxConcurrent: Int
}
