// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TimerControl
import TimerCore

/// A newly read configuration takes the place of the old one, some jobs at a time: what comes due meanwhile does not
/// wait for the last of many. Nothing of it needs to be written together: a daemon that is killed in the middle finds
/// the new configuration when it starts, and goes on from what it finds of each job.
extension Loop {
    /// About how many jobs are changed before others have their turn.
    static let changesPerTurn = 64

    /// A configuration to go by.
    struct NewRoster: Sendable {
        var jobSet: JobSet
        /// The jobs that are not loaded.
        var rejected: [Rejection] = []
        /// The jobs that stay as they are because of an error.
        var outdated: [Rejection] = []
        /// What of the configuration was refused; nil: nothing.
        var refusal: String?
        /// How much is said of the runs of those jobs of which not all is.
        var levels: EventLogger.Levels

        init(
            _ jobSet: JobSet, rejected: [Rejection], outdated: [Rejection] = [],
            refusal: String? = nil
        ) {
            self.jobSet = jobSet
            self.rejected = rejected
            self.outdated = outdated
            self.refusal = refusal
            levels = EventLogger.levels(of: jobSet.jobs)
        }
    }

    /// Takes a new roster and says what changed once it is on the disk; nil if the daemon stops.
    func reload(_ new: NewRoster, done: @escaping @Sendable (Notice?) -> Void) {
        guard !isDeciding else { return afterDecision { $0.reload(new, done: done) } }
        isDeciding = true
        take(new, done)
    }

    /// Takes a new roster in which some jobs stay as they are. Between the look at them and the reload nothing else is
    /// reloaded.
    ///
    /// - Parameters:
    ///   - names: the jobs that stay as they are, as far as they are there.
    ///   - queue: where the roster is made.
    ///   - make: makes it of the definitions of these jobs; nil if there is to be no reload.
    ///   - done: called unless `make` returned nil, as by `reload`.
    func reload(
        keeping names: [Job.Name], on queue: DispatchQueue,
        make: @escaping @Sendable ([Job.Name: Job]) -> NewRoster?,
        done: @escaping @Sendable (Notice?) -> Void
    ) {
        guard !isDeciding else {
            return afterDecision { $0.reload(keeping: names, on: queue, make: make, done: done) }
        }
        isDeciding = true
        definitions(of: names[...]) { kept in
            queue.async {
                let new = make(kept)
                self.later { loop in
                    if let new { loop.take(new, done) } else { loop.endDecision() }
                }
            }
        }
    }

    /// The definitions of these jobs, looked up some at a time.
    func definitions(
        of names: ArraySlice<Job.Name>, beside found: [Job.Name: Job] = [:],
        done: @escaping @Sendable ([Job.Name: Job]) -> Void
    ) {
        var found = found
        for name in names.prefix(Self.jobsPerTurn) { found[name] = agenda.definition(of: name) }
        let rest = names.dropFirst(Self.jobsPerTurn)
        guard !rest.isEmpty else { return done(found) }
        later { [found] in $0.definitions(of: rest, beside: found, done: done) }
    }

    private func take(_ new: NewRoster, _ done: @escaping @Sendable (Notice?) -> Void) {
        rejected = new.rejected
        outdated = new.outdated
        configRefusal = new.refusal
        eventLogger.follow(new.levels)
        let now = clocks.now()
        takePortion(
            decide(.reload(new.jobSet, portion: Self.changesPerTurn), at: now), at: now, done)
    }

    private func takePortion(
        _ actions: [Action], at now: Now, _ done: @escaping @Sendable (Notice?) -> Void
    ) {
        guard agenda.isReloading else {
            var notice: Notice?
            if case .tell(let last) = actions.last { notice = last }
            perform(actions[...], at: now, done: { [notice] _ in done(notice) })
            return endReload()
        }
        perform(actions[...], at: now)
        let next: @Sendable (isolated Loop) -> Void = { loop in
            let now = loop.clocks.now()
            loop.takePortion(loop.decide(.reloadMore, at: now), at: now, done)
        }
        // What else is written meanwhile waits for one portion and not for all of them.
        if actions.isEmpty { later(next) } else { afterWriting(next) }
    }

    private func endReload() {
        launcher.forgetFormer()
        // What was gathered of the old roster is begun anew, and so is a checkpoint.
        gathered = []
        if checkpointed != nil { checkpointed = 0 }
        endDecision()
        gatherOn()
        expireOneOffs()
    }

    /// Does this after everything handed over so far was written, or cannot be written for now, and after a checkpoint of
    /// the database's log that is under way: otherwise the log would grow until a write has to wait for the disk.
    func afterWriting(_ body: @escaping @Sendable (isolated Loop) -> Void) {
        let first = First()
        recorder.write([]) { [recorder] _ in
            guard first.take() else { return }
            recorder.afterCheckpoint { _ in self.later(body) }
        } onDelayed: { _ in
            if first.take() { self.later(body) }
        }
    }

    /// Says what a reload to this roster would do, looked up some jobs at a time; nothing is changed.
    func preview(_ jobSet: JobSet, done: @escaping @Sendable (ReloadPreview) -> Void) {
        previews.append((ReloadPreview(jobSet), done))
        if previews.count == 1 { previewSome() }
    }

    private func previewSome() {
        let now = clocks.now()
        guard !previews[0].reload.advance(in: agenda, count: Self.jobsPerTurn, at: now) else {
            return later { $0.previewSome() }
        }
        let (reload, done) = previews.removeFirst()
        done(reload)
        if !previews.isEmpty { later { $0.previewSome() } }
    }
}

/// Tells the first of several that come.
private final class First: Sendable {
    private let isTaken = Atomic(false)

    /// Whether nobody came before.
    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
