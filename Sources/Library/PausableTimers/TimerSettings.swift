// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Timekeeping

/// What all forms of `every` and `after` have in common.
struct TimerSettings: ~Copyable {
    var tolerance: Duration
    var basis: TimeBasis
    var isPaused: Bool
    var account: TimerAccount?
    var queue: TimerQueue
    var handlerQueue: DispatchQueue?
    var handler: TickHandler?
    /// Whether the handler itself calls `TimerReference.complete()`.
    var completesLater = false
    var dropsLate = false
    var onChange: (@Sendable (TimerReference) -> Void)?

    enum Kind {
        case every(Duration, FirstTick?, Int?, TickSpacing)
        case after(Duration)
    }

    @inline(never)
    func make(_ kind: Kind) throws(TimerArgumentError) -> PausableTimer {
        switch kind {
        case .every(let interval, let first, let times, let spacing):
            try every(interval, first, times, spacing)
        case .after(let delay): try after(delay)
        }
    }

    @inline(never)
    func every(
        _ interval: Duration, _ first: FirstTick?, _ times: Int?, _ spacing: TickSpacing
    ) throws(TimerArgumentError) -> PausableTimer {
        guard interval > .zero else { throw .interval(interval) }
        var row = Row(
            every: interval, first: try first?.delay(basis, on: queue) ?? interval, basis: basis)
        if first != nil { row.flags.insert(.ownFirst) }
        if first?.isAbsolute ?? false { row.flags.insert(.absoluteFirst) }
        if spacing == .fixedDelay { row.flags.insert(.fixedDelay) }
        if let times {
            guard times > 0 else { throw .times(times) }
            row.ticksMax = times
        }
        return try make(row)
    }

    @inline(never)
    func after(_ delay: Duration) throws(TimerArgumentError) -> PausableTimer {
        guard delay >= .zero else { throw .delay(delay) }
        var row = Row(every: delay, first: delay, basis: basis)
        row.flags.insert(.once)
        return try make(row)
    }

    private func make(_ made: consuming Row) throws(TimerArgumentError) -> PausableTimer {
        guard tolerance >= .zero else {
            throw TimerArgumentError("a tolerance cannot be negative, as \(tolerance) is")
        }
        var row = made
        row.tolerance = tolerance.wholeNanoseconds
        row.handler = handler
        row.handlerQueue = handlerQueue
        if completesLater { row.flags.insert(.completesLater) }
        if dropsLate { row.flags.insert(.dropsLate) }
        let isFixedDelay = row.flags.contains(.fixedDelay)
        if handlerQueue != nil || completesLater || dropsLate || isFixedDelay {
            row.flags.insert(.exclusive)
        }
        if isPaused { row.phase = .paused }
        if let onChange { row.makeExtras().onChange = onChange }
        if let account { try row.restore(account, at: queue.now()) }
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

    static func delay(_ delay: Duration) -> Self {
        Self("a timer cannot start in the past, as with a delay of \(delay)")
    }

    fileprivate static func times(_ times: Int) -> Self {
        Self("a timer ticks at least once, not \(times) times")
    }
}
