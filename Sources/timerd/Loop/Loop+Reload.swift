// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostThreads
import Synchronization
import Timekeeping
import TimerControl
import TimerCore

/// Replaces the configuration, some jobs at a time, so that jobs that become due meanwhile do not
/// wait for the last of many. The changes need not be written together: a daemon that is killed in
/// the middle reads the new configuration when it starts, and continues with the saved state of
/// each job.
extension Loop {
    /// About how many jobs are changed before other work gets its turn.
    static let changesPerTurn = 64

    /// A configuration to apply.
    struct NewJobSet: Sendable {
        var jobSet: JobSet
        /// The jobs that are not loaded.
        var rejected: [Rejection] = []
        /// The jobs that do not change because of an error.
        var outdated: [Rejection] = []
        /// Why a part of the configuration was refused; nil if nothing was.
        var refusal: String?
        /// The log levels of the jobs that do not log everything.
        var levels: EventLogger.Levels
        /// The jobs that keep another number of runs than the default.
        var historyRuns: [Job.Name: Int]

        init(
            _ jobSet: JobSet, rejected: [Rejection], outdated: [Rejection] = [],
            refusal: String? = nil
        ) {
            self.jobSet = jobSet
            self.rejected = rejected
            self.outdated = outdated
            self.refusal = refusal
            levels = EventLogger.levels(of: jobSet.jobs)
            historyRuns = HistoryLimits.runs(of: jobSet.jobs)
        }
    }

    /// Applies a new configuration. `done` gets the changes once they are on the disk; nil if the
    /// daemon stops.
    func reload(_ new: NewJobSet, done: @escaping @Sendable (Notice?) -> Void) {
        after([.clocks, .decision]) { loop in
            loop.isDeciding = true
            loop.take(new, done)
        }
    }

    /// Applies a new configuration in which some jobs keep their definitions. No other reload comes
    /// between reading these definitions and applying the configuration.
    ///
    /// - Parameters:
    ///   - names: the jobs that keep their definitions, as far as they exist.
    ///   - queue: where the configuration is made.
    ///   - make: makes the configuration from these definitions; nil to cancel the reload.
    ///   - done: called unless `make` returned nil, as by `reload`.
    func reload(
        keeping names: [Job.Name], on queue: DispatchQueue,
        make: @escaping @Sendable ([Job]) -> NewJobSet?,
        done: @escaping @Sendable (Notice?) -> Void
    ) {
        after([.clocks, .decision]) { loop in
            loop.isDeciding = true
            loop.reloadResumedAt = loop.clocks.awake
            loop.definitions(of: names) { jobs in
                queue.async {
                    let new = make(jobs)
                    self.later { loop in
                        if let new { loop.take(new, done) } else { loop.endDecision() }
                    }
                }
            }
        }
    }

    /// The definitions of these jobs, as far as they exist, in their order; collected some at a time.
    func definitions(
        of names: [Job.Name], done: @escaping @Sendable ([Job]) -> Void
    ) {
        collect(names[...], Collected(), done)
    }

    private func collect(
        _ names: ArraySlice<Job.Name>, _ collected: Collected,
        _ done: @escaping @Sendable ([Job]) -> Void
    ) {
        collected.jobs.withLock { jobs in
            if jobs.isEmpty { jobs.reserveCapacity(names.count) }
            for name in names.prefix(Self.jobsPerTurn) {
                if let job = agenda.definition(of: name) { jobs.append(job) }
            }
        }
        let rest = names.dropFirst(Self.jobsPerTurn)
        guard !rest.isEmpty else { return done(collected.jobs.withLock { $0 }) }
        afterPause { $0.collect(rest, collected, done) }
    }

    private func take(_ new: NewJobSet, _ done: @escaping @Sendable (Notice?) -> Void) {
        rejected = new.rejected
        outdated = new.outdated
        configRefusal = new.refusal
        if new.refusal == nil { configAccepted = clocks.wall }
        eventLogger.follow(new.levels)
        if recorder.history.follow(new.historyRuns) { recorder.prune() }
        notifiersChanged?(new.jobSet.notifiers)
        let now = reading()
        reloadResumedAt = now.awake
        takePortion(
            decide(.reload(new.jobSet, portion: Self.changesPerTurn), at: now), at: now, done)
    }

    private func takePortion(
        _ actions: [Action], at now: Now, _ done: @escaping @Sendable (Notice?) -> Void
    ) {
        guard agenda.isReloading else {
            var notice: Notice?
            if case .log(let last) = actions.last { notice = last }
            perform(actions[...], at: now, done: { [notice] _ in done(notice) })
            return endReload()
        }
        perform(actions[...], at: now)
        let next: @Sendable (isolated Loop) -> Void = { loop in
            let now = loop.reading()
            loop.takePortion(loop.decide(.reloadMore, at: now), at: now, done)
        }
        // Other writes then wait for one part and not for all of them.
        if actions.isEmpty {
            afterPause(next)
        } else {
            afterWriting { $0.afterPause(next) }
        }
    }

    /// Runs `body` in a later turn, and after a pause if the last one was long ago, for the reason that `ThreadThrottle`
    /// gives: a large reload would otherwise keep a processor busy for a second.
    private func afterPause(_ body: @escaping @Sendable (isolated Loop) -> Void) {
        guard clocks.awake - reloadResumedAt >= ThreadThrottle.workTime else {
            return later(body)
        }
        later(after: ThreadThrottle.pauseTime) { loop in
            loop.reloadResumedAt = loop.clocks.awake
            body(loop)
        }
    }

    private func endReload() {
        launcher.forgetFormer()
        configureFleet(isReload: true)
        // Lists of the old jobs are useless now, and so is a checkpoint that has begun: both restart.
        gathered = []
        if checkpointed != nil { checkpointed = 0 }
        endDecision()
        gatherOn()
        restartMeasuring()
        expireOneOffs()
    }

    /// Runs `body` after everything submitted so far was written, or failed for now, and after a
    /// checkpoint of the database's log that is in progress. Without this, the log would grow until
    /// a write had to wait for the disk.
    func afterWriting(_ body: @escaping @Sendable (isolated Loop) -> Void) {
        let first = First()
        recorder.write([]) { [recorder] _ in
            guard first.take() else { return }
            recorder.afterCheckpoint { _ in self.later(body) }
        } onDelayed: { _ in
            if first.take() { self.later(body) }
        }
    }

    /// Reports what a reload to these jobs would change, computed some jobs at a time. Nothing is
    /// changed.
    func preview(_ jobSet: JobSet, done: @escaping @Sendable (ReloadPreview) -> Void) {
        previews.append((ReloadPreview(jobSet), done))
        if previews.count == 1 { previewSome() }
    }

    private func previewSome() {
        let now = reading()
        guard !previews[0].reload.advance(in: agenda, count: Self.jobsPerTurn, at: now) else {
            return later { $0.previewSome() }
        }
        let (reload, done) = previews.removeFirst()
        done(reload)
        if !previews.isEmpty { later { $0.previewSome() } }
    }
}

/// Definitions that are collected in several turns. It is a class, so that no turn copies them.
private final class Collected: Sendable {
    let jobs = Mutex<[Job]>([])
}

/// Finds the first of several callers.
private final class First: Sendable {
    private let isTaken = Atomic(false)

    /// Whether this is the first call.
    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
