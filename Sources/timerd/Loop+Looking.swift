// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// What there is to see.
extension Loop {
    /// The zones that schedules go by, by name.
    func zoneNames() -> [String] { agenda.zoneNames }

    /// Everything there is to show, gathered some jobs at a time: what comes due meanwhile does not wait for
    /// the last of many.
    func gather(_ done: @escaping @Sendable (Snapshot, _ rejected: [String]) -> Void) {
        gatherings.append(done)
        if gatherings.count == 1 { gatherSome() }
    }

    private func gatherSome() {
        let now = clocks.now()
        let more = agenda.snapshots(from: gathered.count, count: Self.jobsPerTurn, at: now)
        gathered += more
        guard more.count < Self.jobsPerTurn else { return later { $0.gatherSome() } }
        let snapshot = Snapshot(at: now, jobs: gathered)
        gathered = []
        gatherings.removeFirst()(snapshot, rejected.map(\.name))
        if !gatherings.isEmpty { later { $0.gatherSome() } }
    }

    /// The job that a run belongs to: not the one whose name is in its identity, if its job was renamed.
    func owner(of run: Run.ID) -> Job.Name { agenda.owner(of: run) }

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

    /// What a reload to this roster would do; nothing is changed.
    func preview(_ roster: Roster) -> ReloadPreview {
        agenda.preview(roster, at: clocks.now())
    }

    /// What is needed to say why a job has not run; nil if nobody knows the name, and then the names there
    /// are.
    func why(_ job: Job.Name) -> (WhyReply?, names: [Job.Name]) {
        let now = clocks.now()
        let found = agenda.snapshot(of: job, at: now)
        let rejection = rejected.first { $0.name == job.description }
        guard found != nil || rejection != nil else { return (nil, namesForHints) }
        return (
            WhyReply(
                job: job.description, now: now.wall.rfc3339, status: found.map { JobStatus($0) },
                rejected: rejection, live: agenda.liveRuns,
                maxConcurrent: agenda.concurrentRunsMax), []
        )
    }
}
