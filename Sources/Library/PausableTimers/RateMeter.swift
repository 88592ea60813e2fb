// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Measures how often something happens: the number of events in a window of at least one second,
/// divided by the real duration of the window.
public struct RateMeter: Sendable {
    /// The minimum duration of a window.
    public let window: Duration
    /// Events per second in the last complete window; nil before the first one.
    public private(set) var rate: Double?

    private var start: AwakeInstant?
    private var count = 0

    /// Creates a meter without events.
    ///
    /// - Parameter window: at least one nanosecond; a shorter value is replaced by one nanosecond.
    public init(window: Duration = .seconds(1)) {
        self.window = max(window, .nanoseconds(1))
    }

    /// Records an event.
    ///
    /// - Parameter instant: when it happened; not earlier than the previous event.
    /// - Returns: the rate, if this event ended a window; otherwise nil.
    @discardableResult
    public mutating func record(at instant: AwakeInstant) -> Double? {
        guard let start else {
            self.start = instant
            return nil
        }
        count += 1
        let elapsed = instant - start
        guard elapsed >= window else { return nil }
        rate = Double(count) / (elapsed / .seconds(1))
        self.start = instant
        count = 0
        return rate
    }

    /// Starts a new window with the next event, for example after a pause. The rate is kept.
    public mutating func interrupt() {
        start = nil
        count = 0
    }
}
