// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// Passes on what happens to runs. A receiver that sends events together may hold one back, until
/// more arrive or this time is over.
struct EventReporter {
    /// How long an event may be held back, in nanoseconds.
    static let gathering: Int64 = 10_000_000

    private let handler: @Sendable (RunnerEvent) -> Void
    private let iterationEnded: @Sendable (_ isLate: Bool) -> Bool
    /// When the event that is held back must be sent, by CLOCK_MONOTONIC.
    private var flushBy: Int64?

    /// - Parameters:
    ///   - handler: receives the events.
    ///   - iterationEnded: called after each loop iteration. The parameter says whether an event that it
    ///     holds back is late. It returns whether it holds one back.
    init(
        _ handler: @escaping @Sendable (RunnerEvent) -> Void,
        iterationEnded: @escaping @Sendable (_ isLate: Bool) -> Bool
    ) {
        self.handler = handler
        self.iterationEnded = iterationEnded
    }

    func report(_ event: RunnerEvent) { handler(event) }

    /// When `endIteration` must be called next; nil if no event is held back.
    var next: Int64? { flushBy }

    /// Called at the end of each loop iteration.
    /// - Parameter isLate: whether there is another reason to send what is held back.
    mutating func endIteration(isLate: Bool, at now: Int64) {
        let isLate = isLate || flushBy.map { now >= $0 } ?? false
        flushBy = iterationEnded(isLate) ? flushBy ?? now + Self.gathering : nil
    }

    /// Sends what is held back, because no iteration follows.
    mutating func finish() {
        _ = iterationEnded(true)
        flushBy = nil
    }
}
