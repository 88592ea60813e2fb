// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One tick of a timer, as its handler gets it.
public struct Tick: Sendable {
    /// The number of the tick, from 1, since the timer was made or restarted.
    public let number: Int
    /// How many earlier points of the timer's grid this tick also stands for: they came due while the queue
    /// was busy. The next tick is on the original grid again.
    public internal(set) var missed: Int
    /// When the tick was due.
    public let scheduled: AwakeInstant
    /// When its handler was called; not earlier than `scheduled`.
    public let actual: AwakeInstant
    /// How long the timer was running in all, time in which it was paused left out.
    public let active: Duration
    /// The timer, which the handler may pause, cancel or change. It does not keep the timer alive.
    public let timer: TimerReference

    /// How late the handler was called.
    public var lateness: Duration { actual - scheduled }
}

/// When the first tick of a repeating timer is due.
public enum FirstTick: Sendable {
    /// At once.
    case now
    /// After so much of the timer's time; not negative.
    case after(Duration)
    /// When CLOCK_MONOTONIC reads this; at once if it does already.
    case at(AwakeInstant)
    /// When the wall clock reads this, as it is set when the timer is made; at once if it does already. A
    /// clock that is set later does not move the tick.
    case atWall(WallInstant)
}

/// What a timer that is resumed does about the time it was paused.
public enum ResumePolicy: Sendable {
    /// It goes on with what was left of its interval.
    case keepRemaining
    /// It ticks at once if it would have ticked during the pause, and then after a whole interval; else it
    /// goes on with what was left.
    case tickIfDue
    /// A whole interval begins.
    case restartInterval
}

/// What a timer does now.
public enum TimerState: Sendable {
    /// Its time counts, and it ticks when it is due.
    case running
    /// Its time does not count, and nothing of it is lost.
    case paused
    /// It ticked for the last time. It can be restarted.
    case finished
    /// It never ticks again.
    case cancelled
}

/// Why a timer cannot be made or changed as asked.
public struct TimerArgumentError: Error, Sendable, CustomStringConvertible {
    /// A sentence that says what is wrong and with which value.
    public let description: String

    init(_ description: String) { self.description = description }
}
