// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Jobs that are renamed.
@Suite struct RenameTests {
    private var renamed: Job {
        Job(
            name: "vault", command: .arguments(["true"]), schedule: .every(.seconds(60)),
            renamedFrom: "backup")
    }

    @Test func aRenamedJobKeepsItsState_atAReload() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(20))
        let preview = world.agenda.preview(JobSet([renamed]), at: world.now)
        #expect(preview.added == [.init(job: "vault", accrued: .seconds(20))])
        #expect(preview.removed == [.init(job: "backup", accrued: .seconds(20))])
        world.handle(.reload(JobSet([renamed])))
        #expect(world.show("vault").accrued == .seconds(20))
        #expect(world.records["backup"] == nil && world.records["vault"]?.accrued == .seconds(20))
        #expect(world.notices.contains(.renamed("vault", from: "backup")))
        world.pass(.seconds(40))
        #expect(world.started.count == 1)
    }

    @Test func aRenamedJobKeepsItsState_acrossARestart() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(20))
        world.stopCleanly()
        world.load([renamed])
        #expect(world.show("vault").accrued == .seconds(20) && world.records["backup"] == nil)
    }

    @Test func theOwnStateIsNotReplacedByThatOfTheOldName() {
        var world = World()
        world.load([.every(.seconds(60)), .every(.seconds(60), "vault")])
        world.pass(.seconds(20))
        _ = world.command(.stop, "backup")
        world.handle(.reload(JobSet([renamed])))
        #expect(world.show("vault").accrued == .seconds(20) && world.show("vault").phase == .armed)
    }

    @Test func aPreviewChangesNothing() {
        var world = World()
        world.load([.every(.seconds(60)), .every(.seconds(90), "other")])
        world.pass(.seconds(20))
        let before = world.agenda.snapshot(at: world.now)
        let preview = world.agenda.preview(
            JobSet([.every(.seconds(60)), .every(.seconds(91), "other")]), at: world.now)
        #expect(preview.kept.map(\.job) == ["backup"] && preview.changed.map(\.job) == ["other"])
        #expect(world.agenda.snapshot(at: world.now) == before)
    }

    // MARK: - With runs

    /// A renamed job is the same job: a run that is active under the old name counts as its run.
    private func isHeldBack(_ world: inout World) {
        let run = world.started[0]
        #expect(world.show("vault").live.map(\.id) == [run.id])
        #expect(world.agenda.owner(of: run.id) == "vault")
        world.pass(.seconds(60))
        #expect(world.started.count == 1 && world.skipped.last?.reason == "still-running")
        #expect(world.command(.run, "vault")?.run == nil)
        world.end(run, .exited(3))
        #expect(world.closed[run.id] == .exited(3))
        #expect(world.show("vault").live.isEmpty)
        #expect(world.show("vault").lastRun?.id == run.id)
        #expect(world.show("vault").lastRun?.outcome == .exited(3))
        world.pass(.seconds(60))
        #expect(world.started.map(\.id.firing.job) == ["backup", "vault"])
    }

    @Test func anActiveRunMovesToTheNewName_atAReload() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(61))
        world.handle(.reload(JobSet([renamed])))
        isHeldBack(&world)
    }

    @Test func anActiveRunMovesToTheNewName_acrossARestart() {
        var world = World()
        world.hasRunner = true
        world.load([.every(.seconds(60))])
        world.pass(.seconds(61))
        world.stopCleanly()
        world.load([renamed])
        isHeldBack(&world)
    }

    @Test func aRunOfARemovedJobMovesToTheNewName() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(61))
        world.handle(.reload(JobSet([])))
        world.handle(.reload(JobSet([renamed])))
        isHeldBack(&world)
    }

    /// The old name can be used again while a run that started under it continues under the new
    /// name.
    @Test func anotherJobWithTheOldNameDoesNotGetItsRun() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(61))
        world.handle(.reload(JobSet([renamed])))
        var settled = renamed
        settled.renamedFrom = nil
        world.handle(.reload(JobSet([settled, .every(.seconds(40))])))
        #expect(world.show("backup").live.isEmpty && world.show("vault").live.count == 1)
        world.pass(.seconds(41))
        #expect(world.started.map(\.id.firing.job) == ["backup", "backup"])
        #expect(world.show("backup").live.map(\.id) == [world.started[1].id])
        world.end(world.started[0])
        #expect(world.show("backup").lastRun == nil && world.show("backup").live.count == 1)
        #expect(world.show("vault").lastRun?.id == world.started[0].id)
    }

    /// Active runs of removed jobs are not affected when another job is renamed.
    @Test func theRunsOfARenamedJobKeepTheirOrder() {
        var world = World()
        let queued = Job.every(.seconds(60)).with {
            $0.concurrency = .queue
            $0.retry.retries = 1
            $0.retry.delay = .seconds(300)
        }
        world.load([.every(.seconds(50), "other"), queued])
        world.pass(.seconds(121))
        world.end(world.started.first { $0.id.firing.job == "backup" }!, .exited(1))
        #expect(world.show("backup").live.map(\.id.attempt) == [1, 2])
        var renamed = queued
        renamed.name = "vault"
        renamed.renamedFrom = "backup"
        world.handle(.reload(JobSet([renamed])))
        #expect(world.show("vault").live.map(\.id.attempt) == [1, 2])
    }

    /// The saved state of the job was lost, and its run continues: the capacity it uses is free
    /// when it has ended.
    @Test func aRunOfAJobWithoutSavedStateBelongsToTheJobWithItsName() throws {
        var world = World(concurrentRunsMax: 1)
        world.hasRunner = true
        world.load([.every(.seconds(60), "vault"), .every(.seconds(3600))])
        world.pass(.seconds(61))
        let run = try #require(world.started.first)
        world.stopCleanly()
        world.records["vault"] = nil
        world.load([.every(.seconds(3600))])
        #expect(world.agenda.liveRuns == 1)
        world.handle(.reload(JobSet([renamed])))
        #expect(world.show("vault").live.map(\.id) == [run.id])
        world.end(run)
        #expect(world.closed[run.id] == .exited(0) && world.agenda.liveRuns == 0)
        #expect(world.show("vault").lastRun?.id == run.id)
    }

    /// A run that waits for the previous run, and one that waits for capacity, start under the new
    /// name.
    @Test(arguments: [1, 64]) func waitingRunsGetTheNewName(runsMax: Int) {
        var world = World(concurrentRunsMax: runsMax)
        let queued = renamed.with { $0.concurrency = .queue }
        world.load([
            Job.every(.seconds(60)).with { $0.concurrency = .queue }, .every(.seconds(50), "other"),
        ])
        world.pass(.seconds(121))
        world.handle(.reload(JobSet([queued])))
        #expect(world.closed.isEmpty)
        #expect(world.show("vault").live.count == 2)
        for run in world.started where run.id.firing.job == "other" { world.end(run) }
        for run in world.started where run.id.firing.job == "backup" { world.end(run) }
        #expect(world.started.last?.id.firing.job == "vault")
        #expect(world.started.last?.job.name == "vault")
        world.endRuns()
        world.endRuns()
        #expect(world.openRuns.isEmpty)
    }

    @Test func aWaitingRunGetsTheNewName_acrossARestart() {
        var world = World()
        world.load([Job.every(.seconds(60)).with { $0.concurrency = .queue }])
        world.pass(.seconds(121))
        world.hasRunner = true
        world.stopCleanly()
        world.load([renamed.with { $0.concurrency = .queue }])
        #expect(world.show("vault").live.count == 2)
        world.end(world.started[0])
        #expect(world.started.map(\.id.firing.job) == ["backup", "vault"])
        world.endRuns()
        #expect(world.openRuns.isEmpty)
    }

    @Test func aRetryIsMadeUnderTheNewName() {
        var world = World()
        let job = Job.every(.seconds(600)).with {
            $0.retry.retries = 1
            $0.retry.delay = .seconds(5)
        }
        world.load([job])
        world.pass(.seconds(601))
        var renamed = job
        renamed.name = "vault"
        renamed.renamedFrom = "backup"
        world.handle(.reload(JobSet([renamed])))
        world.end(world.started[0], .exited(1))
        world.pass(.seconds(6))
        #expect(world.started.map(\.id.attempt) == [1, 2])
        #expect(world.started[1].id.firing.job == "vault" && world.started[1].job.name == "vault")
    }

    /// A pause that includes the active run continues: a renaming does not resume anything.
    @Test func aPauseThatIncludesTheRunContinuesUnderTheNewName() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(61))
        world.handle(
            .command(JobCommand(.pause, "backup", by: .user("ada"), withRun: true)))
        world.handle(.reload(JobSet([renamed])))
        #expect(world.suspended == [world.started[0].id])
        _ = world.command(.resume, "vault")
        #expect(world.suspended.isEmpty)
    }

    // MARK: - Jobs that return

    @Test func aJobThatReturnsHasItsLastRun() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(61))
        world.endRuns(.exited(3))
        world.handle(.reload(JobSet([])))
        world.handle(.reload(JobSet([.every(.seconds(60))])))
        #expect(world.show("backup").lastRun?.outcome == .exited(3))
    }

    @Test func aJobThatReturnsHasTheRunThatEndedMeanwhile() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(61))
        world.handle(.reload(JobSet([])))
        world.endRuns(.exited(3))
        world.handle(.reload(JobSet([.every(.seconds(60))])))
        #expect(world.show("backup").lastRun?.outcome == .exited(3))
    }

    @Test func aJobThatReturnsAfterARestartHasItsLastRun() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(61))
        world.endRuns(.exited(3))
        world.stopCleanly()
        world.load([])
        world.handle(.reload(JobSet([.every(.seconds(60))])))
        #expect(world.show("backup").lastRun?.outcome == .exited(3))
    }
}
