// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Timers with asynchronous handlers.
///
/// Each tick starts a task for the handler. The timer does not tick again until the handler has
/// returned: ticks that are due meanwhile become one tick, which comes as soon as it returns and
/// says in `Tick.missed` how many earlier ticks it also stands for. Cancelling the timer does not
/// cancel the task of a handler that is running; `finish()` waits for it.
extension PausableTimer {
    /// Creates a repeating timer with an asynchronous handler. The other parameters are those of
    /// `every` with a handler that is not asynchronous.
    ///
    /// - `queue`: the queue that decides about its ticks. It does not wait for the handler.
    /// - `handler`: called in a task of its own, and never twice at the same time: ticks that are due
    ///   while it is running become one tick when it returns.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_disfavoredOverload
    public static func every(
        _ interval: Duration, first: FirstTick? = nil, times: Int? = nil,
        spacing: TickSpacing = .fixedRate, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        restoring account: TimerAccount? = nil,
        on queue: TimerQueue = .shared,
        handler: @escaping @Sendable (Tick) async -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try TimerSettings(
            tolerance: tolerance, basis: basis, isPaused: isPaused, account: account,
            queue: queue, handler: inTask(handler), completesLater: true
        ).every(interval, first, times, spacing)
    }

    /// Creates a timer that ticks once with an asynchronous handler. The other parameters are those of
    /// `after` with a handler that is not asynchronous.
    ///
    /// - `queue`: the queue that decides about its ticks. It does not wait for the handler.
    /// - `handler`: called in a task of its own, and never twice at the same time: ticks that are due
    ///   while it is running become one tick when it returns.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_disfavoredOverload
    public static func after(
        _ delay: Duration, tolerance: Duration = .zero, counting basis: TimeBasis = .active,
        paused isPaused: Bool = false, restoring account: TimerAccount? = nil,
        on queue: TimerQueue = .shared,
        handler: @escaping @Sendable (Tick) async -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try TimerSettings(
            tolerance: tolerance, basis: basis, isPaused: isPaused, account: account,
            queue: queue, handler: inTask(handler), completesLater: true
        ).after(delay)
    }

    /// Creates a repeating timer with an asynchronous handler, for an object that it does not
    /// retain: after the object has been released, the timer is cancelled at its next tick. The other
    /// parameters are those of `every` with a handler that is not asynchronous.
    ///
    /// - `owner`: the object, which may be isolated to any actor. It is retained while the handler is
    ///   running.
    /// - `queue`: the queue that decides about its ticks. It does not wait for the handler.
    /// - `handler`: called in a task of its own, and never twice at the same time: ticks that are due
    ///   while it is running become one tick when it returns.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_disfavoredOverload
    @_alwaysEmitIntoClient
    public static func every<Owner: AnyObject & Sendable>(
        _ interval: Duration, for owner: Owner, first: FirstTick? = nil, times: Int? = nil,
        spacing: TickSpacing = .fixedRate, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        restoring account: TimerAccount? = nil,
        on queue: TimerQueue = .shared,
        handler: @escaping @Sendable (Owner, Tick) async -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try every(
            interval, first: first, times: times, spacing: spacing, tolerance: tolerance,
            counting: basis,
            paused: isPaused, restoring: account, on: queue,
            handler: { [weak owner] tick in
                if let owner {
                    await handler(owner, tick)
                } else {
                    tick.timer.cancel()
                }
            })
    }

    /// Creates a timer that ticks once with an asynchronous handler, for an object that it does not
    /// retain: after the object has been released, the timer is cancelled at its next tick. The other
    /// parameters are those of `after` with a handler that is not asynchronous.
    ///
    /// - `owner`: the object, which may be isolated to any actor. It is retained while the handler is
    ///   running.
    /// - `queue`: the queue that decides about its ticks. It does not wait for the handler.
    /// - `handler`: called in a task of its own, and never twice at the same time: ticks that are due
    ///   while it is running become one tick when it returns.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_disfavoredOverload
    @_alwaysEmitIntoClient
    public static func after<Owner: AnyObject & Sendable>(
        _ delay: Duration, for owner: Owner, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active,
        paused isPaused: Bool = false, restoring account: TimerAccount? = nil,
        on queue: TimerQueue = .shared,
        handler: @escaping @Sendable (Owner, Tick) async -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try after(
            delay, tolerance: tolerance, counting: basis,
            paused: isPaused, restoring: account, on: queue,
            handler: { [weak owner] tick in
                if let owner {
                    await handler(owner, tick)
                } else {
                    tick.timer.cancel()
                }
            })
    }

    /// Creates a repeating timer whose handler is isolated to an actor, which the timer does not
    /// retain: after the actor has been released, the timer is cancelled at its next tick. The other
    /// parameters are those of `every` with a handler that is not asynchronous.
    ///
    /// ```swift
    /// let timer = try PausableTimer.every(.seconds(1), isolatedTo: self) { counter, tick in
    ///     counter.count += 1
    /// }
    /// ```
    ///
    /// - `actor`: the actor on which the handler runs. It is retained while the handler is running.
    /// - `queue`: the queue that decides about its ticks. It does not wait for the handler.
    /// - `handler`: called in a task of its own on the actor, and never twice at the same time: ticks
    ///   that are due while it is running become one tick when it returns.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_alwaysEmitIntoClient
    public static func every<Isolation: Actor>(
        _ interval: Duration, isolatedTo actor: Isolation, first: FirstTick? = nil,
        times: Int? = nil,
        spacing: TickSpacing = .fixedRate, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        restoring account: TimerAccount? = nil,
        on queue: TimerQueue = .shared,
        handler: @escaping @Sendable (isolated Isolation, Tick) async -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try every(
            interval, first: first, times: times, spacing: spacing, tolerance: tolerance,
            counting: basis,
            paused: isPaused, restoring: account, on: queue,
            handler: { [weak actor] tick in
                if let actor {
                    await handler(actor, tick)
                } else {
                    tick.timer.cancel()
                }
            })
    }

    /// Creates a timer that ticks once whose handler is isolated to an actor, which the timer does not
    /// retain: after the actor has been released, the timer is cancelled at its next tick. The other
    /// parameters are those of `after` with a handler that is not asynchronous.
    ///
    /// ```swift
    /// let timer = try PausableTimer.after(.seconds(1), isolatedTo: self) { counter, tick in
    ///     counter.count += 1
    /// }
    /// ```
    ///
    /// - `actor`: the actor on which the handler runs. It is retained while the handler is running.
    /// - `queue`: the queue that decides about its ticks. It does not wait for the handler.
    /// - `handler`: called in a task of its own on the actor, and never twice at the same time: ticks
    ///   that are due while it is running become one tick when it returns.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_alwaysEmitIntoClient
    public static func after<Isolation: Actor>(
        _ delay: Duration, isolatedTo actor: Isolation, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active,
        paused isPaused: Bool = false, restoring account: TimerAccount? = nil,
        on queue: TimerQueue = .shared,
        handler: @escaping @Sendable (isolated Isolation, Tick) async -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try after(
            delay, tolerance: tolerance, counting: basis,
            paused: isPaused, restoring: account, on: queue,
            handler: { [weak actor] tick in
                if let actor {
                    await handler(actor, tick)
                } else {
                    tick.timer.cancel()
                }
            })
    }

    static func inTask(_ handler: @escaping @Sendable (Tick) async -> Void) -> TickHandler {
        { tick in
            let activity = tick.timer.queue.activity
            let start = activity?.start()
            Task {
                if let start { activity?.begin(start) }
                await handler(tick)
                tick.timer.complete()
                activity?.end()
            }
        }
    }
}
