// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerCore

/// What is counted where it happens and shown in metrics, apart from what the loop and the recorder know.
final class Meters: Sendable {
    private let droppedLines = Atomic<Int>(0)
    private let isConnected = Atomic<Bool>(true)
    private let dropped: @Sendable () -> Int

    /// - Parameter droppedEntries: how many entries of the log were lost in all.
    init(droppedEntries: @escaping @Sendable () -> Int = { 0 }) { dropped = droppedEntries }

    /// How many lines of output the runner has dropped since the daemon started.
    var droppedOutput: Int { droppedLines.load(ordering: .relaxed) }

    /// How many entries the journal, or the reader of standard error, did not accept.
    var droppedEntries: Int { dropped() }

    /// Whether the daemon is connected to its runner now.
    var isRunnerConnected: Bool { isConnected.load(ordering: .relaxed) }

    func addDroppedOutput(_ lines: Int) { droppedLines.add(lines, ordering: .relaxed) }

    func note(isRunnerConnected: Bool) { isConnected.store(isRunnerConnected, ordering: .relaxed) }
}

/// How long writes to the store take, and how many fail.
final class StoreMeter: Sendable {
    struct Reading: Sendable {
        var writes = Histogram(bounds: Histogram.writeBounds)
        var errors: UInt64 = 0
    }

    private let state = Mutex(Reading())

    var reading: Reading { state.withLock { $0 } }

    func addWrite(_ took: Duration) { state.withLock { $0.writes.add(took) } }

    func addError() { state.withLock { $0.errors &+= 1 } }
}

extension Histogram {
    /// For how long writes to the store take.
    fileprivate static let writeBounds: [Duration] =
        [100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 500_000].map {
            .microseconds($0)
        } + [.seconds(1), .seconds(10)]
}
