// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Jobs that run after each boot: pauses, clocks and @reboot.
extension BootTests {
    @Test(
        arguments: [
            (nil, 400), (Policy.Resume.keepRemaining, 400), (.nextSlot, 400), (.fireIfDue, 400),
            (.restart, 1500),
        ] as [(Policy.Resume?, Int64)])
    func aPauseOfAMinuteDelaysIt(onResume: Policy.Resume?, left: Int64) {
        var world = World()
        world.load([job(.seconds(1500)) { $0.onResume = onResume }])
        world.pass(.seconds(100))
        _ = world.command(.pause, "boot")
        world.pass(Self.minute)
        _ = world.command(.resume, "boot")
        #expect(world.show("boot").remaining == .seconds(left))
        world.pass(.seconds(left))
        #expect(world.started.count == 1)
    }

    @Test func aPauseOverItsTimeFiresAtOnceIfConfigured() {
        var world = World()
        world.load([job(.seconds(1500)) { $0.onResume = .fireIfDue }])
        world.pass(.seconds(100))
        _ = world.command(.pause, "boot")
        world.pass(.seconds(400))
        _ = world.command(.resume, "boot")
        #expect(world.started.count == 1 && world.show("boot").phase == .finished)
        world.stopCleanly()
        world.load([job(.seconds(1500))])
        world.pass(.seconds(10_000))
        #expect(world.started.count == 1)
    }

    /// A pause continues over a reboot and delays the job from the start of the next boot.
    @Test(arguments: [nil, Policy.Resume.fireIfDue])
    func aPauseAcrossABoot(onResume: Policy.Resume?) {
        var world = World()
        let jobs = [job(.seconds(1500)) { $0.onResume = onResume }]
        world.load(jobs)
        world.pass(.seconds(100))
        _ = world.command(.pause, "boot")
        world.stopCleanly()
        world.reboot(away: .seconds(10_000))
        world.load(jobs)
        world.pass(Self.minute)
        #expect(world.show("boot").remaining == .seconds(1500))
        _ = world.command(.resume, "boot")
        #expect(world.started.isEmpty && world.show("boot").remaining == .seconds(1500))
        world.pass(.seconds(1500))
        #expect(world.started.count == 1)
    }

    @Test func aPauseThatEndsWhileTheMachineBoots() {
        var world = World()
        let jobs = [job(.zero) { $0.onMissed = .skip }, job(.seconds(15), "later")]
        world.load(jobs)
        world.pass(.zero)
        world.endRuns()
        for job in jobs {
            #expect(world.command(.start, job.name) == .done)
            world.handle(
                .command(JobCommand(.pause, job.name, by: .user("ada"), until: .after(Self.minute)))
            )
        }
        let before = world.started.count
        world.stopCleanly()
        // The pause ends 2 s after the boot, and the daemon starts 3 s after that.
        world.reboot(away: .seconds(63))
        world.load(jobs)
        world.pass(.zero)
        #expect(world.started.count == before + 1)
        #expect(world.show("later").remaining == .seconds(12))
    }

    @Test func startRestartsIt_andAStoppedJobStaysStoppedAcrossABoot() {
        var world = World()
        let jobs = [job(.seconds(1500))]
        world.load(jobs)
        world.pass(.seconds(500))
        #expect(world.started.count == 1)
        world.endRuns()
        #expect(world.command(.start, "boot") == .done)
        #expect(world.show("boot").remaining == .seconds(1500))
        world.stopCleanly()
        world.load(jobs)
        world.pass(.seconds(1500))
        #expect(world.started.count == 2)
        world.endRuns()
        #expect(world.command(.stop, "boot") == .done)
        world.stopCleanly()
        world.reboot(away: Self.minute)
        world.load(jobs)
        world.pass(.seconds(10_000))
        #expect(world.started.count == 2 && world.show("boot").phase == .stopped)
    }

    /// The boot does not move, whatever the wall clock is set to.
    @Test(arguments: [Duration.seconds(7200), .seconds(-7200), .seconds(86_400), .seconds(-86_400)])
    func aSetClockChangesNothing(step: Duration) {
        var world = World()
        let jobs = [job(.seconds(1500))]
        world.load(jobs)
        world.pass(.seconds(100))
        world.step(step)
        #expect(world.show("boot").remaining == .seconds(400))
        world.stopCleanly()
        world.wall -= step.wholeMicroseconds
        world.load(jobs)
        #expect(world.show("boot").remaining == .seconds(400))
        world.pass(.seconds(400))
        #expect(world.started.count == 1)
    }

    @Test func timeInWhichTheMachineSleepsCounts() {
        var world = World()
        world.load([job(.seconds(1500))])
        world.sleep(.seconds(400))
        world.handle(.clockChanged)
        #expect(world.show("boot").remaining == .seconds(100))
    }

    @Test func eachBootHasItsOwnRandomDelay() {
        var world = World()
        let jobs = [job(.seconds(1500)) { $0.randomDelay = .seconds(3600) }]
        world.load(jobs)
        let first = world.show("boot").remaining
        world.stopCleanly()
        world.load(jobs)
        #expect(world.show("boot").remaining == first, "the same after a restart")
        world.pass(.seconds(6000))
        world.endRuns()
        world.stopCleanly()
        world.reboot(away: Self.minute)
        world.load(jobs)
        #expect(world.show("boot").remaining.map { $0 - .seconds(995) } != first)
        world.pass(.seconds(6000))
        #expect(world.started.count == 2)
    }

    /// A job that waits for its delay is still due after a restart, a renaming or a change of the
    /// clock.
    @Test(arguments: ["restart", "kill", "rename", "step", "correction"])
    func aDelayedRebootIsNotLost(by fault: String) throws {
        func reboot(_ name: Job.Name, renamedFrom: Job.Name? = nil) throws -> Job {
            var job = try Job.cron("@reboot", name).with { $0.randomDelay = .seconds(3600) }
            job.renamedFrom = renamedFrom
            return job
        }
        var world = World(seed: 7)
        world.load([try reboot("boot")])
        world.pass(.seconds(1))
        #expect(world.started.isEmpty, "another seed delays it")
        let next = world.show("boot").next
        var name: Job.Name = "boot"
        switch fault {
        case "restart":
            world.stopCleanly()
            world.load([try reboot("boot")])
        case "kill":
            world.kill()
            world.load([try reboot("boot")])
        case "rename":
            name = "start"
            world.handle(.reload(JobSet([try reboot("start", renamedFrom: "boot")])))
        case "step": world.step(.seconds(-60))
        default: world.step(.seconds(86_400))
        }
        if ["restart", "kill", "step"].contains(fault) { #expect(world.show(name).next == next) }
        world.pass(.seconds(4000))
        #expect(world.started.map(\.id.firing.job) == [name])
        world.endRuns()
        world.kill()
        world.load([try reboot(name)])
        world.pass(.seconds(10_000))
        #expect(world.started.count == 1)
    }
}
