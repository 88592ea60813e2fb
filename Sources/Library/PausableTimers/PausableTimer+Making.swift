// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch

extension PausableTimer {
    /// Creates a repeating timer. Its ticks are on a fixed grid, which late ticks do not move.
    ///
    /// - Parameters:
    ///   - interval: the time from each tick to the next; longer than zero.
    ///   - first: when the first tick is due; nil: after one interval.
    ///   - times: after how many ticks it is finished; nil: never. At least 1.
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
    /// - Throws: `TimerArgumentError`.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @inline(never)
    public static func every(
        _ interval: Duration, first: FirstTick? = nil, times: Int? = nil,
        tolerance: Duration = .zero, counting basis: TimeBasis = .active,
        paused isPaused: Bool = false, restoring account: TimerAccount? = nil,
        on queue: TimerQueue = .shared, handlerQueue: DispatchQueue? = nil,
        handler: (@Sendable (Tick) -> Void)? = nil
    ) throws(TimerArgumentError) -> PausableTimer {
        guard interval > .zero else { throw .interval(interval) }
        var row = Row(
            every: interval, first: try first?.delay(basis, on: queue) ?? interval, basis: basis)
        if first != nil { row.flags.insert(.ownFirst) }
        if first?.isAbsolute ?? false { row.flags.insert(.absoluteFirst) }
        if let times {
            guard times > 0 else { throw .times(times) }
            row.ticksMax = times
        }
        return try make(
            row, tolerance: tolerance, paused: isPaused, restoring: account, on: queue,
            handlerQueue: handlerQueue, handler: handler)
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
    /// - Throws: `TimerArgumentError`.
    /// - Complexity: O(log *n*) in the number of timers of the queue.
    @inline(never)
    public static func after(
        _ delay: Duration, tolerance: Duration = .zero, counting basis: TimeBasis = .active,
        paused isPaused: Bool = false, restoring account: TimerAccount? = nil,
        on queue: TimerQueue = .shared, handlerQueue: DispatchQueue? = nil,
        handler: (@Sendable (Tick) -> Void)? = nil
    ) throws(TimerArgumentError) -> PausableTimer {
        guard delay >= .zero else { throw .delay(delay) }
        var row = Row(every: delay, first: delay, basis: basis)
        row.flags.insert(.once)
        return try make(
            row, tolerance: tolerance, paused: isPaused, restoring: account, on: queue,
            handlerQueue: handlerQueue, handler: handler)
    }

    /// Creates a repeating timer that works for an object without retaining it: after the object
    /// has been released, the timer is cancelled at its next tick. The handler gets the object with
    /// each tick. The other parameters are those of `every` without an owner.
    public static func every<Owner: AnyObject & Sendable>(
        _ interval: Duration, for owner: Owner, first: FirstTick? = nil, times: Int? = nil,
        tolerance: Duration = .zero, counting basis: TimeBasis = .active,
        paused isPaused: Bool = false, restoring account: TimerAccount? = nil,
        on queue: TimerQueue = .shared, handlerQueue: DispatchQueue? = nil,
        handler: @escaping @Sendable (Owner, Tick) -> Void
    ) throws(TimerArgumentError) -> PausableTimer {
        try every(
            interval, first: first, times: times, tolerance: tolerance, counting: basis,
            paused: isPaused, restoring: account, on: queue, handlerQueue: handlerQueue,
            handler: forOwner(owner, handler))
    }

    /// Creates a timer that ticks once for an object without retaining it: if the object has been
    /// released, the timer is cancelled at its tick. The handler gets the object with the tick. The
    /// other parameters are those of `after` without an owner.
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

    @inline(never)
    private static func make(
        _ made: consuming Row, tolerance: Duration, paused isPaused: Bool,
        restoring account: TimerAccount?,
        on queue: TimerQueue, handlerQueue: DispatchQueue?, handler: TickHandler?
    ) throws(TimerArgumentError) -> PausableTimer {
        guard tolerance >= .zero else {
            throw TimerArgumentError("a tolerance cannot be negative, as \(tolerance) is")
        }
        var row = made
        row.tolerance = tolerance.wholeNanoseconds
        row.handler = handler
        row.handlerQueue = handlerQueue
        if isPaused { row.phase = .paused }
        if let account {
            let maxLoss = try row.restore(account, at: queue.now())
            if maxLoss > .zero { row.makeExtras().maxLoss = maxLoss }
        }
        return PausableTimer(queue.insert(row))
    }
}

extension Row {
    fileprivate init(every span: Duration, first: Duration, basis: TimeBasis) {
        self.init(
            grid: Grid(first: first, span: span), tolerance: 0, ticksMax: .max, phase: .running,
            basis: basis)
    }
}

extension FirstTick {
    fileprivate var isAbsolute: Bool {
        switch self {
        case .now, .after: false
        case .at, .atWall: true
        }
    }

    /// The counted time before the first tick.
    @inline(never)
    fileprivate func delay(
        _ basis: TimeBasis, on queue: TimerQueue
    ) throws(TimerArgumentError) -> Duration {
        switch self {
        case .now: return .zero
        case .after(let delay):
            guard delay >= .zero else { throw .delay(delay) }
            return delay
        case .at(let instant): return max(.zero, instant - queue.now().awake)
        case .atWall(let instant): return max(.zero, instant - queue.now().wall)
        }
    }
}

extension TimerArgumentError {
    static func interval(_ interval: Duration) -> Self {
        Self("an interval must be longer than zero, which \(interval) is not")
    }

    fileprivate static func delay(_ delay: Duration) -> Self {
        Self("a timer cannot start in the past, as with a delay of \(delay)")
    }

    fileprivate static func times(_ times: Int) -> Self {
        Self("a timer ticks at least once, not \(times) times")
    }
}
