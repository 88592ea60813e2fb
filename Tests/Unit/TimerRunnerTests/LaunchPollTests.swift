// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerRunner

/// When the runner looks how far the set-up of processes is.
@Suite struct LaunchPollTests {
    private static let ms: Int64 = 1_000_000

    private static func launch(_ serial: UInt64, began: Int64) -> LaunchPolls.Launch {
        LaunchPolls.Launch(serial: serial, number: Int32(serial), isInSession: false, began: began)
    }

    /// Looks at what is to be looked at, and removes these.
    private static func look(
        _ polls: inout LaunchPolls, at now: Int64, over: Set<UInt64> = [], isNeeded: Bool = false
    ) -> [UInt64] {
        guard var pass = polls.pass(at: now) else { return [] }
        var seen: [UInt64] = []
        while var launch = polls.next(in: &pass) {
            seen.append(launch.serial)
            launch.hasCopies = false
            if !over.contains(launch.serial) { polls.keep(launch, in: &pass) }
        }
        polls.end(pass, isNeeded: isNeeded, at: now)
        return seen
    }

    @Test func theLatestAreLookedAtInEachIteration_andAllWhenItIsTime() {
        var polls = LaunchPolls()
        #expect(polls.next == nil && polls.pass(at: 0) == nil)
        for serial in 1...100 { polls.add(Self.launch(UInt64(serial), began: 0), at: 0) }
        #expect(polls.next == 10 * Self.ms)
        #expect(Self.look(&polls, at: 1, over: [40, 100]) == Array(37...100))
        #expect(Self.look(&polls, at: 2, over: [1, 39]) == Array(35...39) + Array(41...99))
        let rest = Array(1...38) + Array(41...99)
        #expect(Self.look(&polls, at: 10 * Self.ms, over: [1, 50]) == rest.map { UInt64($0) })
        #expect(polls.next == 20 * Self.ms)
        #expect(Self.look(&polls, at: 20 * Self.ms).count == rest.count - 2)
    }

    /// Each row: the age of the latest set-up and how long until the next look at all.
    @Test(arguments: [(0, 10), (15, 10), (60, 30), (1000, 500), (2000, 1000), (9000, 1000)])
    func theLongerASetUpTakesTheLessOftenAllAreLookedAt(age: Int64, pause: Int64) {
        var polls = LaunchPolls()
        let now = 100_000 * Self.ms
        polls.add(Self.launch(1, began: 0), at: 0)
        polls.add(Self.launch(2, began: now - age * Self.ms), at: 0)
        #expect(Self.look(&polls, at: now) == [1, 2])
        #expect(polls.next == now + pause * Self.ms)
    }

    @Test func aRunThatMayNotStartYetIsLookedAtLater() {
        var polls = LaunchPolls()
        polls.add(Self.launch(1, began: 500 * Self.ms), at: 0)
        #expect(polls.next == 510 * Self.ms)
        polls.add(Self.launch(2, began: 100 * Self.ms), at: 100 * Self.ms)
        #expect(polls.next == 110 * Self.ms)
    }

    /// The thread does not wake up once more for a short run, unless something has a time limit.
    @Test func whenNothingIsLeftItIsNotTimeAgain() {
        var polls = LaunchPolls()
        polls.add(Self.launch(1, began: 0), at: 0)
        #expect(Self.look(&polls, at: 1, over: [1]) == [1] && polls.next == nil)
        polls.look(within: 1000 * Self.ms, at: 0)
        polls.add(Self.launch(2, began: 0), at: 0)
        #expect(Self.look(&polls, at: 1, over: [2], isNeeded: true) == [2])
        #expect(polls.next == 10 * Self.ms)
        #expect(Self.look(&polls, at: 10 * Self.ms, isNeeded: true).isEmpty)
        #expect(polls.next == 1010 * Self.ms)
        #expect(Self.look(&polls, at: 1010 * Self.ms).isEmpty && polls.next == nil)
    }
}
