// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// The main queue, for timers whose handlers are isolated to the main actor.
public struct MainTimerQueue: Sendable {
    /// The main queue with the time of the machine.
    public static let main = Self(queue: .main)

    /// The queue of its timers.
    public let queue: TimerQueue

    private init(queue: TimerQueue) { self.queue = queue }

    /// Creates a timer queue on the main queue with another time, for a test:
    /// `MainTimerQueue(time: ManualTime())`.
    public init(time: any TimeSource) { queue = TimerQueue(.main, time: time) }
}
