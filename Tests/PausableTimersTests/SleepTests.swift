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
        let bench = Bench()
        let timer = try bench.every(1000, counting: basis)
        bench.advance(400)
        bench.time.sleep(for: .seconds(3))
        #expect(timer.activeTime == .milliseconds(active))
        bench.advance(0)
        if basis == .active || basis == .uptime {
            #expect(bench.log.count == 0 && timer.remaining == .milliseconds(600))
        } else {
            #expect(bench.log.missed == [2] && bench.log.all[0].lateness == .milliseconds(400))
        }
        bench.advance(600)
        #expect(bench.log.missed.last == 0)
    }

    @Test func timersOfBothKindsShareAQueue() throws {
        let bench = Bench()
        let awake = try bench.every(300)
        let asleep = try bench.every(200, tolerance: 100, counting: .boottime)
        bench.advance(300)
        #expect(bench.log.actual == [300, 300])
        bench.time.sleep(for: .milliseconds(250))
        bench.advance(50)
        #expect(bench.log.count == 3 && bench.log.missed == [0, 0, 0])
        withExtendedLifetime((awake, asleep)) {}
    }
}
