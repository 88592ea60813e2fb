// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PausableTimers
import Testing

/// Tests with tasks take the same steps in every run.
@Suite struct ManualTimeTests {
    @Test(arguments: [0, 1, 7, 20]) func loopsOverTicksSeeEachTick(round: Int) async throws {
        let fixture = Fixture()
        let timer = try fixture.every(100, times: 30)
        let readers = (0..<3).map { _ in
            Task {
                var ticks: [Tick] = []
                for await tick in timer.ticks {
                    for _ in 0..<round { await Task.yield() }
                    ticks.append(tick)
                }
                return ticks
            }
        }
        await fixture.time.waitForTasks(3)
        await fixture.time.advanceWithTasks(by: .milliseconds(1500))
        await fixture.time.advanceWithTasks(by: .milliseconds(1500))
        for reader in readers {
            let ticks = await reader.value
            #expect(ticks.map(\.number) == Array(1...30) && ticks.allSatisfy { $0.missed == 0 })
        }
    }

    /// A loop that sleeps by the same time, and that time waits for.
    @Test func aLoopMayWaitForTheTimeItself() async throws {
        let fixture = Fixture()
        let timer = try fixture.every(100, times: 5)
        let clock = fixture.queue.clock
        let reader = Task {
            var actual: [Int] = []
            for await tick in timer.ticks {
                try await clock.sleep(for: .milliseconds(130))
                actual.append((clock.now - ManualTime.start.awake).milliseconds)
                if tick.number == 5 { break }
            }
            return actual
        }
        await fixture.time.waitForTasks()
        await fixture.time.advanceWithTasks(by: .seconds(1))
        #expect(try await reader.value == [230, 360, 490, 620, 750])
    }

    @Test func itWaitsForAsynchronousHandlers() async throws {
        let fixture = Fixture()
        let timer = try PausableTimer.every(.milliseconds(10), on: fixture.queue) { tick in
            for _ in 0..<5 { await Task.yield() }
            fixture.log.append(tick)
        }
        await fixture.time.advanceWithTasks(by: .seconds(1))
        #expect(fixture.log.count == 100 && fixture.log.missed.allSatisfy { $0 == 0 })
        withExtendedLifetime(timer) {}
    }

    @Test func sleepingByTheClockOfAQueue() async throws {
        let fixture = Fixture()
        let clock = fixture.queue.clock
        let sleeper = Task {
            try await Task.sleep(for: .seconds(2), tolerance: .milliseconds(500), clock: clock)
            return clock.now
        }
        await fixture.time.waitForTasks()
        await fixture.time.advanceWithTasks(by: .milliseconds(2499))
        await fixture.time.waitForTasks()
        await fixture.time.advanceWithTasks(by: .milliseconds(1))
        #expect(try await sleeper.value == ManualTime.start.awake + .milliseconds(2500))
        try await clock.sleep(until: clock.now)
        try await clock.sleep(for: .seconds(-1))
        let cancelled = Task { try await clock.sleep(for: .seconds(3600)) }
        await fixture.time.waitForTasks()
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    @Test func theClockOfTheMachineSleeps() async throws {
        let clock = TimerQueue.shared.clock
        let start = clock.now
        try await clock.sleep(for: .milliseconds(2))
        #expect(clock.now - start >= .milliseconds(2))
    }
}
