// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One frame, as it is passed to the handler of a `Ticker`.
public struct Frame: Sendable {
    /// The number of the frame, from 1.
    public let number: Int
    /// How many frames before this one were left out because the handler or its queue was busy.
    public let dropped: Int
    /// When the frame was due, by CLOCK_MONOTONIC.
    public let timestamp: AwakeInstant
    /// When the next frame is due, so the time at which the current drawing should be ready.
    public let targetTimestamp: AwakeInstant
    /// The time from one frame to the next.
    public let duration: Duration
    /// When the handler was called, by CLOCK_MONOTONIC.
    public let actual: AwakeInstant
    /// The ticker, which the handler may pause, cancel or change. This reference does not keep the
    /// ticker alive.
    public let ticker: TickerReference
}
