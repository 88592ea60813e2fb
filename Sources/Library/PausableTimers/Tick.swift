// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One tick of a timer, as it is passed to the handler.
public struct Tick: Sendable {
    /// The number of the tick, from 1, since the timer was made or restarted.
    public let number: Int
    /// How many earlier grid points this tick also stands for: they were due while the queue was
    /// busy. The next tick is on the original grid again.
    public internal(set) var missed: Int
    /// When the tick was due, by CLOCK_MONOTONIC.
    public let scheduled: AwakeInstant
    /// When its handler was called; not earlier than `scheduled`.
    public let actual: AwakeInstant
    /// How long the timer has been running in total, without pauses.
    public let active: Duration
    /// The timer, which the handler may pause, cancel or change. This reference does not keep the
    /// timer alive.
    public let timer: TimerReference

    /// From `scheduled` to `actual`; never negative.
    public var lateness: Duration { actual - scheduled }
}

/// When the first tick of a repeating timer is due.
public enum FirstTick: Sendable {
    /// At once.
    case now
    /// After this much counted time; not negative.
    case after(Duration)
    /// When CLOCK_MONOTONIC reads this; at once if that time has passed.
    case at(AwakeInstant)
    /// When the wall clock, as it is set when the timer is created, would read this; at once if
    /// that time has passed. If the clock is set later, the tick does not move.
    case atWall(WallInstant)
}

/// From when to when the interval of a repeating timer counts.
public enum TickSpacing: Sendable {
    /// From tick to tick: the ticks are on a fixed grid, which late ticks and slow handlers do not
    /// move.
    case fixedRate
    /// From the return of the handler to the next tick, however long the handler takes. No tick is
    /// missed. A timer whose ticks are only awaited has no handler to wait for.
    case fixedDelay
}

/// What a timer does about the time of a pause when it is resumed.
public enum ResumePolicy: Sendable {
    /// It continues with the remaining time.
    case keepRemaining
    /// It ticks at once if it would have ticked during the pause, and then after a whole interval.
    /// Otherwise it continues with the remaining time.
    case tickIfDue
    /// It starts a whole interval.
    case restartInterval
}

/// What a timer is doing: exactly one of these.
public enum TimerState: Sendable {
    /// Its time counts, and it ticks when it is due.
    case running
    /// Its time does not count, and its elapsed time is kept.
    case paused
    /// It has made its last tick. It can be restarted.
    case finished
    /// It never ticks again.
    case cancelled
}

/// The reason why a timer cannot be created or changed.
public struct TimerArgumentError: Error, Sendable, CustomStringConvertible {
    /// A sentence that says what is wrong and with which value.
    public let description: String

    init(_ description: String) { self.description = description }
}
