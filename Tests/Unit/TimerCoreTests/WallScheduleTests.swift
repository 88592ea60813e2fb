// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Jobs that fire by the wall clock, with everything that can happen to it.
@Suite struct WallScheduleTests {
    private func world(at text: String) -> World {
        var world = World()
        world.wall = WallInstant(rfc3339: text)!.microsecondsSinceEpoch
        return world
    }

    private func job(_ calendar: String, _ name: Job.Name = "report") throws -> Job {
        let schedule = WallSchedule([.calendar(try CalendarSpec(calendar), .utc)])
        return Job(name: name, command: .arguments(["true"]), schedule: .wall(schedule))
    }

    private func scheduled(_ world: World) -> [String] {
        world.started.map(\.id.firing.scheduled.rfc3339)
    }

    @Test func firesAtItsOccurrences_neverEarly() throws {
        var world = world(at: "2026-11-21T04:38:52Z")
        world.load([try job("*:0/15")])
        world.pass(.seconds(367))
        #expect(world.started.isEmpty)
        world.pass(.seconds(1))
        world.endRuns()
        world.pass(.seconds(1800))
        #expect(scheduled(world) == ["2026-11-21T04:45:00Z", "2026-11-21T05:00:00Z"])
        world.endRuns()
        #expect(world.show("report").next?.rfc3339 == "2026-11-21T05:30:00Z")
    }

    @Test func aFirstStartMissesNothing_andLaterOccurrencesAreCaughtUpOnce() throws {
        var world = world(at: "2026-11-21T04:38:52Z")
        world.load([try job("hourly")])
        world.pass(.zero)
        #expect(world.started.isEmpty)
        world.stopCleanly()
        world.pass(.seconds(5 * 3600))
        world.load([try job("hourly")])
        world.pass(.zero)
        #expect(scheduled(world) == ["2026-11-21T05:00:00Z"])
        #expect(world.started[0].firing.missed == 4)
        #expect(world.show("report").next?.rfc3339 == "2026-11-21T10:00:00Z")
    }

    @Test func occurrencesDuringASleepAreCaughtUpOnce() throws {
        var world = world(at: "2026-11-21T04:38:52Z")
        world.load([try job("hourly")])
        world.sleep(.seconds(10 * 3600))
        world.handle(.clockChanged)
        #expect(world.started.map(\.firing.missed) == [9])
        #expect(!world.notices.contains { if case .clockStepped = $0 { true } else { false } })
    }

    @Test func aResumedJobWaitsForItsNextOccurrence() throws {
        var world = world(at: "2026-11-21T04:38:52Z")
        world.load([try job("hourly")])
        _ = world.command(.pause, "report")
        #expect(world.wallTimers.isEmpty)
        world.pass(.seconds(3 * 3600))
        #expect(world.command(.resume, "report") == .done)
        world.pass(.zero)
        #expect(world.started.isEmpty)
        #expect(world.show("report").next?.rfc3339 == "2026-11-21T08:00:00Z")
    }

    @Test func anInstantFiresOnce_orLate_orNeverIfItHadPassedAtTheFirstStart() throws {
        let at = WallInstant(rfc3339: "2026-11-21T06:00:00Z")!
        let job = Job(
            name: "once", command: .arguments(["true"]), schedule: .wall(WallSchedule([.at(at)])))
        var first = world(at: "2026-11-21T04:00:00Z")
        first.load([job])
        first.pass(.seconds(7200))
        #expect(
            scheduled(first) == ["2026-11-21T06:00:00Z"] && first.show("once").phase == .finished)

        var late = world(at: "2026-11-21T04:00:00Z")
        late.load([job])
        late.stopCleanly()
        late.pass(.seconds(86_400))
        late.load([job])
        late.pass(.zero)
        #expect(scheduled(late) == ["2026-11-21T06:00:00Z"])

        var never = world(at: "2026-11-22T04:00:00Z")
        never.load([job])
        never.pass(.seconds(10))
        #expect(never.started.isEmpty && never.show("once").phase == .finished)
        #expect(!never.agenda.isCounting)
    }

    @Test func rebootFiresOnceABoot() throws {
        let schedule = WallSchedule([.cron(try CronSpec("@reboot"), .utc)])
        let job = Job(name: "boot", command: .arguments(["true"]), schedule: .wall(schedule))
        var world = World()
        world.load([job])
        world.pass(.zero)
        #expect(world.started.count == 1)
        world.endRuns()
        world.stopCleanly()
        world.load([job])
        world.pass(.zero)
        #expect(world.started.count == 1)
        world.stopCleanly()
        world.reboot(away: .seconds(60))
        world.load([job])
        world.pass(.zero)
        #expect(world.started.count == 2)
    }

    /// Such a job fires once in each boot, at the first start of the daemon in it. A job that is
    /// added later waits for the next boot.
    @Test func rebootDoesNotFireForAJobThatIsAddedLater() throws {
        let schedule = WallSchedule([.cron(try CronSpec("@reboot"), .utc)])
        let job = Job(name: "boot", command: .arguments(["true"]), schedule: .wall(schedule))
        var world = World()
        world.load([])
        world.handle(.reload(JobSet([job])))
        world.pass(.seconds(60))
        #expect(world.started.isEmpty && world.show("boot").phase == .finished)
        world.handle(.reload(JobSet([])))
        world.stopCleanly()
        // It is the same boot, but the job was not configured at the first start.
        world.load([job])
        world.pass(.seconds(60))
        #expect(world.started.isEmpty)
        world.stopCleanly()
        world.reboot(away: .seconds(60))
        world.load([job])
        world.pass(.zero)
        #expect(world.started.count == 1)
        world.endRuns()
        world.handle(.reload(JobSet([])))
        world.handle(.reload(JobSet([job])))
        world.pass(.seconds(60))
        #expect(world.started.count == 1)
    }

    @Test func aJobThatIsGivenRebootByAReloadWaitsForTheNextBoot() throws {
        let schedule = WallSchedule([.cron(try CronSpec("@reboot"), .utc)])
        let job = Job(name: "backup", command: .arguments(["true"]), schedule: .wall(schedule))
        var world = World()
        world.load([.every(.seconds(3600))])
        world.handle(.reload(JobSet([job])))
        world.pass(.seconds(60))
        #expect(world.started.isEmpty)
        world.stopCleanly()
        world.reboot(away: .seconds(60))
        world.load([job])
        world.pass(.zero)
        #expect(world.started.count == 1)
    }

    // MARK: - The clock is set

    @Test func anHourForwardIsCaughtUpOnce_anHourBackRepeatsNothing() throws {
        var world = world(at: "2026-11-21T04:38:52Z")
        world.load([try job("*:0/15")])
        world.step(.seconds(3600))
        #expect(scheduled(world) == ["2026-11-21T04:45:00Z"] && world.started[0].firing.missed == 3)
        world.endRuns()
        world.step(.seconds(-3600))
        world.pass(.seconds(3600))
        #expect(world.started.count == 1, "these times were there before")
        world.pass(.seconds(600))
        #expect(scheduled(world).last == "2026-11-21T05:45:00Z")
        #expect(world.notices.contains(.clockStepped(by: .seconds(3600), isCorrection: false)))
    }

    @Test func aDayForwardAndBackAreCorrections() throws {
        var world = world(at: "2026-11-21T04:38:52Z")
        world.load([try job("hourly")])
        world.step(.seconds(86_400))
        #expect(world.started.isEmpty)
        world.pass(.seconds(3600))
        #expect(scheduled(world) == ["2026-11-22T05:00:00Z"])
        world.endRuns()
        world.step(.seconds(-86_400))
        world.pass(.seconds(86_400))
        world.endRuns()
        #expect(world.started.count > 1)
        let ids = Set(world.started.map(\.id))
        #expect(ids.count == world.started.count, "the same hour again is another firing")
    }

    @Test func aClockThatWasSetBackRepeatsNoIdentityOfAFiring() throws {
        var world = world(at: "2026-11-21T04:58:52Z")
        world.load([try job("hourly")])
        world.pass(.seconds(120))
        world.endRuns()
        // A correction, and two smaller steps, back to before the original time; the next instance
        // sees one step.
        world.step(.seconds(4 * 3600))
        world.step(.seconds(-2 * 3600))
        world.step(.seconds(-2 * 3600 - 600))
        world.kill()
        world.load([try job("hourly")])
        world.pass(.seconds(3600))
        world.endRuns()
        #expect(
            scheduled(world) == ["2026-11-21T05:00:00Z", "2026-11-21T05:00:00.000001Z"],
            "the same hour again is another firing")
    }

    @Test func aClockThatIsCorrectedFrom1970CausesNoStormOfRuns() throws {
        var world = world(at: "1970-01-01T00:00:10Z")
        world.load([try job("minutely")])
        world.pass(.seconds(60))
        world.endRuns()
        #expect(scheduled(world) == ["1970-01-01T00:01:00Z"])
        world.step(.seconds(1_795_000_000))
        #expect(world.started.count == 1)
        world.pass(.seconds(60))
        #expect(world.started.count == 2)
    }

    @Test func anOscillatingClockRepeatsNothing() throws {
        var world = world(at: "2026-11-21T04:38:52Z")
        world.load([try job("minutely")])
        for second in 0..<600 {
            world.pass(.seconds(1))
            world.endRuns()
            world.step(.seconds(second % 2 == 0 ? -1 : 1))
            world.endRuns()
        }
        #expect(world.started.count == 10)
        #expect(Set(scheduled(world)).count == 10)
    }

    @Test func aChangedScheduleUsesItsNextOccurrence_anUnchangedOneIsKept() throws {
        var world = world(at: "2026-11-21T04:38:52Z")
        world.load([try job("hourly"), try job("daily", "other")])
        let before = world.wallTimers["other"]
        world.handle(.reload(JobSet([try job("*:0/15"), try job("daily", "other")])))
        #expect(world.wallTimers["report"]?.rfc3339 == "2026-11-21T04:45:00Z")
        #expect(world.wallTimers["other"] == before)
        world.handle(.reload(JobSet([.every(.seconds(60), "report"), try job("daily", "other")])))
        #expect(world.wallTimers["report"] == nil && world.timers["report"] != nil)
        world.handle(.reload(JobSet([try job("hourly"), try job("daily", "other")])))
        #expect(world.timers["report"] == nil && world.wallTimers["report"] != nil)
    }
}
