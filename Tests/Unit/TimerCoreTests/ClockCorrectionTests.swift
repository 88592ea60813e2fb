// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Corrections of a wrong wall clock, by three hours or more, after which the new time counts.
@Suite struct ClockCorrectionTests {
    private static let day = Duration.seconds(86_400)

    private func job(_ source: WallSchedule.Source, _ name: Job.Name = "once") -> Job {
        Job(name: name, command: .arguments(["true"]), schedule: .wall(WallSchedule([source])))
    }

    /// Jobs that run once, an hour after the test begins: at 12:06:40.
    private func once() throws -> [Job] {
        [
            job(.at(World().now.wall + .seconds(3600))),
            job(.calendar(try CalendarSpec("2026-11-18 12:06:40"), .utc), "dated"),
        ]
    }

    @Test func aClockThatIsWrongForASecondLosesNoRun() throws {
        var world = World()
        world.load(try once())
        world.pass(.seconds(10))
        world.step(Self.day)
        #expect(world.skipped.map(\.reason) == ["clock-set", "clock-set"])
        #expect(world.show("once").phase == .finished)
        #expect(world.show("once").lastSkip?.reason == .clockSet)
        world.pass(.seconds(1))
        world.step(.zero - Self.day)
        #expect(world.show("once").phase == .armed)
        #expect(
            world.notices.contains(
                .started("once", by: .clockCorrection, remaining: .seconds(3589))))
        world.pass(.seconds(3588))
        #expect(world.started.isEmpty)
        world.pass(.seconds(1))
        #expect(Set(world.started.map(\.id.firing.job)) == ["once", "dated"])
        world.pass(Self.day + Self.day)
        #expect(world.started.count == 2)
    }

    @Test func aRunFromBeforeTheClockWasWrongIsNotRepeated() throws {
        var world = World()
        world.load(try once())
        world.pass(.seconds(3700))
        world.endRuns()
        world.step(Self.day)
        world.pass(.seconds(1))
        world.step(.zero - Self.day)
        world.pass(Self.day)
        #expect(world.started.count == 2 && world.show("once").phase == .finished)
    }

    @Test func aDaemonThatFirstStartsWithAWrongClockRunsTheJobAtItsTime() throws {
        var world = World()
        let wrong = WallInstant(secondsSinceEpoch: 4_065_000_000) - world.now.wall
        let jobs = try once() + [try Job.cron("* * * * *", "minutely")]
        world.wall += wrong.wholeMicroseconds
        world.load(jobs)
        #expect(world.show("once").phase == .finished)
        world.pass(.seconds(90))
        world.endRuns()
        let before = world.started.count
        world.step(.zero - wrong)
        world.pass(.seconds(60))
        #expect(world.started.count == before + 1, "the minute goes on")
        world.endRuns()
        world.pass(.seconds(3600))
        #expect(world.started.count { $0.id.firing.job != "minutely" } == 2)
    }

    /// State that was saved under the wrong clock does not prevent runs by the new time, in one
    /// boot and after a reboot.
    @Test(arguments: [false, true])
    func aCorrectionWhileNoDaemonRunsIsApplied(isReboot: Bool) throws {
        var world = World()
        let jobs = try once() + [try Job.cron("*/10 * * * *", "often")]
        world.load(jobs)
        world.pass(.seconds(10))
        world.step(Self.day)
        world.pass(.seconds(700))
        world.endRuns()
        world.handle(.checkpoint())
        world.stopCleanly()
        let ran = world.started.count
        #expect(ran == 1)
        if isReboot {
            world.reboot(away: .seconds(60) - Self.day)
        } else {
            world.wall -= Self.day.wholeMicroseconds
            world.block(.seconds(60))
        }
        world.notices = []
        world.load(jobs)
        #expect(world.show("once").phase == .armed)
        #expect(
            isReboot
                || world.notices.contains(
                    .clockStepped(by: .zero - Self.day, isCorrection: true))
        )
        // It is about 11:19:30, and the next of the occurrences every ten minutes is at 11:20.
        world.pass(.seconds(100))
        #expect(world.started.count == ran + 1)
        let label = try #require(world.started.last?.id.firing.scheduled)
        #expect(label - WallInstant(secondsSinceEpoch: 1_795_000_800) < .seconds(1))
        world.endRuns()
        world.pass(.seconds(3600))
        #expect(world.started.count { $0.id.firing.job != "often" } == 2)
    }

    /// A pause that began under the wrong clock does not hide the runs that are due in it by the new
    /// time.
    @Test(arguments: [false, true])
    func aPauseThatBeganUnderAWrongClockKnowsItsRuns(isRestarted: Bool) throws {
        var world = World()
        let jobs = [try Job.cron("*/10 * * * *", "often").with { $0.onResume = .fireIfDue }]
        world.load(jobs)
        _ = world.command(.pause, "often")
        world.step(.zero - Self.day)
        if isRestarted {
            world.stopCleanly()
            world.load(jobs)
        }
        // From 11:06:40 to 11:26:40 of the day before.
        world.pass(.seconds(1200))
        _ = world.command(.resume, "often")
        #expect(world.started.map(\.firing.missed) == [1])
    }

    /// The clock is set forward while no daemon runs. The occurrences in the skipped range were not
    /// missed, but occurrences since the daemon ended, by the new time, were.
    @Test func aCorrectionForwardWhileNoDaemonRunsMissesNothing() throws {
        var world = World()
        world.load([try Job.cron("*/10 * * * *", "often")])
        world.pass(.seconds(10))
        world.stopCleanly()
        world.wall += Self.day.wholeMicroseconds
        // This is the time from 11:06:50 to 11:11:50.
        world.block(.seconds(300))
        world.load([try Job.cron("*/10 * * * *", "often")])
        world.pass(.seconds(1))
        #expect(world.started.map(\.firing.missed) == [0])
    }
}
