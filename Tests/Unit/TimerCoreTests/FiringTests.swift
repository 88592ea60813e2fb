// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

@Suite struct FiringTests {
    @Test func firesOnceEachInterval() {
        var world = World()
        world.load([.every(.seconds(10))])
        for _ in 0..<6 {
            world.pass(.seconds(10))
            world.endRuns()
        }
        #expect(world.started.count == 6)
        let apart = zip(world.started, world.started.dropFirst()).map {
            $1.id.firing.scheduled - $0.id.firing.scheduled
        }
        #expect(apart.allSatisfy { $0 == .seconds(10) })
    }

    @Test func neverFiresEarly_andAnEarlyTimerIsSetToTheSameInstant() {
        var world = World()
        world.load([.every(.seconds(10))])
        let instant = world.timers["backup"]
        world.block(.seconds(10) - .nanoseconds(1))
        let actions = world.handle(.wake("backup"))
        #expect(actions == [.arm("backup", instant!)])
        #expect(world.started.isEmpty)
        world.pass(.nanoseconds(1))
        #expect(world.started.count == 1)
    }

    @Test func firstOfZeroFiresAtOnce_andTheGridBeginsThere() {
        var world = World()
        world.load([.every(.seconds(60), first: .zero)])
        world.pass(.zero)
        #expect(world.started.count == 1)
        world.endRuns()
        world.pass(.seconds(59))
        #expect(world.started.count == 1)
        world.pass(.seconds(1))
        #expect(world.started.count == 2)
    }

    @Test func firstLongerThanTheIntervalIsWaitedForOnce() {
        var world = World()
        world.load([.every(.seconds(10), first: .seconds(35))])
        world.pass(.seconds(34))
        #expect(world.started.isEmpty)
        world.pass(.seconds(11))
        #expect(world.started.count == 1)
        world.endRuns()
        world.pass(.seconds(10))
        #expect(world.started.count == 2)
    }

    /// A queue is blocked for 5 s with a job every 2 s: the result is one late firing that counts
    /// the missed ones, and then the original grid.
    @Test func missedPeriodsBecomeOneFiring_andTheGridIsKept() {
        var world = World()
        world.load([.every(.seconds(2))])
        let phase = world.timers["backup"]!.nanoseconds
        world.block(.seconds(7))
        world.handle(.wake("backup"))
        #expect(world.started.map(\.firing.missed) == [2])
        #expect(world.timers["backup"]!.nanoseconds == phase + 6_000_000_000)
        world.endRuns()
        world.pass(.seconds(1))
        #expect(world.started.map(\.firing.missed) == [2, 0])
    }

    @Test(arguments: [(0, 0), (1, 0), (1_999, 0), (2_000, 1), (2_001, 1), (11_999, 5), (12_000, 6)])
    func lateBy(milliseconds: Int, missed: Int) {
        var world = World()
        world.load([.every(.seconds(2))])
        let phase = world.timers["backup"]!.nanoseconds
        world.block(.seconds(2) + .milliseconds(milliseconds))
        world.handle(.wake("backup"))
        #expect(world.started.map(\.firing.missed) == [missed])
        let next = world.timers["backup"]!.nanoseconds
        #expect(next > world.awake)
        #expect((next - phase) % 2_000_000_000 == 0)
    }

    @Test func afterFiresOnce_andTheJobIsFinished() {
        var world = World()
        world.load([.after(.seconds(30))])
        world.pass(.seconds(300))
        #expect(world.started.count == 1)
        #expect(world.show("once").phase == .finished)
        #expect(world.timers.isEmpty)
        #expect(!world.agenda.isCounting)
        #expect(world.command(.start, "once") == .done)
        world.endRuns()
        world.pass(.seconds(30))
        #expect(world.started.count == 2)
    }

    @Test func allDueJobsAreOneBatch_whicheverTimerExpired() {
        var world = World()
        world.load((0..<50).map { .every(.seconds(5), Job.Name("job\($0)")!) })
        world.block(.seconds(5))
        let actions = world.handle(.wake("job7"))
        let batches = actions.filter { if case .begin = $0 { true } else { false } }
        #expect(batches.count == 1)
        #expect(world.started.count == 50)
        #expect(world.handle(.wake("job8")) == [.arm("job8", world.timers["job8"]!)])
    }

    @Test func skipsFiring_whileThePreviousRunIsActive() {
        var world = World()
        world.load([.every(.seconds(10))])
        world.pass(.seconds(35))
        #expect(world.started.count == 1)
        let skips = world.notices.filter { if case .skipped = $0 { true } else { false } }
        #expect(skips.count == 2)
        world.endRuns()
        world.pass(.seconds(5))
        #expect(world.started.count == 2)
    }

    @Test func runsAboveTheLimitWaitInTheOrderOfTheirDueTimes() {
        var world = World(concurrentRunsMax: 2)
        world.load((0..<5).map { .every(.seconds(5), Job.Name("job\($0)")!) })
        world.pass(.seconds(5))
        #expect(world.openRuns.count == 5)
        #expect(world.started.map(\.id.firing.job) == ["job0", "job1"])
        world.handle(.ended(world.started[1].id, .exited(0), RunUsage()))
        #expect(world.started.map(\.id.firing.job) == ["job0", "job1", "job2"])
        world.handle(.ended(world.started[1].id, .exited(0), RunUsage()))
        #expect(world.started.count == 3, "an end that is told twice frees one place")
        for index in [0, 2, 3, 4] {
            world.handle(.ended(world.started[index].id, .exited(0), RunUsage()))
        }
        #expect(world.started.count == 5 && world.openRuns.isEmpty)
    }

    @Test func aClockSetBackRepeatsNoFiring() {
        var world = World()
        world.load([.every(.seconds(1))])
        var ids: Set<Run.ID> = []
        for step in 0..<200 {
            world.pass(.seconds(1))
            world.endRuns()
            if step % 3 == 0 { world.wall -= 2_000_000 }
        }
        for run in world.started { ids.insert(run.id) }
        #expect(world.started.count == 200 && ids.count == 200)
    }

    @Test func intervalsDoNotCountWhileTheMachineSleeps() {
        var world = World()
        world.load([.every(.seconds(10))])
        world.pass(.seconds(4))
        world.sleep(.seconds(3600))
        world.pass(.seconds(5))
        #expect(world.started.isEmpty)
        world.pass(.seconds(1))
        #expect(world.started.count == 1)
    }
}
