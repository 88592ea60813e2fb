// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Jobs that run after runs of other jobs (`follows`).
@Suite struct ChainTests {
    private static let backup = Job.every(.seconds(3600), "backup")

    private static func follower(
        _ name: Job.Name = "upload", _ causes: Follows.Cause...,
        change: (inout Policy) -> Void = { _ in }
    ) -> Job {
        var job = Job(name: name, command: .arguments(["true"]), schedule: .onDemand).with(change)
        job.follows = Follows(causes)
        return job
    }

    private func world(_ jobs: [Job]) -> World {
        var world = World()
        world.load(jobs)
        return world
    }

    private func names(_ world: World) -> [Job.Name] { world.started.map(\.id.firing.job) }

    /// Which ends start which followers.
    @Test(arguments: [
        (RunOutcome.exited(0), ["on-success", "on-end"]),
        (.exited(1), ["on-failure", "on-end"]),
        (.signalled("SIGKILL"), ["on-failure", "on-end"]),
        (.timedOut, ["on-failure", "on-end"]),
        (.spawnFailed(errno: "ENOENT", what: "exec /bin/x"), ["on-failure", "on-end"]),
        (.lost(.runner), ["on-failure", "on-end"]),
        (.stopped, ["on-end"]),
        (.replaced, ["on-end"]),
        (.skipped(.exit(75)), ["on-skip"]),
    ])
    func theEndDecidesWhoFollows(_ outcome: RunOutcome, _ expected: [Job.Name]) {
        var world = world([
            Self.backup, Self.follower("on-success", .init("backup")),
            Self.follower("on-failure", .init("backup", on: .failure)),
            Self.follower("on-end", .init("backup", on: .end)),
            Self.follower("on-skip", .init("backup", on: .skip)),
        ])
        _ = world.command(.run, "backup")
        world.end(world.started[0], outcome)
        #expect(names(world) == ["backup"] + expected)
        #expect(
            world.started.dropFirst().allSatisfy {
                $0.firing.cause.chain?.run == world.started[0].id
            })
    }

    @Test func theEndOfTheLastAttemptCounts() {
        var world = world([
            Self.backup.with {
                $0.retry.retries = 1
                $0.retry.delay = .seconds(5)
            },
            Self.follower("repair", .init("backup", on: .failure)),
        ])
        _ = world.command(.run, "backup")
        world.end(world.started[0], .exited(1))
        #expect(names(world) == ["backup"])
        world.pass(.seconds(5))
        world.end(world.started[1], .exited(1))
        #expect(names(world) == ["backup", "backup", "repair"])
        #expect(world.started[2].firing.cause.chain?.run.attempt == 2)
    }

    /// The rows of an end and of the run that it causes are in one decision, one after the other.
    @Test func theEndAndWhatFollowsAreDecidedTogether() {
        var world = world([Self.backup, Self.follower("upload", .init("backup"))])
        _ = world.command(.run, "backup")
        let actions = world.handle(.ended(world.started[0].id, .exited(0), RunUsage()))
        let kinds = actions.compactMap { action -> String? in
            switch action {
            case .close: "close"
            case .begin(let runs, let start, let records):
                "begin \(runs.count) \(start.count) \(records.map(\.job))"
            default: nil
            }
        }
        #expect(kinds == ["close", "begin 1 1 [upload]"])
    }

    @Test func aSecondReportOfTheEndStartsNobody() {
        var world = world([Self.backup, Self.follower("upload", .init("backup"))])
        _ = world.command(.run, "backup")
        world.end(world.started[0])
        world.end(world.started[0])
        #expect(names(world) == ["backup", "upload"])
    }

    @Test func aRunThatWasAskedForAloneStartsNobody() {
        var world = world([Self.backup, Self.follower("upload", .init("backup"))])
        world.handle(.command(JobCommand(.run, "backup", by: .user("ada"), isAlone: true)))
        #expect(world.started[0].firing.cause.description == "requested-alone(ada)")
        world.end(world.started[0])
        #expect(names(world) == ["backup"])
    }

    @Test func aDelayPassesFirst_alsoOverARestart() {
        var world = world([
            Self.backup, Self.follower("upload", .init("backup", delay: .seconds(300))),
        ])
        let jobs = [
            Self.backup, Self.follower("upload", .init("backup", delay: .seconds(300))),
        ]
        _ = world.command(.run, "backup")
        world.end(world.started[0])
        #expect(names(world) == ["backup"])
        world.pass(.seconds(100))
        world.kill()
        world.block(.seconds(100))
        world.load(jobs)
        world.pass(.seconds(99))
        #expect(names(world) == ["backup"])
        world.pass(.seconds(1))
        #expect(names(world) == ["backup", "upload"])
        world.end(world.started[1])
        world.kill()
        world.load(jobs)
        world.pass(.seconds(1000))
        #expect(names(world) == ["backup", "upload"])
    }

    /// A start takes up what was recorded, and leaves what became due meanwhile to the first wake-up.
    @Test func aDelayThatPassedWhileNoDaemonRanIsNotLostBesideARunThatWaited() {
        let jobs = [
            Self.backup,
            Self.follower("upload", .init("backup", delay: .seconds(10))) {
                $0.concurrency = .queue
            },
        ]
        var world = world(jobs)
        for _ in 0..<3 {
            _ = world.command(.run, "backup")
            world.end(world.started.last { $0.id.firing.job == "backup" }!)
            world.pass(.seconds(5))
        }
        #expect(world.show("upload").live.map(\.wait) == [nil, .previousRun])
        world.kill()
        world.block(.seconds(60))
        world.load(jobs)
        #expect(world.show("upload").live.count == 1)
        world.pass(.zero)
        #expect(world.show("upload").live.map(\.wait) == [nil, .previousRun])
    }

    @Test func oneThatFollowsSeveralRunsOnceForAnEndOfEach() {
        let report = Self.follower("report", .init("backup"), .init("dump"))
        var world = world([Self.backup, Job.every(.seconds(7200), "dump"), report])
        func run(_ job: Job.Name) {
            _ = world.command(.run, job)
            world.end(world.started.last!)
        }
        run("backup")
        run("backup")
        #expect(world.show("report").chain?.awaited == ["dump"])
        run("dump")
        #expect(names(world) == ["backup", "backup", "dump", "report"])
        world.end(world.started[3])
        // The ends are used up.
        run("dump")
        #expect(names(world).filter { $0 == "report" }.count == 1)
        run("backup")
        #expect(names(world).filter { $0 == "report" }.count == 2)
    }

    @Test func anEndIsForgottenAfterWithin() {
        let report = Self.follower(
            "report", .init("backup", within: .seconds(60)), .init("dump", within: .seconds(60)))
        var world = world([Self.backup, Job.every(.seconds(7200), "dump"), report])
        _ = world.command(.run, "backup")
        world.end(world.started[0])
        world.pass(.seconds(61))
        _ = world.command(.run, "dump")
        world.end(world.started[1])
        #expect(names(world) == ["backup", "dump"])
    }

    /// A delay that is longer than `within` does not make ends too old that came together.
    @Test func endsThatCameTogetherAreKeptForTheDelay() {
        let report = Self.follower(
            "report", .init("backup", delay: .seconds(600), within: .seconds(60)),
            .init("dump", within: .seconds(60)))
        let jobs = [Self.backup, Job.every(.seconds(7200), "dump"), report]
        var world = world(jobs)
        for job: Job.Name in ["backup", "dump"] {
            _ = world.command(.run, job)
            world.end(world.started.last!)
            world.pass(.seconds(30))
        }
        world.kill()
        world.block(.seconds(300))
        world.load(jobs)
        world.pass(.seconds(239))
        #expect(names(world) == ["backup", "dump"])
        world.pass(.seconds(1))
        #expect(names(world) == ["backup", "dump", "report"])
    }

    @Test func aPausedFollowerRunsOnceAtTheResume() {
        var world = world([Self.backup, Self.follower("upload", .init("backup"))])
        _ = world.command(.pause, "upload")
        for _ in 0..<3 {
            _ = world.command(.run, "backup")
            world.end(world.started.last!)
        }
        #expect(names(world) == ["backup", "backup", "backup"])
        let last = world.started[2].id
        world.pass(.seconds(50))
        world.kill()
        world.load([Self.backup, Self.follower("upload", .init("backup"))])
        _ = world.command(.resume, "upload")
        #expect(names(world) == ["backup", "backup", "backup", "upload"])
        #expect(world.started[3].firing.cause.chain?.run == last)
    }

    @Test func onResumeRestartForgetsWhatEndedDuringThePause() {
        let upload = Self.follower("upload", .init("backup")) { $0.onResume = .restart }
        var world = world([Self.backup, upload])
        _ = world.command(.pause, "upload")
        _ = world.command(.run, "backup")
        world.end(world.started[0])
        _ = world.command(.resume, "upload")
        #expect(names(world) == ["backup"])
    }

    @Test func aStoppedFollowerForgetsIt() {
        var world = world([Self.backup, Self.follower("upload", .init("backup"))])
        _ = world.command(.stop, "upload")
        _ = world.command(.run, "backup")
        world.end(world.started[0])
        _ = world.command(.start, "upload")
        world.pass(.seconds(10))
        #expect(names(world) == ["backup"])
    }

    /// The runner did not know a released run any more: it is lost, which is a failure.
    @Test func aRunThatIsLostAtAStartCountsAsFailure() {
        let jobs = [Self.backup, Self.follower("repair", .init("backup", on: .failure))]
        var world = world(jobs)
        _ = world.command(.run, "backup")
        world.kill()
        world.load(jobs)
        world.pass(.zero)
        #expect(names(world) == ["backup", "repair"])
        world.end(world.started[1])
        world.kill()
        world.load(jobs)
        world.pass(.seconds(1))
        #expect(names(world) == ["backup", "repair"])
    }

    @Test func whatEndsDuringAShutdownIsFollowedByTheNextInstance() {
        let jobs = [Self.backup, Self.follower("upload", .init("backup"))]
        var world = world(jobs)
        _ = world.command(.run, "backup")
        world.handle(.shutdown)
        world.end(world.started[0])
        #expect(names(world) == ["backup"])
        world.stopCleanly()
        world.load(jobs)
        world.pass(.zero)
        #expect(names(world) == ["backup", "upload"])
    }

    @Test func theFollowersOwnConcurrencyDecidesAboutOverlap() {
        var world = world([
            Self.backup, Self.follower("forbid", .init("backup")),
            Self.follower("queue", .init("backup")) { $0.concurrency = .queue },
        ])
        for _ in 0..<2 {
            _ = world.command(.run, "backup")
            world.end(world.started.last { $0.id.firing.job == "backup" }!)
        }
        #expect(world.skipped.map(\.reason) == ["still-running"])
        #expect(world.show("queue").live.map(\.wait) == [nil, .previousRun])
    }

    @Test func aStartingDeadlineCountsFromTheEnd() {
        let upload = Self.follower("upload", .init("backup")) { $0.startingDeadline = .seconds(60) }
        var world = world([Self.backup, upload])
        _ = world.command(.run, "backup")
        world.handle(.shutdown)
        world.end(world.started[0])
        world.stopCleanly()
        world.block(.seconds(61))
        world.load([Self.backup, upload])
        world.pass(.zero)
        #expect(names(world) == ["backup"])
        #expect(world.skipped.map(\.reason) == ["deadline"])
    }

    @Test func oneThatIsRenamedIsFollowedUnderItsNewName() {
        let old = [
            Self.backup, Self.follower("upload", .init("backup", delay: .seconds(60))),
        ]
        var world = world(old)
        _ = world.command(.run, "backup")
        world.end(world.started[0])
        var renamed = Job.every(.seconds(3600), "save")
        renamed.renamedFrom = "backup"
        world.handle(
            .reload(
                JobSet([renamed, Self.follower("upload", .init("save", delay: .seconds(60)))])))
        world.pass(.seconds(60))
        #expect(names(world) == ["backup", "upload"])
    }

    @Test func aChangedDefinitionForgetsEndsThatItDoesNotName() {
        var world = world([
            Self.backup, Self.follower("upload", .init("backup", delay: .seconds(60))),
        ])
        _ = world.command(.run, "backup")
        world.end(world.started[0])
        let other = Self.follower("upload", .init("backup", on: .failure, delay: .seconds(60)))
        world.handle(.reload(JobSet([Self.backup, other])))
        world.pass(.seconds(60))
        #expect(names(world) == ["backup"])
        #expect(world.retryTimers.isEmpty)
    }

    /// One that ends often and is followed after a long time.
    @Test func soManyEndsAreKeptThatTheirDelayHasNotPassed() {
        var world = world([
            Self.backup,
            Self.follower("upload", .init("backup", delay: .seconds(3000))) {
                $0.concurrency = .allow
            },
        ])
        for _ in 0..<(ChainEnd.keptMax + 5) {
            _ = world.command(.run, "backup")
            world.end(world.started.last!)
            world.pass(.seconds(1))
        }
        world.pass(.seconds(3300))
        #expect(world.show("upload").live.count == ChainEnd.keptMax)
    }

    @Test func theTextOfAnEndIsReadBack() throws {
        let run = try #require(Run.ID("backup:20261121T043852.000000Z:2"))
        let end = ChainEnd(
            job: "save", .init(run: run, result: .timedOut),
            at: WallInstant(microsecondsSinceEpoch: 17))
        #expect(end.description == "17 timed-out backup:20261121T043852.000000Z:2 save")
        #expect(ChainEnd(end.description) == end)
        for wrong in ["", "17 timed-out backup save", "17 odd \(run) save", "\(end) x"] {
            #expect(ChainEnd(wrong) == nil, "\(wrong)")
        }
        let cause = Firing.Cause.chain(end.cause)
        #expect(cause.description == "chain(backup:20261121T043852.000000Z:2, timed-out)")
        #expect(Firing.Cause(cause.description) == cause)
    }
}
