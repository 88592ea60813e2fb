// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRecording
import TimerStore

/// Runs that start once their rows are written.
struct RecordedStart: Sendable {
    var runs: [Run]
    /// The reading of the clocks as of which they were decided.
    var decided: AwakeInstant
    /// The number of the event that counts as written then; 0 for none.
    var event: UInt64
    /// The runs whose ends are written with them.
    var ended: [Run.ID] = []
}

/// Something for the store: changes that one decision causes, or that of several decisions.
enum RoutedWrite: Sendable {
    case write(RequestQueue.Request)
    /// One write of these changes, after which the runs start.
    case starts([RecordedStart], [Store.Change])

    var changes: [Store.Change] {
        switch self {
        case .write(let write): write.changes
        case .starts(_, let changes): changes
        }
    }

    /// The jobs of the runs that start.
    var startingJobs: [Job.Name] {
        switch self {
        case .write: []
        case .starts(let starts, _): starts.flatMap { $0.runs.map(\.id.firing.job) }
        }
    }
}

/// The writes that several firings of one wake-up leave to its end, in their order. They are handed
/// to the recorder together. Runs that start one after the other are one write, so that one message
/// requests all of them. If there are many, they are several writes and do not wait for the end, as
/// the first of a thousand jobs must not wait for the last.
struct WakeUp {
    private var writes: [RoutedWrite] = []
    private var changes: [Store.Change] = []
    private var starts: [RecordedStart] = []
    private var runCount = 0

    /// Whether there are as many runs as one write should have.
    var isFull: Bool { runCount >= CommitBatch.jobsMax }

    mutating func add(_ write: RoutedWrite) {
        guard case .starts(let more, let changes) = write else {
            closeStarts()
            return writes.append(write)
        }
        let count = more.reduce(0) { $0 + $1.runs.count }
        if runCount + count > CommitBatch.jobsMax { closeStarts() }
        starts += more
        runCount += count
        self.changes += changes
    }

    /// Removes and returns all writes.
    mutating func drain() -> [RoutedWrite] {
        closeStarts()
        defer { writes = [] }
        return writes
    }

    private mutating func closeStarts() {
        guard !starts.isEmpty else { return }
        writes.append(.starts(starts, changes))
        (starts, changes, runCount) = ([], [], 0)
    }
}
