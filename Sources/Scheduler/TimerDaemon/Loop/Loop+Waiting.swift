// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import Synchronization
import TimerCore
import TimerRecording

/// Work of the loop that waits in its gate.
struct Waiting: Sendable {
    let body: @Sendable (isolated Loop) -> Void
}

extension Loop {
    /// What is in the way of waiting work now.
    private var blockers: Blockers {
        var present = Blockers()
        if early.isAhead(at: clocks.awake) { present.insert(.clocks) }
        if portions.isDeciding { present.insert(.decision) }
        if router.hasTransaction { present.insert(.transaction) }
        if timers.areUnset { present.insert(.timers) }
        if !heartbeats.areRecordsStored { present.insert(.firstRecords) }
        if case .unknown = runner { present.insert(.runner) }
        if !agenda.isShutDown || agenda.liveRuns > 0 { present.insert(.activeRuns) }
        return present
    }

    /// Runs `body` once none of these is in the way, and after all that waits and may run now. What
    /// decides how the time of a job counts is exact only at its own instant, so it waits for the
    /// clocks.
    package func after(_ blockers: Blockers, _ body: @escaping @Sendable (isolated Loop) -> Void) {
        gate.add(Waiting(body: body), after: blockers)
        runWaiting()
    }

    /// Runs all waiting work that may run now.
    func runWaiting() {
        guard !gate.isEmpty else { return }
        while let next = gate.next(despite: blockers) { next.body(self) }
        guard gate.isWaiting(for: .clocks), let wait = early.waitForClocks(at: clocks.awake) else {
            return
        }
        later(after: wait) { loop in
            loop.early.noteClocks()
            loop.runWaiting()
        }
    }

    // MARK: - Long work

    /// Begins long work, in a later turn.
    func begin(_ work: some LongWork, as kind: Portions.Kind) {
        portions.add(work, as: kind, at: clocks.awake)
        planTurn()
    }

    /// Plans a turn for long work, if there is some that can be done.
    private func planTurn() {
        guard portions.planTurn(isReloading: agenda.isReloading) else { return }
        later { $0.takeTurn() }
    }

    /// Does portions of long work for a limited time.
    func takeTurn() {
        portions.beginTurn(at: clocks.awake)
        while let (kind, work) = portions.takeNext(
            at: clocks.awake, isReloading: agenda.isReloading)
        {
            switch work.advance(on: self) {
            case .more:
                guard portions.pause(before: kind, at: clocks.awake) != nil else { continue }
                portions.hold(kind)
                resume(kind)
            case .moreAfterWriting:
                portions.hold(kind)
                afterWriting { $0.resume(kind) }
            case .held: portions.hold(kind)
            case .finished: finish(kind)
            }
        }
        planTurn()
    }

    /// Continues with long work that was held, after a pause if one is due.
    private func resume(_ kind: Portions.Kind) {
        guard let pause = portions.pause(before: kind, at: clocks.awake) else {
            portions.release(kind)
            return planTurn()
        }
        later(after: pause) { loop in
            loop.portions.resume(kind, at: loop.clocks.awake)
            loop.planTurn()
        }
    }

    /// Long work of this kind is finished, and something may have waited for that.
    func finish(_ kind: Portions.Kind) {
        portions.finish(kind)
        runWaiting()
        planTurn()
    }

    /// The places of the jobs have changed, so lists and checkpoints in progress begin again.
    func restartPortions() {
        portions.restart()
        planTurn()
    }

    /// Runs `body` after everything submitted so far was written, or failed for now, and after a
    /// checkpoint of the database's log that is in progress. Without this, the log would grow until
    /// a write had to wait for the disk.
    private func afterWriting(_ body: @escaping @Sendable (isolated Loop) -> Void) {
        let first = First()
        recorder.write([]) { [recorder] _ in
            guard first.take() else { return }
            recorder.afterCheckpoint { _ in self.later(body) }
        } onDelayed: { _ in
            if first.take() { self.later(body) }
        }
    }
}

/// Finds the first of several callers.
private final class First: Sendable {
    private let isTaken = Atomic(false)

    /// Whether this is the first call.
    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
