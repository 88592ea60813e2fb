// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerStore

/// The writes that several firings of one wake-up leave to its end, in their order. They are handed to
/// the recorder together. Runs that start one after the other are one write, so that one message requests all of them. If there are
/// many, they are several writes and do not wait for the end, as the first of a thousand jobs must
/// not wait for the last.
struct WakeUp {
    /// Runs that start once their rows are written.
    struct Start {
        var runs: [Run]
        /// The reading of the clocks as of which they were decided.
        var decided: AwakeInstant
        /// The number of the event that counts as written then; 0 for none.
        var event: UInt64
    }

    private var writes: [Loop.Write] = []
    private var changes: [Store.Change] = []
    private var starts: [Start] = []
    private var runCount: Int { starts.reduce(0) { $0 + $1.runs.count } }

    /// Whether there are as many runs as one write should have.
    var isFull: Bool { runCount >= CommitBatch.jobsMax }

    mutating func add(_ write: Loop.Write, to loop: Loop) {
        close(loop)
        writes.append(write)
    }

    mutating func add(_ start: Start, _ changes: [Store.Change], to loop: Loop) {
        if runCount + start.runs.count > CommitBatch.jobsMax { close(loop) }
        starts.append(start)
        self.changes += changes
    }

    /// Removes and returns all writes.
    mutating func takeWrites(for loop: Loop) -> [Loop.Write] {
        close(loop)
        defer { writes = [] }
        return writes
    }

    private mutating func close(_ loop: Loop) {
        guard !starts.isEmpty else { return }
        writes.append(loop.write(starts, changes))
        (starts, changes) = ([], [])
    }
}
