// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Timers on the main actor.
///
/// With `on: .main` the handler is isolated to the main actor, so that it can use what belongs to
/// it, for example the views of an app:
///
/// ```swift
/// @MainActor final class Screen {
///     var count = 0
///     var timer: PausableTimer?
///
///     func start() throws {
///         timer = try .every(.seconds(1), for: self, on: .main) { screen, tick in
///             screen.count += 1
///         }
///     }
/// }
/// ```
extension PausableTimer {
    /// Creates a repeating timer with a handler on the main actor.
    /// The other parameters are those of `every` with a `TimerQueue`.
    ///
    /// - `queue`: `.main`, or in a test a main queue with another time.
    /// - `handler`: called on the main queue, and never twice at the same time.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_alwaysEmitIntoClient
    public static func every(
        _ interval: Duration, first: FirstTick? = nil, times: Int? = nil,
        spacing: TickSpacing = .fixedRate, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        restoring account: TimerAccount? = nil,
        on queue: MainTimerQueue,
        handler: @escaping @MainActor @Sendable (Tick) -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try every(
            interval, first: first, times: times, spacing: spacing, tolerance: tolerance,
            counting: basis,
            paused: isPaused, restoring: account, on: queue.queue,
            handler: { tick in MainActor.assumeIsolated { handler(tick) } })
    }

    /// Creates a timer that ticks once with a handler on the main actor.
    /// The other parameters are those of `after` with a `TimerQueue`.
    ///
    /// - `queue`: `.main`, or in a test a main queue with another time.
    /// - `handler`: called on the main queue, and never twice at the same time.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_alwaysEmitIntoClient
    public static func after(
        _ delay: Duration, tolerance: Duration = .zero, counting basis: TimeBasis = .active,
        paused isPaused: Bool = false, restoring account: TimerAccount? = nil,
        on queue: MainTimerQueue,
        handler: @escaping @MainActor @Sendable (Tick) -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try after(
            delay, tolerance: tolerance, counting: basis,
            paused: isPaused, restoring: account, on: queue.queue,
            handler: { tick in MainActor.assumeIsolated { handler(tick) } })
    }

    /// Creates a repeating timer with a handler on the main actor, for an object
    /// that it does not retain: after the object has been released, the timer is cancelled at its
    /// next tick.
    /// The other parameters are those of `every` with a `TimerQueue`.
    ///
    /// - `owner`: the object.
    /// - `queue`: `.main`, or in a test a main queue with another time.
    /// - `handler`: called on the main queue, and never twice at the same time.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_alwaysEmitIntoClient
    public static func every<Owner: AnyObject & Sendable>(
        _ interval: Duration, for owner: Owner, first: FirstTick? = nil, times: Int? = nil,
        spacing: TickSpacing = .fixedRate, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        restoring account: TimerAccount? = nil,
        on queue: MainTimerQueue,
        handler: @escaping @MainActor @Sendable (Owner, Tick) -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try every(
            interval, first: first, times: times, spacing: spacing, tolerance: tolerance,
            counting: basis,
            paused: isPaused, restoring: account, on: queue.queue,
            handler: { [weak owner] tick in
                if let owner {
                    MainActor.assumeIsolated { handler(owner, tick) }
                } else {
                    tick.timer.cancel()
                }
            })
    }

    /// Creates a timer that ticks once with a handler on the main actor, for an object
    /// that it does not retain: after the object has been released, the timer is cancelled at its
    /// next tick.
    /// The other parameters are those of `after` with a `TimerQueue`.
    ///
    /// - `owner`: the object.
    /// - `queue`: `.main`, or in a test a main queue with another time.
    /// - `handler`: called on the main queue, and never twice at the same time.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_alwaysEmitIntoClient
    public static func after<Owner: AnyObject & Sendable>(
        _ delay: Duration, for owner: Owner, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active,
        paused isPaused: Bool = false, restoring account: TimerAccount? = nil,
        on queue: MainTimerQueue,
        handler: @escaping @MainActor @Sendable (Owner, Tick) -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try after(
            delay, tolerance: tolerance, counting: basis,
            paused: isPaused, restoring: account, on: queue.queue,
            handler: { [weak owner] tick in
                if let owner {
                    MainActor.assumeIsolated { handler(owner, tick) }
                } else {
                    tick.timer.cancel()
                }
            })
    }

    /// Creates a repeating timer with an asynchronous handler on the main actor.
    /// The other parameters are those of `every` with a `TimerQueue`.
    ///
    /// - `queue`: `.main`, or in a test a main queue with another time.
    /// - `handler`: called in a task of its own on the main actor, and never twice at the same time:
    ///   ticks that are due while it is running become one tick when it returns.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_alwaysEmitIntoClient
    public static func every(
        _ interval: Duration, first: FirstTick? = nil, times: Int? = nil,
        spacing: TickSpacing = .fixedRate, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        restoring account: TimerAccount? = nil,
        on queue: MainTimerQueue,
        handler: @escaping @MainActor @Sendable (Tick) async -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try every(
            interval, first: first, times: times, spacing: spacing, tolerance: tolerance,
            counting: basis,
            paused: isPaused, restoring: account, on: queue.queue,
            handler: { tick in await handler(tick) })
    }

    /// Creates a timer that ticks once with an asynchronous handler on the main actor.
    /// The other parameters are those of `after` with a `TimerQueue`.
    ///
    /// - `queue`: `.main`, or in a test a main queue with another time.
    /// - `handler`: called in a task of its own on the main actor, and never twice at the same time:
    ///   ticks that are due while it is running become one tick when it returns.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_alwaysEmitIntoClient
    public static func after(
        _ delay: Duration, tolerance: Duration = .zero, counting basis: TimeBasis = .active,
        paused isPaused: Bool = false, restoring account: TimerAccount? = nil,
        on queue: MainTimerQueue,
        handler: @escaping @MainActor @Sendable (Tick) async -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try after(
            delay, tolerance: tolerance, counting: basis,
            paused: isPaused, restoring: account, on: queue.queue,
            handler: { tick in await handler(tick) })
    }

    /// Creates a repeating timer with an asynchronous handler on the main actor, for an object
    /// that it does not retain: after the object has been released, the timer is cancelled at its
    /// next tick.
    /// The other parameters are those of `every` with a `TimerQueue`.
    ///
    /// - `owner`: the object, which is retained while the handler is running.
    /// - `queue`: `.main`, or in a test a main queue with another time.
    /// - `handler`: called in a task of its own on the main actor, and never twice at the same time:
    ///   ticks that are due while it is running become one tick when it returns.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_alwaysEmitIntoClient
    public static func every<Owner: AnyObject & Sendable>(
        _ interval: Duration, for owner: Owner, first: FirstTick? = nil, times: Int? = nil,
        spacing: TickSpacing = .fixedRate, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        restoring account: TimerAccount? = nil,
        on queue: MainTimerQueue,
        handler: @escaping @MainActor @Sendable (Owner, Tick) async -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try every(
            interval, first: first, times: times, spacing: spacing, tolerance: tolerance,
            counting: basis,
            paused: isPaused, restoring: account, on: queue.queue,
            handler: { [weak owner] tick in
                if let owner {
                    await handler(owner, tick)
                } else {
                    tick.timer.cancel()
                }
            })
    }

    /// Creates a timer that ticks once with an asynchronous handler on the main actor, for an object
    /// that it does not retain: after the object has been released, the timer is cancelled at its
    /// next tick.
    /// The other parameters are those of `after` with a `TimerQueue`.
    ///
    /// - `owner`: the object, which is retained while the handler is running.
    /// - `queue`: `.main`, or in a test a main queue with another time.
    /// - `handler`: called in a task of its own on the main actor, and never twice at the same time:
    ///   ticks that are due while it is running become one tick when it returns.
    ///
    /// - Throws: `TimerArgumentError`; no timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @_alwaysEmitIntoClient
    public static func after<Owner: AnyObject & Sendable>(
        _ delay: Duration, for owner: Owner, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active,
        paused isPaused: Bool = false, restoring account: TimerAccount? = nil,
        on queue: MainTimerQueue,
        handler: @escaping @MainActor @Sendable (Owner, Tick) async -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try after(
            delay, tolerance: tolerance, counting: basis,
            paused: isPaused, restoring: account, on: queue.queue,
            handler: { [weak owner] tick in
                if let owner {
                    await handler(owner, tick)
                } else {
                    tick.timer.cancel()
                }
            })
    }
}
