// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch

extension PausableTimer {
    /// Creates a repeating timer. Its ticks are on a fixed grid, which late ticks do not move.
    ///
    /// - Parameters:
    ///   - interval: the time from each tick to the next; longer than zero.
    ///   - first: when the first tick is due; nil: after one interval.
    ///   - times: after how many ticks it is finished, together with those of a restored account;
    ///     nil: never. At least 1.
    ///   - spacing: whether the ticks are on a fixed grid, or an interval after the return of the
    ///     handler.
    ///   - tolerance: how late a tick may be, so that it can share a wake-up with other timers of
    ///     its queue. Not negative. Late ticks do not move the grid.
    ///   - basis: which time counts. `active` and `uptime` do not count while the machine sleeps,
    ///     `boottime` and `wall` do. They also differ in what counts between two runs of the
    ///     program.
    ///   - isPaused: whether it starts paused, and has to be resumed.
    ///   - account: the account from which it continues, even if that is paused or finished; nil:
    ///     it starts without elapsed time.
    ///   - queue: the queue that decides about its ticks, and that also runs the handler if there
    ///     is no `handlerQueue`.
    ///   - handlerQueue: the queue that runs its handler. A slow handler there does not delay other
    ///     timers.
    ///   - handler: called for each tick, and never twice at the same time; nil: the caller awaits
    ///     its `ticks`.
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_disfavoredOverload
    public static func every(
        _ interval: Duration, first: FirstTick? = nil, times: Int? = nil,
        spacing: TickSpacing = .fixedRate, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        restoring account: TimerAccount? = nil, on queue: TimerQueue = .shared,
        handlerQueue: DispatchQueue? = nil, handler: (@Sendable (Tick) -> Void)? = nil
    ) throws(TimerArgumentError) -> PausableTimer {
        try TimerSettings(
            tolerance: tolerance, basis: basis, isPaused: isPaused, account: account, queue: queue,
            handlerQueue: handlerQueue, handler: handler
        ).every(interval, first, times, spacing)
    }

    /// Creates a timer that ticks once and is then finished.
    ///
    /// - Parameters:
    ///   - delay: the time before the tick; not negative.
    ///   - tolerance: how late the tick may be, so that it can share a wake-up with other timers of
    ///     its queue. Not negative.
    ///   - basis: which time counts, as for `every`.
    ///   - isPaused: whether it starts paused, and has to be resumed.
    ///   - account: the account from which it continues, even if that is paused or finished; nil:
    ///     it starts without elapsed time.
    ///   - queue: the queue that decides about its tick, and that also runs the handler if there is
    ///     no `handlerQueue`.
    ///   - handlerQueue: the queue that runs its handler.
    ///   - handler: called for the tick; nil: the caller awaits its `ticks`.
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_disfavoredOverload
    public static func after(
        _ delay: Duration, tolerance: Duration = .zero, counting basis: TimeBasis = .active,
        paused isPaused: Bool = false, restoring account: TimerAccount? = nil,
        on queue: TimerQueue = .shared, handlerQueue: DispatchQueue? = nil,
        handler: (@Sendable (Tick) -> Void)? = nil
    ) throws(TimerArgumentError) -> PausableTimer {
        try TimerSettings(
            tolerance: tolerance, basis: basis, isPaused: isPaused, account: account, queue: queue,
            handlerQueue: handlerQueue, handler: handler
        ).after(delay)
    }
}
