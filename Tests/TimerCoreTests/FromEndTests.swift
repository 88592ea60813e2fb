// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Intervals that are counted from the end of a run: `from = "end"`.
@Suite struct FromEndTests {
    private static let job = Job.every(.seconds(60)).fromEnd

    private func load(_ job: Job = job, _ change: (inout World) -> Void = { _ in }) -> World {
        var world = World()
        change(&world)
        world.load([job])
        return world
    }

    @Test func theIntervalBeginsWhenARunEnds() {
        var world = load()
        world.pass(.seconds(59))
        #expect(world.started.isEmpty && world.show("backup").remaining == .seconds(1))
        world.pass(.seconds(1))
        #expect(world.started.count == 1)
        // While it runs nothing is due, however long that takes.
        let running = world.show("backup")
        #expect(running.remaining == nil && running.next == nil)
        #expect(running.upcomingRuns(until: world.now.wall + .seconds(9999), most: 9).isEmpty)
        #expect(world.timers.isEmpty && world.records["backup"]?.awaitsEnd == true)
        world.pass(.seconds(1000))
        world.endRuns()
        let ended = world.show("backup")
        #expect(ended.remaining == .seconds(60) && ended.next == world.now.wall + .seconds(60))
        #expect(ended.upcomingRuns(until: world.now.wall + .seconds(9999), most: 9).count == 1)
        #expect(world.records["backup"]?.awaitsEnd == false)
        world.pass(.seconds(60) - .microseconds(1))
        #expect(world.started.count == 1)
        world.pass(.microseconds(1))
        #expect(world.started.count == 2)
        #expect(world.started.map(\.firing.missed) == [0, 0] && world.skipped.isEmpty)
        // The total does not restart.
        #expect(world.show("backup").active == .seconds(1120))
    }

    @Test func theFirstRunIsAsUsual_andAfterThatTheIntervalCounts() {
        for first in [Duration.zero, .seconds(5), .seconds(100)] {
            var world = load(Job.every(.seconds(60), first: first).fromEnd)
            world.pass(first)
            #expect(world.started.count == 1)
            world.pass(.seconds(7))
            world.endRuns()
            world.pass(.seconds(60) - .microseconds(1))
            #expect(world.started.count == 1)
            world.pass(.microseconds(1))
            #expect(world.started.count == 2)
        }
    }

    @Test func retriesBelongToTheRun() {
        let job = Self.job.with {
            $0.retry.retries = 2
            $0.retry.delay = .seconds(10)
            $0.retry.backoff = 1
        }
        var world = load(job)
        world.pass(.seconds(60))
        for attempt in 1...3 {
            #expect(world.attempts.last == attempt)
            world.pass(.seconds(5))
            world.endRuns(.exited(1))
            #expect((world.show("backup").remaining == nil) == (attempt < 3))
            if attempt < 3 { world.pass(.seconds(10)) }
        }
        world.pass(.seconds(59))
        #expect(world.attempts == [1, 2, 3])
        world.pass(.seconds(1))
        #expect(world.attempts == [1, 2, 3, 1])
    }

    @Test func aRetryThatIsCancelledEndsTheRun() {
        let job = Self.job.with {
            $0.retry.retries = 1
            $0.retry.delay = .seconds(500)
        }
        var world = load(job)
        world.pass(.seconds(60))
        world.endRuns(.exited(1))
        world.pass(.seconds(100))
        #expect(world.show("backup").remaining == nil)
        _ = world.order(.kill, "backup")
        #expect(world.show("backup").remaining == .seconds(60))
        world.pass(.seconds(60))
        #expect(world.started.count == 2)
    }

    @Test func theEndOfARequestedRunCountsAsWell() {
        var world = load()
        world.pass(.seconds(50))
        #expect(world.order(.run, "backup") != nil && world.started.count == 1)
        #expect(world.show("backup").remaining == nil && world.timers.isEmpty)
        world.pass(.seconds(30))
        world.endRuns()
        world.pass(.seconds(59))
        #expect(world.started.count == 1)
        world.pass(.seconds(1))
        #expect(world.started.count == 2)
    }

    @Test func runsThatOverlapCountUntilTheLastHasEnded() {
        let job = Self.job.with { $0.concurrency = .allow }
        var world = load(job)
        world.pass(.seconds(60))
        world.pass(.seconds(1))
        _ = world.order(.run, "backup")
        #expect(world.started.count == 2)
        world.end(world.started[0])
        world.pass(.seconds(100))
        #expect(world.started.count == 2 && world.show("backup").remaining == nil)
        world.end(world.started[1])
        #expect(world.show("backup").remaining == .seconds(60))
    }

    @Test func aFiringWithoutARunIsFollowedByTheNextInterval() {
        var world = load()
        world.handle(.order(Order(.skipNext, "backup", by: .user("ada"), count: 2)))
        world.pass(.seconds(120))
        #expect(world.started.isEmpty && world.skipped.map(\.count) == [1, 1])
        world.pass(.seconds(60))
        #expect(world.started.count == 1)
    }

    /// Nothing was due while the daemon was away except one firing, however long that was.
    @Test(arguments: [Policy.Missed.runOnce, .runAll, .skip])
    func afterADowntimeOneFiringIsDue(onMissed: Policy.Missed) {
        var world = load(Self.job.counting(.wall).with { $0.onMissed = onMissed })
        world.pass(.seconds(10))
        world.stopCleanly()
        world.block(.seconds(5000))
        world.load([Self.job.counting(.wall).with { $0.onMissed = onMissed }])
        world.pass(.zero)
        #expect(world.started.map(\.firing.missed) == (onMissed == .skip ? [] : [0]))
        #expect(world.skipped.map(\.count) == (onMissed == .skip ? [1] : []))
        guard onMissed == .skip else { return }
        // The grid of the skipped firing continues: 5010 is 30 s after a multiple of 60 s.
        #expect(world.show("backup").remaining == .seconds(30))
    }

    // MARK: - Pauses

    @Test func aRunThatEndsDuringAPauseLeavesTheWholeInterval() {
        for resume in [Policy.Resume.keepRemaining, .nextSlot, .restart, .fireIfDue] {
            var world = load(Self.job.with { $0.onResume = resume })
            world.pass(.seconds(60))
            _ = world.order(.pause, "backup")
            world.pass(.seconds(30))
            world.endRuns()
            #expect(world.show("backup").remaining == .seconds(60))
            world.pass(.seconds(50))
            _ = world.order(.resume, "backup")
            #expect(world.started.count == 1 && world.show("backup").remaining == .seconds(60))
            world.pass(.seconds(60))
            #expect(world.started.count == 2)
        }
    }

    /// With `fire-if-due`, a pause counts from the end of the run that ended in it.
    @Test(arguments: [59, 60])
    func resumingRunsAtOnce_ifAnIntervalPassedSinceTheEnd(seconds: Int) {
        var world = load(Self.job.with { $0.onResume = .fireIfDue })
        world.pass(.seconds(60))
        _ = world.order(.pause, "backup")
        world.pass(.seconds(300))
        world.endRuns()
        world.pass(.seconds(seconds))
        _ = world.order(.resume, "backup")
        #expect(world.started.count == (seconds < 60 ? 1 : 2))
        #expect(world.show("backup").remaining == (seconds < 60 ? .seconds(60) : nil))
    }

    /// The interval restarted at the end, also if the job counts in another way since then.
    @Test(arguments: [59, 60], [false, true])
    func resumingCountsFromTheEnd_ifTheJobIsChangedAfterIt(seconds: Int, restarts: Bool) {
        var world = load(Self.job.with { $0.onResume = .fireIfDue })
        world.pass(.seconds(60))
        _ = world.order(.pause, "backup")
        world.pass(.seconds(300))
        world.endRuns()
        let changed = Job.every(.seconds(60)).with { $0.onResume = .fireIfDue }
        world.handle(.reload(JobSet([changed])))
        if restarts {
            world.stopCleanly()
            world.load([changed])
        }
        world.pass(.seconds(seconds))
        _ = world.order(.resume, "backup")
        #expect(world.started.count == (seconds < 60 ? 1 : 2))
    }

    /// A clock that was set back after the end, and a restart, change nothing of that.
    @Test(arguments: [-200_000, -30, 0, 30], [false, true])
    func theEndInAPauseIsKnownLater(step: Int, restarts: Bool) {
        let job = Self.job.with { $0.onResume = .fireIfDue }
        var world = load(job)
        world.pass(.seconds(60))
        world.endRuns()
        world.pass(.seconds(20))
        world.step(.seconds(step))
        _ = world.order(.pause, "backup")
        world.pass(.seconds(39))
        if restarts {
            world.stopCleanly()
            world.load([job])
        }
        _ = world.order(.resume, "backup")
        #expect(world.started.count == 1 && world.show("backup").remaining == .seconds(40))
        world.pass(.seconds(40))
        #expect(world.started.count == 2)
        _ = world.order(.pause, "backup")
        world.pass(.seconds(300))
        world.endRuns()
        world.pass(.seconds(59))
        if restarts {
            world.stopCleanly()
            world.load([job])
        }
        _ = world.order(.resume, "backup")
        #expect(world.started.count == 2)
    }

    @Test func aPauseAndResumeDuringARunChangeNothing() {
        var world = load()
        world.pass(.seconds(60))
        world.handle(.order(Order(.pause, "backup", by: .user("ada"), withRun: true)))
        #expect(world.suspended.count == 1)
        world.pass(.seconds(500))
        _ = world.order(.resume, "backup")
        #expect(world.started.count == 1 && world.show("backup").remaining == nil)
        world.pass(.seconds(500))
        world.endRuns()
        #expect(world.show("backup").remaining == .seconds(60))
    }

    @Test func aStoppedJobThatIsStartedWhileItRunsWaitsForTheEnd() {
        var world = load()
        world.pass(.seconds(60))
        _ = world.order(.stop, "backup")
        world.pass(.seconds(60))
        _ = world.order(.start, "backup")
        world.pass(.seconds(600))
        #expect(world.started.count == 1)
        world.endRuns()
        world.pass(.seconds(60))
        #expect(world.started.count == 2)
    }

    // MARK: - Restarts

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

    // MARK: - Reloads

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

    // MARK: - Extremes

    @Test func theShortestRunsAndIntervalsFollowOneAnother() {
        var world = load(Job.every(.milliseconds(1)).fromEnd)
        for number in 1...1000 {
            world.pass(.milliseconds(1))
            #expect(world.started.count == number)
            world.endRuns()
        }
        // One timer for each run, and none while a run is active.
        #expect(world.rings == 1000)
        world.pass(.milliseconds(1))
        world.pass(.seconds(86_400))
        #expect(world.started.count == 1001 && world.rings == 1001)
    }

    @Test(arguments: [-200_000, -600, -1, 1, 600, 200_000])
    func settingTheClockChangesNothing(seconds: Int) {
        for basis in TimeBasis.allCases {
            var world = load(Self.job.counting(basis))
            world.pass(.seconds(60))
            world.step(.seconds(seconds))
            world.pass(.seconds(10))
            world.endRuns()
            #expect(world.show("backup").remaining == .seconds(60))
            world.step(.seconds(seconds))
            world.pass(.seconds(59))
            #expect(world.started.count == 1, "\(basis)")
            world.pass(.seconds(1))
            #expect(world.started.count == 2, "\(basis)")
        }
    }

    /// A report from the future or the distant past changes nothing that was not counted.
    @Test(arguments: [-1_000_000, 1_000_000])
    func anImpossibleEndCountsAsLittleAsPossible(seconds: Int) {
        var world = load()
        world.pass(.seconds(60))
        world.pass(.seconds(20))
        let at = world.now.wall + .seconds(seconds)
        world.handle(.ended(world.started[0].id, .exited(0), RunUsage(), at: at))
        #expect(world.show("backup").remaining == .seconds(seconds < 0 ? 40 : 60))
    }

    @Test func otherJobsAreNotAffected() {
        var world = World()
        world.load([
            .every(.seconds(7), "a"), Self.job,
            .every(.seconds(11), "b").with { $0.concurrency = .allow },
        ])
        world.pass(.seconds(300))
        #expect(world.started.count { $0.id.firing.job == "backup" } == 1)
        #expect(world.started.count { $0.id.firing.job == "b" } == 27)
        world.endRuns()
        world.pass(.seconds(60))
        #expect(world.started.count { $0.id.firing.job == "backup" } == 2)
    }
}

extension Job {
    fileprivate var fromEnd: Job {
        var job = self
        job.from = .end
        return job
    }
}
