// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Handles at most one value in each interval: the first one at once, and then, at the end of each
/// interval, the last one that came meanwhile.
///
/// ```swift
/// let progress = try Throttler<Double>(.milliseconds(100)) { part in show(part) }
/// for part in work() { progress.send(part) }   // shown ten times a second
/// ```
///
/// It can be used from any thread, and exists as long as something references it. Each operation
/// takes O(log *n*) in the number of timers of the queue.
public final class Throttler<Value: Sendable>: Sendable {
    private let timer: PausableTimer
    /// The lock is also held while the timer is started or paused.
    private let latest: Latest<Value>

    /// Creates a throttler without a value.
    ///
    /// - Parameters:
    ///   - interval: the least time from the return of the handler to its next call; longer than
    ///     zero.
    ///   - queue: the queue that runs the handler.
    ///   - handler: called with the value, and never twice at the same time.
    /// - Throws: `TimerArgumentError`.
    public convenience init(
        _ interval: Duration, on queue: TimerQueue = .shared,
        handler: @escaping @Sendable (Value) -> Void
    ) throws(TimerArgumentError) {
        let latest = Latest<Value>()
        let timer = try PausableTimer.every(
            interval, first: .now, spacing: .fixedDelay, paused: true, on: queue
        ) { tick in
            let value = latest.value.withLock { value -> Value? in
                defer { value = nil }
                // After an interval without a value, the next value is handled at once again.
                if value == nil { tick.timer.pause() }
                return value
            }
            if let value { handler(value) }
        }
        self.init(timer, latest)
    }

    private init(_ timer: PausableTimer, _ latest: Latest<Value>) {
        self.timer = timer
        self.latest = latest
    }

    /// Handles the value now if no other one was handled for an interval. Otherwise it is handled
    /// at the end of the interval, unless another one replaces it. Does nothing after `cancel()`.
    public func send(_ value: Value) {
        latest.value.withLock { latest in
            latest = value
            if timer.state == .paused { timer.restart() }
        }
    }

    /// Drops the value that is not handled yet, and all further ones.
    public func cancel() {
        timer.cancel()
        latest.value.withLock { $0 = nil }
    }
}
