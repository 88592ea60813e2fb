// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch

extension PausableTimer {
    /// A timer that ticks again and again, on a grid that no late tick moves.
    ///
    /// - Parameters:
    ///   - interval: the time from each tick to the next; longer than zero.
    ///   - first: when the first tick is due; nil: after one interval.
    ///   - times: after how many ticks it is finished; nil: never. At least 1.
    ///   - tolerance: how much later than due a tick may come, to share a wake-up with others of its queue. Not
    ///     negative. Late ticks do not move the grid.
    ///   - basis: what counts as its time. `active` and `uptime` do not count while the machine sleeps,
    ///     `boottime` and `wall` do. They differ further in what counts between two runs of the program.
    ///   - isPaused: whether it begins paused, to be resumed.
    ///   - account: what it goes on from, also if that is paused or finished; nil: from zero.
    ///   - queue: where its ticks are decided, and handled unless it has a `handlerQueue`.
    ///   - handlerQueue: where its handler runs, and may be slow without making another timer late.
    ///   - handler: called for each tick, never twice at once; nil: its `ticks` are awaited.
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

    /// A timer that ticks once, and is finished then.
    ///
    /// - Parameters:
    ///   - delay: its time before the tick; not negative.
    ///   - tolerance: how much later than due the tick may come, to share a wake-up with others of its queue.
    ///     Not negative.
    ///   - basis: what counts as its time, as for `every`.
    ///   - isPaused: whether it begins paused, to be resumed.
    ///   - account: what it goes on from, also if that is paused or finished; nil: from zero.
    ///   - queue: where its tick is decided, and handled unless it has a `handlerQueue`.
    ///   - handlerQueue: where its handler runs.
    ///   - handler: called for the tick; nil: its `ticks` are awaited.
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

    /// A repeating timer that works for an object and does not keep it: once the object is gone, the timer is
    /// cancelled at its next tick. The handler gets the owner with each tick. The other parameters are those
    /// of `every` without an owner.
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

    /// A timer that ticks once for an object and does not keep it: once the object is gone, the timer is
    /// cancelled at its tick. The handler gets the owner with the tick. The other parameters are those of
    /// `after` without an owner.
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

    /// The timer's time before the first tick.
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
