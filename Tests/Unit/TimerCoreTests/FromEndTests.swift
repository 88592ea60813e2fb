// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Intervals that are counted from the end of a run: `from = "end"`.
@Suite struct FromEndTests {
    static let job = Job.every(.seconds(60)).fromEnd

    func load(_ job: Job = job, _ change: (inout World) -> Void = { _ in }) -> World {
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
        _ = world.command(.kill, "backup")
        #expect(world.show("backup").remaining == .seconds(60))
        world.pass(.seconds(60))
        #expect(world.started.count == 2)
    }

    @Test func theEndOfARequestedRunCountsAsWell() {
        var world = load()
        world.pass(.seconds(50))
        #expect(world.command(.run, "backup") != nil && world.started.count == 1)
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
        _ = world.command(.run, "backup")
        #expect(world.started.count == 2)
        world.end(world.started[0])
        world.pass(.seconds(100))
        #expect(world.started.count == 2 && world.show("backup").remaining == nil)
        world.end(world.started[1])
        #expect(world.show("backup").remaining == .seconds(60))
    }

    @Test func aFiringWithoutARunIsFollowedByTheNextInterval() {
        var world = load()
        world.handle(.command(JobCommand(.skipNext, "backup", by: .user("ada"), count: 2)))
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

    // MARK: - Restarts

    // MARK: - Reloads

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
    var fromEnd: Job {
        var job = self
        job.from = .end
        return job
    }
}
