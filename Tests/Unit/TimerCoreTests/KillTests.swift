// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Runs that a user ends.
@Suite struct KillTests {
    private var world: World {
        var world = World()
        world.load([
            Job.every(.seconds(60), first: .zero).with {
                $0.retry.retries = 3
                $0.retry.delay = .seconds(10)
            }
        ])
        world.pass(.zero)
        return world
    }

    private func kill(_ world: inout World, run: Run.ID? = nil, signal: String? = nil) -> Answer? {
        world.handle(
            .command(JobCommand(.kill, "backup", by: .user("ada"), run: run, signal: signal)))
        return world.answers.last
    }

    @Test func aRunThatAUserEndsIsNotRetried() throws {
        var world = world
        let run = world.started[0].id
        #expect(kill(&world) == .killed([run], cancelled: []))
        #expect(world.asked == [run])
        #expect(world.notices.last == .killed(run, by: .user("ada"), signal: nil))
        // It is recorded as stopped, however the process reacted to the signal.
        world.end(world.started[0], .exited(1))
        #expect(world.closed[run] == .stopped && world.verdicts[run] == false)
        #expect(world.retryTimers.isEmpty)
    }

    @Test func killIsIdempotent() {
        var world = world
        let run = world.started[0].id
        _ = kill(&world)
        #expect(kill(&world) == .unchanged("its run is being ended already"))
        #expect(world.asked == [run])
        world.end(world.started[0], .stopped)
        #expect(kill(&world) == .unchanged("no run of it is running"))
        #expect(kill(&world, run: run) == .unchanged("run \(run) is not running"))
    }

    @Test func aWaitingRetryIsCancelled() throws {
        var world = world
        world.end(world.started[0], .exited(1))
        let retry = try #require(world.show("backup").live.first?.id)
        #expect(kill(&world) == .killed([], cancelled: [retry]))
        #expect(world.closed[retry] == .stopped && world.retryTimers.isEmpty)
        #expect(world.notices.contains(.cancelled(retry, by: .user("ada"))))
        world.pass(.seconds(20))
        #expect(world.started.count == 1)
        #expect(kill(&world) == .unchanged("no run of it is running"))
        world.pass(.seconds(40))
        #expect(world.started.count == 2, "the schedule goes on")
    }

    @Test func aSignalIsSentToTheActiveRuns_eachTime() {
        var world = world
        let run = world.started[0].id
        for _ in 0..<2 { #expect(kill(&world, signal: "SIGHUP") == .killed([run], cancelled: [])) }
        #expect(world.signals == ["SIGHUP", "SIGHUP"] && world.asked.isEmpty)
        #expect(world.notices.last == .killed(run, by: .user("ada"), signal: "SIGHUP"))
        world.end(world.started[0], .exited(1))
        #expect(kill(&world, signal: "SIGHUP") == .unchanged("no run of it is running"))
        #expect(world.retryTimers["backup"] != nil, "a signal cancels nothing")
    }

    @Test func aQueuedRunStarts_unlessItIsNamed() throws {
        for isNamed in [false, true] {
            var world = World()
            world.load([Job.every(.seconds(10)).with { $0.concurrency = .queue }])
            world.pass(.seconds(20))
            let queued = try #require(world.show("backup").live.last?.id)
            if isNamed { #expect(kill(&world, run: queued) == .killed([], cancelled: [queued])) }
            _ = kill(&world)
            world.end(world.started[0], .stopped)
            #expect(world.started.count == (isNamed ? 1 : 2))
            #expect(world.closed[queued] == (isNamed ? .stopped : nil))
        }
    }

    @Test func aRunCanBeEndedWhileTheDaemonStops() {
        var world = world
        world.handle(.shutdown)
        #expect(kill(&world) == .killed([world.started[0].id], cancelled: []))
    }

    @Test func theInitiatorOfARunIsReported() {
        var world = world
        world.end(world.started[0])
        _ = world.command(.run, "backup")
        let told = world.notices.filter { if case .runOrdered = $0 { true } else { false } }
        #expect(
            told == [
                .runOrdered(world.started[1], by: .user("ada"), remaining: .seconds(60))
            ])
        let fired = world.notices.count { if case .fired = $0 { true } else { false } }
        #expect(fired == 1)
    }

    @Test(arguments: [(RunOutcome.exited(2), false), (.exited(1), true), (.timedOut, true)])
    func theExitCodesAtTheTimeOfTheEndDecideWhetherARunFailed(outcome: RunOutcome, failed: Bool) {
        var world = World()
        var job = Job.every(.seconds(60), first: .zero)
        job.execution.success.exitCodes = [0, 2]
        world.load([job])
        world.pass(.zero)
        job.execution.success.exitCodes = [0]
        world.handle(.reload(JobSet([job])))
        world.end(world.started[0], outcome)
        #expect(world.verdicts[world.started[0].id] == failed)
        #expect(world.show("backup").lastRun?.failed == failed)
    }

    // MARK: - Runs of a job that was removed

    /// Nothing else could end them.
    @Test func aRunOfARemovedJobCanBeEnded() throws {
        var world = World()
        var job = Job.every(.seconds(60), first: .zero)
        job.execution.killTimeout = .seconds(3)
        world.load([job])
        world.pass(.zero)
        let run = try #require(world.started.first)
        world.handle(.reload(JobSet([])))
        #expect(world.agenda.removedRuns(of: "backup").map(\.id) == [run.id])
        let other = Run.ID(firing: run.id.firing, attempt: 2)
        #expect(kill(&world, run: other) == .unchanged("run \(other) is not running"))
        #expect(kill(&world, run: run.id, signal: "HUP") == .killed([run.id], cancelled: []))
        #expect(world.asked.isEmpty)
        let ends = world.handle(.command(JobCommand(.kill, "backup", by: .user("ada"))))
        #expect(ends.contains(.end(run.id, grace: .seconds(3))))
        #expect(world.notices.last == .killed(run.id, by: .user("ada"), signal: nil))
        #expect(kill(&world) == .unchanged("its run is being ended already"))
        world.end(run, .exited(1))
        #expect(world.closed[run.id] == .stopped && world.verdicts[run.id] == false)
        #expect(kill(&world) == .noSuchJob && kill(&world, run: run.id) == .noSuchJob)
    }

    @Test func aRunOfARemovedJobCanBeEndedAfterARestart() throws {
        var world = world
        world.hasRunner = true
        let run = world.started[0].id
        world.handle(.reload(JobSet([])))
        world.kill()
        world.load([])
        #expect(kill(&world, run: run) == .killed([run], cancelled: []))
        #expect(world.asked == [run])
    }
}
