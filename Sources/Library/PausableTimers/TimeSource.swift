// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// The source of the time and the wake-ups of a `TimerQueue`: the machine (`SystemTime`) or a test
/// (`ManualTime`).
public protocol TimeSource: Sendable {
    /// One reading of all clocks. Within one source `awake` and `boot` never decrease.
    func now() -> Now

    /// Creates an alarm that is not set.
    ///
    /// - Parameters:
    ///   - queue: the queue that calls `ring`, and never twice at the same time.
    ///   - ring: the function that an alarm calls when it expires. It may be called too early or
    ///     too often: it reads the clocks and sets the alarm again.
    func makeAlarm(
        on queue: DispatchQueue, _ ring: @escaping @Sendable () -> Void
    ) -> any Alarm
}

/// An alarm that expires once each time it is set. An alarm that is set to an instant in the past
/// expires at once.
public protocol Alarm: Sendable {
    /// Sets the alarm to expire when CLOCK_MONOTONIC reads `instant`, instead of the instant that
    /// was set before; nil: never. It must return without calling `ring`, because the caller holds
    /// a lock.
    func set(_ instant: AwakeInstant?)

    /// Ends the alarm, which is not needed any more. It never expires again.
    func cancel()
}
