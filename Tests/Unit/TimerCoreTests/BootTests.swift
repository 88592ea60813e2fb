// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// `on-boot`: fires once in each boot of the machine, a certain time after it. In these tests the
/// machine was switched on 1000 s before the test begins.
@Suite struct BootTests {
    func job(
        _ span: Duration, _ name: Job.Name = "boot", renamedFrom: Job.Name? = nil,
        _ change: (inout Policy) -> Void = { _ in }
    ) -> Job {
        var job = Job(
            name: name, command: .arguments(["true"]), schedule: .onBoot(span),
            renamedFrom: renamedFrom)
        change(&job.policy)
        return job
    }

    static let minute: Duration = .seconds(60)

    @Test func itFiresOnceThisLongAfterTheBoot() {
        var world = World()
        world.load([job(.seconds(1500))])
        #expect(world.show("boot").remaining == .seconds(500))
        world.pass(.seconds(500) - .nanoseconds(1))
        #expect(world.started.isEmpty)
        world.pass(.nanoseconds(1))
        #expect(world.started.count == 1 && world.started[0].firing.missed == 0)
        #expect(world.show("boot").phase == .finished && world.show("boot").next == nil)
        #expect(world.notices.contains(.finished("boot", firesAtBoot: true, after: nil)))
        world.pass(.seconds(100_000))
        #expect(world.started.count == 1 && !world.agenda.isCounting)
    }

    /// At the first start of the daemon in a boot, no firing counts as missed or old.
    @Test(arguments: [Duration.zero, .seconds(1), .seconds(999), .seconds(1000)])
    func aFiringThatWasDueBeforeTheStartOfTheDaemonFiresAtItsStart(span: Duration) {
        var world = World()
        world.load([
            job(span) {
                $0.onMissed = .skip
                $0.startingDeadline = .seconds(1)
            }
        ])
        world.pass(.zero)
        #expect(world.started.map(\.firing.missed) == [0])
        #expect(world.started[0].firing.id.scheduled == world.now.wall)
    }

    enum Death: CaseIterable { case stop, kill, unsaved }

    private func end(_ world: inout World, _ death: Death) {
        switch death {
        case .stop: world.stopCleanly()
        case .kill, .unsaved:
            world.beat()
            world.kill()
        }
    }

    @Test(arguments: Death.allCases)
    func aRestartInTheSameBootChangesNothing(death: Death) {
        var world = World()
        let jobs = [job(.seconds(1500))]
        world.load(jobs, canSave: death != .unsaved)
        world.pass(.seconds(100))
        end(&world, death)
        world.block(.seconds(100))
        world.load(jobs)
        #expect(world.show("boot").remaining == .seconds(300))
        world.pass(.seconds(300))
        #expect(world.started.count == 1)
        world.endRuns()
        for again in [Death.kill, .stop, .kill] {
            end(&world, again)
            world.load(jobs)
            world.pass(.seconds(10_000))
            #expect(world.started.count == 1, "not twice in a boot: \(again)")
        }
    }

    @Test(arguments: [
        (Policy.Missed.runOnce, 1), (.runAll, 1), (.skip, 0),
    ])
    func aFiringThatWasDueWhileNoDaemonRanIsMissed(onMissed: Policy.Missed, runs: Int) {
        var world = World()
        let jobs = [job(.seconds(1500)) { $0.onMissed = onMissed }]
        world.load(jobs)
        world.pass(.seconds(100))
        end(&world, .kill)
        world.block(.seconds(1000))
        world.load(jobs)
        world.pass(.zero)
        #expect(world.started.count == runs)
        #expect(world.skipped.map(\.reason) == (runs == 0 ? ["missed"] : []))
        #expect(world.show("boot").phase == .finished)
    }

    /// The time that passed in one boot does not count in the next one, whether the job fired in
    /// the first one or not.
    @Test(arguments: [0, 400, 600], Death.allCases)
    func theNextBootRestartsIt(passed: Int, death: Death) {
        var world = World()
        let jobs = [job(.seconds(1500))]
        world.load(jobs, canSave: death != .unsaved)
        world.pass(.seconds(passed))
        let before = world.started.count
        #expect(before == (passed >= 500 ? 1 : 0))
        world.endRuns()
        end(&world, death)
        world.reboot(away: .seconds(60))
        let told = world.notices.count
        world.load(jobs)
        #expect(
            world.show("boot").remaining == .seconds(1495) && world.show("boot").maxLoss == .zero)
        #expect(
            !world.notices[told...].contains { if case .recovered = $0 { true } else { false } },
            "nothing of the boot before is taken up")
        world.pass(.seconds(1494))
        #expect(world.started.count == before)
        world.pass(.seconds(1))
        #expect(world.started.count == before + 1)
    }

    /// The clocks of a container are those of a host that was booted long ago.
    @Test func theBootOfAContainerStartsAfterThePreviousOne() {
        var world = World()
        let jobs = [job(.seconds(300))]
        world.load(jobs)
        world.pass(.zero)
        #expect(world.started.count == 1)
        world.endRuns()
        world.stopCleanly()
        let awake = world.awake
        world.reboot(away: .seconds(40))
        world.awake = awake + 40_000_000_000
        world.load(jobs)
        #expect(world.show("boot").remaining == .seconds(260))
    }

    // MARK: - The configuration

    @Test func aJobThatIsAddedLaterWaitsForTheNextBoot() {
        var world = World()
        world.load([])
        world.handle(.reload(JobSet([job(.seconds(1500))])))
        #expect(world.show("boot").phase == .finished && world.show("boot").remaining == nil)
        world.pass(.seconds(1000))
        world.stopCleanly()
        // The job was not configured at the first start in this boot, and neither was the other
        // one.
        world.load([job(.seconds(1500)), job(.seconds(5000), "other")])
        world.pass(.seconds(10_000))
        #expect(world.started.isEmpty)
        world.stopCleanly()
        world.reboot(away: Self.minute)
        world.load([job(.seconds(1500)), job(.seconds(5000), "other")])
        world.pass(.seconds(10_000))
        #expect(world.started.map(\.id.firing.job) == ["boot", "other"])
        // A job that was removed and returns is also added later.
        world.handle(.reload(JobSet([])))
        world.handle(.reload(JobSet([job(.seconds(20_000))])))
        world.pass(.seconds(20_000))
        #expect(world.started.count == 2)
    }

    @Test(arguments: [true, false])
    func aJobThatIsGivenItLaterWaitsForTheNextBoot(byReload: Bool) throws {
        var world = World()
        world.load([.every(.seconds(3600), "boot").counting(.boottime)])
        world.pass(.seconds(100))
        if byReload {
            world.handle(.reload(JobSet([job(.seconds(1500))])))
        } else {
            world.stopCleanly()
            world.load([job(.seconds(1500))])
        }
        world.pass(.seconds(10_000))
        #expect(world.started.isEmpty && world.show("boot").phase == .finished)
        world.stopCleanly()
        world.reboot(away: Self.minute)
        world.load([job(.seconds(1500))])
        world.pass(.seconds(1500))
        #expect(world.started.count == 1)
        // With an interval again, the job starts with no elapsed time.
        world.handle(.reload(JobSet([.every(.seconds(3600), "boot")])))
        #expect(world.show("boot").remaining == .seconds(3600))
    }

    @Test(
        arguments: [
            // The columns: the span, the time that passed, the new span, and after which time the
            // job is due then.
            (1500, 100, 2000, 900), (1500, 100, 1050, 0), (1500, 600, 5000, nil),
        ] as [(Int64, Int64, Int64, Int64?)])
    func anotherSpan(span: Int64, passed: Int64, other: Int64, left: Int64?) {
        var world = World()
        world.load([job(.seconds(span))])
        world.pass(.seconds(passed))
        world.endRuns()
        let before = world.started.count
        world.handle(.reload(JobSet([job(.seconds(other))])))
        #expect(world.show("boot").remaining == left.map { .seconds($0) })
        world.pass(.seconds(left ?? 10_000))
        #expect(world.started.count == before + (left == nil ? 0 : 1))
    }

    @Test(arguments: [true, false])
    func aNewNameChangesNothing(byReload: Bool) {
        var world = World()
        world.load([job(.seconds(1500))])
        world.pass(.seconds(100))
        let renamed = job(.seconds(1500), "start", renamedFrom: "boot")
        if byReload {
            world.handle(.reload(JobSet([renamed])))
        } else {
            world.stopCleanly()
            world.load([renamed])
        }
        #expect(world.show("start").remaining == .seconds(400))
        world.pass(.seconds(400))
        #expect(world.started.map(\.id.firing.job) == ["start"])
        world.endRuns()
        world.stopCleanly()
        world.load([renamed])
        world.pass(.seconds(1000))
        #expect(world.started.count == 1)
        world.stopCleanly()
        world.reboot(away: Self.minute)
        // This also works across a reboot.
        world.load([job(.seconds(1500), "again", renamedFrom: "start")])
        #expect(world.show("again").remaining == .seconds(1495))
    }

    // MARK: - Pauses and orders

    // MARK: - Clocks

    // MARK: - @reboot
}
