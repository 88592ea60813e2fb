// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerDaemon

/// How far decisions are ahead of the clocks.
@Suite struct EarlyFiringTests {
    private func instant(_ milliseconds: Int) -> AwakeInstant {
        AwakeInstant(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    private func now(_ milliseconds: Int) -> Now {
        Now(
            wall: WallInstant(secondsSinceEpoch: 1_000) + .milliseconds(milliseconds),
            awake: instant(milliseconds), boot: BootInstant(nanoseconds: 0),
            bootID: BootID("0123456789abcdef0123456789abcdef")!)
    }

    @Test func aReadingIsThatOfTheClocks_unlessAFiringWasDecidedAhead() {
        var early = EarlyFiring()
        #expect(early.reading(now(0)) == now(0) && !early.isAhead(at: instant(0)))
        #expect(early.lead(of: now(0), at: instant(0)) == .zero)
        let isAhead = early.decideAhead(left: .milliseconds(10), at: instant(0), isBusy: false)
        #expect(isAhead)
        let reading = early.reading(now(3))
        let until = instant(10) + EarlyFiring.readingNoise
        #expect(reading.awake == until && reading.wall - now(3).wall == until - instant(3))
        #expect(early.lead(of: reading, at: instant(4)) == until - instant(4))
        #expect(early.isAhead(at: instant(10)) && !early.isAhead(at: until))
        // A reading of the clocks is not ahead, and one that was is not ahead any more.
        #expect(early.lead(of: now(3), at: instant(4)) == .zero)
        #expect(early.lead(of: reading, at: instant(12)) == .zero)
        #expect(early.reading(now(11)) == now(11))
    }

    /// How long it is until a job is due, at which time, and whether its firing is decided ahead.
    @Test func onlyWhatIsDueSoonIsDecidedAhead_andNothingIsDecidedAsOfAnEarlierInstant() {
        var early = EarlyFiring()
        for (left, at, isAhead, until) in [
            (0, 0, false, 0), (-1, 0, false, 0), (31, 0, false, 0), (30, 0, true, 30),
            (5, 10, true, 30), (25, 10, true, 35),
        ] {
            let did = early.decideAhead(left: .milliseconds(left), at: instant(at), isBusy: false)
            #expect(did == isAhead, "\(left) ms at \(at)")
            let noise = until == 0 ? Duration.zero : EarlyFiring.readingNoise
            #expect(early.reading(now(0)).awake == instant(until) + noise, "\(left) ms at \(at)")
        }
    }

    /// Firings that are due before an instant as of which one was decided are decided with it.
    @Test func aBusyDaemonDecidesNothingFurtherAhead() {
        var early = EarlyFiring()
        let decided = [(5, true), (20, false), (5, true), (21, true)].map { left, isBusy in
            early.decideAhead(left: .milliseconds(left), at: instant(0), isBusy: isBusy)
        }
        #expect(decided == [false, true, true, false])
    }

    @Test func itIsBusyWhileManyRunsAreActiveAndManyStart() {
        var early = EarlyFiring()
        let many = EarlyFiring.busyRuns
        #expect(!early.isBusy(activeRuns: many, at: instant(0)))
        early.note(starts: many - 1, at: instant(0))
        #expect(!early.isBusy(activeRuns: many, at: instant(0)))
        early.note(starts: 1, at: instant(1))
        #expect(early.isBusy(activeRuns: many, at: instant(100)))
        #expect(!early.isBusy(activeRuns: many - 1, at: instant(100)))
        #expect(!early.isBusy(activeRuns: many, at: instant(101)))
    }

    @Test func aTimerFiresEarlier_unlessTheDaemonIsLikelyToBeBusyThen() {
        #expect(EarlyFiring.lead(left: .seconds(1), isBusy: false) == EarlyFiring.lead)
        #expect(EarlyFiring.lead(left: .seconds(1), isBusy: true) == .zero)
        #expect(EarlyFiring.lead(left: .seconds(60), isBusy: true) == EarlyFiring.lead)
    }

    @Test func nothingIsDecidedAheadWhileSomethingWaitsForTheClocks() {
        var early = EarlyFiring()
        func decidesAhead(at milliseconds: Int) -> Bool {
            early.decideAhead(left: .milliseconds(10), at: instant(milliseconds), isBusy: false)
        }
        func wait(at milliseconds: Int) -> Duration? {
            early.waitForClocks(at: instant(milliseconds))
        }
        #expect(wait(at: 0) == nil)
        #expect(decidesAhead(at: 0))
        #expect(wait(at: 4) == .milliseconds(6) + EarlyFiring.readingNoise)
        #expect(wait(at: 5) == nil)
        #expect(!decidesAhead(at: 5))
        early.noteClocks()
        #expect(wait(at: 11) == nil)
        #expect(decidesAhead(at: 11))
    }
}
