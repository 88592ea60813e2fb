// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Timekeeping

/// Ticks that are more than the next point of the grid.
extension Row {
    /// `pass` for a timer with one of the flags `unusual`.
    @inline(never)
    mutating func passUnusual(at now: CountedInstant) -> (missed: Int, late: Duration)? {
        if flags.contains(.atOnce) { return passAtOnce(at: now) }
        let accrued = ledger.accrued(at: now)
        guard accrued >= next else { return nil }
        if flags.contains(.fixedDelay) {
            let late = accrued - next
            passOne(at: now)
            return (0, late)
        }
        var coming = Grid(first: next, span: grid.span)
        let due = flags.contains(.once) ? 1 : coming.due(accrued: accrued)
        let late = accrued - coming.time(toPoint: due)
        coming.pass(due, of: &ledger, at: now)
        flags.remove(.moved)
        grid.passed = grid.passed.adding(clamping: due)
        guard flags.contains(.dropsLate) else { return (due - 1, late) }
        let dropped = extras?.dropped ?? 0
        if late > grid.span / 2 {
            makeExtras().dropped = dropped.adding(clamping: due)
            return nil
        }
        extras?.dropped = 0
        return (dropped.adding(clamping: due - 1), late)
    }

    /// A tick that was requested: the grid starts again from it.
    private mutating func passAtOnce(at now: CountedInstant) -> (missed: Int, late: Duration) {
        flags.remove(.atOnce)
        passOne(at: now)
        let dropped = extras?.dropped ?? 0
        if dropped > 0 { extras?.dropped = 0 }
        return (dropped, .zero)
    }

    private mutating func passOne(at now: CountedInstant) {
        ledger.dropAccrued(at: now)
        flags.remove(.moved)
        grid.passed = grid.passed.adding(clamping: 1)
    }

    /// Handles the return of the handler, for a timer that is `exclusive`.
    mutating func handlerReturned(at now: CountedInstant) {
        // A tick that was moved or asked for in the handler stays where it is.
        guard phase != .finished, !flags.contains(.moved), !flags.contains(.atOnce) else { return }
        if flags.contains(.fixedDelay) {
            ledger.dropAccrued(at: now)
        } else if flags.contains(.dropsLate) {
            let due = grid.due(accrued: ledger.accrued(at: now))
            guard due > 0 else { return }
            grid.pass(due, of: &ledger, at: now)
            let extras = makeExtras()
            extras.dropped = extras.dropped.adding(clamping: due)
        }
    }

    /// Moves the next tick: it is due after `delay` of counted time.
    mutating func moveNext(after delay: Duration, at now: CountedInstant) {
        flags.remove(.atOnce)
        flags.insert(.moved)
        makeExtras().next = ledger.accrued(at: now).adding(clamping: max(.zero, delay))
    }

    /// Moves the next tick by `span`, to now at the earliest.
    mutating func addTime(_ span: Duration, at now: CountedInstant) {
        let left = flags.contains(.atOnce) ? .zero : max(.zero, next - ledger.accrued(at: now))
        moveNext(after: left.adding(clamping: span), at: now)
    }
}

extension Int {
    /// The sum, limited to the range of the type.
    func adding(clamping other: Int) -> Int { Int(Int64(self).adding(clamping: Int64(other))) }
}

extension Duration {
    /// The sum, limited to the range of the type.
    func adding(clamping other: Duration) -> Duration {
        let (sum, overflow) = attoseconds.addingReportingOverflow(other.attoseconds)
        guard overflow else { return Duration(attoseconds: sum) }
        return Duration(attoseconds: other < .zero ? .min : .max)
    }
}
