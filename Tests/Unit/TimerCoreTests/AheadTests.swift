// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// The shell decides about a firing a moment before it is due, as of the instant at which it is due.
@Suite struct AheadTests {
    /// By how much readings are ahead of the clocks.
    private static let ahead: Duration = .milliseconds(5)

    /// A world in which so much time passed, the last of it only by the readings.
    private static func world(_ jobs: [Job], after span: Duration = .seconds(10)) -> World {
        var world = World()
        world.load(jobs)
        world.block(span)
        world.agenda.ahead = ahead
        return world
    }

    @Test(arguments: [TimeBasis.active, .uptime, .boottime, .wall])
    func itFiresAsOfItsInstant_andItsGridIsKept(_ basis: TimeBasis) {
        var world = Self.world([Job.every(.seconds(10)).counting(basis)])
        let due = world.timers["backup"]!
        #expect(world.agenda.mayFireAhead("backup"))
        world.handle(.wake("backup"))
        #expect(world.started.map(\.id.firing.scheduled) == [world.now.wall])
        #expect(world.started.map(\.firing.missed) == [0])
        #expect(world.timers["backup"] == due + .seconds(10))
    }

    @Test func aCalendarJobFiresToo() throws {
        var job = Job.every(.seconds(10))
        job.schedule = .wall(WallSchedule([.calendar(try CalendarSpec("*:*:0/10"), .utc)]))
        var world = World()
        world.load([job])
        let due = try #require(world.wallTimers["backup"])
        world.block(due - world.now.wall)
        world.agenda.ahead = Self.ahead
        world.handle(.wake("backup"))
        #expect(world.started.map(\.id.firing.scheduled) == [due])
        #expect(world.wallTimers["backup"] == due + .seconds(10))
    }

    /// The active run may end before the next one is due.
    @Test(arguments: [
        (Policy.Concurrency.forbid, false), (.queue, false), (.replace, false), (.allow, true),
    ])
    func aRunThatIsActiveDecides(_ policy: Policy.Concurrency, fires: Bool) {
        let job = Job.every(.seconds(10)).with { $0.concurrency = policy }
        var world = Self.world([job], after: .seconds(10))
        world.handle(.wake("backup"))
        #expect(world.started.count == 1)
        world.agenda.ahead = .zero
        world.block(.seconds(10))
        let due = world.now.awake
        world.agenda.ahead = Self.ahead
        #expect(world.agenda.mayFireAhead("backup") == fires)
        let actions = world.handle(.wake("backup"))
        #expect(world.started.count == (fires ? 2 : 1))
        guard !fires else { return }
        #expect(actions == [.arm("backup", due)] && world.skipped.isEmpty)
        // It is over when the instant is really there.
        world.endRuns()
        world.agenda.ahead = .zero
        world.handle(.wake("backup"))
        #expect(world.started.count == 2 && world.skipped.isEmpty)
    }

    @Test func withConcurrencyMaxItIsDecidedOnlyWithRoom() {
        let job = Job.every(.seconds(10)).with {
            $0.concurrency = .allow
            $0.concurrencyMax = 1
        }
        var world = Self.world([job])
        #expect(world.agenda.mayFireAhead("backup"))
        world.handle(.wake("backup"))
        world.block(.seconds(10))
        #expect(!world.agenda.mayFireAhead("backup"))
        world.handle(.wake("backup"))
        #expect(world.started.count == 1 && world.skipped.isEmpty)
    }

    /// One job of a wake-up that must wait delays none of the others.
    @Test func theOthersOfTheWakeUpFire() {
        var world = Self.world([Job.every(.seconds(10), "a"), .every(.seconds(10), "b")])
        world.handle(.wake("a"))
        #expect(world.started.map(\.id.firing.job.description).sorted() == ["a", "b"])
        world.end(world.started.first { $0.id.firing.job == "b" }!)
        world.block(.seconds(10))
        world.handle(.wake("b"))
        #expect(world.started.map(\.id.firing.job.description).sorted() == ["a", "b", "b"])
        #expect(world.timers["a"] == world.now.awake && world.skipped.isEmpty)
    }

    /// What is due by the clocks too is decided in any case.
    @Test func whatIsReallyDueIsDecided() {
        var world = Self.world([Job.every(.seconds(10))])
        world.handle(.wake("backup"))
        world.block(.seconds(10) + Self.ahead)
        world.handle(.wake("backup"))
        #expect(world.skipped.map(\.reason) == ["still-running"])
    }

    @Test func aPauseEndsAtItsInstant() {
        var world = World()
        world.load([Job.every(.seconds(60))])
        let until = world.now.wall + .seconds(10)
        world.handle(.command(JobCommand(.pause, "backup", by: .user("ada"), until: .at(until))))
        world.block(.seconds(10))
        world.agenda.ahead = Self.ahead
        #expect(!world.agenda.mayFireAhead("backup"))
        let actions = world.handle(.wake("backup"))
        #expect(actions == [.armAt("backup", until)])
        #expect(world.show("backup").phase.isPaused)
        world.agenda.ahead = .zero
        world.handle(.wake("backup"))
        #expect(!world.show("backup").phase.isPaused)
    }

    /// The reading at which it ends may be that of a firing of another job.
    @Test(arguments: [TimeBasis.active, .boottime])
    func aPauseThatEndsWhileReadingsAreAheadLosesNoTime(_ basis: TimeBasis) {
        var world = World()
        world.load([Job.every(.seconds(60)).counting(basis), .every(.seconds(20), "other")])
        let until = world.now.wall + .seconds(20) - .milliseconds(3)
        world.handle(.command(JobCommand(.pause, "backup", by: .user("ada"), until: .at(until))))
        world.block(.seconds(20))
        world.agenda.ahead = Self.ahead
        world.handle(.wake("other"))
        #expect(world.started.count == 1 && world.show("backup").phase.isPaused)
        // The reading is still that of the firing.
        world.agenda.ahead = .milliseconds(2)
        world.handle(.wake("backup"))
        #expect(!world.show("backup").phase.isPaused)
        #expect(world.show("backup").accrued == .milliseconds(3))
    }

    @Test func whatIsTheFleetsIsNotDecidedHere() {
        var job = Job.every(.seconds(10))
        job.fleet = FleetPolicy()
        let world = Self.world([job])
        #expect(!world.agenda.mayFireAhead("backup") && !world.agenda.mayFireAhead("unknown"))
    }

    /// A firing that waits for the record of an earlier one is not lost by a reading ahead.
    @Test func whatIsHeldFiresOnceTheEarlierRunIsRecorded() {
        var world = Self.world([Job.every(.seconds(10))])
        world.breakStore()
        world.handle(.wake("backup"))
        world.block(.seconds(10))
        world.handle(.wake("backup"))
        #expect(world.started.isEmpty && !world.agenda.isHolding)
        world.agenda.ahead = .zero
        world.handle(.wake("backup"))
        #expect(world.agenda.isHolding)
        world.restoreStore()
        #expect(world.started.count == 1 && world.skipped.isEmpty)
        world.endRuns()
        #expect(world.started.count == 2 && world.skipped.isEmpty)
    }
}

/// Nothing that is saved or shown is ahead of the clocks.
extension AheadTests {
    /// The daemon is killed before the instant at which the run was due: the job gains nothing, and its
    /// next run is a whole interval after that instant.
    @Test(arguments: [TimeBasis.active, .uptime, .boottime, .wall])
    func aRecordOfAFiringIsOfTheRealInstant(_ basis: TimeBasis) {
        let ahead: Duration = .milliseconds(5)
        let job = Job.every(.seconds(10)).counting(basis)
        var world = World()
        world.load([job])
        world.block(.seconds(10))
        world.agenda.ahead = ahead
        world.handle(.wake("backup"))
        let due = world.now
        let record = world.records["backup"]!
        #expect(record.at == due.advanced(by: .zero - ahead))
        #expect(record.active == .seconds(10) - ahead && record.accrued == .zero - ahead)
        let shown = world.agenda.snapshot(of: "backup", at: record.at)!
        #expect(shown.active == .seconds(10) - ahead && shown.accrued == .zero)
        #expect(shown.remaining == .seconds(10) + ahead)
        // Back to the real instant, at which it is killed.
        world.block(.zero - ahead)
        world.kill()
        world.load([job])
        #expect(world.show("backup").active == .seconds(10) - ahead)
        #expect(world.show("backup").remaining == .seconds(10) + ahead)
        // A second kill before that instant gains nothing either.
        world.kill()
        world.load([job])
        #expect(world.show("backup").remaining == .seconds(10) + ahead)
        world.pass(.seconds(1))
        world.handle(.checkpoint())
        #expect(world.records["backup"]!.accrued == .seconds(1) - ahead)
    }

    /// The clock is set back by whole minutes after the firing, so that the instant of the firing is
    /// an occurrence by the new time as well.
    @Test(arguments: [-71_040, 71_040] as [Int64])
    func aCorrectionWhileTheDaemonIsAwayDoesNotRepeatTheFiring(step: Int64) throws {
        let job = try Job.cron("* * * * *")
        var world = World()
        world.load([job])
        world.block(.seconds(60) - .microseconds(world.wall % 60_000_000))
        world.agenda.ahead = Self.ahead
        world.handle(.wake("backup"))
        #expect(world.started.count == 1)
        world.block(.seconds(2))
        world.kill()
        world.wall += step * 1_000_000
        world.load([job])
        world.pass(.seconds(57))
        #expect(world.started.count == 1 && world.skipped.isEmpty)
        world.pass(.seconds(1))
        #expect(world.started.count == 2)
    }
}
