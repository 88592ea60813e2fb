// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// The four time bases, with everything that can happen to a machine.
@Suite struct TimeBasisTests {
    enum Fault: String, CaseIterable, Sendable { case stop, kill, reboot, sleep, step, pause }

    /// 20 s count, then the fault lasts 100 s, then 5 s count: the elapsed time at the end. The
    /// clocks of the new boot read 5 s when the daemon starts.
    @Test(arguments: [
        (
            TimeBasis.active,
            [Fault.stop: 25, .kill: 25, .reboot: 25, .sleep: 25, .step: 25, .pause: 25]
        ),
        (.uptime, [.stop: 125, .kill: 125, .reboot: 30, .sleep: 25, .step: 25, .pause: 25]),
        (.boottime, [.stop: 125, .kill: 125, .reboot: 30, .sleep: 125, .step: 25, .pause: 25]),
        (.wall, [.stop: 125, .kill: 125, .reboot: 125, .sleep: 125, .step: 25, .pause: 25]),
    ])
    func counts(basis: TimeBasis, expected: [Fault: Int]) {
        for fault in Fault.allCases {
            var world = World()
            let job = Job.every(.seconds(600)).counting(basis)
            world.load([job])
            world.pass(.seconds(20))
            suffer(fault, &world, [job])
            world.pass(.seconds(5))
            let seconds = expected[fault].map { Duration.seconds($0) }
            #expect(world.show("backup").accrued == seconds, "\(basis) over \(fault)")
            #expect(world.show("backup").active == seconds, "\(basis) over \(fault)")
        }
    }

    private func suffer(_ fault: Fault, _ world: inout World, _ jobs: [Job]) {
        switch fault {
        case .stop:
            world.stopCleanly()
            world.pass(.seconds(100))
            world.load(jobs)
        case .kill:
            world.beat()
            world.kill()
            world.pass(.seconds(100))
            world.load(jobs)
        case .reboot:
            world.handle(.checkpoint())
            world.reboot(away: .seconds(100))
            world.load(jobs)
        case .sleep:
            world.sleep(.seconds(100))
            world.handle(.clockChanged)
        case .step: world.step(.seconds(100))
        case .pause:
            _ = world.command(.pause, "backup")
            world.pass(.seconds(100))
            _ = world.command(.resume, "backup")
        }
    }

    @Test func aSleepBringsAGridPointOfBoottimeCloser() {
        var world = World()
        world.load([Job.every(.seconds(600)).counting(.boottime)])
        world.pass(.seconds(100))
        world.sleep(.seconds(300))
        world.handle(.clockChanged)
        world.pass(.seconds(199))
        #expect(world.started.isEmpty)
        world.pass(.seconds(1))
        #expect(world.started.count == 1)
    }

    @Test func timeThatMayNotHaveBeenCountedIsReported() {
        var world = World()
        let job = Job.every(.seconds(6000)).counting(.uptime)
        world.load([job])
        world.pass(.seconds(20))
        world.handle(.checkpoint())
        world.reboot(away: .seconds(1000))
        world.load([job])
        let recovered = Notice.recovered(
            "backup", accrued: .seconds(25), credited: .seconds(5), maxLoss: .seconds(995),
            .uptime)
        #expect(world.notices.contains(recovered))
        #expect(world.show("backup").maxLoss == .seconds(995))
        #expect(world.records["backup"]?.maxLoss == .seconds(995))
    }

    /// The clocks of a container continue while its boot ID changes.
    @Test(arguments: [TimeBasis.uptime, .boottime, .wall])
    func aContainersBootGainsNothing(basis: TimeBasis) {
        var world = World()
        let job = Job.every(.seconds(6000)).counting(basis)
        world.load([job])
        world.pass(.seconds(20))
        world.handle(.checkpoint())
        let awake = world.awake
        world.reboot(away: .seconds(3))
        world.awake = awake + 3_000_000_000
        world.load([job])
        #expect(world.show("backup").accrued <= .seconds(23))
    }

    @Test func anotherBasisKeepsTheElapsedTime() {
        var world = World()
        world.load([Job.every(.seconds(600))])
        world.pass(.seconds(20))
        world.handle(.reload(JobSet([Job.every(.seconds(600)).counting(.boottime)])))
        world.sleep(.seconds(100))
        world.handle(.clockChanged)
        #expect(world.show("backup").accrued == .seconds(120))
        world.handle(.reload(JobSet([Job.every(.seconds(600))])))
        world.sleep(.seconds(100))
        world.handle(.clockChanged)
        #expect(world.show("backup").accrued == .seconds(120))
    }

    /// A timer does not move if its due time varies by less than a millisecond, but an interval
    /// that becomes shorter by that much does count.
    @Test(arguments: [TimeBasis.boottime, .active])
    func anIntervalThatIsALittleShorterCounts(basis: TimeBasis) {
        var world = World()
        let span = Duration.microseconds(2_000_667)
        world.load([Job.every(span)])
        world.sleep(.seconds(100))
        world.pass(.milliseconds(500))
        world.handle(.reload(JobSet([Job.every(.seconds(2)).counting(basis)])))
        #expect(world.timers["backup"] == world.now.awake + .milliseconds(1500))
    }
}
