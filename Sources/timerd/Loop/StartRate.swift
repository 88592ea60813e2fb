// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Whether runs start so fast, one after the other, that the processors have enough to do.
struct StartRate {
    /// So many starts within `span` are fast.
    static let starts = Loop.busyRuns
    static let span: Duration = .milliseconds(100)

    /// When the last of them were, in a ring. The next one replaces the oldest.
    private var last: [AwakeInstant] = []
    private var oldest = 0

    /// Notes the start of so many runs.
    ///
    /// - Complexity: O(1).
    mutating func note(_ count: Int, at instant: AwakeInstant) {
        for _ in 0..<min(count, Self.starts) {
            if last.count < Self.starts {
                last.append(instant)
            } else {
                last[oldest] = instant
                oldest = (oldest + 1) % Self.starts
            }
        }
    }

    /// Whether the last `starts` runs started within `span` before this instant.
    func isFast(at instant: AwakeInstant) -> Bool {
        last.count == Self.starts && instant - last[oldest] <= Self.span
    }
}
