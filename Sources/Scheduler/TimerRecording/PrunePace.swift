// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerStore

/// How many rows one step of the pruning handles, and how long it rests after that. The steps share a queue with the
/// writes, so each is short, however slow the disk is, and they use at most a tenth of the time of the queue.
struct PrunePace {
    /// How long a step should take at most.
    static let workMax: Duration = .milliseconds(5)
    static let rest: ClosedRange<Duration> = .milliseconds(20)...(.seconds(2))
    static let rowsRange: ClosedRange<Int64> = 4...Pruning.rowsPerPortion

    /// How many rows the next step handles.
    private(set) var rows: Int64 = 25
    /// How long to wait before the next step.
    private(set) var pause = rest.lowerBound

    /// Takes into account how long the last step took.
    mutating func note(_ work: Duration) {
        if work > Self.workMax {
            rows = max(rows / 2, Self.rowsRange.lowerBound)
        } else if work * 3 < Self.workMax {
            rows = min(rows * 2, Self.rowsRange.upperBound)
        }
        pause = min(max(work * 9, Self.rest.lowerBound), Self.rest.upperBound)
    }
}
