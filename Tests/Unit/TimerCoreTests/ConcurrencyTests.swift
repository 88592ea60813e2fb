// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// What happens to a firing while a run of the job is active.
@Suite struct ConcurrencyTests {
    private func world(_ policy: Policy.Concurrency) -> World {
        var world = World()
        world.load([Job.every(.seconds(10)).with { $0.concurrency = policy }])
        return world
    }

    @Test func queueKeepsOneFiring_andSkipsFurtherOnes() {
        var world = world(.queue)
        world.pass(.seconds(30))
        #expect(world.started.count == 1)
        #expect(world.show("backup").live.map(\.wait) == [nil, .previousRun])
        #expect(world.skipped.map(\.reason) == ["queue-full"])
        world.end(world.started[0])
        #expect(world.started.count == 2)
        world.end(world.started[1])
        #expect(world.started.count == 2 && world.show("backup").live.isEmpty)
    }

    @Test func replaceEndsTheRun_andStartsAfterItsEnd() {
        var world = world(.replace)
        world.pass(.seconds(20))
        #expect(world.asked == [world.started[0].id] && world.started.count == 1)
        world.pass(.seconds(10))
        #expect(world.asked.count == 1)
        world.end(world.started[0], .signalled("SIGTERM"))
        #expect(world.closed[world.started[0].id] == .replaced)
        #expect(world.started.count == 2)
        // The second firing waited and was replaced by the third.
        #expect(world.closed.values.filter { $0 == .replaced }.count == 2)
        #expect(
            world.started[1].id.firing.scheduled - world.started[0].id.firing.scheduled
                == .seconds(20))
    }

    @Test func allowRunsAll() {
        var world = world(.allow)
        world.pass(.seconds(50))
        #expect(world.started.count == 5 && world.skipped.isEmpty)
    }

    @Test(arguments: [Policy.Concurrency.queue, .replace])
    func aReloadThatAllowsConcurrentRunsStartsWaitingRuns(before: Policy.Concurrency) {
        var world = world(before)
        world.pass(.seconds(20))
        #expect(world.started.count == 1)
        world.handle(.reload(JobSet([Job.every(.seconds(10)).with { $0.concurrency = .allow }])))
        #expect(world.started.count == 2)
    }

    @Test func aRunThatWaitedPastItsDeadlineIsLost() {
        var world = World()
        world.load([
            Job.every(.seconds(10)).with {
                $0.concurrency = .queue
                $0.startingDeadline = .seconds(5)
            }
        ])
        world.pass(.seconds(28))
        world.end(world.started[0])
        #expect(world.started.count == 1)
        #expect(world.closed.values.filter { $0 == .lost(.deadline) }.count == 1)
        #expect(world.show("backup").lastSkip?.reason == .deadline)
    }

    @Test func aPauseDelaysQueuedRuns() {
        var world = world(.queue)
        world.pass(.seconds(20))
        _ = world.command(.pause, "backup")
        world.end(world.started[0])
        #expect(world.started.count == 1)
        _ = world.command(.resume, "backup")
        #expect(world.started.count == 2)
    }

    @Test func stopCancelsWaitingRuns() {
        var world = world(.queue)
        world.pass(.seconds(20))
        _ = world.command(.stop, "backup")
        world.end(world.started[0])
        #expect(world.started.count == 1 && world.openRuns.isEmpty)
        #expect(world.closed.values.filter { $0 == .stopped }.count == 1)
    }

    @Test func queuedRunsAreKeptAcrossARestart() {
        var world = world(.queue)
        let job = Job.every(.seconds(10)).with { $0.concurrency = .queue }
        world.pass(.seconds(20))
        world.beat()
        world.kill()
        world.load([job])
        // The first run may have done its work, so it is lost; the second never started.
        #expect(world.closed[world.started[0].id] == .lost(.daemon))
        #expect(world.started.count == 2)
    }

    @Test func runsThatKeepRunningAcrossARestartCountForTheLimit() {
        var world = World(concurrentRunsMax: 2)
        world.hasRunner = true
        let jobs = [
            Job.every(.seconds(10), "a"), .every(.seconds(10), "b"), .every(.seconds(10), "c"),
        ]
        world.load(jobs)
        world.pass(.seconds(10))
        #expect(world.started.map(\.id.firing.job) == ["a", "b"])
        world.beat()
        world.kill()
        // After a correction of the clock the scheduled times may go back. The run with the earlier
        // scheduled time then comes first.
        world.load(Array(jobs.reversed()))
        #expect(world.started.count == 2 && world.agenda.liveRuns == 2)
        world.end(world.started[0])
        #expect(world.started.map(\.id.firing.job) == ["a", "b", "c"])
    }

    @Test func aJobThatReturnsHasItsRunThatIsStillActive() {
        var world = World()
        let job = Job.every(.seconds(10))
        world.load([job])
        world.pass(.seconds(10))
        world.handle(.reload(JobSet()))
        world.handle(.reload(JobSet([job])))
        world.pass(.seconds(10))
        #expect(world.started.count == 1 && world.skipped.map(\.reason) == ["still-running"])
        world.endRuns()
        world.pass(.seconds(10))
        #expect(world.started.count == 2)
    }

    @Test func queuedRunsKeepTheirOrderDuringAPause() {
        var world = World(concurrentRunsMax: 1)
        let queued = Job.every(.seconds(10), "a").with { $0.concurrency = .queue }
        world.load([.every(.seconds(1000), "z", first: .seconds(1)), queued])
        world.pass(.seconds(25))
        #expect(world.show("a").live.map(\.wait) == [.capacity, .previousRun])
        _ = world.command(.pause, "a")
        world.endRuns()
        _ = world.command(.resume, "a")
        world.endRuns()
        let own = world.started.filter { $0.id.firing.job == "a" }.map(\.id.firing.scheduled)
        #expect(own.count == 2 && own == own.sorted())
    }

    @Test func cancellingAWaitingRunLetsTheNextOneStart() {
        var world = World(concurrentRunsMax: 1)
        world.load([
            .every(.seconds(10), "a"), .every(.seconds(11), "b"), .every(.seconds(12), "c"),
        ])
        world.pass(.seconds(13))
        #expect(world.started.map(\.id.firing.job) == ["a"])
        _ = world.command(.stop, "b")
        world.end(world.started[0])
        #expect(world.started.map(\.id.firing.job) == ["a", "c"])
        world.end(world.started[1])
        #expect(world.agenda.pendingRuns == 0)
    }

    // MARK: - As many runs of a job as concurrency-max allows

    private static let atMostTwo = Job.every(.seconds(10)).with {
        $0.concurrency = .allow
        $0.concurrencyMax = 2
    }

    @Test func aFiringAboveTheMaximumOfTheJobIsSkipped() {
        var world = World()
        world.load([Self.atMostTwo])
        world.pass(.seconds(40))
        #expect(world.started.count == 2)
        #expect(world.skipped.map(\.reason) == ["concurrency-max", "concurrency-max"])
        guard case .refused(let why) = world.command(.run, "backup") else {
            Issue.record("a third run was ordered")
            return
        }
        #expect(why == "2 runs of it are still running, the limit of concurrency-max")
        world.end(world.started[0])
        #expect(world.command(.run, "backup")?.run != nil)
        #expect(world.started.count == 3)
    }

    @Test func caughtUpFiringsWait_aboveTheMaximumOfTheJob() {
        var world = World()
        world.load([Self.atMostTwo.with { $0.onMissed = .runAll }])
        world.block(.seconds(100))
        world.pass(.zero)
        #expect(world.started.count == 2 && world.skipped.isEmpty)
        for count in 3...10 {
            world.end(world.started[count - 3])
            #expect(world.started.count == count)
        }
    }

    @Test func aRetryWaits_aboveTheMaximumOfTheJob() {
        var world = World()
        world.load([
            Self.atMostTwo.with {
                $0.retry.retries = 1
                $0.retry.delay = .seconds(25)
            }
        ])
        world.pass(.seconds(10))
        world.end(world.started[0], .exited(1))
        world.pass(.seconds(29))
        // Two others started meanwhile: a retry that waits for its delay does not count.
        #expect(world.attempts == [1, 1, 1])
        #expect(world.show("backup").live.map(\.wait) == [.previousRun, nil, nil])
        world.end(world.started[1])
        #expect(world.attempts == [1, 1, 1, 2])
    }

    @Test func aHigherMaximumIsUsedAtOnce() {
        var world = World()
        world.load([Self.atMostTwo.with { $0.onMissed = .runAll }])
        world.block(.seconds(100))
        world.pass(.zero)
        world.handle(.reload(JobSet([Self.atMostTwo.with { $0.concurrencyMax = 5 }])))
        #expect(world.started.count == 5)
    }
}
