// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

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
        var roster: Roster
        var rejected: [Rejection] = []
        /// How much is said of the runs of those jobs of which not all is.
        var levels: Teller.Levels

        init(_ roster: Roster, rejected: [Rejection]) {
            self.roster = roster
            self.rejected = rejected
            levels = Teller.levels(of: roster.jobs)
        }
    }

    /// Takes a new roster and says what changed once it is on the disk; nil if the daemon stops.
    func reload(_ new: NewRoster, done: @escaping @Sendable (Notice?) -> Void) {
        guard !isDeciding else { return afterDecision { $0.reload(new, done: done) } }
        rejected = new.rejected
        configRefusal = nil
        teller.follow(new.levels)
        isDeciding = true
        let now = clocks.now()
        takePortion(
            decide(.reload(new.roster, portion: Self.changesPerTurn), at: now), at: now, done)
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
    }

    /// Does this after everything handed over so far was written, or cannot be written for now, and after a checkpoint of
    /// the database's log that is under way: otherwise the log would grow until a write has to wait for the disk.
    func afterWriting(_ body: @escaping @Sendable (isolated Loop) -> Void) {
        let first = First()
        recorder.keep([]) { [recorder] _ in
            guard first.take() else { return }
            recorder.afterCheckpoint { _ in self.later(body) }
        } delayed: { _ in
            if first.take() { self.later(body) }
        }
    }

    /// Says what a reload to this roster would do, looked up some jobs at a time; nothing is changed.
    func preview(_ roster: Roster, done: @escaping @Sendable (ReloadPreview) -> Void) {
        previews.append((ReloadPreview(roster), done))
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
