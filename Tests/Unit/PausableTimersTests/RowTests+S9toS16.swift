// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PausableTimers
import Synchronization
import Testing

/// Rows S9 to S16 of the table.
extension RowTests {
    @Test func s9_createdPaused_orTickingAtOnce() throws {
        let fixture = Fixture()
        let timer = try fixture.every(100, paused: true)
        fixture.advance(1000)
        #expect(timer.state == .paused && fixture.log.count == 0 && timer.activeTime == .zero)
        timer.resume()
        fixture.advance(100)
        #expect(fixture.log.scheduled == [1100])
    }

    @Test func s10_anAbsoluteFirstInstant() throws {
        let fixture = Fixture()
        let start = ManualTime.start
        let byAwake = try fixture.every(1000, first: .at(start.awake + .milliseconds(250)))
        fixture.advance(1300)
        #expect(fixture.log.scheduled == [250, 1250])
        byAwake.cancel()
        let byWall = try fixture.every(1000, first: .atWall(start.wall + .milliseconds(1500)))
        fixture.advance(1300)
        #expect(fixture.log.scheduled == [250, 1250, 1500, 2500])
        byWall.cancel()
        // An instant in the past is due at once, and no earlier points are missed.
        let past = try fixture.every(1000, first: .at(start.awake))
        fixture.advance(0)
        #expect(fixture.log.scheduled.last == 2600 && fixture.log.missed.last == 0)
        // The given instant has no effect after a restart.
        past.restart()
        #expect(past.remaining == .seconds(1))
    }

    @Test func s11_refusesInvalidArguments_withASentence() throws {
        let fixture = Fixture()
        func sentence(_ make: () throws -> PausableTimer) -> String {
            do {
                _ = try make()
                return "none"
            } catch { return "\(error)" }
        }
        for interval in [Duration.zero, .seconds(-1)] {
            #expect(
                sentence { try .every(interval, on: fixture.queue) }
                    == "an interval must be longer than zero, which \(interval) is not")
        }
        let start = "a timer cannot start in the past, as with a delay of -1.0 seconds"
        #expect(sentence { try .after(.seconds(-1), on: fixture.queue) } == start)
        #expect(
            sentence { try .every(.seconds(1), first: .after(.seconds(-1)), on: fixture.queue) }
                == start)
        #expect(
            sentence { try .every(.seconds(1), times: 0, on: fixture.queue) }
                == "a timer ticks at least once, not 0 times")
        #expect(
            sentence { try .every(.seconds(1), tolerance: .seconds(-2), on: fixture.queue) }
                == "a tolerance cannot be negative, as -2.0 seconds is")
        let timer = try fixture.every(100)
        #expect(throws: TimerArgumentError.self) { try timer.setInterval(.zero) }
        #expect(timer.interval == .milliseconds(100) && timer.state == .running)
        for rate in [0, -60, Double.nan, .infinity, 2e9, 1e-300] {
            #expect(throws: TimerArgumentError.self) {
                _ = try Ticker(preferredRate: rate, on: fixture.queue) { _ in }
            }
        }
        #expect(throws: TimerArgumentError.self) { try TimerGroup(saveInterval: .zero) }
    }

    @Test func s12_timersByName_andAnUnknownNameIsHarmless() throws {
        let fixture = Fixture()
        let group = try TimerGroup(on: fixture.queue)
        try group.every("a", .milliseconds(100)) { fixture.log.append($0) }
        try group.after("b", .milliseconds(50)) { fixture.log.append($0) }
        #expect(
            group.names.sorted() == ["a", "b"] && group["a"]?.state == .running && group["c"] == nil
        )
        #expect(group.pause("a"))
        fixture.advance(200)
        #expect(fixture.log.actual == [50])
        #expect(group.resume("a"))
        fixture.advance(100)
        #expect(fixture.log.count == 2)
        #expect(
            !group.pause("c") && !group.resume("c") && !group.cancel("c") && !group.restart("c"))
        #expect(throws: TimerArgumentError.self) { try group.after("a", .zero) { _ in } }
        group.cancelAll()
        #expect(group.names.isEmpty)
        fixture.advance(1000)
        #expect(fixture.log.count == 2)
    }

    @Test func s13_theTimerEndsItselfAfterItsOwnerWasReleased() throws {
        let fixture = Fixture()
        var owner: Owner? = Owner(Log())
        let every = try PausableTimer.every(.seconds(1), for: owner!, on: fixture.queue) {
            fixture.log.append($1)
        }
        let after = try PausableTimer.after(.seconds(1), for: owner!, on: fixture.queue) {
            fixture.log.append($1)
        }
        owner = nil
        fixture.advance(2000)
        #expect(fixture.log.count == 0)
        #expect(every.state == .cancelled && after.state == .cancelled)
    }

    @Test func s14_repeatedPausesAndResumesAreHarmless() throws {
        let fixture = Fixture()
        let timer = try fixture.every(100)
        for _ in 0..<5 { timer.pause() }
        timer.resume()
        #expect(timer.state == .running)
        for _ in 0..<5 { timer.resume() }
        fixture.advance(100)
        #expect(fixture.log.count == 1)
        #expect(timer.cancel() && !timer.cancel())
    }

    @Test func s14_releasedOrCreatedAgainWhilePaused() throws {
        let fixture = Fixture()
        for round in 0..<100 {
            var timer: PausableTimer? = try fixture.every(100)
            timer?.pause()
            if round % 2 == 0 { timer = try fixture.every(100, paused: true) }
            timer = nil
        }
        fixture.advance(1000)
        #expect(fixture.log.count == 0)
    }

    @Test func s15_aSlowHandlerOnItsOwnQueueDelaysOnlyItself() throws {
        let unblock = DispatchSemaphore(value: 0)
        let ticked = DispatchSemaphore(value: 0)
        let queue = TimerQueue()
        let running = Mutex((now: 0, most: 0))
        let slow = try PausableTimer.every(
            .milliseconds(1), on: queue,
            handlerQueue: DispatchQueue(label: "slow", attributes: .concurrent)
        ) { _ in
            running.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            unblock.wait()
            running.withLock { $0.now -= 1 }
        }
        let other = try PausableTimer.every(.milliseconds(1), on: queue) { _ in ticked.signal() }
        for _ in 0..<10 { #expect(ticked.wait(timeout: .now() + 10) == .success) }
        slow.cancel()
        for _ in 0..<10 { unblock.signal() }
        // Although the queue is concurrent, the handler never ran twice at the same time.
        #expect(running.withLock { $0.most } <= 1)
        withExtendedLifetime(other) {}
    }

    @Test func s15_ticksMissedByASlowHandlerAreNotRepeated() throws {
        let fixture = Fixture()
        let timer = try PausableTimer.every(.milliseconds(100), on: fixture.queue) { tick in
            fixture.log.append(tick)
            fixture.time.stall(for: .milliseconds(350))
        }
        fixture.advance(400)
        // Each tick is delayed by the one before it, and says how many ticks it stands for.
        #expect(fixture.log.actual == [100, 450] && fixture.log.missed == [0, 2])
        withExtendedLifetime(timer) {}
    }

    @Test func s16_theRateChangesWhileRunning_andDroppedFramesAreReported() throws {
        let fixture = Fixture()
        let frames = Log<Frame>()
        let ticker = try Ticker(on: fixture.queue) { frames.append($0) }
        #expect(ticker.preferredRate == 60)
        fixture.advance(1000)
        #expect(frames.count == 60)
        try ticker.setPreferredRate(30)
        #expect(abs(ticker.preferredRate - 30) < 1e-9)
        fixture.advance(1000)
        #expect(frames.count == 90)
        fixture.stall(100)
        fixture.advance(34)
        #expect(frames.all.map(\.dropped).max() == 2)
    }
}
