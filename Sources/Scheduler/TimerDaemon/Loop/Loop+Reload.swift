// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import TimerControl
package import TimerCore
import TimerLog
import TimerRecording

/// Replaces the configuration, some jobs at a time, so that jobs that become due meanwhile do not
/// wait for the last of many. The changes need not be written together: a daemon that is killed in
/// the middle reads the new configuration when it starts, and continues with the saved state of
/// each job.
extension Loop {
    /// About how many jobs are changed in a portion.
    static let changesPerPortion = 64

    /// A configuration to apply.
    package struct NewJobSet: Sendable {
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
        after([.clocks, .decision]) { $0.apply(new, done) }
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
            let work = DefinitionWork(names[...], isForReload: true) { jobs in
                queue.async {
                    let new = make(jobs)
                    self.later { loop in
                        guard let new else { return loop.finish(.reload) }
                        loop.portions.finish(.reload)
                        loop.apply(new, done)
                    }
                }
            }
            loop.begin(work, as: .reload)
        }
    }

    /// The definitions of these jobs, as far as they exist, in their order; collected in portions.
    package func definitions(
        of names: [Job.Name], done: @escaping @Sendable ([Job]) -> Void
    ) {
        begin(DefinitionWork(names[...], isForReload: false, done: done), as: .definitions)
    }

    private func apply(_ new: NewJobSet, _ done: @escaping @Sendable (Notice?) -> Void) {
        begin(ReloadWork(new, done: done), as: .reload)
    }

    /// From now on the agenda has the new configuration, or is changing to it.
    fileprivate func use(_ new: NewJobSet) {
        config.use(new, at: clocks.wall)
        eventLogger.follow(new.levels)
        if recorder.history.follow(new.historyRuns) { recorder.prune() }
    }

    /// All jobs are as the new configuration says.
    fileprivate func endReload() {
        launcher.forgetFormer()
        configureFleet(isReload: true)
        restartPortions()
        expireOneOffs()
    }

    /// Reports what a reload to these jobs would change, computed in portions. Nothing is changed.
    func preview(_ jobSet: JobSet, done: @escaping @Sendable (ReloadPreview) -> Void) {
        begin(PreviewWork(ReloadPreview(jobSet), done: done), as: .preview)
    }
}

/// A reload that changes some jobs at a time.
private final class ReloadWork: LongWork {
    /// Nil once it is handed to the agenda.
    private var new: Loop.NewJobSet?
    private let done: @Sendable (Notice?) -> Void

    init(_ new: Loop.NewJobSet, done: @escaping @Sendable (Notice?) -> Void) {
        self.new = new
        self.done = done
    }

    func advance(on loop: isolated Loop) -> PortionResult {
        let now = loop.reading()
        var event = Event.reloadMore
        if let new = new.take() {
            loop.use(new)
            event = .reload(new.jobSet, portion: Loop.changesPerPortion)
        }
        let actions = loop.decide(event, at: now)
        guard loop.agenda.isReloading else {
            var notice: Notice?
            if case .log(let last) = actions.last { notice = last }
            loop.perform(
                Decision(
                    actions, at: now, written: loop.real(now),
                    done: { [done, notice] _ in done(notice) }))
            loop.endReload()
            return .finished
        }
        loop.perform(Decision(actions, at: now, written: loop.real(now)))
        // Other writes then wait for one portion and not for all of them.
        return actions.isEmpty ? .more : .moreAfterWriting
    }
}

/// Definitions that are collected.
private final class DefinitionWork: LongWork {
    private var names: ArraySlice<Job.Name>
    private var jobs: [Job] = []
    private let isForReload: Bool
    private let done: @Sendable ([Job]) -> Void

    /// - Parameter isForReload: whether a reload continues with them, on another queue first.
    init(
        _ names: ArraySlice<Job.Name>, isForReload: Bool, done: @escaping @Sendable ([Job]) -> Void
    ) {
        self.names = names
        self.isForReload = isForReload
        self.done = done
        jobs.reserveCapacity(names.count)
    }

    func advance(on loop: isolated Loop) -> PortionResult {
        for name in names.prefix(Loop.jobsPerPortion) {
            if let job = loop.agenda.definition(of: name) { jobs.append(job) }
        }
        names = names.dropFirst(Loop.jobsPerPortion)
        guard names.isEmpty else { return .more }
        done(jobs)
        return isForReload ? .held : .finished
    }
}

/// A preview of a reload.
private final class PreviewWork: LongWork {
    private var preview: ReloadPreview
    private let done: @Sendable (ReloadPreview) -> Void

    init(_ preview: ReloadPreview, done: @escaping @Sendable (ReloadPreview) -> Void) {
        self.preview = preview
        self.done = done
    }

    func advance(on loop: isolated Loop) -> PortionResult {
        let now = loop.reading()
        guard !preview.advance(in: loop.agenda, count: Loop.jobsPerPortion, at: now) else {
            return .more
        }
        done(preview)
        return .finished
    }
}
