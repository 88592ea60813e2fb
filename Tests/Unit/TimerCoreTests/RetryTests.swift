// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Retries of a firing.
@Suite struct RetryTests {
    private var job: Job {
        Job.every(.seconds(600), first: .zero).with {
            $0.retry.retries = 3
            $0.retry.delay = .seconds(10)
        }
    }

    @Test func aFailedRunIsRetried_withIncreasingDelays() {
        var world = World()
        world.load([job])
        world.pass(.zero)
        let start = world.now.awake
        var instants: [Duration] = []
        for attempt in 1...4 {
            #expect(world.attempts == Array(1...attempt))
            instants.append(world.now.awake - start)
            world.end(world.started[attempt - 1], .exited(1))
            if let instant = world.retryTimers["backup"] { world.pass(instant - world.now.awake) }
        }
        #expect(instants == [.zero, .seconds(10), .seconds(30), .seconds(70)])
        #expect(world.started.count == 4 && world.show("backup").live.isEmpty)
        #expect(Set(world.started.map(\.id.firing)).count == 1)
    }

    @Test(arguments: [
        (RunOutcome.exited(2), true), (.signalled("SIGSEGV"), true), (.timedOut, true),
        (.spawnFailed(errno: "ENOENT", what: "exec"), true), (.exited(0), false),
        (.exited(75), false), (.stopped, false), (.lost(.daemon), false),
        (.skipped(.exit(2)), false),
    ])
    func outcomesThatAreRetried(outcome: RunOutcome, again: Bool) {
        var world = World()
        var job = job
        job.execution.success.exitCodes = [0, 75]
        world.load([job])
        world.pass(.zero)
        world.end(world.started[0], outcome)
        #expect((world.retryTimers["backup"] != nil) == again)
    }

    @Test func aRunThatReplacesARetryCancelsItsTimer() {
        var world = World()
        world.load([
            Job.every(.seconds(10)).with {
                $0.concurrency = .replace
                $0.retry.retries = 3
                $0.retry.delay = .seconds(10)
            }
        ])
        world.pass(.seconds(15))
        world.end(world.started[0], .exited(1))
        #expect(world.retryTimers["backup"] != nil)
        world.pass(.seconds(5))
        #expect(world.started.count == 2 && world.retryTimers["backup"] == nil)
    }

    @Test func aRequestedRunThatReplacesARetryCancelsItsTimerToo() {
        var world = World()
        world.load([
            job.with {
                $0.concurrency = .replace
                $0.retry.retries = 3
            }
        ])
        world.pass(.zero)
        world.end(world.started[0], .exited(1))
        #expect(world.retryTimers["backup"] != nil)
        _ = world.command(.run, "backup")
        #expect(world.started.count == 2 && world.retryTimers["backup"] == nil)
    }

    @Test func aPauseDelaysARetry_untilTheJobIsResumed() {
        var world = World()
        world.load([job])
        world.pass(.zero)
        world.end(world.started[0], .exited(1))
        _ = world.command(.pause, "backup")
        world.pass(.seconds(3600))
        #expect(world.started.count == 1)
        _ = world.command(.resume, "backup")
        #expect(world.attempts == [1, 2])
    }

    @Test func aRetryIsKeptAcrossARestart_andItsDelayContinues() {
        var world = World()
        world.load([job])
        world.pass(.zero)
        world.end(world.started[0], .exited(1))
        world.pass(.seconds(4))
        world.beat()
        world.kill()
        world.pass(.seconds(3))
        world.load([job])
        world.pass(.seconds(3) - .milliseconds(1))
        #expect(world.started.count == 1)
        world.pass(.milliseconds(1))
        #expect(world.attempts == [1, 2])
    }

    /// A firing is due while a retry waits, for each policy: the attempts that start then and at
    /// the time of the retry, and what happens to the retry.
    @Test(
        arguments: [
            (.forbid, [1, 1], [1, 1], .replaced), (.queue, [1], [1, 2], nil),
            (.replace, [1, 1], [1, 1], .replaced), (.allow, [1, 1], [1, 1, 2], nil),
        ] as [(Policy.Concurrency, [Int], [Int], RunOutcome?)])
    func aFiringWhileARetryWaits(
        policy: Policy.Concurrency, atOnce: [Int], later: [Int], closed: RunOutcome?
    ) throws {
        var world = World()
        world.load([
            Job.every(.seconds(10)).with {
                $0.concurrency = policy
                $0.retry.retries = 1
                $0.retry.delay = .seconds(15)
            }
        ])
        world.pass(.seconds(10))
        world.end(world.started[0], .exited(1))
        let retry = try #require(world.show("backup").live.first?.id)
        world.pass(.seconds(10))
        #expect(world.attempts == atOnce && world.skipped.isEmpty)
        world.pass(.seconds(5))
        #expect(world.attempts == later && world.closed[retry] == closed)
        #expect(world.skipped.isEmpty)
        // The firing that replaced it has all its own attempts.
        if policy == .forbid { world.end(world.started[1], .exited(1)) }
        if policy == .forbid { #expect(world.retryTimers["backup"] != nil) }
    }

    @Test func aQueuedRunStartsAfterTheLastAttempt() {
        var world = World()
        world.load([
            Job.every(.seconds(10)).with {
                $0.concurrency = .queue
                $0.retry.retries = 1
                $0.retry.delay = .seconds(15)
            }
        ])
        world.pass(.seconds(10))
        world.end(world.started[0], .exited(1))
        world.pass(.seconds(15))
        #expect(world.attempts == [1, 2])
        world.end(world.started[1], .exited(1))
        #expect(world.attempts == [1, 2, 1])
    }

    @Test(arguments: Policy.Concurrency.allCases)
    func aRequestedRunReplacesAWaitingRetry(policy: Policy.Concurrency) throws {
        var world = World()
        world.load([job.with { $0.concurrency = policy }])
        world.pass(.zero)
        world.end(world.started[0], .exited(1))
        let retry = try #require(world.show("backup").live.first?.id)
        #expect(world.command(.run, "backup")?.run != nil)
        #expect(world.attempts == [1, 1])
        let isIndependent = policy == .allow
        #expect(world.closed[retry] == (isIndependent ? nil : .replaced))
        #expect((world.retryTimers["backup"] != nil) == isIndependent)
        if !isIndependent {
            let run = world.started[1].id
            #expect(world.notices.contains(.replacing(retry, by: run)))
        }
    }

    @Test func aRequestedRunStartsBeforeRunsThatWaitForARetry() {
        var world = World()
        world.load([
            Job.every(.seconds(10)).with {
                $0.concurrency = .queue
                $0.retry.retries = 1
                $0.retry.delay = .seconds(600)
            }
        ])
        world.pass(.seconds(10))
        world.end(world.started[0], .exited(1))
        world.pass(.seconds(10))
        #expect(world.show("backup").live.count == 2)
        #expect(world.command(.run, "backup")?.run != nil)
        #expect(world.started.count == 2)
        world.end(world.started[1])
        #expect(world.started.count == 3)
        #expect(world.started[2].id.firing.scheduled < world.started[1].id.firing.scheduled)
    }

    @Test func missedFiringsReplaceAWaitingRetry() {
        var world = World()
        world.load([
            Job.every(.seconds(10)).with {
                $0.onMissed = .runAll
                $0.retry.retries = 1
                $0.retry.delay = .seconds(600)
            }
        ])
        world.pass(.seconds(10))
        world.end(world.started[0], .exited(1))
        world.block(.seconds(100))
        world.pass(.zero)
        #expect(world.skipped.isEmpty && world.show("backup").live.count == 10)
        #expect(world.attempts == [1, 1] && world.retryTimers["backup"] == nil)
    }

    @Test(arguments: [(1, 10.0), (2, 20.0), (7, 600.0), (1000, 600.0)])
    func theDelayGrowsUpToItsMaximum(attempt: Int, seconds: Double) {
        #expect(Policy.Retry().delay(after: attempt) == .seconds(seconds))
    }
}
