// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Creating the timers of a group.
extension TimerGroup {
    /// Creates a repeating timer with a name. The parameters are those of
    /// `PausableTimer.every`.
    ///
    /// It waits until the store has loaded the account.
    ///
    /// - Throws: `TimerArgumentError` for an invalid argument, or if a timer with this name exists
    ///   that is neither cancelled nor finished; the error of the store if the account cannot be
    ///   loaded. No timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @discardableResult
    public func every(
        _ name: String, _ interval: Duration, first: FirstTick? = nil, times: Int? = nil,
        spacing: TickSpacing = .fixedRate, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        handlerQueue: DispatchQueue? = nil,
        handler: @escaping @Sendable (Tick) -> Void
    ) throws -> PausableTimer {
        try add(
            name, .every(interval, first, times, spacing),
            settings(
                name, tolerance, basis, isPaused, handlerQueue, handler, isAsync: false))
    }

    /// Creates a timer with a name that ticks once. The parameters are those of
    /// `PausableTimer.after`.
    ///
    /// It waits until the store has loaded the account.
    ///
    /// - Throws: `TimerArgumentError` for an invalid argument, or if a timer with this name exists
    ///   that is neither cancelled nor finished; the error of the store if the account cannot be
    ///   loaded. No timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @discardableResult
    public func after(
        _ name: String, _ delay: Duration, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        handlerQueue: DispatchQueue? = nil,
        handler: @escaping @Sendable (Tick) -> Void
    ) throws -> PausableTimer {
        try add(
            name, .after(delay),
            settings(
                name, tolerance, basis, isPaused, handlerQueue, handler, isAsync: false))
    }

    /// Creates a repeating timer with a name and an asynchronous handler. The parameters are those of
    /// `PausableTimer.every`.
    ///
    /// It waits until the store has loaded the account.
    ///
    /// - Throws: `TimerArgumentError` for an invalid argument, or if a timer with this name exists
    ///   that is neither cancelled nor finished; the error of the store if the account cannot be
    ///   loaded. No timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @discardableResult
    public func every(
        _ name: String, _ interval: Duration, first: FirstTick? = nil, times: Int? = nil,
        spacing: TickSpacing = .fixedRate, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        handler: @escaping @Sendable (Tick) async -> Void
    ) throws -> PausableTimer {
        try add(
            name, .every(interval, first, times, spacing),
            settings(
                name, tolerance, basis, isPaused, nil, PausableTimer.inTask(handler), isAsync: true)
        )
    }

    /// Creates a timer with a name that ticks once, with an asynchronous handler. The parameters are those of
    /// `PausableTimer.after`.
    ///
    /// It waits until the store has loaded the account.
    ///
    /// - Throws: `TimerArgumentError` for an invalid argument, or if a timer with this name exists
    ///   that is neither cancelled nor finished; the error of the store if the account cannot be
    ///   loaded. No timer was created.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @discardableResult
    public func after(
        _ name: String, _ delay: Duration, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        handler: @escaping @Sendable (Tick) async -> Void
    ) throws -> PausableTimer {
        try add(
            name, .after(delay),
            settings(
                name, tolerance, basis, isPaused, nil, PausableTimer.inTask(handler), isAsync: true)
        )
    }

    private func settings(
        _ name: String, _ tolerance: Duration, _ basis: TimeBasis, _ isPaused: Bool,
        _ handlerQueue: DispatchQueue?, _ handler: @escaping TickHandler,
        isAsync: Bool
    ) -> TimerSettings {
        var settings = TimerSettings(
            tolerance: tolerance, basis: basis, isPaused: isPaused, account: nil, queue: queue,
            handlerQueue: handlerQueue, handler: handler, completesLater: isAsync,
            onChange: { [weak self] timer in self?.changed(name, timer) })
        guard let saver else { return settings }
        let target = handlerQueue ?? queue.queue
        settings.completesLater = true
        settings.handler = { [saveInterval] tick in
            let run: @Sendable () -> Void = {
                handler(tick)
                if !isAsync { tick.timer.complete() }
            }
            // The interval may have changed since the timer was created.
            guard tick.timer.view?.isRare(saveInterval) ?? false else { return run() }
            saver.saveTick(name, tick.timer) {
                // With a manual time this is the queue of the handler already, and a task needs no
                // queue.
                if isAsync || tick.timer.queue.activity != nil {
                    run()
                } else {
                    target.async(execute: run)
                }
            }
        }
        return settings
    }
}
