// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// `max-runs` and `max-successes`: after how many runs a job is finished.
@Suite struct RunLimitTests {
    private static let schedules = ["interval", "cron", "from-end"]

    private static func job(
        _ kind: String, runs: Int? = nil, successes: Int? = nil,
        _ change: (inout Policy) -> Void = { _ in }
    ) throws -> Job {
        var job =
            kind == "cron"
            ? try Job.cron("6 * * * *").with(change) : Job.every(.seconds(3600)).with(change)
        if kind == "from-end" { job.from = .end }
        job.limit = RunLimit(runs: runs, successes: successes)
        return job
    }

    private func start(_ jobs: [Job]) -> World {
        var world = World()
        world.load(jobs)
        return world
    }

    /// Lets hours pass, and ends the runs of each.
    private func pass(_ world: inout World, hours: Int, _ outcome: RunOutcome = .exited(0)) {
        for _ in 0..<hours {
            world.pass(.seconds(3600))
            world.endRuns(outcome)
        }
    }

    private func finished(_ world: World) -> Int {
        world.notices.count { if case .finished = $0 { true } else { false } }
    }

    @Test(arguments: schedules)
    func afterSoManyRunsItIsFinished(_ kind: String) throws {
        var world = start([try Self.job(kind, runs: 3)])
        let end = world.now.wall + .seconds(86_400)
        if kind != "from-end" {
            #expect(world.show("backup").upcomingRuns(until: end, most: 10).count == 3)
        }
        pass(&world, hours: 8, .exited(1))
        #expect(world.started.count == 3 && world.show("backup").phase == .finished)
        #expect(world.show("backup").next == nil && finished(world) == 1)
        #expect(
            world.notices.contains(
                .finished("backup", firesAtBoot: false, after: RunLimit(runs: 3))))
        #expect(world.records["backup"]?.tally == RunTally(runs: 3))
        // A user still can run it, and that counts nothing.
        _ = world.command(.run, "backup")
        world.endRuns()
        #expect(world.started.count == 4 && world.show("backup").tally.runs == 3)
        // It begins again.
        _ = world.command(.start, "backup")
        #expect(world.show("backup").phase == .armed)
        pass(&world, hours: 8)
        #expect(world.started.count == 7 && finished(world) == 2)
    }

    @Test(arguments: schedules)
    func afterSoManySuccessesItIsFinished(_ kind: String) throws {
        var world = start([try Self.job(kind, successes: 2)])
        pass(&world, hours: 4, .exited(1))
        pass(&world, hours: 3)
        #expect(world.started.count == 6 && world.show("backup").phase == .finished)
        #expect(finished(world) == 1)
        #expect(world.records["backup"]?.tally.successes == 2)
    }

    /// A success counts also if a user requested the run.
    @Test func aSuccessOnRequestCounts() throws {
        var world = start([try Self.job("cron", successes: 1)])
        _ = world.command(.run, "backup")
        world.endRuns()
        #expect(world.show("backup").phase == .finished)
        pass(&world, hours: 3)
        #expect(world.started.count == 1)
    }

    /// A retry belongs to its run, and its success counts once.
    @Test func retriesAreNoRunsOfTheirOwn() throws {
        var world = start([
            try Self.job("interval", runs: 2) {
                $0.retry.retries = 3
                $0.retry.delay = .seconds(60)
            }
        ])
        world.pass(.seconds(3600))
        world.endRuns(.exited(1))
        world.pass(.seconds(300))
        world.endRuns()
        #expect(world.attempts == [1, 2] && world.show("backup").tally.runs == 1)
        world.pass(.seconds(3600))
        world.endRuns(.exited(1))
        // The last run is retried, too.
        #expect(world.show("backup").phase == .finished)
        world.pass(.seconds(300))
        #expect(world.attempts == [1, 2, 1, 2])
    }

    /// The count is written with the run: no kill loses it, and none counts a run twice.
    @Test(arguments: schedules)
    func aRestartKeepsTheCount(_ kind: String) throws {
        let job = try Self.job(kind, runs: 3, successes: 3)
        var world = start([job])
        world.hasRunner = true
        for hour in 1...6 {
            world.pass(.seconds(3600))
            world.kill()
            world.load([job])
            world.endRuns()
            world.kill()
            world.load([job])
            #expect(world.started.count <= min(3, hour))
        }
        pass(&world, hours: 3)
        #expect(world.started.count == 3 && world.show("backup").phase == .finished)
        #expect(world.show("backup").tally == RunTally(runs: 3, successes: 3))
    }

    @Test(arguments: schedules)
    func aReloadWithAnotherNumber(_ kind: String) throws {
        var world = start([try Self.job(kind, runs: 2)])
        pass(&world, hours: 5)
        #expect(world.started.count == 2)
        world.handle(.reload(JobSet([try Self.job(kind, runs: 3)]), portion: 10))
        #expect(world.show("backup").phase == .armed)
        pass(&world, hours: 5)
        #expect(world.started.count == 3)
        world.handle(.reload(JobSet([try Self.job(kind, runs: 9)]), portion: 10))
        pass(&world, hours: 2)
        #expect(world.started.count >= 4)
        // A lower number than it had.
        world.handle(.reload(JobSet([try Self.job(kind, runs: 1)]), portion: 10))
        #expect(world.show("backup").phase == .finished && world.show("backup").next == nil)
        let count = world.started.count
        pass(&world, hours: 3)
        #expect(world.started.count == count)
    }

    /// Of what was missed, it catches up no more than remains.
    @Test func catchingUpStopsAtTheLimit() throws {
        let job = try Self.job("cron", runs: 3) {
            $0.onMissed = .runAll
            $0.concurrency = .queue
        }
        var world = start([job])
        world.reboot(away: .seconds(20 * 3600))
        world.load([job])
        pass(&world, hours: 20)
        #expect(world.started.count == 3 && world.show("backup").phase == .finished)
    }

    /// What a user skips is no run.
    @Test func aSkippedRunDoesNotCount() throws {
        var world = start([try Self.job("cron", runs: 1)])
        _ = world.command(.skipNext, "backup")
        let end = world.now.wall + .seconds(86_400)
        #expect(
            world.show("backup").upcomingRuns(until: end, most: 9).map(\.kind) == [.skipped, .run])
        pass(&world, hours: 4)
        #expect(world.started.count == 1 && world.skipped.count == 1)
    }

    /// It is paused when its last run succeeds.
    @Test func aPauseOfASpentJob() throws {
        var world = start([
            try Self.job("cron", successes: 1) { $0.onResume = .fireIfDue }
        ])
        world.pass(.seconds(3600))
        _ = world.command(.pause, "backup")
        world.endRuns()
        #expect(world.show("backup").phase.isPaused && world.show("backup").next == nil)
        world.pass(.seconds(7200))
        _ = world.command(.resume, "backup")
        #expect(world.show("backup").phase == .finished && world.started.count == 1)
        #expect(finished(world) == 1)
    }

    @Test func runsAfterOtherJobsCount() throws {
        var follower = Job(name: "upload", command: .arguments(["true"]), schedule: .onDemand)
        follower.follows = Follows([Follows.Cause("backup")])
        follower.limit = RunLimit(runs: 2)
        var world = start([try Job.cron("6 * * * *"), follower])
        for _ in 0..<5 { pass(&world, hours: 1) }
        world.endRuns()
        let uploads = world.started.count { $0.id.firing.job == "upload" }
        #expect(uploads == 2 && world.show("upload").phase == .finished)
        #expect(finished(world) == 1)
    }

    @Test func inEachBootUntilTheLimit() {
        var job = Job(name: "boot", command: .arguments(["true"]), schedule: .onBoot(.seconds(60)))
        job.limit = RunLimit(runs: 2)
        var world = start([job])
        for _ in 0..<4 {
            world.pass(.seconds(7200))
            world.endRuns()
            world.reboot(away: .seconds(60))
            world.load([job])
        }
        world.pass(.seconds(7200))
        #expect(world.started.count <= 2)
        #expect(world.show("boot").phase == .finished && world.show("boot").next == nil)
    }
}
