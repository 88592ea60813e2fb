// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import PausableTimers
import SeededRandom
import Synchronization
import Testing

/// Timers that are created and released at critical moments, on real queues.
@Suite struct LifetimeTests {
    /// TIMERD_TEST_CASES sets another number; `make test-library` uses a million.
    static let rounds =
        ProcessInfo.processInfo.environment["TIMERD_TEST_CASES"].flatMap { Int($0) } ?? 2000

    @Test func pausedAndReleased() throws {
        for _ in 0..<min(Self.rounds, 10_000) {
            let timer = try PausableTimer.every(.microseconds(1)) { _ in }
            timer.pause()
        }
    }

    @Test func cancelledTwice() throws {
        for _ in 0..<min(Self.rounds, 10_000) {
            let timer = try PausableTimer.every(.microseconds(1)) { _ in }
            #expect(timer.cancel() && !timer.cancel())
        }
    }

    @Test func createdAgainWhilePaused() throws {
        var timer = try PausableTimer.every(.microseconds(1)) { _ in }
        for _ in 0..<min(Self.rounds, 10_000) {
            timer.pause()
            timer = try PausableTimer.every(.microseconds(1)) { _ in }
        }
        timer.cancel()
    }

    @Test func releasedInItsOwnHandler() throws {
        let held = Mutex<PausableTimer?>(nil)
        let done = DispatchSemaphore(value: 0)
        for _ in 0..<min(Self.rounds, 10_000) {
            let timer = try PausableTimer.every(.microseconds(1), paused: true) { _ in
                let released = held.withLock { held in
                    defer { held = nil }
                    return held
                }
                if released != nil { done.signal() }
            }
            held.withLock { $0 = timer }
            timer.resume()
            #expect(done.wait(timeout: .now() + 30) == .success)
        }
    }

    @Test func releasedByItsHandlerOnAnotherQueue() throws {
        let held = Mutex<PausableTimer?>(nil)
        let done = DispatchSemaphore(value: 0)
        let other = DispatchQueue(label: "handler")
        for _ in 0..<min(Self.rounds, 1000) {
            let timer = try PausableTimer.after(.zero, paused: true, handlerQueue: other) { _ in
                held.withLock { $0 = nil }
                done.signal()
            }
            held.withLock { $0 = timer }
            timer.resume()
            #expect(done.wait(timeout: .now() + 30) == .success)
        }
    }

    @Test func ownersAreReleased_andTheirTimersEnd() throws {
        let time = ManualTime()
        let queue = TimerQueue(time: time)
        let count = min(Self.rounds, 100_000)
        let freed = Mutex(0)
        final class Counted: Sendable {
            let onFree: @Sendable () -> Void
            init(_ onFree: @escaping @Sendable () -> Void) { self.onFree = onFree }
            deinit { onFree() }
        }
        let counter = Shared(freed)
        let timers = try (0..<count).map { _ in
            try PausableTimer.every(
                .seconds(1), for: Counted { counter.value.withLock { $0 += 1 } }, on: queue
            ) { _, _ in }
        }
        #expect(counter.value.withLock { $0 } == count)
        time.advance(by: .seconds(1))
        #expect(timers.allSatisfy { $0.state == .cancelled })
    }

    /// `actual` is read while the lock is held that `pause` also takes: a later value is a tick
    /// that started after the pause.
    @Test func afterAPauseOrACancelNoTickStarts() throws {
        let latest = Shared(Mutex(Int64(0)))
        let queue = TimerQueue()
        for round in 0..<min(Self.rounds, 100_000) {
            let timer = try PausableTimer.every(.microseconds(2), on: queue) { tick in
                latest.value.withLock { $0 = max($0, tick.actual.nanoseconds) }
            }
            if round % 3 == 0 { sched_yield() }
            if round % 2 == 0 { timer.pause() } else { timer.cancel() }
            let stopped = SystemTime().now().awake.nanoseconds
            if round % 7 == 0 { sched_yield() }
            #expect(latest.value.withLock { $0 } <= stopped)
        }
        let end = SystemTime().now().awake.nanoseconds
        queue.queue.sync {}
        #expect(latest.value.withLock { $0 } <= end)
    }

    @Test func afterFinishNoHandlerRuns() async throws {
        let running = Shared(Atomic(0))
        let queue = TimerQueue()
        let other = DispatchQueue(label: "handlers")
        for round in 0..<min(Self.rounds, 100_000) {
            let timer = try PausableTimer.every(
                .microseconds(1), first: .now, on: queue,
                handlerQueue: round % 4 == 0 ? other : nil
            ) { _ in
                running.value.add(1, ordering: .sequentiallyConsistent)
                sched_yield()
                running.value.subtract(1, ordering: .sequentiallyConsistent)
            }
            if round % 3 == 0 { sched_yield() }
            await timer.finish()
            #expect(running.value.load(ordering: .sequentiallyConsistent) == 0)
            #expect(timer.state == .cancelled)
        }
    }

    @Test func finishingTwiceAndAtOnce() async throws {
        for _ in 0..<min(Self.rounds, 1000) {
            let timer = try PausableTimer.every(.microseconds(1), first: .now) { _ in sched_yield()
            }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { await timer.finish() } }
            }
            await timer.finish()
        }
    }

    /// All operations from four threads at the same time. `make test-library` runs this with Thread
    /// Sanitizer.
    @Test func callsFromFourThreads() throws {
        let queue = TimerQueue()
        let slow = DispatchQueue(label: "slow")
        let shared = try (0..<8).map { index in
            try PausableTimer.every(
                .microseconds(50), tolerance: .microseconds(index % 2 * 20),
                counting: index % 3 == 0 ? .boottime : .active, on: queue,
                handlerQueue: index % 4 == 3 ? slow : nil
            ) { tick in if tick.number % 64 == 63 { tick.timer.pause() } }
        }
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            var random = SeededRandom()
            for _ in 0..<Self.rounds / 4 {
                let timer = shared[random.int(below: shared.count)]
                switch random.int(below: 16) {
                case 0..<3: timer.pause()
                case 3..<6: timer.resume(random.int(below: 2) == 0 ? .tickIfDue : .keepRemaining)
                case 6, 7: timer.restart()
                case 8: try? timer.setInterval(.microseconds(20 + random.int(below: 200)))
                case 9: #expect(timer.account.isValid)
                case 10: #expect(timer.activeTime >= .zero)
                case 11: _ = timer.remaining
                case 12: _ = try? PausableTimer.after(.microseconds(1), on: queue) { _ in }
                case 13: _ = timer.ticks.makeAsyncIterator()
                default: _ = timer.state
                }
            }
        }
        for timer in shared { timer.cancel() }
        #expect(shared.allSatisfy { $0.state == .cancelled })
    }

    /// Shows that Thread Sanitizer would detect a race in a handler. Only `make test-library` runs
    /// it.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["TIMERD_TEST_RACE"] != nil))
    func aRaceIsReported() throws {
        // Unchecked because the race is intentional.
        final class Racy: @unchecked Sendable { var count = 0 }
        let racy = Racy()
        let timers = try (0..<2).map { _ in
            // The handler is long enough that both handlers run at the same time, however busy the
            // machine is.
            try PausableTimer.every(.microseconds(20), on: TimerQueue()) { _ in
                for _ in 0..<10_000 { racy.count += 1 }
            }
        }
        while timers.contains(where: { $0.account.ticks < 100 }) { usleep(1000) }
    }

    @Test func aPausedOrReleasedQueueDoesNotLeak() throws {
        weak var queue: TimerQueue?
        do {
            let kept = TimerQueue(time: ManualTime())
            queue = kept
            let timer = try PausableTimer.every(.seconds(1), on: kept) { _ in }
            timer.pause()
        }
        #expect(queue == nil)
    }
}

/// A value that several closures share.
final class Shared<Value: ~Copyable & Sendable>: Sendable {
    let value: Value
    init(_ value: consuming Value) { self.value = value }
}
