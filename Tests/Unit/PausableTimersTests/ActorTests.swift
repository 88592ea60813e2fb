// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import PausableTimers
import Synchronization
import Testing

/// Handlers on the main actor, on other actors, and asynchronous ones.
@Suite struct ActorTests {
    /// The commonest owner of an app.
    @MainActor final class Screen {
        var count = 0
        var timer: PausableTimer?
        let gone: Log<Bool>
        init(_ gone: Log<Bool> = Log()) { self.gone = gone }
        deinit { gone.append(true) }

        func start(on queue: MainTimerQueue) throws {
            timer = try .every(.seconds(1), for: self, on: queue) { screen, _ in screen.count += 1 }
        }

        func startLoading(on queue: MainTimerQueue) throws {
            timer = try .every(.seconds(1), for: self, on: queue) { screen, _ in
                screen.count += await load()
            }
        }
    }

    actor Counter {
        var count = 0
        var timer: PausableTimer?
        let gone: Log<Bool>
        init(_ gone: Log<Bool> = Log()) { self.gone = gone }
        deinit { gone.append(true) }

        func start(on queue: TimerQueue) throws {
            timer = try .every(.seconds(1), isolatedTo: self, on: queue) { counter, _ in
                counter.count += 1
            }
        }
    }

    @Test @MainActor func theCodeOfAnAppCompiles_andRunsOnTheMainActor() async throws {
        let time = ManualTime()
        let screen = Screen()
        try screen.start(on: MainTimerQueue(time: time))
        await time.advanceWithTasks(by: .seconds(3))
        #expect(screen.count == 3)
        try screen.startLoading(on: MainTimerQueue(time: time))
        await time.advanceWithTasks(by: .seconds(2))
        #expect(screen.count == 5)
    }

    @Test @MainActor func everyFormForTheMainActor() async throws {
        let time = ManualTime()
        let queue = MainTimerQueue(time: time)
        let screen = Screen()
        let timers = [
            try PausableTimer.every(.seconds(1), on: queue) { _ in screen.count += 1 },
            try .every(.seconds(1), on: queue) { _ in screen.count += await load() },
            try .after(.seconds(1), on: queue) { _ in screen.count += 10 },
            try .after(.seconds(1), on: queue) { _ in screen.count += 10 * (await load()) },
            try .after(.seconds(1), for: screen, on: queue) { screen, _ in screen.count += 100 },
            try .after(.seconds(1), for: screen, on: queue) { screen, _ in
                screen.count += 100 * (await load())
            },
        ]
        let ticker = try Ticker(preferredRate: 1, for: screen, on: queue) { screen, frame in
            screen.count += 1000
            frame.ticker.cancel()
        }
        await time.advanceWithTasks(by: .seconds(2))
        #expect(screen.count == 1224)
        withExtendedLifetime((timers, ticker)) {}
    }

    @Test @MainActor func theMainQueueOfTheMachineRunsTheMainActor() async throws {
        let screen = Screen()
        await withCheckedContinuation { done in
            screen.timer = try? .after(.zero, for: screen, on: .main) { screen, _ in
                MainActor.assertIsolated()
                screen.count += 1
                done.resume()
            }
        }
        #expect(screen.count == 1)
    }

    @Test @MainActor func anOwnerOnTheMainActorIsReleased_andItsTimerEnds() async throws {
        let (time, gone) = (ManualTime(), Log<Bool>())
        let timer: PausableTimer?
        do {
            let screen = Screen(gone)
            try screen.start(on: MainTimerQueue(time: time))
            timer = screen.timer
        }
        #expect(gone.count == 1)
        await time.advanceWithTasks(by: .seconds(1))
        #expect(timer?.state == .cancelled)
    }

    @Test func aHandlerIsIsolatedToItsActor_whichIsReleased() async throws {
        let (fixture, gone) = (Fixture(), Log<Bool>())
        let timer: PausableTimer?
        do {
            let counter = Counter(gone)
            try await counter.start(on: fixture.queue)
            await fixture.time.advanceWithTasks(by: .seconds(3))
            #expect(await counter.count == 3)
            timer = await counter.timer
        }
        #expect(gone.count == 1)
        await fixture.time.advanceWithTasks(by: .seconds(1))
        #expect(timer?.state == .cancelled)
    }

    @Test func ticksDuringAnAsynchronousHandlerBecomeOne() async throws {
        let fixture = Fixture()
        let gates = Log<CheckedContinuation<Void, Never>>()
        let running = Shared(Atomic(0))
        // No thread of the tasks' pool waits for another task: beside other tests there may be none left.
        let (starts, started) = AsyncStream.makeStream(of: Void.self)
        var start = starts.makeAsyncIterator()
        let timer = try PausableTimer.every(.seconds(1), on: fixture.queue) { tick in
            #expect(running.value.add(1, ordering: .sequentiallyConsistent).newValue == 1)
            fixture.log.append(tick)
            await withCheckedContinuation { gate in
                gates.append(gate)
                started.yield()
            }
            running.value.subtract(1, ordering: .sequentiallyConsistent)
        }
        fixture.advance(1000)
        await start.next()
        fixture.advance(3500)
        #expect(fixture.log.count == 1 && timer.remaining == .zero)
        gates.all[0].resume()
        while timer.remaining == .zero {
            await Task.yield()
            fixture.advance(0)
        }
        await start.next()
        #expect(fixture.log.missed == [0, 2] && fixture.log.scheduled == [1000, 4000])
        // A timer that is cancelled in its handler lets it return.
        timer.cancel()
        gates.all[1].resume()
        await timer.finish()
        #expect(running.value.load(ordering: .sequentiallyConsistent) == 0)
    }

    @Test func anAsynchronousHandlerCancelsItsTimer_andFinishWaitsForIt() async throws {
        let fixture = Fixture()
        let ended = Log<Bool>()
        let timer = try PausableTimer.every(.seconds(1), on: fixture.queue) { tick in
            tick.timer.cancel()
            await Task.yield()
            ended.append(true)
        }
        fixture.advance(1000)
        await timer.finish()
        #expect(ended.count == 1 && timer.state == .cancelled)
        // Its last reference is released while its handler runs.
        var other: PausableTimer? = try PausableTimer.after(.zero, on: fixture.queue) { _ in
            await Task.yield()
            ended.append(true)
        }
        fixture.advance(0)
        let reference = other?.reference
        other = nil
        await reference?.finish()
        await fixture.time.advanceWithTasks(by: .zero)
        #expect(ended.count == 2)
    }

    @Test func aGroupSavesATickBeforeItsAsynchronousHandlerRuns() async throws {
        let (fixture, memory) = (Fixture(), GroupTests.Memory())
        let group = try TimerGroup(on: fixture.queue, accounts: memory)
        let saved = Log<Int?>()
        try group.every("a", .seconds(1)) { tick in
            await Task.yield()
            saved.append(memory.load("a")?.ticks)
        }
        try group.after("b", .seconds(1)) { _ in saved.append(await load()) }
        await fixture.time.advanceWithTasks(by: .seconds(1))
        #expect(saved.all.allSatisfy { $0 == 1 } && saved.count == 2 && group.names == ["a"])
    }
}

/// What a handler awaits.
private func load() async -> Int { 1 }
