// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The clock of a timer queue, for code that takes a `Clock`: it sleeps as long as CLOCK_MONOTONIC
/// says, on Linux with the tolerance that is asked for, and with a `ManualTime` until the test says
/// so.
///
/// ```swift
/// try await Task.sleep(for: .seconds(5), tolerance: .seconds(1), clock: queue.clock)
/// ```
///
/// It can be used from any thread.
public struct TimerClock: Clock {
    public typealias Instant = AwakeInstant

    private let queue: TimerQueue

    init(of queue: TimerQueue) { self.queue = queue }

    /// What CLOCK_MONOTONIC reads now.
    public var now: AwakeInstant { queue.now().awake }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Returns when the clock reads `deadline`, at once if it has passed.
    ///
    /// - Parameters:
    ///   - deadline: in the past: it returns at once.
    ///   - tolerance: how much later it may return; nil or negative: not at all.
    /// - Throws: `CancellationError` if the task is cancelled, at once.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    public func sleep(until deadline: AwakeInstant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        let delay = deadline - now
        guard delay > .zero else { return }
        let timer = try PausableTimer.after(
            delay, tolerance: max(.zero, tolerance ?? .zero), on: queue)
        var ticks = Ticks.Iterator(timer, isSleep: true)
        _ = await ticks.next()
        try Task.checkCancellation()
    }
}

extension TimerQueue {
    /// Its clock, with which tasks can sleep.
    public var clock: TimerClock { TimerClock(of: self) }
}
