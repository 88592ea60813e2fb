// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Whether events follow each other so fast that handling many of them together is worth waiting for.
public struct EventRate: Sendable {
    private let count: Int
    private let span: Duration
    /// When the last `count` events were, in a ring. The next one replaces the oldest.
    private var last: [AwakeInstant] = []
    private var oldest = 0

    /// - Parameters:
    ///   - count: so many events are fast, at least 1,
    ///   - span: within this time.
    public init(_ count: Int, within span: Duration) {
        self.count = count
        self.span = span
    }

    /// Notes this many events.
    ///
    /// - Complexity: O(*n*) in the events, at most `count` of them.
    public mutating func note(_ events: Int = 1, at instant: AwakeInstant) {
        for _ in 0..<min(events, count) {
            if last.count < count {
                last.append(instant)
            } else {
                last[oldest] = instant
                oldest = (oldest + 1) % count
            }
        }
    }

    /// Whether the last `count` events were within `span` before this instant.
    public func isFast(at instant: AwakeInstant) -> Bool {
        last.count == count && instant - last[oldest] <= span
    }
}
