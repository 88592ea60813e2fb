// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PausableTimers
import Testing

/// The ticks of a timer as an asynchronous sequence.
@Suite struct TicksTests {
    @Test func theyComeOneAfterTheOther_andEndWithTheTimer() async throws {
        var numbers: [Int] = []
        // It starts paused, because otherwise it might be finished before the iterator exists.
        let timer = try PausableTimer.every(.microseconds(100), times: 3, paused: true)
        var ticks = timer.ticks.makeAsyncIterator()
        timer.resume()
        while let tick = await ticks.next() { numbers.append(tick.number) }
        #expect(numbers.last == 3 && numbers == numbers.sorted())
    }

    @Test func ticksThatAreNotReadAreCombinedIntoOne() async throws {
        let fixture = Fixture()
        let timer = try fixture.every(100, times: 5)
        var ticks = timer.ticks.makeAsyncIterator()
        fixture.advance(300)
        let first = await ticks.next()
        #expect(first?.number == 3 && first?.missed == 2)
        fixture.advance(200)
        let last = await ticks.next()
        #expect(last?.number == 5 && last?.missed == 1)
        let none = await ticks.next()
        #expect(none == nil)
    }

    @Test func eachIteratorGetsEveryTick() async throws {
        let fixture = Fixture()
        let timer = try fixture.every(100)
        var one = timer.ticks.makeAsyncIterator()
        var other = timer.ticks.makeAsyncIterator()
        fixture.advance(100)
        let numbers = await (one.next()?.number, other.next()?.number)
        #expect(numbers == (1, 1))
        timer.cancel()
        let none = await one.next()
        #expect(none == nil)
        var late = timer.ticks.makeAsyncIterator()
        let never = await late.next()
        #expect(never == nil)
    }

    @Test func aCancelledTaskStopsWaiting() async throws {
        let fixture = Fixture()
        let timer = try fixture.every(100)
        let waiting = Task {
            var count = 0
            for await _ in timer.ticks { count += 1 }
            return count
        }
        waiting.cancel()
        #expect(await waiting.value == 0)
        #expect(timer.state == .running)
    }

    @Test func theSequenceKeepsTheTimerAlive() async throws {
        let fixture = Fixture()
        weak var timer: PausableTimer?
        do {
            let ticks = try fixture.every(100).ticks
            var iterator = ticks.makeAsyncIterator()
            fixture.advance(100)
            let tick = await iterator.next()
            #expect(tick?.number == 1)
            timer = nil
        }
        fixture.advance(1000)
        #expect(fixture.log.count == 1 && timer == nil)
    }
}
