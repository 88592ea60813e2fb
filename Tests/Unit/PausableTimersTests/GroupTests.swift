// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import PausableTimers
import Synchronization
import Testing

/// Names that are used again, and what a group does to its store.
@Suite struct GroupTests {
    /// Accounts in memory.
    final class Memory: AccountStore {
        let accounts = Mutex<[String: TimerAccount]>([:])
        let saves = Atomic(0)
        func load(_ name: String) -> TimerAccount? { accounts.withLock { $0[name] } }
        func save(_ account: TimerAccount, as name: String) {
            saves.add(1, ordering: .relaxed)
            accounts.withLock { $0[name] = account }
        }
        func remove(_ name: String) { accounts.withLock { $0[name] = nil } }
    }

    @Test func aCancelledTimerIsForgotten_howeverItWasCancelled() throws {
        let cancels: [@Sendable (TimerGroup, PausableTimer) -> Void] = [
            { group, _ in group.cancel("a") }, { _, timer in timer.cancel() },
            { group, _ in group.cancelAll() }, { _, timer in timer.reference.cancel() },
        ]
        for cancel in cancels {
            let (fixture, memory) = (Fixture(), Memory())
            let group = try TimerGroup(on: fixture.queue, accounts: memory)
            let old = try group.every("a", .seconds(10)) { _ in }
            fixture.advance(3000)
            old.pause()
            cancel(group, old)
            #expect(group["a"] == nil && group.names.isEmpty && memory.load("a") == nil)
            let new = try group.every("a", .seconds(10)) { _ in }
            #expect(new.activeTime == .zero && new.state == .running)
            // What the old one does does not concern the new one.
            old.cancel()
            #expect(group["a"] === new && memory.load("a") != nil)
        }
    }

    @Test func aTimerThatCancelsItselfInItsHandlerIsForgotten() throws {
        let (fixture, memory) = (Fixture(), Memory())
        let group = try TimerGroup(on: fixture.queue, accounts: memory)
        try group.every("a", .seconds(1)) { tick in
            fixture.log.append(tick)
            tick.timer.cancel()
        }
        fixture.advance(5000)
        #expect(fixture.log.count == 1 && group.names.isEmpty && memory.load("a") == nil)
    }

    @Test(arguments: [false, true])
    func aFinishedNameIsFree_inTheNextRunToo(isSaved: Bool) throws {
        let (fixture, memory) = (Fixture(), Memory())
        for run in 1...3 {
            let group = try TimerGroup(on: fixture.queue, accounts: isSaved ? memory : nil)
            for round in 1...2 {
                try group.after("once", .seconds(1)) { fixture.log.append($0) }
                try group.every("twice", .milliseconds(400), times: 2) { _ in }
                fixture.advance(1000)
                #expect(fixture.log.count == 2 * (run - 1) + round)
                #expect(group.names.isEmpty)
                #expect(memory.accounts.withLock { $0.isEmpty })
            }
        }
    }

    @Test func aOneShotOfNoDelayIsForgotten_howeverEarlyItTicks() throws {
        let group = try TimerGroup(accounts: Memory())
        let done = DispatchSemaphore(value: 0)
        for _ in 0..<500 {
            let timer = try group.after("once", .zero) { _ in done.signal() }
            #expect(done.wait(timeout: .now() + 30) == .success)
            // The name is free when the handler has returned, which is soon.
            while group["once"] != nil { sched_yield() }
            #expect(timer.state == .finished)
        }
    }

    @Test func aTimerThatRestartsItselfInItsLastTickStays() throws {
        let (fixture, memory) = (Fixture(), Memory())
        let group = try TimerGroup(on: fixture.queue, accounts: memory)
        try group.after("again", .seconds(1)) { tick in
            fixture.log.append(tick)
            tick.timer.restart()
        }
        fixture.advance(3000)
        #expect(fixture.log.count == 3 && group.names == ["again"] && memory.load("again") != nil)
    }

    /// A finished account of a program that did not delete it, and an unfinished one whose number
    /// of ticks was changed.
    @Test func theNumberOfTicksCountsThoseOfEarlierRuns() throws {
        let (fixture, memory) = (Fixture(), Memory())
        memory.save(
            TimerAccount(state: .finished, passed: 1, ticks: 1, savedAt: ManualTime.start), as: "a")
        let group = try TimerGroup(on: fixture.queue, accounts: memory)
        try group.after("a", .seconds(1)) { fixture.log.append($0) }
        fixture.advance(1000)
        #expect(fixture.log.count == 1)
        let three = try fixture.every(100, times: 5)
        fixture.advance(300)
        let account = three.account
        three.cancel()
        #expect(try fixture.every(100, times: 3, restoring: account).state == .finished)
        #expect(try fixture.every(100, times: 2, restoring: account).state == .finished)
        let four = try fixture.every(100, times: 4, restoring: account)
        fixture.advance(500)
        #expect(fixture.log.all.last?.number == 4 && four.state == .finished)
        // The number was raised after the timer was finished.
        let five = try fixture.every(100, times: 5, restoring: four.account)
        fixture.advance(500)
        #expect(fixture.log.all.last?.number == 5 && five.state == .finished)
        #expect(try fixture.every(100, restoring: five.account).state == .finished)
    }

    /// Whether ticks are saved depends on the interval at that time.
    @Test func aTickIsSavedFirst_alsoAfterTheIntervalWasChanged() throws {
        let (fixture, memory) = (Fixture(), Memory())
        let group = try TimerGroup(on: fixture.queue, accounts: memory)
        let saved = Log<Int>()
        let timer = try group.every("a", .milliseconds(10)) { tick in
            if tick.timer.interval >= .milliseconds(500) {
                saved.append((memory.load("a")?.ticks ?? 0) - tick.number)
            }
        }
        fixture.advance(105)
        try timer.setInterval(.milliseconds(600))
        fixture.advance(6000)
        #expect(saved.count == 10 && saved.all.allSatisfy { $0 == 0 })
        try timer.setInterval(.milliseconds(10))
        let before = memory.saves.load(ordering: .relaxed)
        fixture.advance(1000)
        #expect(memory.saves.load(ordering: .relaxed) - before <= 4)
    }

    /// The time grows with the number of timers, not with its square: 8000 took 3.3 s, because each
    /// pause looked at all timers.
    @Test func pausingAllLooksAtEachTimerOnce() throws {
        final class Counting: TimeSource {
            let time = ManualTime()
            let readings = Atomic(0)
            func now() -> Now {
                readings.add(1, ordering: .relaxed)
                return time.now()
            }
            func makeAlarm(
                on queue: DispatchQueue, _ ring: @escaping @Sendable () -> Void
            ) -> any Alarm { time.makeAlarm(on: queue, ring) }
        }
        let source = Counting()
        let group = try TimerGroup(on: TimerQueue(time: source), accounts: Memory())
        for index in 0..<1000 { try group.every("\(index)", .seconds(10)) { _ in } }
        group.save()
        let before = source.readings.load(ordering: .relaxed)
        group.pauseAll()
        group.resumeAll()
        group.save()
        let readings = source.readings.load(ordering: .relaxed) - before
        #expect(readings < 20_000, "\(readings) readings of the clocks for 2000 changes")
    }

    @Test func aStoreThatFailsIsReportedOnce_andTheTimersContinue() throws {
        struct Broken: AccountStore {
            func load(_ name: String) -> TimerAccount? { nil }
            func save(_ account: TimerAccount, as name: String) throws { throw CancellationError() }
            func remove(_ name: String) throws { throw CancellationError() }
        }
        let errors = Log<String>()
        let fixture = Fixture()
        let group = try TimerGroup(on: fixture.queue, accounts: Broken()) { errors.append("\($0)") }
        try group.every("a", .milliseconds(100)) { fixture.log.append($0) }
        fixture.advance(5000)
        group.pause("a")
        #expect(errors.count == 1 && fixture.log.count == 50)
    }
}
