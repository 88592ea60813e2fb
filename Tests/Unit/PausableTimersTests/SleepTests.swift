// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import PausableTimers
import Testing

/// Which time counts while the machine sleeps.
@Suite struct SleepTests {
    @Test(arguments: [
        (TimeBasis.active, 400, 1000), (.uptime, 400, 1000), (.boottime, 3400, 3000),
        (.wall, 3400, 3000),
    ])
    func aSleepCountsByTheBasis(basis: TimeBasis, active: Int, scheduled: Int) throws {
        let fixture = Fixture()
        let timer = try fixture.every(1000, counting: basis)
        fixture.advance(400)
        fixture.time.sleep(for: .seconds(3))
        #expect(timer.activeTime == .milliseconds(active))
        fixture.advance(0)
        if basis == .active || basis == .uptime {
            #expect(fixture.log.count == 0 && timer.remaining == .milliseconds(600))
        } else {
            #expect(fixture.log.missed == [2] && fixture.log.all[0].lateness == .milliseconds(400))
        }
        fixture.advance(600)
        #expect(fixture.log.missed.last == 0)
    }

    @Test func timersOfBothKindsShareAQueue() throws {
        let fixture = Fixture()
        let awake = try fixture.every(300)
        let asleep = try fixture.every(200, tolerance: 100, counting: .boottime)
        fixture.advance(300)
        #expect(fixture.log.actual == [300, 300])
        fixture.time.sleep(for: .milliseconds(250))
        fixture.advance(50)
        #expect(fixture.log.count == 3 && fixture.log.missed == [0, 0, 0])
        withExtendedLifetime((awake, asleep)) {}
    }
}
