// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Work of the loop that waits in its gate.
struct Waiting: Sendable {
    let body: @Sendable (isolated Loop) -> Void
}

extension Loop {
    /// What is in the way of waiting work now.
    private var blockers: Blockers {
        var present = Blockers()
        if early.isAhead(at: clocks.awake) { present.insert(.clocks) }
        if isDeciding { present.insert(.decision) }
        if transaction != nil { present.insert(.transaction) }
        if timers.areUnset { present.insert(.timers) }
        if unstored != nil { present.insert(.firstRecords) }
        if case .unknown = runner { present.insert(.runner) }
        if !agenda.isShutDown || agenda.liveRuns > 0 { present.insert(.activeRuns) }
        return present
    }

    /// Runs `body` once none of these is in the way, and after all that waits and may run now. What
    /// decides how the time of a job counts is exact only at its own instant, so it waits for the
    /// clocks.
    func after(_ blockers: Blockers, _ body: @escaping @Sendable (isolated Loop) -> Void) {
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
}
