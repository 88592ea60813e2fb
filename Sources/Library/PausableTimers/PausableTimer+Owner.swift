// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Timers that work for an object without retaining it.
extension PausableTimer {
    /// Creates a repeating timer that works for an object without retaining it: after the object
    /// has been released, the timer is cancelled at its next tick. The handler gets the object with
    /// each tick. The other parameters are those of `every` without an owner.
    ///
    /// - `owner`: the object.
    /// - `handler`: called for each tick, and never twice at the same time.
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_disfavoredOverload
    public static func every<Owner: AnyObject & Sendable>(
        _ interval: Duration, for owner: Owner, first: FirstTick? = nil, times: Int? = nil,
        spacing: TickSpacing = .fixedRate, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        restoring account: TimerAccount? = nil, on queue: TimerQueue = .shared,
        handlerQueue: DispatchQueue? = nil, handler: @escaping @Sendable (Owner, Tick) -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try every(
            interval, first: first, times: times, spacing: spacing, tolerance: tolerance,
            counting: basis, paused: isPaused, restoring: account, on: queue,
            handlerQueue: handlerQueue, handler: forOwner(owner, handler))
    }

    /// Creates a timer that ticks once for an object without retaining it: if the object has been
    /// released, the timer is cancelled at its tick. The handler gets the object with the tick. The
    /// other parameters are those of `after` without an owner.
    ///
    /// - `owner`: the object.
    /// - `handler`: called for the tick.
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_disfavoredOverload
    public static func after<Owner: AnyObject & Sendable>(
        _ delay: Duration, for owner: Owner, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        restoring account: TimerAccount? = nil, on queue: TimerQueue = .shared,
        handlerQueue: DispatchQueue? = nil, handler: @escaping @Sendable (Owner, Tick) -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try after(
            delay, tolerance: tolerance, counting: basis, paused: isPaused, restoring: account,
            on: queue, handlerQueue: handlerQueue, handler: forOwner(owner, handler))
    }

    private static func forOwner<Owner: AnyObject & Sendable>(
        _ owner: Owner, _ handler: @escaping @Sendable (Owner, Tick) -> Void
    ) -> @Sendable (Tick) -> Void {
        { [weak owner] tick in
            if let owner {
                handler(owner, tick)
            } else {
                tick.timer.cancel()
            }
        }
    }
}
