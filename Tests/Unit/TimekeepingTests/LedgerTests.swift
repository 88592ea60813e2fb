// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import Timekeeping

@Suite struct LedgerTests {
    /// If the instant was rounded towards zero, it would be a nanosecond too early, and nothing
    /// would be due at it.
    @Test(arguments: [1, 3, 7, 60, 240, 999])
    func aFractionOfANanosecondIsReached(rate: Int) throws {
        let span = Duration.seconds(1) / rate
        var ledger = Ledger()
        var grid = Grid(first: span, span: span)
        var now = CountedInstant(nanoseconds: 5)
        ledger.open(at: now)
        for point in 1...(3 * rate) {
            let due = try #require(ledger.instant(reaching: grid.next))
            let before = CountedInstant(nanoseconds: due.nanoseconds - 1)
            #expect(grid.due(accrued: ledger.accrued(at: before)) == 0)
            now = due
            #expect(grid.due(accrued: ledger.accrued(at: now)) == 1)
            grid.pass(1, of: &ledger, at: now)
            // The error does not accumulate: each instant is within a nanosecond of the exact one.
            let exact = span * point
            #expect(now - CountedInstant(nanoseconds: 5) >= exact)
            #expect(now - CountedInstant(nanoseconds: 5) - exact < .nanoseconds(1))
        }
    }

    @Test func settlingDoesNotMoveTheDueInstant() throws {
        var random = SeededRandom()
        for _ in 0..<1000 {
            let span = Duration(attoseconds: Int128(random.next() % 1_000_000_000_000_000_000))
            var ledger = Ledger(accrued: Duration(attoseconds: Int128(random.int(below: 1 << 40))))
            var now = CountedInstant(nanoseconds: Int64(random.int(below: 1 << 40)))
            ledger.open(at: now)
            let due = ledger.instant(reaching: span)
            for _ in 0..<10 {
                now = now + .nanoseconds(random.int(below: 1 << 20))
                ledger.settle(at: now)
                #expect(ledger.instant(reaching: span) == due)
            }
        }
    }

    @Test func aSpanBeyondTheClockIsNeverReachedAndDoesNotTrap() {
        var ledger = Ledger()
        ledger.open(at: CountedInstant(nanoseconds: 1_000_000_000))
        #expect(ledger.instant(reaching: .seconds(Int64.max))?.nanoseconds == .max)
        #expect(ledger.instant(reaching: .nanoseconds(Int64.max))?.nanoseconds == .max)
    }

    @Test(
        arguments: [
            (.zero, 0), (.nanoseconds(1), 1), (Duration(attoseconds: 1), 1),
            (Duration(attoseconds: 1_000_000_001), 2), (Duration(attoseconds: -1), 0),
            (.nanoseconds(-1), -1), (Duration(attoseconds: -1_999_999_999), -1),
            (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
        ] as [(Duration, Int64)])
    func roundsUpToTheNanosecond(span: Duration, expected: Int64) {
        #expect(span.nanosecondsRoundedUp == expected)
    }
}

@Suite struct GridTests {
    @Test func countsThePointsOfAnySpanExactly() {
        let grid = Grid(first: .zero, span: .seconds(1) / 3)
        // With whole nanoseconds, a year would have 31 points too many at a rate of 3 Hz.
        #expect(grid.due(accrued: .seconds(31_536_000)) == 3 * 31_536_000 + 1)
        #expect(Grid(first: .zero, span: .seconds(1)).due(accrued: .seconds(86_400)) == 86_401)
    }

    @Test(arguments: [
        (0, Duration.milliseconds(299), 0), (0, .milliseconds(300), 1),
        (0, .milliseconds(1299), 1), (0, .milliseconds(1300), 2), (1, .milliseconds(999), 0),
        (1, .seconds(1), 1), (1, .seconds(5), 5),
    ])
    func theFirstPointHasItsOwnTime(passed: Int, accrued: Duration, due: Int) {
        let grid = Grid(first: .milliseconds(300), span: .seconds(1), passed: passed)
        #expect(grid.due(accrued: accrued) == due)
    }

    @Test func aDelayMovesWhenAPointIsDueAndNotThePoint() {
        var grid = Grid(first: .seconds(1), span: .seconds(1))
        var ledger = Ledger(active: .zero, accrued: .milliseconds(1400))
        #expect(grid.due(accrued: .milliseconds(1400), delay: .milliseconds(500)) == 0)
        #expect(grid.due(accrued: .milliseconds(1400), delay: .milliseconds(400)) == 1)
        grid.pass(1, of: &ledger, at: CountedInstant(nanoseconds: 0))
        #expect(ledger.accrued(at: CountedInstant(nanoseconds: 0)) == .milliseconds(400))
        #expect(grid.passed == 1)
    }

    @Test func theSmallestSpanOverTheLongestTimeDoesNotTrap() {
        let grid = Grid(first: .zero, span: Duration(attoseconds: 1))
        #expect(grid.due(accrued: .seconds(86_400 * 365)) == .max)
    }
}

@Suite struct AlarmQueueTests {
    /// Slots that are due by an instant are handled in the wake-up of the slot that must be handled
    /// first.
    @Test func dueSlotsAreHandledWithASlotThatMustNotWait() {
        var queue = AlarmQueue<AwakeInstant>()
        func at(_ nanoseconds: Int64) -> AwakeInstant { AwakeInstant(nanoseconds: nanoseconds) }
        queue.set(0, latest: at(100), due: at(50))
        queue.set(1, latest: at(70))
        queue.set(2, latest: at(200), due: at(71))
        #expect(queue.first?.due == at(70) && queue.first?.slot == 1)
        #expect(queue.overdue(at: at(69)) == nil && queue.ready(at: at(69)) == 0)
        #expect(queue.overdue(at: at(70)) == 1)
        queue.remove(1)
        #expect(queue.overdue(at: at(70)) == nil && queue.ready(at: at(70)) == 0)
        queue.remove(0)
        #expect(queue.ready(at: at(70)) == nil && queue.first?.due == at(200))
        // Without a tolerance it is due at exactly one instant.
        queue.set(2, latest: at(71))
        #expect(queue.ready(at: at(500)) == nil && queue.overdue(at: at(71)) == 2)
        queue.remove(2)
        #expect(queue.first == nil && queue[2] == nil)
    }
}
