// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Timekeeping

typealias TickHandler = @Sendable (Tick) -> Void

/// One timer, as its queue stores it. It is as small as possible, because a program may have very
/// many. It is never copied, because a copy would change its reference counts.
struct Row: ~Copyable, Sendable {
    /// This is not an OptionSet, whose many conformances would be a tenth of the size of the
    /// library.
    struct Flags: Sendable {
        private var bits: UInt16 = 0

        enum Flag: UInt16 {
            case once = 1
            /// It never ticks again.
            case cancelled = 2
            case handling = 4
            /// It was handed over to the queue of its handler, which has not processed it yet.
            case handedOver = 8
            /// Only its handler, which is running, still references it.
            case released = 16
            /// It ticks at once, before its grid point is due.
            case atOnce = 32
            /// The time before the first tick is not the interval.
            case ownFirst = 64
            /// The time before the first tick was given as an instant, so it is not used after a
            /// restart.
            case absoluteFirst = 128
            /// The next tick was moved; `Extras.next` says to when.
            case moved = 256
            /// The interval counts from the return of the handler.
            case fixedDelay = 512
            /// A tick that cannot be on time is left out, and the next one is on the grid.
            case dropsLate = 1024
            /// The handler itself says when it has returned, with `TimerReference.complete()`.
            case completesLater = 2048
            /// It is not in the queue of due times while its handler is running.
            case exclusive = 4096
        }

        /// With any of these, a tick is more than the next point of the grid.
        private static let unusual =
            Flag.atOnce.rawValue | Flag.moved.rawValue | Flag.fixedDelay.rawValue
            | Flag.dropsLate.rawValue

        var areUnusual: Bool { bits & Self.unusual != 0 }
        func contains(_ flag: Flag) -> Bool { bits & flag.rawValue != 0 }
        mutating func insert(_ flag: Flag) { bits |= flag.rawValue }
        mutating func remove(_ flag: Flag) { bits &= ~flag.rawValue }
    }

    var ledger = Ledger()
    var grid: Grid
    var handler: TickHandler?
    /// The queue that runs the handler; nil: the queue of the timer.
    var handlerQueue: DispatchQueue?
    /// Nil for a timer that has none of these properties.
    var extras: Extras?
    /// How late it may tick, in nanoseconds.
    var tolerance: Int64
    /// The number of ticks, and the maximum number, since it was created or restarted.
    var ticks = 0
    var ticksMax: Int
    var pausedAt = CountedInstant(nanoseconds: 0)
    /// Distinguishes the timers that use this row one after the other.
    var generation: UInt32 = 0
    var flags = Flags()
    /// The state; for a cancelled timer, the state before it was cancelled.
    var phase: Phase
    var basis: TimeBasis

    enum Phase: UInt8, Sendable { case running, paused, finished }

    var state: TimerState {
        if flags.contains(.cancelled) { return .cancelled }
        return switch phase {
        case .running: .running
        case .paused: .paused
        case .finished: .finished
        }
    }

    /// Whether it belongs in the queue of due times. A timer whose handler has its own queue does
    /// not while it is handed over, because its handler must not run twice at the same time.
    var isWaiting: Bool {
        phase == .running
            && !flags.contains(.cancelled) && !flags.contains(.handedOver)
            && !(flags.contains(.handling) && flags.contains(.exclusive))
    }

    /// When it is due, and by when at the latest; nil if it does not belong in the queue.
    func place(
        at now: Reading
    ) -> (due: CountedInstant, latest: CountedInstant, countsSleep: Bool)? {
        guard isWaiting, let due = dueInstant(at: now.counted(basis)) else { return nil }
        let latest = due.nanoseconds.adding(clamping: tolerance)
        return (due, CountedInstant(nanoseconds: latest), countsSleep)
    }

    /// Whether the return of its handler changes more than a flag.
    var hasMoreToComplete: Bool {
        extras != nil || flags.contains(.exclusive) || flags.contains(.released)
    }

    /// The counted time from the last point passed to the next tick.
    var next: Duration {
        flags.contains(.moved) ? extras?.next ?? grid.next : grid.next
    }

    var countsSleep: Bool { basis == .boottime || basis == .wall }

    /// When it is due by the clock that it counts by.
    func dueInstant(at now: CountedInstant) -> CountedInstant? {
        flags.contains(.atOnce) ? now : ledger.instant(reaching: next)
    }

    /// The time that is left until it is due; nil if it does not tick any more.
    func remaining(at now: CountedInstant) -> Duration? {
        guard phase != .finished, !flags.contains(.cancelled) else { return nil }
        return flags.contains(.atOnce) ? .zero : max(.zero, next - ledger.accrued(at: now))
    }

    /// Passes the points that are due.
    ///
    /// - Returns: how many points there were before the last of them, and how long ago the last one
    ///   was due; nil if there is no tick now.
    mutating func pass(at now: CountedInstant) -> (missed: Int, late: Duration)? {
        if flags.areUnusual { return passUnusual(at: now) }
        let accrued = ledger.accrued(at: now)
        // The interval of a timer that ticks once may be zero, and there are no further points.
        let isOnce = flags.contains(.once)
        let due = isOnce ? (accrued >= grid.next ? 1 : 0) : grid.due(accrued: accrued)
        guard due > 0 else { return nil }
        let late = accrued - grid.time(toPoint: due)
        grid.pass(due, of: &ledger, at: now)
        return (due - 1, late)
    }

    mutating func pause(at now: CountedInstant) {
        ledger.close(at: now)
        pausedAt = now
        phase = .paused
    }

    mutating func resume(_ policy: ResumePolicy, at now: CountedInstant) {
        phase = .running
        switch policy {
        case .keepRemaining: break
        case .restartInterval:
            ledger.dropAccrued(at: now)
            flags.remove(.moved)
        case .tickIfDue:
            if ledger.accrued(at: now) + (now - pausedAt) >= next { flags.insert(.atOnce) }
        }
        ledger.open(at: now)
    }

    /// Starts it again, as it was created.
    mutating func restart(at now: CountedInstant) {
        if flags.contains(.absoluteFirst) {
            grid.first = grid.span
            flags.remove(.absoluteFirst)
            flags.remove(.ownFirst)
        }
        ledger = Ledger()
        ledger.open(at: now)
        grid.passed = 0
        ticks = 0
        flags.remove(.atOnce)
        flags.remove(.moved)
        extras?.maxLoss = .zero
        extras?.dropped = 0
        phase = .running
    }

    /// Changes the interval. The elapsed time counts towards the new one. If it is already longer
    /// than that, one point is due now, and none is missed.
    mutating func setInterval(_ span: Duration, at now: CountedInstant) {
        grid.span = span
        if !flags.contains(.ownFirst) { grid.first = span }
        guard !flags.contains(.moved) else { return }
        let over = ledger.accrued(at: now) - grid.next
        if over > .zero { ledger.pass(over, at: now) }
    }
}
