// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Occurrences that were missed.
@Suite struct MissedTests {
    /// A machine that sleeps during five occurrences of a job that is due each minute.
    private func slept(_ job: Job) -> World {
        var world = World()
        world.load([job])
        world.pass(.seconds(1))
        world.sleep(.seconds(300))
        world.handle(.clockChanged)
        world.pass(.zero)
        return world
    }

    @Test func runOnceMakesOneRunOfThem() throws {
        let world = slept(try .cron("* * * * *"))
        #expect(world.started.map(\.firing.missed) == [4])
        #expect(world.skipped.isEmpty)
    }

    @Test func skipMakesNone_andTheNextOccurrenceFires() throws {
        var world = slept(try Job.cron("* * * * *").with { $0.onMissed = .skip })
        #expect(world.started.isEmpty)
        #expect(world.skipped.map(\.count) == [5] && world.skipped.map(\.reason) == ["missed"])
        world.pass(.seconds(60))
        #expect(world.started.map(\.firing.missed) == [0])
    }

    @Test func runAllMakesARunOfEach_oneAfterTheOther() throws {
        var world = slept(try Job.cron("* * * * *").with { $0.onMissed = .runAll })
        for count in 1...5 {
            #expect(world.started.count == count)
            if let last = world.started.last { world.end(last) }
        }
        #expect(world.started.count == 5)
        let apart = zip(world.started, world.started.dropFirst()).map {
            $1.id.firing.scheduled - $0.id.firing.scheduled
        }
        #expect(apart == Array(repeating: .seconds(60), count: 4))
    }

    @Test func runAllIsCapped_andTheCapIsSaid() throws {
        var world = World()
        world.load([try Job.cron("* * * * *").with { $0.onMissed = .runAll }])
        world.sleep(.seconds(250 * 60))
        world.handle(.clockChanged)
        world.pass(.zero)
        #expect(
            world.skipped.map(\.count) == [150] && world.skipped.map(\.reason) == ["catch-up-max"])
        #expect(world.show("backup").live.count == Lateness.catchUpMax)
    }

    @Test func aScheduleOfEachMicrosecondFiresAThousandTimesASecond() throws {
        var world = World()
        let schedule = WallSchedule([.calendar(try CalendarSpec("*:*:0/0.000001"), .utc)])
        world.load([Job(name: "storm", command: .arguments(["true"]), schedule: .wall(schedule))])
        world.pass(.milliseconds(50))
        #expect((40...52).contains(world.rings), "\(world.rings)")
    }

    @Test func aFiringThatIsSlightlyLateIsNotMissed() throws {
        var world = World()
        world.load([try Job.cron("* * * * *").with { $0.onMissed = .skip }])
        world.block(.seconds(80))
        world.handle(.wake("backup"))
        #expect(world.started.count == 1 && world.skipped.isEmpty)
    }

    @Test func aFirstEverStartMissesNothing() throws {
        var world = World()
        world.load([try Job.cron("* * * * *").with { $0.onMissed = .runAll }])
        world.pass(.zero)
        #expect(world.started.isEmpty && world.skipped.isEmpty)
    }

    @Test(arguments: [(Policy.Missed.runOnce, 1), (.skip, 0), (.runAll, 1)])
    func occurrencesWhileNoDaemonRuns(policy: Policy.Missed, started: Int) throws {
        var world = World()
        let job = try Job.cron("* * * * *").with { $0.onMissed = policy }
        world.load([job])
        world.stopCleanly()
        world.pass(.seconds(600))
        world.load([job])
        world.pass(.zero)
        #expect(world.started.count == started)
    }

    @Test(arguments: [(Policy.Missed.runOnce, [2]), (.skip, []), (.runAll, [0])])
    func intervalsThatContinueWithoutTheDaemon(policy: Policy.Missed, missed: [Int]) {
        var world = World()
        let job = Job.every(.seconds(60)).counting(.uptime).with { $0.onMissed = policy }
        world.load([job])
        world.stopCleanly()
        world.pass(.seconds(190))
        world.load([job])
        world.pass(.zero)
        #expect(world.started.map(\.firing.missed) == missed)
        #expect(world.show("backup").accrued == .seconds(10))
    }

    /// If the clock is set forward by less than three hours, the skipped occurrences are caught up
    /// once, with every policy.
    @Test(arguments: Policy.Missed.allCases)
    func aClockSetForwardIsCaughtUpOnce(policy: Policy.Missed) throws {
        var world = World()
        world.load([try Job.cron("* * * * *").with { $0.onMissed = policy }])
        world.step(.seconds(3600))
        #expect(world.started.map(\.firing.missed) == [59])
    }

    @Test func aFiringOlderThanItsDeadlineIsSkippedAndRecorded() throws {
        var world = World()
        let job = try Job.cron("* * * * *").with { $0.startingDeadline = .seconds(90) }
        world.load([job])
        world.stopCleanly()
        world.pass(.seconds(600))
        world.load([job])
        world.pass(.zero)
        #expect(world.skipped.map(\.reason) == ["deadline"])
        #expect(world.closed.values.contains(.lost(.deadline)))
        #expect(world.started.count == 1)
        let age = world.now.wall - world.started[0].id.firing.scheduled
        #expect(age <= .seconds(90))
    }

    @Test func missedOccurrencesAreKeptAcrossAnotherKill() throws {
        var world = World()
        let job = try Job.cron("*/5 * * * *")
        world.load([job])
        world.kill()
        world.pass(.seconds(800))
        world.load([job])
        world.kill()
        world.load([job])
        world.pass(.zero)
        #expect(world.started.map(\.firing.missed) == [2])
    }

    @Test func anOccurrenceThatWaitsToShareAWakeUpIsKeptAcrossAStop() throws {
        var world = World()
        let job = try Job.cron("*/5 * * * *").with { $0.accuracy = .seconds(90) }
        world.load([job])
        let slot = try #require(world.wallTimers["backup"])
        world.pass(slot - world.now.wall - .seconds(60))
        world.stopCleanly()
        world.load([job])
        world.pass(.seconds(60))
        #expect(world.started.count == 1)
    }

    @Test func processedOccurrencesAreNotRepeated_afterAClockSetBackAndAKill() throws {
        var world = World()
        let job = try Job.cron("*/5 * * * *")
        world.load([job])
        world.sleep(.seconds(800))
        world.handle(.clockChanged)
        world.endRuns()
        let count = world.started.count
        world.step(.seconds(-600))
        world.kill()
        world.load([job])
        world.pass(.seconds(500))
        #expect(world.started.count == count)
    }

    @Test func aJobThatWasNotConfiguredMissedNothing() throws {
        var world = World()
        let job = try Job.cron("* * * * *")
        world.load([job])
        world.handle(.reload(JobSet()))
        world.pass(.seconds(600))
        world.handle(.reload(JobSet([job])))
        world.pass(.zero)
        #expect(world.started.isEmpty)
    }

    @Test func occurrencesOfACorrectedClockHaveDifferentIdentities_evenAfterAKill() throws {
        var world = World()
        let job = try Job.cron("0 */2 * * *")
        world.load([job])
        world.pass(.seconds(7200))
        world.endRuns()
        world.step(.seconds(-25_200))
        world.kill()
        world.load([job])
        world.pass(.seconds(30_000))
        world.endRuns()
        // `World` itself refuses a run with an identity that was used before.
        #expect(world.started.count >= 2)
    }

    @Test func aScheduleThatIsNewAfterARestartMissedNothingBefore() throws {
        var world = World()
        world.load([.every(.seconds(6000))])
        world.pass(.seconds(3060))
        let past = WallSchedule([.at(world.now.wall - .seconds(60))])
        world.stopCleanly()
        let job = Job(name: "backup", command: .arguments(["true"]), schedule: .wall(past))
        world.load([job])
        world.pass(.zero)
        #expect(world.started.isEmpty)
    }

    @Test func aCorrectionIsKeptAcrossAKill() throws {
        var world = World()
        let schedule = WallSchedule([.at(world.now.wall + .seconds(60))])
        let job = Job(name: "backup", command: .arguments(["true"]), schedule: .wall(schedule))
        let hourly = try Job.cron("0 * * * *", "hourly")
        world.load([job, hourly])
        world.step(.seconds(5 * 3600))
        #expect(world.records["backup"]?.phase == .finished)
        world.kill()
        world.load([job, hourly])
        world.pass(.zero)
        #expect(world.started.isEmpty)
    }

    @Test func anInstantFarInTheFutureIsClamped() throws {
        var world = World()
        let job = try Job.cron("* * * * *")
        world.load([job])
        world.pass(.seconds(60))
        world.endRuns()
        world.stopCleanly()
        let future = world.now.wall + .seconds(86_400)
        world.records["backup"]?.lastScheduled = future
        world.records["backup"]?.processedThrough = future
        world.load([job])
        world.pass(.seconds(120))
        #expect(world.started.count == 2)
    }
}
