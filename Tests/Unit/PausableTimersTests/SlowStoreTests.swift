// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import PausableTimers
import Synchronization
import Testing

/// A disk that is slower than the changes, on real queues.
@Suite struct SlowStoreTests {
    /// It saves only when it is allowed to.
    final class Slow: AccountStore {
        let gate = DispatchSemaphore(value: 0)
        let isWriting = DispatchSemaphore(value: 0)
        let saved = Mutex<[String: [TimerAccount]]>([:])
        let isOpen = Atomic(false)

        func load(_ name: String) -> TimerAccount? { saved.withLock { $0[name]?.last } }
        func save(_ account: TimerAccount, as name: String) {
            isWriting.signal()
            if !isOpen.load(ordering: .sequentiallyConsistent) { gate.wait() }
            saved.withLock { $0[name, default: []].append(account) }
        }
        func remove(_ name: String) { saved.withLock { $0[name] = nil } }

        /// Lets it save whatever comes.
        func open() {
            isOpen.store(true, ordering: .sequentiallyConsistent)
            gate.signal()
        }
        func accounts(_ name: String) -> [TimerAccount] { saved.withLock { $0[name] ?? [] } }
    }

    @Test func neitherTimersNorCallersWait_andOnlyTheNewestAccountsAreSaved() throws {
        let store = Slow()
        let queue = TimerQueue()
        let group = try TimerGroup(on: queue, accounts: store)
        let timer = try group.every("a", .seconds(60)) { _ in }
        store.isWriting.wait()
        // From here on the store hangs.
        for _ in 0..<1000 {
            group.pauseAll()
            group.resumeAll()
        }
        timer.pause()
        let ticks = DispatchSemaphore(value: 0)
        let other = try PausableTimer.every(.milliseconds(1), times: 20, on: queue) { _ in
            ticks.signal()
        }
        for _ in 0..<20 { #expect(ticks.wait(timeout: .now() + 30) == .success) }
        #expect(store.accounts("a").isEmpty)
        store.open()
        group.save()
        #expect(store.accounts("a").count <= 3)
        #expect(store.accounts("a").last?.state == .paused)
        withExtendedLifetime(other) {}
    }

    @Test(arguments: [false, true])
    func aHandlerIsCalledOnlyWhenItsTickIsSaved_onItsQueue(hasOwnQueue: Bool) throws {
        let store = Slow()
        let (queue, handlers) = (TimerQueue(), DispatchQueue(label: "handlers"))
        let group = try TimerGroup(on: queue, accounts: store)
        let called = DispatchSemaphore(value: 0)
        let seen = Log<[Int]>()
        let timer = try group.every(
            "a", .seconds(60), first: .now, handlerQueue: hasOwnQueue ? handlers : nil
        ) { tick in
            dispatchPrecondition(condition: .onQueue(hasOwnQueue ? handlers : queue.queue))
            seen.append(store.accounts("a").map(\.ticks))
            called.signal()
        }
        store.isWriting.wait()
        // The tick was decided, and its handler waits for the store.
        while timer.account.ticks < 1 { sched_yield() }
        queue.queue.sync {}
        handlers.sync {}
        #expect(seen.count == 0)
        store.open()
        #expect(called.wait(timeout: .now() + 30) == .success)
        #expect(seen.all.first?.last == 1)
    }

    @Test func finishingWaitsForAHandlerThatWaitsForTheStore() async throws {
        let store = Slow()
        let group = try TimerGroup(on: TimerQueue(), accounts: store)
        let counter = Shared(Atomic(0))
        let timer = try group.every("a", .seconds(60), first: .now) { _ in
            counter.value.add(1, ordering: .sequentiallyConsistent)
        }
        while timer.account.ticks < 1 { sched_yield() }
        store.open()
        await timer.finish()
        let count = counter.value.load(ordering: .sequentiallyConsistent)
        #expect(timer.state == .cancelled && count == 1)
    }

    @Test func whatIsNotSavedYetIsSavedWhenTheGroupIsReleased() throws {
        let store = Slow()
        do {
            let group = try TimerGroup(on: TimerQueue(), accounts: store)
            try group.every("a", .seconds(60)) { _ in }
            store.isWriting.wait()
            group.pause("a")
            store.open()
        }
        #expect(store.accounts("a").last?.state == .paused)
    }

    @Test func aCancelledNameDoesNotComeBackFromTheStore() throws {
        let store = Slow()
        let group = try TimerGroup(on: TimerQueue(), accounts: store)
        try group.every("a", .seconds(60), paused: true) { _ in }
        store.isWriting.wait()
        group.cancel("a")
        store.open()
        // The account of the old timer may just be saved, and is replaced after that.
        let new = try group.every("a", .seconds(60)) { _ in }
        #expect(new.state == .running && new.account.ticks == 0)
        group.save()
        #expect(store.load("a")?.state == .running)
    }
}
