// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PausableTimers
import Synchronization
import Testing

/// The guarantees of the library: at least one test for each row S1 to S16 of its table.
@Suite struct RowTests {
    // MARK: S1 to S4

    @Test(arguments: [
        (FirstTick?.none, [200, 400, 600]), (.now, [0, 200, 400, 600]),
        (.after(.milliseconds(50)), [50, 250, 450]),
    ])
    func s1_repeatsAfterADelayOrFromNow(first: FirstTick?, expected: [Int]) throws {
        let fixture = Fixture()
        let timer = try fixture.every(200, first: first)
        fixture.advance(620)
        #expect(fixture.log.scheduled == expected && fixture.log.actual == expected)
        #expect(fixture.log.all.map(\.number) == Array(1...expected.count))
        #expect(timer.state == .running)
    }

    @Test func s1_pausesResumesAndStops_andTheStateIsKnown() throws {
        let fixture = Fixture()
        let timer = try fixture.every(200)
        fixture.advance(150)
        timer.pause()
        #expect(timer.state == .paused && timer.remaining == .milliseconds(50))
        fixture.advance(10_000)
        #expect(fixture.log.count == 0 && timer.activeTime == .milliseconds(150))
        timer.resume()
        #expect(timer.state == .running)
        fixture.advance(50)
        #expect(fixture.log.scheduled == [10_200])
        #expect(timer.cancel() && timer.state == .cancelled && timer.remaining == nil)
        fixture.advance(10_000)
        #expect(fixture.log.count == 1)
    }

    @Test func s1_pausedWithAFractionLeft_itTicksAfterThatTime() throws {
        let fixture = Fixture()
        let timer = try fixture.every(200)
        fixture.time.advance(by: .microseconds(100_400))
        timer.pause()
        #expect(timer.remaining == .microseconds(99_600))
        fixture.advance(700)
        timer.resume()
        fixture.time.advance(by: .microseconds(99_599))
        #expect(fixture.log.count == 0)
        fixture.time.advance(by: .microseconds(1))
        #expect(fixture.log.count == 1 && fixture.log.missed == [0])
    }

    @Test func s1_ticksOnTheChosenQueue() throws {
        let key = DispatchSpecificKey<String>()
        let chosen = DispatchQueue(label: "chosen")
        chosen.setSpecific(key: key, value: "chosen")
        let time = ManualTime()
        let names = Log<String>()
        let timer = try PausableTimer.every(
            .seconds(1), on: TimerQueue(chosen, time: time)
        ) { _ in names.append(DispatchQueue.getSpecific(key: key) ?? "other") }
        time.advance(by: .seconds(2))
        #expect(names.all == ["chosen", "chosen"])
        withExtendedLifetime(timer) {}
    }

    @Test func s2_theHandlerGetsTheActiveTime() throws {
        let fixture = Fixture()
        let timer = try fixture.every(200)
        fixture.advance(300)
        timer.pause()
        fixture.advance(5000)
        timer.resume()
        fixture.advance(300)
        #expect(fixture.log.all.map(\.active) == [200, 400, 600].map { .milliseconds($0) })
        #expect(timer.activeTime == .milliseconds(600))
    }

    @Test func s2_cancelWhilePausedIsSafe() throws {
        let fixture = Fixture()
        let timer = try fixture.every(200, paused: true)
        #expect(timer.cancel())
        timer.resume()
        fixture.advance(1000)
        #expect(fixture.log.count == 0 && timer.state == .cancelled)
    }

    @Test func s2_theDefaultsAreAsDocumented() throws {
        let fixture = Fixture()
        let timer = try PausableTimer.every(.seconds(1), on: fixture.queue)
        #expect(timer.state == .running && timer.account.basis == .active)
        #expect(timer.remaining == .seconds(1) && timer.interval == .seconds(1))
        // Without a tolerance it is on time, although there is an earlier wake-up for another
        // timer.
        fixture.advance(999)
        #expect(timer.remaining == .milliseconds(1))
    }

    @Test func s3_nothingKeepsTheTimerAlive_andTheTimerKeepsNothingAlive() throws {
        let fixture = Fixture()
        let gone = Log<Bool>()
        var owner: Owner? = Owner(gone)
        weak var timer: PausableTimer?
        do {
            // The handler references the owner, which is released with the timer.
            let kept = try PausableTimer.every(.seconds(1), on: fixture.queue) { [owner] _ in
                withExtendedLifetime(owner) {}
            }
            owner = nil
            timer = kept
            #expect(gone.count == 0)
        }
        #expect(timer == nil && gone.count == 1)
    }

    @Test func s3_theFormForAnOwnerDoesNotKeepItAlive() throws {
        let fixture = Fixture()
        let gone = Log<Bool>()
        let seen = Log<Bool>()
        var owner: Owner? = Owner(gone)
        let timer = try PausableTimer.every(.seconds(1), for: owner!, on: fixture.queue) {
            owner, _ in
            seen.append(owner.gone === gone)
        }
        fixture.advance(1000)
        #expect(seen.all == [true])
        owner = nil
        #expect(gone.count == 1 && timer.state == .running)
    }

    @Test func s4_aOneShotEndsItself_andCancelledIsFinal() throws {
        let fixture = Fixture()
        let timer = try fixture.after(300)
        fixture.advance(300)
        #expect(timer.state == .finished && timer.remaining == nil)
        #expect(timer.activeTime == .milliseconds(300))
        fixture.advance(1000)
        #expect(fixture.log.count == 1 && timer.activeTime == .milliseconds(300))
        timer.resume()
        timer.pause()
        #expect(timer.state == .finished)
        timer.restart()
        fixture.advance(300)
        #expect(fixture.log.count == 2 && timer.state == .finished)
        timer.cancel()
        timer.restart()
        timer.resume()
        fixture.advance(1000)
        #expect(timer.state == .cancelled && fixture.log.count == 2)
    }

    @Test func s4_aTimerWithALimitOfTicksEndsItself() throws {
        let fixture = Fixture()
        let timer = try fixture.every(100, first: .now, times: 3)
        fixture.advance(1000)
        #expect(fixture.log.scheduled == [0, 100, 200] && timer.state == .finished)
    }

    // MARK: S5 to S8

    @Test func s5_aBlockedQueueGivesOneLateTick_andThenTheOriginalGrid() throws {
        let fixture = Fixture()
        let timer = try fixture.every(2000)
        fixture.advance(2000)
        fixture.stall(5000)
        fixture.advance(1000)
        #expect(fixture.log.actual == [2000, 7000, 8000] && fixture.log.missed == [0, 1, 0])
        #expect(fixture.log.scheduled == [2000, 6000, 8000])
        #expect(fixture.log.all[1].lateness == .seconds(1))
        #expect(timer.account.passed == 4)
    }

    @Test func s5_blockedFor500msUnder200ms_oneTickStandsForThree() throws {
        let fixture = Fixture()
        let timer = try fixture.every(200)
        fixture.advance(190)
        fixture.stall(500)
        fixture.advance(200)
        #expect(fixture.log.missed == [2, 0] && fixture.log.actual == [690, 800])
        withExtendedLifetime(timer) {}
    }

    @Test func s5_aToleranceSharesWakeUps_andKeepsTheGrid() throws {
        let fixture = Fixture()
        let exact = try fixture.every(100)
        let tolerant = try fixture.every(95, tolerance: 20)
        fixture.advance(100)
        #expect(fixture.log.actual == [100, 100] && fixture.log.scheduled == [100, 95])
        withExtendedLifetime((exact, tolerant)) {}
    }

    @Test func s5_aTolerantTimerAloneIsAsLateAsItMayBe() throws {
        let fixture = Fixture()
        let timer = try fixture.every(95, tolerance: 20)
        fixture.advance(300)
        #expect(fixture.log.actual == [115, 210] && fixture.log.scheduled == [95, 190])
        #expect(fixture.log.missed == [0, 0])
        withExtendedLifetime(timer) {}
    }

    @Test func s6_aBlockedQueueDelaysNoOther() throws {
        let ticked = DispatchSemaphore(value: 0)
        let unblock = DispatchSemaphore(value: 0)
        let blocked = TimerQueue(label: "blocked")
        blocked.queue.async { unblock.wait() }
        let log = Log<Tick>()
        let late = try PausableTimer.every(.milliseconds(1), on: blocked) { log.append($0) }
        let other = try PausableTimer.every(.milliseconds(1), on: TimerQueue()) { _ in
            ticked.signal()
        }
        for _ in 0..<5 { #expect(ticked.wait(timeout: .now() + 10) == .success) }
        #expect(log.count == 0)
        unblock.signal()
        withExtendedLifetime((late, other)) {}
    }

    @Test func s7_aTickerGivesFramesAsADisplayLinkDoes() throws {
        let fixture = Fixture()
        let frames = Log<Frame>()
        let ticker = try Ticker(preferredRate: 100, on: fixture.queue) { frames.append($0) }
        fixture.advance(30)
        ticker.isPaused = true
        fixture.advance(1000)
        #expect(ticker.isPaused && frames.count == 3)
        ticker.isPaused = false
        fixture.advance(10)
        let all = frames.all
        #expect(all.map(\.number) == [1, 2, 3, 4])
        #expect(all.allSatisfy { $0.duration == .milliseconds(10) && $0.dropped == 0 })
        #expect(all.allSatisfy { $0.targetTimestamp - $0.timestamp == .milliseconds(10) })
        #expect(ticker.activeTime == .milliseconds(40))
    }

    @Test func s8_theHandlerReachesItsTimer_andCancelsIt() throws {
        let fixture = Fixture()
        let timer = try PausableTimer.every(.milliseconds(100), on: fixture.queue) { tick in
            fixture.log.append(tick)
            if tick.number == 2 { #expect(tick.timer.cancel()) }
        }
        fixture.advance(1000)
        #expect(fixture.log.count == 2 && timer.state == .cancelled)
    }

    @Test func s8_theHandlerPausesAndChangesItsTimer() throws {
        let fixture = Fixture()
        let timer = try PausableTimer.every(.milliseconds(100), on: fixture.queue) { tick in
            fixture.log.append(tick)
            switch tick.number {
            case 1: #expect(throws: Never.self) { try tick.timer.setInterval(.milliseconds(50)) }
            case 3: tick.timer.pause()
            default: break
            }
        }
        fixture.advance(1000)
        #expect(fixture.log.actual == [100, 150, 200] && timer.state == .paused)
    }

    // MARK: S9 to S12

    // MARK: S13 to S16
}
