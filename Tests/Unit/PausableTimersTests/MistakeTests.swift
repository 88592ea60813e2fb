// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PausableTimers
import Synchronization
import Testing

/// The mistakes of published wrappers of DispatchSourceTimer. Each test shows that this library
/// does not make the mistake.
@Suite struct MistakeTests {
    @Test func mistake_theIntervalIsIgnoredOnARepeat() throws {
        let fixture = Fixture()
        let timer = try fixture.every(700, first: .after(.milliseconds(100)))
        fixture.advance(1600)
        #expect(fixture.log.actual == [100, 800, 1500])
        withExtendedLifetime(timer) {}
    }

    @Test func mistake_theStartDelayCountsAsActive() throws {
        let fixture = Fixture()
        let timer = try fixture.every(100, paused: true)
        fixture.advance(5000)
        timer.resume()
        fixture.advance(100)
        #expect(fixture.log.all.map(\.active) == [.milliseconds(100)])
    }

    @Test func mistake_countingByTheWallClock() throws {
        let fixture = Fixture()
        let timer = try fixture.every(1000)
        fixture.advance(400)
        fixture.time.setWallClock(by: .seconds(86_400))
        #expect(timer.activeTime == .milliseconds(400) && timer.remaining == .milliseconds(600))
        fixture.time.setWallClock(by: .seconds(-2 * 86_400))
        fixture.advance(600)
        #expect(fixture.log.actual == [1000] && fixture.log.missed == [0])
    }

    @Test func mistake_aNameCannotBeReusedAfterCancel() throws {
        let fixture = Fixture()
        let group = try TimerGroup(on: fixture.queue)
        let first = try group.every("name", .milliseconds(100)) { _ in }
        first.cancel()
        try group.every("name", .milliseconds(100)) { fixture.log.append($0) }
        group.cancel("name")
        try group.every("name", .milliseconds(200)) { fixture.log.append($0) }
        fixture.advance(400)
        #expect(fixture.log.actual == [200, 400])
    }

    @Test func mistake_aSecondPauseIsCountedTwice() throws {
        let fixture = Fixture()
        let timer = try fixture.every(100)
        fixture.advance(30)
        timer.pause()
        fixture.advance(50)
        timer.pause()
        fixture.advance(50)
        timer.resume()
        #expect(timer.activeTime == .milliseconds(30) && timer.remaining == .milliseconds(70))
        fixture.advance(70)
        #expect(fixture.log.count == 1)
    }

    @Test func mistake_anUnlockedDictionary() throws {
        let group = try TimerGroup(on: TimerQueue(time: ManualTime()))
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for round in 0..<200 {
                let name = "\((round + thread) % 16)"
                _ = try? group.every(name, .seconds(1)) { _ in }
                group.pause(name)
                _ = group[name]?.state
                if round % 3 == 0 { group.cancel(name) }
            }
        }
        #expect(group.names.count <= 16)
    }

    @Test func mistake_runNowWaitsForAnInterval() throws {
        let fixture = Fixture()
        let timer = try fixture.every(5000, first: .now)
        fixture.advance(0)
        #expect(fixture.log.actual == [0])
        withExtendedLifetime(timer) {}
    }

    @Test func mistake_aOneShotStaysRunning() throws {
        let fixture = Fixture()
        let states = Log<TimerState>()
        let timer = try PausableTimer.after(.milliseconds(10), on: fixture.queue) {
            states.append($0.timer.state)
        }
        fixture.advance(10)
        #expect(states.all == [.finished] && timer.state == .finished)
    }

    @Test func mistake_stoppingWhilePausedTraps() throws {
        for _ in 0..<100 {
            let timer = try PausableTimer.every(.milliseconds(1)) { _ in }
            timer.pause()
            timer.cancel()
        }
    }

    @Test func mistake_theBlockRetainsSelf() throws {
        final class Screen: Sendable {
            let timer = Mutex<PausableTimer?>(nil)
            let gone: Log<Bool>
            init(_ gone: Log<Bool>) { self.gone = gone }
            deinit { gone.append(true) }
            func refresh() {}
        }
        let fixture = Fixture()
        let gone = Log<Bool>()
        do {
            let screen = Screen(gone)
            let timer = try PausableTimer.every(.seconds(1), for: screen, on: fixture.queue) {
                screen, _ in screen.refresh()
            }
            screen.timer.withLock { $0 = timer }
            fixture.advance(1000)
        }
        #expect(gone.count == 1)
    }

    @Test func mistake_aWeakProxyThatIsStrong() throws {
        let fixture = Fixture()
        let gone = Log<Bool>()
        var owner: Owner? = Owner(gone)
        let timer = try PausableTimer.every(.seconds(1), for: owner!, on: fixture.queue) { _, _ in }
        fixture.advance(3000)
        owner = nil
        #expect(gone.count == 1)
        fixture.advance(1000)
        #expect(timer.state == .cancelled)
    }
}
