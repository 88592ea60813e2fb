// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerCore

/// What is counted where it happens and shown in metrics, apart from what the loop and the recorder know.
package final class Meters: Sendable {
    private let droppedLines = Atomic<Int>(0)
    private let isConnected = Atomic<Bool>(true)
    private let dropped: @Sendable () -> Int

    /// - Parameter droppedEntries: how many entries of the log were lost in all.
    package init(droppedEntries: @escaping @Sendable () -> Int = { 0 }) { dropped = droppedEntries }

    /// How many lines of output the runner has dropped since the daemon started.
    package var droppedOutput: Int { droppedLines.load(ordering: .relaxed) }

    /// How many entries the journal, or the reader of standard error, did not accept.
    package var droppedEntries: Int { dropped() }

    /// Whether the daemon is connected to its runner now.
    package var isRunnerConnected: Bool { isConnected.load(ordering: .relaxed) }

    package func addDroppedOutput(_ lines: Int) { droppedLines.add(lines, ordering: .relaxed) }

    package func note(isRunnerConnected: Bool) {
        isConnected.store(isRunnerConnected, ordering: .relaxed)
    }
}
