// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Measures how often something happens: what came within a window of at least a second, divided by the time
/// that really passed.
public struct RateMeter: Sendable {
    /// How long the shortest window is.
    public let window: Duration
    /// Events a second in the last whole window; nil before there was one.
    public private(set) var rate: Double?

    private var start: AwakeInstant?
    private var count = 0

    /// A meter that has seen nothing.
    ///
    /// - Parameter window: at least one nanosecond; what is shorter is taken for that.
    public init(window: Duration = .seconds(1)) {
        self.window = max(window, .nanoseconds(1))
    }

    /// Something happened.
    ///
    /// - Parameter instant: when; not earlier than what was recorded before.
    /// - Returns: the rate if a window ended by it; else nil.
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

    /// Begins a new window with the next event, as after a pause. The rate stays.
    public mutating func interrupt() {
        start = nil
        count = 0
    }
}
