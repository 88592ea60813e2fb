// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import Timekeeping

/// What is added to an account when it is restored.
@Suite struct CreditTests {
    private static let boot = BootID("0123456789abcdef0123456789abcdef")!
    private static let nextBoot = BootID("0123456789abcdef0123456789abcdf0")!

    /// The clocks this many seconds after an arbitrary start, with some time asleep.
    private static func now(
        _ wall: Int64, awake: Int64, slept: Int64 = 0, _ boot: BootID = boot
    ) -> Now {
        Now(
            wall: WallInstant(secondsSinceEpoch: 1_000_000 + wall),
            awake: AwakeInstant(nanoseconds: awake * 1_000_000_000),
            boot: BootInstant(nanoseconds: (awake + slept) * 1_000_000_000), bootID: boot)
    }

    private static let saved = now(0, awake: 100)

    @Test(arguments: [
        (TimeBasis.active, 20, 1), (.uptime, 60, 0), (.boottime, 100, 0), (.wall, 100, 0),
    ])
    func inTheSameBoot(basis: TimeBasis, counted: Int, maxLoss: Int) {
        let credit = Credit(
            basis, since: Self.saved, lastProven: Self.now(20, awake: 120),
            at: Self.now(100, awake: 160, slept: 40), lossBound: .seconds(1))
        #expect(credit == Credit(counted: .seconds(counted), maxLoss: .seconds(maxLoss)))
    }

    @Test(arguments: [
        (TimeBasis.active, 20, 1), (.uptime, 20 + 30, 1000 - 50), (.boottime, 20 + 35, 1000 - 55),
        (.wall, 1000, 0),
    ])
    func inTheNextBoot(basis: TimeBasis, counted: Int, maxLoss: Int) {
        let credit = Credit(
            basis, since: Self.saved, lastProven: Self.now(20, awake: 120),
            at: Self.now(1000, awake: 30, slept: 5, Self.nextBoot), lossBound: .seconds(1))
        #expect(credit == Credit(counted: .seconds(counted), maxLoss: .seconds(maxLoss)))
    }

    @Test func noMoreIsLostThanPassed() {
        let credit = Credit(
            .active, since: Self.saved, lastProven: nil, at: Self.now(2, awake: 102),
            lossBound: .seconds(30))
        #expect(credit == Credit(counted: .zero, maxLoss: .seconds(2)))
    }

    @Test(arguments: TimeBasis.allCases)
    func aProofOfAnotherBootOrBeforeTheRecordIsIgnored(basis: TimeBasis) {
        let now = Self.now(10, awake: 110)
        let none = Credit(
            basis, since: Self.saved, lastProven: nil, at: now, lossBound: .seconds(1))
        for other in [Self.now(5, awake: 105, Self.nextBoot), Self.now(-5, awake: 95)] {
            #expect(
                Credit(
                    basis, since: Self.saved, lastProven: other, at: now, lossBound: .seconds(1))
                    == none)
        }
    }

    /// A clock that is set back between two boots neither removes nor adds time.
    @Test(arguments: TimeBasis.allCases)
    func aWrongWallClockNeitherAddsNorRemovesTime(basis: TimeBasis) {
        let credit = Credit(
            basis, since: Self.saved, lastProven: Self.now(20, awake: 120),
            at: Self.now(-500, awake: 30, Self.nextBoot), lossBound: .seconds(1))
        #expect(credit.counted == .seconds(20))
    }
}
