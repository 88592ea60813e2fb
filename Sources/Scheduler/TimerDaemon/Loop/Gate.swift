// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// What work may have to wait for.
package struct Blockers: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The clocks have not reached the instant as of which a firing was decided.
    package static let clocks = Blockers(rawValue: 1 << 0)
    /// A command for many jobs or a reload has not reached all of its jobs. A stop or another reload
    /// in the middle would leave it applied to some of the jobs only.
    static let decision = Blockers(rawValue: 1 << 1)
    /// A command for many jobs is not saved.
    static let transaction = Blockers(rawValue: 1 << 2)
    /// Some timers of jobs are not set.
    static let timers = Blockers(rawValue: 1 << 3)
    /// The first records of this instance are not stored.
    static let firstRecords = Blockers(rawValue: 1 << 4)
    /// The runner has not said whether it can start runs.
    static let runner = Blockers(rawValue: 1 << 5)
    /// The daemon does not stop, or runs are still active.
    static let activeRuns = Blockers(rawValue: 1 << 6)
}

/// All work that waits, each with everything that it waits for. Of the work that may run, the one
/// that came first is next: a stop that comes after a command for many jobs lets that one reach all
/// of its jobs. It is removed one at a time, because each may block the others again.
struct Gate<Work> {
    private struct Entry {
        var work: Work
        var blockers: Blockers
    }

    private var entries = Deque<Entry>()

    /// Adds work that waits until none of these blockers is present.
    mutating func add(_ work: Work, after blockers: Blockers) {
        entries.append(Entry(work: work, blockers: blockers))
    }

    /// Removes and returns the first work that may run while these blockers are present.
    ///
    /// - Complexity: O(*n*) in the work that came before it and must wait.
    mutating func next(despite present: Blockers) -> Work? {
        let index = entries.firstIndex { $0.blockers.isDisjoint(with: present) }
        return index.map { entries.remove(at: $0).work }
    }

    /// Removes all work that waits for this blocker.
    mutating func remove(waitingFor blocker: Blockers) {
        entries.removeAll { !$0.blockers.isDisjoint(with: blocker) }
    }

    /// Whether no work waits.
    var isEmpty: Bool { entries.isEmpty }

    /// Whether some work waits for this blocker, and maybe for others.
    func isWaiting(for blocker: Blockers) -> Bool {
        entries.contains { !$0.blockers.isDisjoint(with: blocker) }
    }
}
