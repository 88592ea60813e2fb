// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// What happens to firings while the store cannot be written.
@Suite struct StorageTests {
    /// A job that fires each second and whose runs end at once, during twelve seconds in which
    /// nothing can be written.
    private func afterAnOutage(
        _ change: (inout Policy) -> Void = { _ in }, endsRuns: Bool = true
    ) -> World {
        var world = World()
        world.load([Job.every(.seconds(1)).with(change)])
        world.pass(.seconds(1))
        world.endRuns()
        world.breakStore()
        world.pass(.seconds(12))
        #expect(world.started.count == 1 && world.skipped.isEmpty)
        world.restoreStore()
        if endsRuns {
            for _ in 0..<200 { world.endRuns() }
        }
        return world
    }

    @Test func runOnceMakesOneRunOfTheFiringsDuringTheOutage() {
        let world = afterAnOutage { $0.onMissed = .runOnce }
        #expect(world.started.map(\.firing.missed) == [0, 0, 10])
        #expect(world.skipped.isEmpty)
    }

    @Test func runAllMakesARunOfEach_oneAfterTheOther() {
        let world = afterAnOutage { $0.onMissed = .runAll }
        #expect(world.started.count == 13 && world.skipped.isEmpty)
        #expect(Set(world.started.map(\.id)).count == 13)
        let labels = world.started.map(\.id.firing.scheduled)
        #expect(zip(labels, labels.dropFirst()).allSatisfy { $1 - $0 == .seconds(1) })
        let alive = afterAnOutage({ $0.onMissed = .runAll }, endsRuns: false)
        #expect(alive.started.count == 2, "never two at once")
    }

    @Test func runAllMakesAHundredAtMost() {
        var world = World()
        world.load([Job.every(.seconds(1)).with { $0.onMissed = .runAll }])
        world.breakStore()
        world.pass(.seconds(151))
        world.restoreStore()
        for _ in 0..<300 { world.endRuns() }
        #expect(world.started.count == 101)
        #expect(world.skipped.map(\.count) == [50])
    }

    @Test func skipReportsTheMissedFirings() {
        let world = afterAnOutage { $0.onMissed = .skip }
        #expect(world.skipped.map(\.reason) == ["missed"])
        // Of the thirteen firings, the first was decided before the outage. A firing that is at
        // most one second old is not missed.
        #expect(world.started.count + (world.skipped.first?.count ?? 0) + 1 == 13)
        #expect(world.started.last?.firing.missed == 1)
    }

    @Test(arguments: Policy.Concurrency.allCases)
    func nothingIsLostByAnyPolicy_andNothingRunsTwice(concurrency: Policy.Concurrency) {
        let world = afterAnOutage {
            $0.onMissed = .runAll
            $0.concurrency = concurrency
        }
        #expect(world.started.count == 13 && world.skipped.isEmpty)
        #expect(Set(world.started.map(\.id)).count == 13)
    }

    @Test func theTimeOfTheJobContinues_andTheGridIsKept() {
        var world = afterAnOutage()
        #expect(world.show("backup").active == .seconds(13))
        world.endRuns()
        world.pass(.seconds(1))
        #expect(world.started.count == 4)
        #expect(world.started[3].id.firing.scheduled == world.now.wall)
    }

    @Test func aFiringOlderThanItsDeadlineIsRecordedAndNotStarted() {
        let world = afterAnOutage {
            $0.onMissed = .runAll
            $0.startingDeadline = .seconds(5)
        }
        // These are the firing that was decided before, and those that were delayed.
        #expect(world.closed.values.count { $0 == .lost(.deadline) } == 2)
        #expect(world.skipped.map(\.reason) == ["deadline", "deadline"])
        #expect(world.skipped.map(\.count).reduce(0, +) + world.started.count - 1 == 12)
        #expect(world.started.dropFirst().allSatisfy { $0.job.policy.startingDeadline != nil })
    }

    /// The pause is older than the request, or younger than the decision to start it.
    @Test(arguments: [true, false])
    func aRequestedRunOfAPausedJobStartsThoughItIsWrittenLate(_ isPausedBefore: Bool) throws {
        var world = World()
        world.load([.every(.seconds(60))])
        if isPausedBefore { _ = world.command(.pause, "backup") }
        world.breakStore()
        _ = world.command(.run, "backup")
        if !isPausedBefore { _ = world.command(.pause, "backup") }
        world.pass(.seconds(5))
        #expect(world.started.isEmpty)
        world.restoreStore()
        #expect(world.started.count == 1)
        #expect(world.show("backup").phase.isPaused)
    }

    @Test func aRequestedRunOfAPausedJobStartsWhenThereIsRoomForIt() throws {
        var world = World(concurrentRunsMax: 1)
        world.load([.every(.seconds(60), first: .zero), .every(.seconds(600), "other")])
        world.pass(.seconds(1))
        #expect(world.started.count == 1)
        _ = world.command(.pause, "other")
        _ = world.command(.run, "other")
        #expect(world.started.count == 1)
        world.endRuns()
        #expect(world.started.map(\.id.firing.job) == ["backup", "other"])
    }

    @Test func aRunThatIsEndedBeforeItsStartNeverStarts() throws {
        var world = World()
        world.load([.every(.seconds(60), first: .zero)])
        world.breakStore()
        world.pass(.zero)
        let run = try #require(world.show("backup").live.first?.id)
        #expect(world.command(.kill, "backup") == .killed([run], cancelled: []))
        #expect(world.asked.isEmpty, "there is nothing to be ended yet")
        world.pass(.seconds(5))
        world.restoreStore()
        #expect(world.started.isEmpty && world.closed[run] == .stopped)
        #expect(world.agenda.liveRuns == 0)
    }

    @Test func aRunThatIsWrittenSoonAfterItWasEndedIsEndedWhenItStarts() throws {
        var world = World()
        world.load([.every(.seconds(60), first: .zero)])
        world.breakStore()
        world.pass(.zero)
        _ = world.command(.kill, "backup")
        world.pass(.milliseconds(10))
        world.restoreStore()
        let run = try #require(world.started.first?.id)
        world.handle(.began(run, at: world.now.wall))
        #expect(world.asked == [run])
    }

    @Test func aJobThatIsPausedMeanwhileKeepsItsElapsedTime_andItsRunWaits() {
        var world = World()
        world.load([.every(.seconds(10), first: .zero)])
        world.breakStore()
        world.pass(.seconds(25))
        _ = world.command(.pause, "backup")
        world.pass(.seconds(25))
        world.restoreStore()
        #expect(world.started.isEmpty && world.show("backup").accrued == .seconds(25))
        _ = world.command(.resume, "backup")
        world.pass(.zero)
        #expect(world.started.count == 1)
    }

    @Test func aDaemonThatIsKilledMeanwhileLosesNothing() {
        var world = World()
        let job = Job.every(.seconds(10)).with { $0.onMissed = .runAll }.counting(.wall)
        world.load([job])
        world.breakStore()
        world.pass(.seconds(35))
        world.unwritten = []
        world.isStoreDown = false
        world.kill()
        world.load([job])
        world.pass(.zero)
        for _ in 0..<10 { world.endRuns() }
        #expect(world.started.count == 3)
    }

    @Test func aJobThatIsRemovedOrStoppedMeanwhileIsNotFired() {
        for isStopped in [true, false] {
            var world = World()
            world.load([.every(.seconds(1))])
            world.breakStore()
            world.pass(.seconds(5))
            #expect(world.agenda.isHolding)
            if isStopped {
                _ = world.command(.stop, "backup")
            } else {
                world.handle(.reload(JobSet([.every(.seconds(60), "other")])))
            }
            world.restoreStore()
            #expect(!world.agenda.isHolding && world.timers["backup"] == nil)
            for _ in 0..<5 { world.endRuns() }
            #expect(world.started.count <= 1)
        }
    }

    // MARK: - Random cases

    /// A job with random settings for all policies that affect firings, except those that skip on
    /// purpose.
    private func randomJob(_ random: inout SeededRandom) -> Job {
        let concurrency = Policy.Concurrency.allCases[random.int(below: 4)]
        let most = random.int(below: 4)
        let retries = random.int(below: 3)
        let delay = random.int(below: 40)
        let missed = Policy.Missed.allCases[random.int(below: 3)]
        return Job.every(.milliseconds(500 + 100 * random.int(below: 50))).with {
            $0.concurrency = concurrency
            if concurrency == .allow, most > 0 { $0.concurrencyMax = most }
            $0.onMissed = missed
            $0.retry.retries = retries
            $0.retry.delay = .milliseconds(500 * delay)
        }
    }

    /// One random event; returns how many runs were requested.
    private func step(_ world: inout World, _ random: inout SeededRandom) -> Int {
        switch random.int(below: 20) {
        case 0...7: world.pass(.milliseconds(random.int(below: 6000)))
        case 8...9: if !world.isStoreDown { world.breakStore() }
        case 10...12: if world.isStoreDown { world.restoreStore() }
        case 13...15:
            let outcomes: [RunOutcome] = [
                .exited(0), .exited(0), .exited(1), .signalled("SIGSEGV"),
            ]
            world.endRuns(outcomes[random.int(below: outcomes.count)])
        case 16: return world.command(.run, "backup")?.run != nil ? 1 : 0
        case 17: _ = world.command(.kill, "backup")
        case 18: _ = world.command(.pause, "backup")
        default: _ = world.command(.resume, "backup")
        }
        return 0
    }

    /// Whatever happens to the store: each grid point is counted exactly once, as a firing, as part
    /// of one, or as skipped on record; no run starts twice; the maximum number of runs is kept;
    /// and, as `World` checks, nothing is skipped because of a run that itself only waits for the
    /// store.
    @Test func eachPointIsCountedOnce_whateverHappensToTheStore() {
        var random = SeededRandom()
        for _ in 0..<2000 {
            var world = World()
            let job = randomJob(&random)
            world.load([job])
            var ordered = 0
            for _ in 0..<60 {
                ordered += step(&world, &random)
                let running = world.openRuns.values.count(where: \.begun)
                let most =
                    job.policy.concurrency == .allow ? job.policy.concurrencyMax ?? .max : 1
                #expect(running <= most)
            }
            _ = world.command(.resume, "backup")
            if world.isStoreDown { world.restoreStore() }
            world.pass(.zero)
            var accounted = 0
            for notice in world.notices {
                switch notice {
                case .fired(let run, _, _): accounted += 1 + run.firing.missed
                case .skipped(let firing, _): accounted += 1 + firing.missed
                default: break
                }
            }
            let shown = world.show("backup")
            #expect(!world.agenda.isHolding && accounted == shown.firings, "\(job.policy)")
            #expect(shown.active / job.schedule.span! >= Double(shown.firings))
            #expect(shown.accrued < job.schedule.span!, "nothing that is due is left")
            #expect(Set(world.started.map(\.id)).count == world.started.count)
            // Each recorded run is running, waiting or closed, and no closed run has started.
            #expect(world.openRuns.count == shown.live.count)
            let firings = world.started.count { $0.id.attempt == 1 }
            #expect(firings <= accounted + ordered)
        }
    }
}
