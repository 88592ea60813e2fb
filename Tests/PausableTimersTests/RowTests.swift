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
        let bench = Bench()
        let timer = try bench.every(200, first: first)
        bench.advance(620)
        #expect(bench.log.scheduled == expected && bench.log.actual == expected)
        #expect(bench.log.all.map(\.number) == Array(1...expected.count))
        #expect(timer.state == .running)
    }

    @Test func s1_pausesResumesAndStops_andTheStateIsKnown() throws {
        let bench = Bench()
        let timer = try bench.every(200)
        bench.advance(150)
        timer.pause()
        #expect(timer.state == .paused && timer.remaining == .milliseconds(50))
        bench.advance(10_000)
        #expect(bench.log.count == 0 && timer.activeTime == .milliseconds(150))
        timer.resume()
        #expect(timer.state == .running)
        bench.advance(50)
        #expect(bench.log.scheduled == [10_200])
        #expect(timer.cancel() && timer.state == .cancelled && timer.remaining == nil)
        bench.advance(10_000)
        #expect(bench.log.count == 1)
    }

    @Test func s1_pausedWithAFractionLeft_itTicksAfterThatTime() throws {
        let bench = Bench()
        let timer = try bench.every(200)
        bench.time.advance(by: .microseconds(100_400))
        timer.pause()
        #expect(timer.remaining == .microseconds(99_600))
        bench.advance(700)
        timer.resume()
        bench.time.advance(by: .microseconds(99_599))
        #expect(bench.log.count == 0)
        bench.time.advance(by: .microseconds(1))
        #expect(bench.log.count == 1 && bench.log.missed == [0])
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
        let bench = Bench()
        let timer = try bench.every(200)
        bench.advance(300)
        timer.pause()
        bench.advance(5000)
        timer.resume()
        bench.advance(300)
        #expect(bench.log.all.map(\.active) == [200, 400, 600].map { .milliseconds($0) })
        #expect(timer.activeTime == .milliseconds(600))
    }

    @Test func s2_cancelWhilePausedIsSafe() throws {
        let bench = Bench()
        let timer = try bench.every(200, paused: true)
        #expect(timer.cancel())
        timer.resume()
        bench.advance(1000)
        #expect(bench.log.count == 0 && timer.state == .cancelled)
    }

    @Test func s2_theDefaultsAreAsDocumented() throws {
        let bench = Bench()
        let timer = try PausableTimer.every(.seconds(1), on: bench.queue)
        #expect(timer.state == .running && timer.account.basis == .active)
        #expect(timer.remaining == .seconds(1) && timer.interval == .seconds(1))
        // Without a tolerance it is on time, although there is an earlier wake-up for another
        // timer.
        bench.advance(999)
        #expect(timer.remaining == .milliseconds(1))
    }

    @Test func s3_nothingKeepsTheTimerAlive_andTheTimerKeepsNothingAlive() throws {
        let bench = Bench()
        let gone = Log<Bool>()
        var owner: Owner? = Owner(gone)
        weak var timer: PausableTimer?
        do {
            // The handler references the owner, which is released with the timer.
            let kept = try PausableTimer.every(.seconds(1), on: bench.queue) { [owner] _ in
                withExtendedLifetime(owner) {}
            }
            owner = nil
            timer = kept
            #expect(gone.count == 0)
        }
        #expect(timer == nil && gone.count == 1)
    }

    @Test func s3_theFormForAnOwnerDoesNotKeepItAlive() throws {
        let bench = Bench()
        let gone = Log<Bool>()
        let seen = Log<Bool>()
        var owner: Owner? = Owner(gone)
        let timer = try PausableTimer.every(.seconds(1), for: owner!, on: bench.queue) { owner, _ in
            seen.append(owner.gone === gone)
        }
        bench.advance(1000)
        #expect(seen.all == [true])
        owner = nil
        #expect(gone.count == 1 && timer.state == .running)
    }

    @Test func s4_aOneShotEndsItself_andCancelledIsFinal() throws {
        let bench = Bench()
        let timer = try bench.after(300)
        bench.advance(300)
        #expect(timer.state == .finished && timer.remaining == nil)
        #expect(timer.activeTime == .milliseconds(300))
        bench.advance(1000)
        #expect(bench.log.count == 1 && timer.activeTime == .milliseconds(300))
        timer.resume()
        timer.pause()
        #expect(timer.state == .finished)
        timer.restart()
        bench.advance(300)
        #expect(bench.log.count == 2 && timer.state == .finished)
        timer.cancel()
        timer.restart()
        timer.resume()
        bench.advance(1000)
        #expect(timer.state == .cancelled && bench.log.count == 2)
    }

    @Test func s4_aTimerWithALimitOfTicksEndsItself() throws {
        let bench = Bench()
        let timer = try bench.every(100, first: .now, times: 3)
        bench.advance(1000)
        #expect(bench.log.scheduled == [0, 100, 200] && timer.state == .finished)
    }

    // MARK: S5 to S8

    @Test func s5_aBlockedQueueGivesOneLateTick_andThenTheOriginalGrid() throws {
        let bench = Bench()
        let timer = try bench.every(2000)
        bench.advance(2000)
        bench.stall(5000)
        bench.advance(1000)
        #expect(bench.log.actual == [2000, 7000, 8000] && bench.log.missed == [0, 1, 0])
        #expect(bench.log.scheduled == [2000, 6000, 8000])
        #expect(bench.log.all[1].lateness == .seconds(1))
        #expect(timer.account.passed == 4)
    }

    @Test func s5_blockedFor500msUnder200ms_oneTickStandsForThree() throws {
        let bench = Bench()
        let timer = try bench.every(200)
        bench.advance(190)
        bench.stall(500)
        bench.advance(200)
        #expect(bench.log.missed == [2, 0] && bench.log.actual == [690, 800])
        withExtendedLifetime(timer) {}
    }

    @Test func s5_aToleranceSharesWakeUps_andKeepsTheGrid() throws {
        let bench = Bench()
        let exact = try bench.every(100)
        let tolerant = try bench.every(95, tolerance: 20)
        bench.advance(100)
        #expect(bench.log.actual == [100, 100] && bench.log.scheduled == [100, 95])
        withExtendedLifetime((exact, tolerant)) {}
    }

    @Test func s5_aTolerantTimerAloneIsAsLateAsItMayBe() throws {
        let bench = Bench()
        let timer = try bench.every(95, tolerance: 20)
        bench.advance(300)
        #expect(bench.log.actual == [115, 210] && bench.log.scheduled == [95, 190])
        #expect(bench.log.missed == [0, 0])
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
        let bench = Bench()
        let frames = Log<Frame>()
        let ticker = try Ticker(preferredRate: 100, on: bench.queue) { frames.append($0) }
        bench.advance(30)
        ticker.isPaused = true
        bench.advance(1000)
        #expect(ticker.isPaused && frames.count == 3)
        ticker.isPaused = false
        bench.advance(10)
        let all = frames.all
        #expect(all.map(\.number) == [1, 2, 3, 4])
        #expect(all.allSatisfy { $0.duration == .milliseconds(10) && $0.dropped == 0 })
        #expect(all.allSatisfy { $0.targetTimestamp - $0.timestamp == .milliseconds(10) })
        #expect(ticker.activeTime == .milliseconds(40))
    }

    @Test func s8_theHandlerReachesItsTimer_andCancelsIt() throws {
        let bench = Bench()
        let timer = try PausableTimer.every(.milliseconds(100), on: bench.queue) { tick in
            bench.log.append(tick)
            if tick.number == 2 { #expect(tick.timer.cancel()) }
        }
        bench.advance(1000)
        #expect(bench.log.count == 2 && timer.state == .cancelled)
    }

    @Test func s8_theHandlerPausesAndChangesItsTimer() throws {
        let bench = Bench()
        let timer = try PausableTimer.every(.milliseconds(100), on: bench.queue) { tick in
            bench.log.append(tick)
            switch tick.number {
            case 1: #expect(throws: Never.self) { try tick.timer.setInterval(.milliseconds(50)) }
            case 3: tick.timer.pause()
            default: break
            }
        }
        bench.advance(1000)
        #expect(bench.log.actual == [100, 150, 200] && timer.state == .paused)
    }

    // MARK: S9 to S12

    // MARK: S13 to S16
}
