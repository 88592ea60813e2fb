// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerControl
package import TimerCore

/// Read access to the state of the jobs.
extension Loop {
    /// With more names than this, no suggestion for an unknown name is searched.
    package static let hintNamesMax = 1000

    /// A reading of the clocks for what is shown. It is never ahead of them, as `reading` can be.
    func steadyNow() -> Now { steadyReading.steady(clocks.now()) }

    /// The zones of the schedules, by name.
    package func zoneNames() -> [String] { agenda.zoneNames }

    /// The parts of the configuration that are not in use.
    package struct Unusable: Sendable {
        /// The jobs that are not loaded.
        package var rejected: [String]
        /// Why a configuration was refused, in a sentence; nil if none was.
        package var refusal: String?
    }

    var unusable: Unusable {
        Unusable(rejected: config.rejected.map(\.name), refusal: config.refusal)
    }

    /// Collects the snapshots of all jobs, in portions.
    package func gather(_ done: @escaping @Sendable (Snapshot, Unusable) -> Void) {
        begin(ListWork(done: done), as: .list)
    }

    /// The snapshots of some jobs, in portions as well.
    package func gather(_ names: [Job.Name], _ done: @escaping @Sendable ([JobSnapshot]) -> Void) {
        begin(ExcerptWork(names[...], done: done), as: .excerpt)
    }

    /// Gathers what metrics are made of, in portions.
    ///
    /// - Parameter jobsMax: of how many jobs there is more than a part in the sums.
    package func measure(jobsMax: Int, _ done: @escaping @Sendable (Measures) -> Void) {
        begin(MeasureWork(jobsMax: jobsMax, done: done), as: .measures)
    }

    /// The job of a run. Its identity has the earlier name if the job was renamed.
    package func owner(of run: Run.ID) -> Job.Name { agenda.owner(of: run) }

    /// The active runs of a job that was removed while they ran.
    package func removedRuns(of job: Job.Name) -> [ActiveRun] { agenda.removedRuns(of: job) }

    /// A run and its job as they are now.
    package func view(of run: Run.ID) -> RunView {
        let now = steadyNow()
        let job = agenda.owner(of: run)
        let further = Run.ID(firing: run.firing, attempt: run.attempt + 1)
        return RunView(
            now: now, job: job, active: agenda.activeRun(run), further: agenda.activeRun(further),
            snapshot: agenda.snapshot(of: job, at: now).map { shown($0) },
            caused: agenda.runs(causedBy: run, of: job), live: agenda.liveRuns,
            maxConcurrent: agenda.concurrentRunsMax)
    }

    /// The names for a suggestion if a name is unknown; empty if there are very many jobs.
    /// Otherwise a client that asks for unknown names again and again would slow down all others.
    private var namesForHints: [Job.Name] {
        agenda.jobCount <= Self.hintNamesMax ? agenda.names : []
    }

    /// One job; nil if no job has this name, and then the existing names.
    package func snapshot(of job: Job.Name) -> (JobSnapshot?, names: [Job.Name]) {
        let found = agenda.snapshot(of: job, at: steadyNow()).map { shown($0) }
        return (found, found == nil ? namesForHints : [])
    }

    /// Why a job is not loaded, or keeps an earlier definition; nil if neither is so.
    package func rejection(of job: Job.Name) -> Rejection? { config.rejection(of: job) }

    /// The data for an explanation why a job has not run; nil if no job has this name, and then the
    /// existing names.
    package func why(_ job: Job.Name) -> (WhyReply?, names: [Job.Name]) {
        let now = steadyNow()
        let found = agenda.snapshot(of: job, at: now).map { shown($0) }
        let template = found?.job.fleet?.template
        let rejection =
            config.rejection(of: job) ?? template.flatMap { config.reasonOutdated($0) }
        guard found != nil || rejection != nil else { return (nil, namesForHints) }
        let awaited = Set(found?.awaitedSlots.values.map { $0 } ?? []).union(
            found?.job.policy.slots.map(\.name) ?? [])
        return (
            WhyReply(
                job: job.description, now: now.wall.rfc3339Micros,
                status: found.map { JobStatus($0) },
                rejection: rejection, activeRuns: agenda.liveRuns,
                maxConcurrent: agenda.concurrentRunsMax,
                slots: awaited.isEmpty
                    ? nil
                    : awaited.sorted().compactMap { agenda.slot($0) }.map { SlotStatus($0) }), []
        )
    }

    /// All slots of the configuration, by name.
    package func slots() -> [RunSlotView] { agenda.slotNames.compactMap { agenda.slot($0) } }
}

/// What the loop knows about a run.
package struct RunView: Sendable {
    package var now: Now
    /// Its job, by its present name.
    package var job: Job.Name
    /// The run; nil if it has ended or is unknown.
    package var active: ActiveRun?
    /// The next attempt after it, if that has not ended.
    package var further: ActiveRun?
    /// Its job; nil if that is not configured.
    package var snapshot: JobSnapshot?
    /// The runs of other jobs that its end caused, as far as they have not ended.
    package var caused: [ActiveRun]
    /// How many runs of all jobs are active, and how many may be.
    package var live: Int
    package var maxConcurrent: Int
}

/// Snapshots of all jobs.
private final class ListWork: LongWork {
    private var jobs: [JobSnapshot] = []
    private let done: @Sendable (Snapshot, Loop.Unusable) -> Void

    init(done: @escaping @Sendable (Snapshot, Loop.Unusable) -> Void) { self.done = done }

    func advance(on loop: isolated Loop) -> PortionResult {
        // Otherwise the array would be moved again and again while it grows, which takes 60 ms for
        // 250 000 jobs.
        if jobs.isEmpty { jobs.reserveCapacity(loop.agenda.jobCount) }
        let now = loop.steadyNow()
        let more = loop.agenda.snapshots(from: jobs.count, count: Loop.jobsPerPortion, at: now)
        jobs += loop.shared.fleet == nil ? more : more.map { loop.shown($0) }
        guard more.count < Loop.jobsPerPortion else { return .more }
        done(Snapshot(at: now, jobs: jobs, hold: loop.agenda.machineHold), loop.unusable)
        return .finished
    }

    func restart() { jobs = [] }
}

/// Snapshots of some jobs.
private final class ExcerptWork: LongWork {
    private var names: ArraySlice<Job.Name>
    private var jobs: [JobSnapshot] = []
    private let done: @Sendable ([JobSnapshot]) -> Void

    init(_ names: ArraySlice<Job.Name>, done: @escaping @Sendable ([JobSnapshot]) -> Void) {
        self.names = names
        self.done = done
    }

    func advance(on loop: isolated Loop) -> PortionResult {
        let now = loop.steadyNow()
        for name in names.prefix(Loop.jobsPerPortion) {
            if let job = loop.agenda.snapshot(of: name, at: now) { jobs.append(loop.shown(job)) }
        }
        names = names.dropFirst(Loop.jobsPerPortion)
        guard names.isEmpty else { return .more }
        done(jobs)
        return .finished
    }
}
