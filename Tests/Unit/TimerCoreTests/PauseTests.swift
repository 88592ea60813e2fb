// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Pauses that end, and the effect of resuming.
@Suite struct PauseTests {
    func command(_ until: JobCommand.PauseEnd, withRun: Bool = false) -> Event {
        .command(JobCommand(.pause, "backup", by: .user("ada"), until: until, withRun: withRun))
    }

    @Test func aPauseEndsByItself_andTheRemainingTimeIsKept() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(20))
        world.handle(command(.after(.seconds(100))))
        world.pass(.seconds(139))
        #expect(world.started.isEmpty)
        world.pass(.seconds(1))
        #expect(world.started.count == 1)
        #expect(
            world.notices.contains {
                if case .resumed(_, _, .pauseEnd, _, _) = $0 { true } else { false }
            })
    }

    @Test func aPauseIntoThePastIsRefused() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.handle(command(.at(world.now.wall)))
        guard case .refused = world.answers.last else { Issue.record("not refused"); return }
    }

    /// No daemon runs when the pause ends: time that counts without a daemon counts from the end of
    /// the pause.
    @Test(arguments: [
        (TimeBasis.active, 20), (.uptime, 20 + 40), (.boottime, 20 + 40), (.wall, 20 + 40),
    ])
    func aPauseEndsOnTimeWithoutTheDaemon(basis: TimeBasis, accrued: Int) {
        var world = World()
        let job = Job.every(.seconds(600)).counting(basis)
        world.load([job])
        world.pass(.seconds(20))
        world.handle(command(.after(.seconds(100))))
        world.stopCleanly()
        world.pass(.seconds(140))
        world.load([job])
        world.pass(.zero)
        #expect(world.show("backup").phase == .armed)
        #expect(world.show("backup").accrued == .seconds(accrued))
    }

    @Test func aClockSetOverTheEndOfAPauseAddsNoTime() {
        var world = World()
        world.load([.every(.seconds(180))])
        world.handle(command(.after(.seconds(180))))
        world.pass(.seconds(60))
        world.step(.seconds(4920))
        #expect(world.show("backup").phase == .armed && world.show("backup").accrued == .zero)
    }

    /// The smallest possible time counts, if the machine slept while no daemon ran.
    @Test(arguments: [(TimeBasis.uptime, 150), (.boottime, 250)])
    func aSleepAfterTheEndOfAPauseWithoutTheDaemon(basis: TimeBasis, accrued: Int) {
        var world = World()
        let job = Job.every(.seconds(6000)).counting(basis)
        world.load([job])
        world.handle(command(.after(.seconds(100))))
        world.stopCleanly()
        world.pass(.seconds(100))
        world.sleep(.seconds(100))
        world.pass(.seconds(150))
        world.load([job])
        world.pass(.zero)
        #expect(world.show("backup").accrued == .seconds(accrued))
    }

    @Test func timeCountedAfterAPauseIsKeptAcrossAnotherStop() {
        var world = World()
        let job = Job.every(.seconds(6000)).counting(.wall)
        world.load([job])
        world.handle(command(.after(.seconds(100))))
        world.kill()
        world.pass(.seconds(600))
        world.load([job])
        world.stopCleanly()
        world.pass(.seconds(4))
        world.load([job])
        world.pass(.zero)
        #expect(world.show("backup").accrued == .seconds(504))
    }

    @Test func fireIfDueUsesThePauseAcrossARestart() throws {
        var world = World()
        let job = try Job.cron("* * * * *").with { $0.onResume = .fireIfDue }
        world.load([job])
        _ = world.command(.pause, "backup")
        world.pass(.seconds(120))
        world.stopCleanly()
        world.load([job])
        world.pass(.seconds(1))
        _ = world.command(.resume, "backup")
        #expect(world.started.map(\.firing.missed) == [1])
    }

    @Test func runsAreSuspendedWithTheJob_ifRequested() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(60))
        world.handle(command(.after(.seconds(10)), withRun: true))
        #expect(world.suspended == [world.started[0].id])
        world.pass(.seconds(10))
        #expect(world.suspended.isEmpty)
    }

    @Test(arguments: [
        (nil, 40), (Policy.Resume.keepRemaining, 40), (.nextSlot, 40), (.restart, 60),
    ])
    func resumingAnInterval(policy: Policy.Resume?, left: Int) {
        var world = World()
        world.load([Job.every(.seconds(60)).with { $0.onResume = policy }])
        world.pass(.seconds(20))
        _ = world.command(.pause, "backup")
        world.pass(.seconds(300))
        _ = world.command(.resume, "backup")
        #expect(world.show("backup").remaining == .seconds(left) && world.started.isEmpty)
    }

    @Test(arguments: [(39, 0, 40), (40, 1, 60), (300, 1, 60)])
    func fireIfDueFires_onceTheIntervalIsOver(paused: Int, started: Int, left: Int) {
        var world = World()
        world.load([Job.every(.seconds(60)).with { $0.onResume = .fireIfDue }])
        world.pass(.seconds(20))
        _ = world.command(.pause, "backup")
        world.pass(.seconds(paused))
        _ = world.command(.resume, "backup")
        #expect(world.started.count == started)
        #expect(world.show("backup").remaining == .seconds(left))
    }

    @Test(arguments: [
        (nil, []), (Policy.Resume.nextSlot, []), (.keepRemaining, []), (.restart, []),
        (.fireIfDue, [4]),
    ])
    func resumingASlot(policy: Policy.Resume?, missed: [Int]) throws {
        var world = World()
        world.load([try Job.cron("* * * * *").with { $0.onResume = policy }])
        _ = world.command(.pause, "backup")
        world.pass(.seconds(300))
        _ = world.command(.resume, "backup")
        world.pass(.zero)
        #expect(world.started.map(\.firing.missed) == missed)
    }

    @Test func theNextFiringsAreSkippedByRequest() {
        var world = World()
        world.load([.every(.seconds(10))])
        let command = Event.command(JobCommand(.skipNext, "backup", by: .user("ada"), count: 2))
        world.handle(command)
        #expect(world.answers.last == .done && world.records["backup"]?.skips == 2)
        world.handle(command)
        guard case .unchanged = world.answers.last else { Issue.record("changed"); return }
        world.beat()
        world.kill()
        world.load([.every(.seconds(10))])
        world.pass(.seconds(30))
        #expect(world.started.count == 1)
        #expect(world.skipped.map(\.reason) == ["by-order", "by-order"])
    }

    /// The occurrences before the pause come again after a small step back, and are not repeated.
    @Test func fireIfDueRepeatsNothing_ifTheClockIsSetBackDuringThePause() throws {
        var world = World()
        // It is 11:06:40.
        world.load([try Job.cron("*/10 * * * *").with { $0.onResume = .fireIfDue }])
        for _ in 0..<2 {
            world.pass(.seconds(500))
            world.endRuns()
        }
        #expect(world.started.count == 2)
        _ = world.command(.pause, "backup")
        world.step(.seconds(-1000))
        world.pass(.seconds(999))
        _ = world.command(.resume, "backup")
        #expect(world.started.count == 2)
    }

    /// Occurrences of a schedule that is new are no repetitions, although the pause began at a later
    /// time of the wall clock, which was set back since.
    @Test func fireIfDueKnowsTheScheduleThatWasChangedDuringThePause() throws {
        var world = World()
        world.load([try Job.cron("17 5 * * *").with { $0.onResume = .fireIfDue }])
        world.handle(command(.after(.seconds(240))))
        world.step(.seconds(-2280))
        let new = try Job.cron("*/20 * * * *").with { $0.onResume = .fireIfDue }
        world.handle(.reload(JobSet([new])))
        // From 10:28:40 to 11:10:40.
        world.pass(.seconds(2519))
        #expect(world.started.isEmpty)
        #expect(world.show("backup").next == WallInstant(secondsSinceEpoch: 1_795_000_240))
        world.pass(.seconds(1))
        #expect(world.started.map(\.firing.missed) == [1])
        #expect(
            world.started.map(\.firing.id.scheduled)
                == [WallInstant(secondsSinceEpoch: 1_795_000_000 - 1600)])
    }

    @Test func fireIfDueFinishesAJobThatFiresOnce() {
        var world = World()
        world.load([Job.after(.seconds(60)).with { $0.onResume = .fireIfDue }])
        world.pass(.seconds(20))
        _ = world.command(.pause, "once")
        world.pass(.seconds(40))
        world.notices = []
        _ = world.command(.resume, "once")
        #expect(world.started.count == 1 && world.timers["once"] == nil)
        #expect(world.show("once").phase == .finished)
        #expect(
            world.notices.map { notice in
                switch notice {
                case .resumed(_, _, _, _, remaining: nil): "resumed"
                case .fired(_, _, remaining: nil): "fired"
                case .finished("once", firesAtBoot: false, after: nil): "finished"
                default: "\(notice)"
                }
            } == ["resumed", "fired", "finished"])
    }

    @Test func aJobWhoseLastTimePassedInThePauseIsReportedAsFinished() {
        var world = World()
        let schedule = WallSchedule([.at(world.now.wall + .seconds(60))])
        world.load([Job(name: "once", command: .arguments(["true"]), schedule: .wall(schedule))])
        _ = world.command(.pause, "once")
        world.pass(.seconds(60))
        _ = world.command(.resume, "once")
        #expect(world.started.isEmpty)
        #expect(world.notices.last == .finished("once", firesAtBoot: false, after: nil))
    }
}
