// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Where a `TimerQueue` gets the time and its wake-ups from: the machine (`SystemTime`), or a test
/// (`ManualTime`).
public protocol TimeSource: Sendable {
    /// One reading of all clocks. Within one source `awake` and `boot` never run backwards.
    func now() -> Now

    /// Makes an alarm that is not set.
    ///
    /// - Parameters:
    ///   - queue: where `ring` is called, never twice at once.
    ///   - ring: what an alarm calls when it rings. It may be called too early or too often: it looks at the
    ///     clocks and sets the alarm again.
    func makeAlarm(
        on queue: DispatchQueue, _ ring: @escaping @Sendable () -> Void
    ) -> any Alarm
}

/// Rings once for each time it is set. An alarm set to an instant that is past rings at once.
public protocol Alarm: Sendable {
    /// Sets the alarm to ring when CLOCK_MONOTONIC reads `instant`, and no longer at an instant set before;
    /// nil: not at all. Returns without calling `ring`, since it is called with a lock held.
    func set(_ instant: AwakeInstant?)

    /// The alarm is not needed any more and never rings again.
    func cancel()
}
