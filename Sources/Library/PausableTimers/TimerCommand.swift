// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a queue can be asked to do with a timer.
enum TimerCommand: Sendable {
    case pause
    case resume(ResumePolicy)
    case restart
    case cancel
    /// Cancel it, and resume the continuation when its handler is not running.
    case finish(CheckedContinuation<Void, Never>)
    /// Longer than zero, or zero for a timer that ticks once.
    case setInterval(Duration)
    /// Send each tick from now on to this stream; end the stream if there will be none.
    case add(TickStream)
    case remove(TickStream)
    /// Let it tick now, instead of at its next point.
    case tickNow
    /// Let its next tick be due after this much counted time; not negative.
    case moveNext(Duration)
    /// Let its next tick be due this much later, or earlier if it is negative.
    case addTime(Duration)
}
