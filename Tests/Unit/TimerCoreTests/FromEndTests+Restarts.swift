// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Intervals from the end of a run, across restarts and reloads.
extension FromEndTests {
    /// The run ends 20 s after the daemon was killed; the next one starts 50 s after that, and gets
    /// the report 5 s later. The time since the real end counts, by the clock of the job.
    @Test(arguments: [
        (TimeBasis.active, 5), (.uptime, 55), (.boottime, 55), (.wall, 55),
    ])
    func aRunThatEndsWithoutADaemonCountsFromItsRealEnd(basis: TimeBasis, counted: Int) {
        var world = load(Self.job.counting(basis)) { $0.hasRunner = true }
        world.pass(.seconds(60))
        world.pass(.seconds(100))
        world.beat()
        world.kill()
        world.block(.seconds(20))
        let ended = world.now.wall
        world.block(.seconds(50))
        world.load([Self.job.counting(basis)])
        #expect(world.show("backup").remaining == nil && world.started.count == 1)
        world.pass(.seconds(5))
        world.handle(.ended(world.started[0].id, .exited(0), RunUsage(), at: ended))
        #expect(world.show("backup").remaining == .seconds(60 - counted))
        world.pass(.seconds(60 - counted))
        #expect(world.started.count == 2)
    }

    /// The time in which the machine slept counts for some clocks only, and it is not known whether
    /// the sleep was before or after the end.
    @Test(arguments: [(TimeBasis.active, 5), (.uptime, 25), (.boottime, 55), (.wall, 55)])
    func sleepAfterTheEndCountsByTheClockOfTheJob(basis: TimeBasis, counted: Int) {
        var world = load(Self.job.counting(basis)) { $0.hasRunner = true }
        world.pass(.seconds(60))
        world.beat()
        world.kill()
        let ended = world.now.wall
        world.block(.seconds(20))
        world.sleep(.seconds(30))
        world.load([Self.job.counting(basis)])
        world.pass(.seconds(5))
        world.handle(.ended(world.started[0].id, .exited(0), RunUsage(), at: ended))
        #expect(world.show("backup").remaining == .seconds(60 - counted))
    }

    /// The row of the run was closed, and the daemon was killed before it wrote the job's record.
    @Test(arguments: [(TimeBasis.active, 0), (.boottime, 40), (.wall, 40)])
    func aKillRightAfterTheEndLosesNothing(basis: TimeBasis, counted: Int) {
        var world = load(Self.job.counting(basis))
        world.pass(.seconds(60))
        world.pass(.seconds(500))
        let before = world.records
        world.endRuns()
        world.records = before
        world.beat()
        world.kill()
        world.block(.seconds(40))
        world.load([Self.job.counting(basis)])
        #expect(world.show("backup").remaining == .seconds(60 - counted))
        #expect(world.records["backup"]?.awaitsEnd == false)
    }

    /// Its run is lost, and nobody knows when it ended.
    @Test(arguments: TimeBasis.allCases)
    func afterARebootTheIntervalRestarts(basis: TimeBasis) {
        var world = load(Self.job.counting(basis))
        world.pass(.seconds(60))
        world.pass(.seconds(500))
        world.reboot(away: .seconds(30))
        world.load([Self.job.counting(basis)])
        #expect(world.closed.values.contains(.lost(.reboot)))
        #expect(world.show("backup").remaining == .seconds(60) && world.started.count == 1)
        world.pass(.seconds(60))
        #expect(world.started.count == 2)
    }

    @Test func anIntervalSurvivesARestartLikeAnyOther() {
        var world = load()
        world.pass(.seconds(60))
        world.endRuns()
        world.pass(.seconds(25))
        world.stopCleanly()
        world.block(.seconds(1000))
        world.load([Self.job])
        #expect(world.show("backup").remaining == .seconds(35))
    }

    @Test func aReloadDuringARunChangesWhatTheIntervalIsCountedFrom() {
        let grid = Job.every(.seconds(60))
        var world = load(grid)
        world.pass(.seconds(70))
        #expect(world.started.count == 1 && world.show("backup").remaining == .seconds(50))
        world.handle(.reload(JobSet([Self.job])))
        #expect(world.show("backup").remaining == nil && world.timers.isEmpty)
        world.pass(.seconds(20))
        // The grid was only hidden.
        world.handle(.reload(JobSet([grid])))
        #expect(world.show("backup").remaining == .seconds(30))
        world.handle(.reload(JobSet([Self.job])))
        world.endRuns()
        #expect(world.show("backup").remaining == .seconds(60))
        world.pass(.seconds(10))
        world.handle(.reload(JobSet([grid])))
        #expect(world.show("backup").remaining == .seconds(50))
    }

    @Test func aChangedIntervalAppliesToTheTimeSinceTheEnd() {
        var world = load()
        world.pass(.seconds(60))
        world.endRuns()
        world.pass(.seconds(30))
        world.handle(.reload(JobSet([Job.every(.seconds(40)).fromEnd])))
        #expect(world.show("backup").remaining == .seconds(10))
    }

    /// The time in which a job is not in the configuration never counts.
    @Test(arguments: [true, false])
    func aJobThatWasRemovedWhileItRanWaitsForTheEnd_orBeginsAgain(endsBefore: Bool) {
        var world = load()
        world.pass(.seconds(60))
        world.pass(.seconds(30))
        world.handle(.reload(JobSet([])))
        world.pass(.seconds(30))
        if endsBefore { world.endRuns() }
        world.pass(.seconds(30))
        world.handle(.reload(JobSet([Self.job])))
        if !endsBefore {
            #expect(world.show("backup").remaining == nil)
            world.pass(.seconds(300))
            world.endRuns()
        }
        #expect(world.show("backup").remaining == .seconds(60))
        world.pass(.seconds(60))
        #expect(world.started.count == 2)
    }

    @Test func aRenamedJobKeepsItsWait() {
        var world = load()
        world.pass(.seconds(60))
        var renamed = Job.every(.seconds(60), "copy").fromEnd
        renamed.renamedFrom = "backup"
        world.handle(.reload(JobSet([renamed])))
        world.pass(.seconds(300))
        #expect(world.started.count == 1)
        world.endRuns()
        #expect(world.show("copy").remaining == .seconds(60))
    }
}
