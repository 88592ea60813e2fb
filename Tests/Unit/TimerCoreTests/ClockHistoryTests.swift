// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// What the readings of the clocks tell about the time between two events.
@Suite struct ClockHistoryTests {
    /// The clocks after this many awake seconds, after which the machine slept and the wall clock was
    /// set by these.
    private static func now(
        _ awake: Int64, slept: Int64 = 0, set: Int64 = 0, boot: Int = 1
    ) -> Now {
        Now(
            wall: WallInstant(secondsSinceEpoch: 1_795_000_000 + awake + slept + set),
            awake: AwakeInstant(nanoseconds: awake * 1_000_000_000),
            boot: BootInstant(nanoseconds: (awake + slept) * 1_000_000_000),
            bootID: World.bootID(boot))
    }

    private typealias Change = ClockHistory.Change

    @Test func timeThatPassesIsNoChange() {
        var clocks = ClockHistory(start: Self.now(0))
        #expect(clocks.startedAt == Self.now(0) && clocks.last == Self.now(0))
        #expect(clocks.note(Self.now(10), ahead: .zero) == Change())
        #expect(clocks.last == Self.now(10) && clocks.startedAt == Self.now(0))
        #expect(clocks.lastStep == .zero && clocks.downtimeEnd == Self.now(0))
    }

    @Test func aSleepEndsADowntime() {
        var clocks = ClockHistory(start: Self.now(0))
        let woken = Self.now(10, slept: 5)
        #expect(clocks.change(until: woken) == Change(slept: true, step: nil))
        #expect(clocks.note(woken, ahead: .zero) == Change(slept: true, step: nil))
        #expect(clocks.downtimeEnd == woken && clocks.skippedWallRange == nil)
        #expect(clocks.note(Self.now(20, slept: 5), ahead: .zero) == Change())
        #expect(clocks.downtimeEnd == woken)
    }

    @Test func aSmallStepForwardSkipsARange_aStepBackAndACorrectionDoNot() throws {
        var clocks = ClockHistory(start: Self.now(0))
        let change = clocks.note(Self.now(10, set: 3600), ahead: .zero)
        #expect(change == Change(slept: false, step: .seconds(3600)))
        #expect(clocks.lastStep == .seconds(3600))
        let range = try #require(clocks.skippedWallRange)
        #expect(range.after == Self.now(10).wall && range.through == Self.now(10, set: 3600).wall)
        // The range is still the last one that was skipped.
        #expect(clocks.note(Self.now(20, set: 3000), ahead: .zero).step == .seconds(-600))
        #expect(clocks.skippedWallRange?.through == range.through)
        #expect(clocks.note(Self.now(30, set: 3000), ahead: .zero) == Change())
        #expect(clocks.lastStep == .zero)
        // A correction says that the time before was wrong.
        let day = Self.now(40, set: 86_400)
        #expect(clocks.note(day, ahead: .zero).step == .seconds(86_400 - 3000))
        #expect(clocks.skippedWallRange == nil)
    }

    @Test func aReadingOfAnotherBootTellsNothing() {
        var clocks = ClockHistory(start: Self.now(0))
        let other = Self.now(1, slept: 50, set: 86_400, boot: 2)
        #expect(clocks.note(other, ahead: .zero) == Change())
        #expect(clocks.passed(since: Self.now(0).wall, by: .wall) == .zero)
    }

    /// Ten seconds after the previous event, of which this many were after the instant.
    @Test func timeSinceAnInstantCounts_asFarAsItIsCertain() {
        for basis in TimeBasis.allCases {
            var clocks = ClockHistory(start: Self.now(0))
            #expect(clocks.passed(since: Self.now(0).wall, by: basis) == .zero)
            _ = clocks.note(Self.now(10), ahead: .zero)
            #expect(clocks.passed(since: Self.now(7).wall, by: basis) == .seconds(3))
            // Not more than since the event before, and nothing of the future.
            #expect(clocks.passed(since: Self.now(-5).wall, by: basis) == .seconds(10))
            #expect(clocks.passed(since: Self.now(12).wall, by: basis) == .zero)
            // It is not known which part of a sleep was after the instant.
            _ = clocks.note(Self.now(20, slept: 5), ahead: .zero)
            let countsSleep = basis == .boottime || basis == .wall
            let since = Self.now(18, slept: 5).wall
            #expect(clocks.passed(since: since, by: basis) == (countsSleep ? .seconds(2) : .zero))
            // A range that the clock was set past did not pass.
            _ = clocks.note(Self.now(30, slept: 5, set: 100), ahead: .zero)
            let before = Self.now(26, slept: 5).wall
            #expect(clocks.passed(since: before, by: basis) == .seconds(4))
        }
    }

    @Test func whatThePreviousReadingWasAheadPassesLater() {
        var clocks = ClockHistory(start: Self.now(0))
        _ = clocks.note(Self.now(10), ahead: .seconds(2))
        _ = clocks.note(Self.now(15), ahead: .zero)
        #expect(clocks.passed(since: Self.now(0).wall, by: .active) == .seconds(7))
    }
}
