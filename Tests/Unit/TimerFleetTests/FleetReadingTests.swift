// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerFleet

/// The clock of the accounts that count by the wall clock, and how they count by it.
@Suite struct FleetReadingTests {
    private static func wall(_ seconds: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: seconds)
    }

    private static func hold(
        _ isHeld: Bool, since: Int64? = nil, released: Int64? = nil, earlier: Int = 0
    ) -> HoldValue {
        HoldValue(
            isHeld: isHeld, time: .seconds(7), since: since.map(wall), released: released.map(wall),
            earlier: .seconds(earlier), by: "ops")
    }

    /// A hold, an instant of the wall clock, what the clock of the accounts reads then, and when it
    /// reaches that first; nil: not before the hold ends.
    @Test(arguments: [
        (hold(false), 1000, 1000, 1000), (hold(false), -5, 0, 0),
        // It stands during a hold, and goes on after it.
        (hold(true, since: 1000), 990, 990, 990), (hold(true, since: 1000), 1000, 1000, 1000),
        (hold(true, since: 1000), 1600, 1000, 1000),
        (hold(false, since: 1000, released: 1600), 990, 990, 990),
        (hold(false, since: 1000, released: 1600), 1300, 1000, 1000),
        (hold(false, since: 1000, released: 1600), 1601, 1001, 1601),
        // The holds before it are not counted either.
        (hold(false, since: 1000, released: 1600, earlier: 50), 990, 940, 990),
        (hold(false, since: 1000, released: 1600, earlier: 50), 1700, 1050, 1700),
        (hold(true, since: 1000, earlier: 50), 1700, 950, 1000),
        // The clock of the machine that ended it was behind: nothing is counted twice.
        (hold(false, since: 1000, released: 900), 1001, 1001, 1001),
        (hold(false, since: 1000, released: 900), 950, 950, 950),
        (hold(true), 1000, 1000, 1000), (hold(true, earlier: 2000), 1000, 0, 2000),
    ])
    func theWallClockWithoutTheHolds(
        hold: HoldValue, at instant: Int64, reads seconds: Int, reached: Int64
    ) {
        #expect(hold.reading(at: Self.wall(instant)) == .seconds(seconds))
        #expect(hold.instant(reaching: .seconds(seconds)) == Self.wall(reached))
    }

    @Test func noTimeAfterTheBeginningOfAHoldIsReachedDuringIt() {
        let hold = Self.hold(true, since: 1000, earlier: 50)
        #expect(hold.instant(reaching: .seconds(950) + .nanoseconds(1)) == nil)
        // An instant has whole microseconds, and comes no earlier than it is reached.
        let open = Self.hold(false, since: 1000, released: 1600)
        let target = Duration.seconds(1001) + .nanoseconds(1)
        let instant = open.instant(reaching: target)
        #expect(instant == Self.wall(1601) + .microseconds(1))
        #expect(instant.map { open.reading(at: $0) >= target } == true)
    }

    @Test func theTimeOfAllHolds() {
        #expect(Self.hold(false).held == .zero)
        #expect(Self.hold(true, since: 1000, earlier: 50).held == .seconds(50))
        #expect(Self.hold(false, since: 1000, released: 1600, earlier: 50).held == .seconds(650))
        #expect(Self.hold(false, since: 1000, released: 900, earlier: 50).held == .seconds(50))
    }

    @Test func anAccountIsCountedByTheClockOfItsBasis() {
        let readings = FleetReadings(fleet: .seconds(10), openings: 3, wall: .seconds(1000))
        var active = JobValue(definition: "d", cursor: Self.wall(1))
        active.open(by: readings)
        #expect(active.opened == .seconds(10) && active.opening == 4)
        // This machine does not know the opening yet.
        #expect(active.reading(readings) == nil)
        var wall = JobValue(definition: "d", cursor: Self.wall(1), basis: .wall)
        wall.open(by: readings)
        #expect(wall.opened == .seconds(1000) && wall.opening == 0)
        #expect(wall.reading(readings) == .seconds(1000))
        // A clock that is behind counts nothing, and what it counts later is not counted twice.
        for (reading, counted) in [(990, 0), (1004, 4), (1001, 4), (1005, 5)] {
            wall.count(to: .seconds(reading))
            #expect(wall.active == .seconds(counted) && wall.accrued == .seconds(counted))
        }
        #expect(wall.opened == .seconds(1005))
    }

    /// The interval is 60 s, of which 20 s had passed when it was opened at 1000 s.
    @Test(arguments: [
        (1030, nil, 0), (1040, 0, 0), (1045, 0, 5), (1100, 1, 0), (999, nil, 0),
    ])
    func whatIsDueByTheWallClock(reading: Int, missed: Int64?, rest: Int) {
        var job = FleetJob(Job.Name("report")!, definition: "d", schedule: .every(.seconds(60)))
        job.basis = .wall
        let value = JobValue(
            definition: "d", cursor: Self.wall(1), basis: .wall, accrued: .seconds(20),
            opened: .seconds(1000))
        let due = job.due(value, at: Self.wall(5000), time: .seconds(reading))
        #expect(due?.missed == missed)
        guard let due else { return }
        #expect(due.accrued == .seconds(rest) && due.slot == Self.wall(5000) - .seconds(rest))
    }
}
