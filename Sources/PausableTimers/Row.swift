// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// What a tick calls.
typealias TickHandler = @Sendable (Tick) -> Void

/// One timer, as its queue keeps it. As small as can be: a program may have many. Never copied, since a copy
/// counts its references.
struct Row: ~Copyable, Sendable {
    /// Not an OptionSet, whose many conformances would be a tenth of the library.
    struct Flags: Sendable {
        private var bits: UInt16 = 0

        enum Flag: UInt16 {
            /// It ticks once.
            case once = 1
            /// It never ticks again.
            case cancelled = 2
            /// Its handler is running.
            case handling = 4
            /// It was handed to the queue of its handler, which has not looked at it yet.
            case handedOver = 8
            /// Nothing refers to it any more but its handler, which is running.
            case released = 16
            /// It ticks at once, before its point is due.
            case atOnce = 32
            /// The first tick has a time of its own, not that of the interval.
            case ownFirst = 64
            /// That time was up to an instant, and means nothing after a restart.
            case absoluteFirst = 128
            /// No timer has this row.
            case free = 256
        }

        func contains(_ flag: Flag) -> Bool { bits & flag.rawValue != 0 }
        mutating func insert(_ flag: Flag) { bits |= flag.rawValue }
        mutating func remove(_ flag: Flag) { bits &= ~flag.rawValue }
    }

    var ledger = Ledger()
    var grid: Grid
    var handler: TickHandler?
    /// Where the handler runs; nil: on the queue of the timer.
    var handlerQueue: DispatchQueue?
    /// What few timers have.
    var extras: Extras?
    /// How much later than due it may tick, in nanoseconds.
    var tolerance: Int64
    /// How often it ticked, and may tick, since it was made or restarted.
    var ticks = 0
    var ticksMax: Int
    var pausedAt = CountedInstant(nanoseconds: 0)
    /// Tells the timers apart that have this row one after the other.
    var generation: UInt32 = 0
    var flags = Flags()
    /// Of one that is cancelled: what it was before.
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

    /// Whether it belongs into the queue of what is due. One whose handler has a queue of its own does not
    /// while it is there: it never overlaps itself.
    var isWaiting: Bool {
        phase == .running
            && !flags.contains(.cancelled) && !flags.contains(.free)
            && !flags.contains(.handedOver)
            && (handlerQueue == nil || !flags.contains(.handling))
    }

    var countsSleep: Bool { basis == .boottime || basis == .wall }

    /// When it is due by the clock that it counts by.
    func dueInstant(at now: CountedInstant) -> CountedInstant? {
        flags.contains(.atOnce) ? now : ledger.instant(reaching: grid.next)
    }

    /// What is left until it is due; nil if it does not tick any more.
    func remaining(at now: CountedInstant) -> Duration? {
        guard phase != .finished, !flags.contains(.cancelled) else { return nil }
        return flags.contains(.atOnce) ? .zero : max(.zero, grid.next - ledger.accrued(at: now))
    }

    /// Passes the points that are due.
    ///
    /// - Returns: how many there were before the last of them, and how long ago that was due; nil, with
    ///   nothing changed, if none is due.
    mutating func pass(at now: CountedInstant) -> (missed: Int, late: Duration)? {
        if flags.contains(.atOnce) {
            flags.remove(.atOnce)
            ledger.dropAccrued(at: now)
            grid.passed += 1
            return (0, .zero)
        }
        let accrued = ledger.accrued(at: now)
        // The interval of one that ticks once may be zero, and has no further points.
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
        case .restartInterval: ledger.dropAccrued(at: now)
        case .tickIfDue:
            if ledger.accrued(at: now) + (now - pausedAt) >= grid.next { flags.insert(.atOnce) }
        }
        ledger.open(at: now)
    }

    /// Begins again as it was made.
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
        extras?.maxLoss = .zero
        phase = .running
    }

    /// Changes the interval. What accrued counts towards the new one; if it is past that already, one point
    /// is due now, and none is missed.
    mutating func setInterval(_ span: Duration, at now: CountedInstant) {
        grid.span = span
        if !flags.contains(.ownFirst) { grid.first = span }
        let over = ledger.accrued(at: now) - grid.next
        if over > .zero { ledger.pass(over, at: now) }
    }
}

/// Unchecked because the compiler does not know that the lock of the queue guards it, as it does the row.
///
/// What few timers have, kept apart from their rows.
final class Extras: @unchecked Sendable {
    /// The sequences that get its ticks.
    var streams: [TickStream] = []
    /// Those who wait for its handler to return.
    var waiters: [CheckedContinuation<Void, Never>] = []
    /// Called after it was paused, resumed, restarted, cancelled or changed.
    var onChange: (@Sendable () -> Void)?
    /// How much of its time may be missing after restarts of the program.
    var maxLoss = Duration.zero
}

extension Row {
    /// Its extras, which it has from now on.
    mutating func makeExtras() -> Extras {
        let made = extras ?? Extras()
        extras = made
        return made
    }
}

/// Unchecked because the memory of the blocks is its own, and reached through it alone.
///
/// Rows by their slots, in blocks, so that none is moved when there are more of them.
struct Rows: ~Copyable, @unchecked Sendable {
    private static let blockShift = 7
    private static let blockMask = 1 << blockShift - 1

    private var blocks: [UnsafeMutablePointer<Row>] = []
    private var free: [Int32] = []
    private var end = 0
    private(set) var count = 0
    /// How many slots were in use at once.
    var capacity: Int { end }

    deinit {
        for slot in 0..<end { address(of: slot).deinitialize(count: 1) }
        for block in blocks { block.deallocate() }
    }

    subscript(slot: Int) -> Row {
        _read { yield address(of: slot).pointee }
        _modify { yield &address(of: slot).pointee }
    }

    private func address(of slot: Int) -> UnsafeMutablePointer<Row> {
        precondition(slot >= 0 && slot < end, "no such row")
        return blocks[slot >> Self.blockShift] + (slot & Self.blockMask)
    }

    /// Whether the slot has this timer still.
    func has(_ slot: Int, _ generation: UInt32) -> Bool {
        slot < end && self[slot].generation == generation && !self[slot].flags.contains(.free)
    }

    mutating func insert(_ row: consuming Row) -> Int {
        count += 1
        if let slot = free.popLast() {
            self[Int(slot)] = row
            return Int(slot)
        }
        if end & Self.blockMask == 0 { blocks.append(.allocate(capacity: Self.blockMask + 1)) }
        end += 1
        address(of: end - 1).initialize(to: row)
        return end - 1
    }

    /// Frees the slot, whose row holds nothing any more.
    mutating func remove(_ slot: Int) {
        self[slot].flags.insert(.free)
        free.append(Int32(slot))
        count -= 1
    }
}
