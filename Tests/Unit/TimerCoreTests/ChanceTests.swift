// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Jitter, and wake-ups that several jobs share.
@Suite struct ChanceTests {
    @Test func eachFiringHasItsOwnRandomDelay_andTheGridIsKept() {
        var world = World(seed: 7)
        world.load([Job.every(.seconds(60)).with { $0.randomDelay = .seconds(20) }])
        let start = world.now.awake
        var delays: [Duration] = []
        for index in 1...50 {
            let instant = world.timers["backup"] ?? start
            let delay = (instant - start) - .seconds(60 * index)
            #expect(delay >= .zero && delay < .seconds(20))
            delays.append(delay)
            world.pass(instant - world.now.awake)
            #expect(world.started.count == index)
            world.endRuns()
        }
        #expect(Set(delays).count > 40)
        let apart = zip(world.started, world.started.dropFirst()).map {
            $1.id.firing.scheduled - $0.id.firing.scheduled
        }
        #expect(apart.allSatisfy { $0 == .seconds(60) })
    }

    @Test func anOffsetIsTheSameForOneMachineAndJob() throws {
        func first(_ seed: UInt64, _ name: Job.Name) throws -> Duration {
            var world = World(seed: seed)
            let start = world.now.wall
            world.load([try Job.cron("0 * * * *", name).with { $0.randomOffset = .seconds(600) }])
            return (world.wallTimers[name] ?? start) - start
        }
        #expect(try first(1, "a") == first(1, "a"))
        #expect(try first(1, "a") != first(2, "a"))
        #expect(try first(1, "a") != first(1, "b"))
    }

    @Test func aRandomDelayIsKeptAcrossARestart() throws {
        var world = World(seed: 3)
        let job = try Job.cron("0 * * * *").with { $0.randomDelay = .seconds(1800) }
        world.load([job])
        let instant = world.wallTimers["backup"]
        world.stopCleanly()
        world.load([job])
        #expect(world.wallTimers["backup"] == instant)
    }

    /// 100 jobs that fire each minute, each at its own time: with an accuracy of half a minute they
    /// share wake-ups.
    @Test func jobsShareWakeUps() {
        func rings(_ accuracy: Duration) -> (rings: Int, started: Int) {
            var world = World()
            let jobs = (0..<100).map { index in
                Job.every(
                    .seconds(60), .init("j\(index)")!, first: .milliseconds(60_000 + 597 * index)
                )
                .with {
                    $0.accuracy = accuracy
                    $0.concurrency = .allow
                }
            }
            world.load(jobs)
            world.pass(.seconds(600))
            #expect(
                world.agenda.snapshot(at: world.now).jobs.allSatisfy {
                    $0.remaining ?? .zero >= .zero
                })
            return (world.rings, world.started.count)
        }
        let exact = rings(.zero)
        let shared = rings(.seconds(30))
        print(
            "wake-ups in 10 min of 100 jobs: \(exact.rings) exact, \(shared.rings) with accuracy = 30s"
        )
        #expect(exact.rings >= 850 && shared.rings <= 40)
        #expect(shared.started >= exact.started - 100)
    }

    @Test func neverEarly_evenIfAnotherJobWakesTheDaemon() {
        var world = World()
        world.load([
            Job.every(.seconds(10), "a"),
            Job.every(.seconds(60), "b").with { $0.accuracy = .seconds(15) },
        ])
        world.pass(.seconds(59))
        #expect(!world.started.contains { $0.id.firing.job == "b" })
        world.endRuns()
        world.pass(.seconds(1))
        #expect(world.started.contains { $0.id.firing.job == "b" })
    }
}
