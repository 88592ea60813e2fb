// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import PausableTimers
import Testing

/// Ticks that do not come when the interval says so.
@Suite struct NextTickTests {
    @Test func itTicksNow_andThenAfterAnInterval() throws {
        let fixture = Fixture()
        let timer = try fixture.every(100)
        fixture.advance(130)
        timer.tickNow()
        fixture.advance(0)
        #expect(fixture.log.actual == [100, 130] && timer.remaining == .milliseconds(100))
        fixture.advance(150)
        #expect(fixture.log.actual == [100, 130, 230])
        #expect(timer.account.isValid && timer.activeTime == .milliseconds(280))
        timer.pause()
        timer.tickNow()
        fixture.advance(100)
        #expect(fixture.log.count == 3)
        let once = try fixture.after(100)
        once.tickNow()
        fixture.advance(0)
        #expect(once.state == .finished && fixture.log.count == 4)
        once.tickNow()
        fixture.advance(500)
        #expect(fixture.log.count == 4)
    }

    @Test(arguments: [30, 100, 250])
    func theNextTickIsMoved_andTheOthersFollow(delay: Int) throws {
        let fixture = Fixture()
        let timer = try fixture.every(100)
        fixture.advance(120)
        try timer.setNextTick(after: .milliseconds(delay))
        #expect(timer.remaining == .milliseconds(delay))
        fixture.advance(delay + 200)
        #expect(fixture.log.scheduled == [100, 120 + delay, 220 + delay, 320 + delay])
        #expect(throws: TimerArgumentError.self) { try timer.setNextTick(after: .seconds(-1)) }
    }

    @Test func aMovedTickOfAPausedTimerWaits_andIsForgottenByARestart() throws {
        let fixture = Fixture()
        let timer = try fixture.every(100)
        fixture.advance(50)
        timer.pause()
        try timer.setNextTick(after: .milliseconds(500))
        fixture.advance(1000)
        timer.resume()
        fixture.advance(499)
        #expect(fixture.log.count == 0)
        try timer.setInterval(.milliseconds(40))
        #expect(timer.remaining == .milliseconds(1))
        fixture.advance(41)
        #expect(fixture.log.scheduled == [1550, 1590])
        try timer.setNextTick(after: .milliseconds(500))
        timer.restart()
        #expect(timer.remaining == .milliseconds(40))
        // A blocked queue misses the points after the moved one.
        try timer.setNextTick(after: .milliseconds(10))
        fixture.stall(100)
        fixture.advance(0)
        #expect(fixture.log.missed.last == 2)
    }

    @Test func aCountdownGetsMoreTime_orLess() throws {
        let fixture = Fixture()
        let timer = try fixture.after(1000)
        fixture.advance(900)
        timer.addTime(.seconds(5))
        #expect(timer.remaining == .milliseconds(5100) && timer.activeTime == .milliseconds(900))
        timer.addTime(.milliseconds(-5050))
        #expect(timer.remaining == .milliseconds(50))
        timer.addTime(.seconds(-3600))
        #expect(timer.remaining == .zero)
        fixture.advance(0)
        #expect(timer.state == .finished && fixture.log.actual == [900])
        timer.addTime(.seconds(5))
        #expect(timer.remaining == nil)
        let huge = try fixture.every(100)
        huge.addTime(Duration(attoseconds: .max))
        huge.addTime(Duration(attoseconds: .max))
        huge.addTime(Duration(attoseconds: .min))
        fixture.advance(0)
        #expect(huge.account.isValid && fixture.log.count == 2)
    }

    @Test func aMovedTickIsRestored() throws {
        let fixture = Fixture()
        let timer = try fixture.every(100)
        fixture.advance(150)
        try timer.setNextTick(after: .seconds(3))
        let account = timer.account
        timer.cancel()
        let restored = try fixture.every(100, restoring: account)
        #expect(restored.remaining == .seconds(3))
        fixture.advance(3100)
        #expect(fixture.log.scheduled == [100, 3150, 3250])
    }

    @Test func aFixedDelayCountsFromTheReturnOfTheHandler() throws {
        let fixture = Fixture()
        let timer = try PausableTimer.every(
            .milliseconds(100), spacing: .fixedDelay, on: fixture.queue
        ) { tick in
            fixture.log.append(tick)
            fixture.stall(tick.number == 2 ? 250 : 30)
        }
        fixture.advance(1000)
        #expect(fixture.log.actual == [100, 230, 580, 710, 840, 970])
        #expect(fixture.log.missed.allSatisfy { $0 == 0 } && timer.account.isValid)
    }

    @Test func aFixedDelayWaitsForAnAsynchronousHandler() async throws {
        let fixture = Fixture()
        let clock = fixture.queue.clock
        let timer = try PausableTimer.every(
            .milliseconds(100), spacing: .fixedDelay, on: fixture.queue
        ) { tick in
            fixture.log.append(tick)
            try? await clock.sleep(for: .milliseconds(70))
        }
        await fixture.time.advanceWithTasks(by: .milliseconds(500))
        #expect(fixture.log.actual == [100, 270, 440])
        withExtendedLifetime(timer) {}
    }

    @Test func aDebouncerHandlesTheLastValue() throws {
        let fixture = Fixture()
        let log = Log<String>()
        let debouncer = try Debouncer<String>(.milliseconds(300), on: fixture.queue) { text in
            log.append(text)
        }
        fixture.advance(1000)
        for text in ["p", "pa", "pau"] {
            debouncer.send(text)
            fixture.advance(200)
        }
        #expect(log.count == 0)
        fixture.advance(100)
        #expect(log.all == ["pau"])
        debouncer.flush()
        fixture.advance(1000)
        #expect(log.count == 1)
        debouncer.send("now")
        debouncer.flush()
        fixture.advance(0)
        #expect(log.all == ["pau", "now"])
        debouncer.send("never")
        debouncer.cancel()
        debouncer.send("never")
        fixture.advance(1000)
        #expect(log.count == 2)
        #expect(throws: TimerArgumentError.self) {
            try Debouncer<Int>(.seconds(-1), on: fixture.queue) { _ in }
        }
    }

    @Test func aThrottlerHandlesTheFirstAndTheLatestValues() throws {
        let fixture = Fixture()
        let log = Log<Int>()
        let throttler = try Throttler<Int>(.milliseconds(100), on: fixture.queue) { log.append($0) }
        fixture.advance(1000)
        for value in 0..<10 {
            throttler.send(value)
            fixture.advance(30)
        }
        // At 0, 100, 200 and, for the last one, at 300 ms.
        #expect(log.all == [0, 3, 6, 9])
        fixture.advance(1000)
        #expect(log.count == 4)
        throttler.send(10)
        fixture.advance(0)
        throttler.send(11)
        fixture.advance(99)
        #expect(log.all.suffix(1) == [10])
        fixture.advance(1)
        #expect(log.all.suffix(2) == [10, 11])
        throttler.send(12)
        throttler.cancel()
        fixture.advance(1000)
        #expect(log.count == 6)
    }
}
