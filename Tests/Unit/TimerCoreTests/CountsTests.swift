// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// What is counted for metrics. `World` compares the sums with what is stored and logged, after each event of each test.
@Suite struct CountsTests {
    private func measures(_ world: World, _ job: Job.Name = "backup") -> JobMeasures {
        world.agenda.measures(from: 0, count: .max, at: world.now).first { $0.job.name == job }!
    }

    private func counts(_ measures: JobMeasures) -> [RunResult: UInt32] {
        Dictionary(
            uniqueKeysWithValues: RunResult.allCases.map { ($0, measures.runs[$0]) }
                .filter { $0.1 > 0 })
    }

    @Test(
        arguments: [
            (.exited(0), .success), (.exited(3), .failed), (.signalled("SIGKILL"), .failed),
            (.spawnFailed(errno: "ENOENT", what: "exec /x"), .failed), (.timedOut, .timedOut),
            (.stopped, .stopped), (.replaced, .replaced), (.lost(.runner), .lost),
            (.skipped(.exit(75)), .skipped), (.skipped(.condition("ac-power")), .skipped),
        ] as [(RunOutcome, RunResult)])
    func aRunIsCountedByItsResult(outcome: RunOutcome, result: RunResult) {
        var world = World()
        world.load([.every(.seconds(10))])
        world.pass(.seconds(10))
        #expect(counts(measures(world)) == [:])
        #expect(measures(world).live == 1)
        world.endRuns(outcome)
        #expect(counts(measures(world)) == [result: 1])
        #expect(world.agenda.counts.runs[result] == 1)
        #expect(measures(world).live == 0)
        #expect((measures(world).lastSuccess != nil) == (result == .success))
    }

    /// It survives a kill, also when the history has later failures only.
    @Test func theLastSuccessSurvivesRestarts() {
        var world = World()
        world.load([.every(.seconds(10))])
        world.pass(.seconds(10))
        world.endRuns()
        let succeeded = world.now.wall
        for _ in 0..<3 {
            world.pass(.seconds(10))
            world.endRuns(.exited(1))
        }
        world.kill()
        world.load([.every(.seconds(10))])
        #expect(measures(world).lastSuccess == succeeded)
        #expect(counts(measures(world)) == [:])
        #expect(measures(world).lastRun?.outcome == .exited(1))
    }

    @Test func aRenamedJobKeepsItsCounts_andOneThatReturnsToo() {
        var world = World()
        world.load([.every(.seconds(10))])
        world.pass(.seconds(10))
        world.endRuns()
        var renamed = Job.every(.seconds(10), "copy")
        renamed.renamedFrom = "backup"
        world.handle(.reload(JobSet([renamed])))
        #expect(counts(measures(world, "copy")) == [.success: 1])
        world.pass(.seconds(10))
        world.handle(.reload(JobSet([])))
        // It ends while its job is not in the configuration.
        world.endRuns(.exited(9))
        #expect(world.agenda.counts.runs[.failed] == 1)
        world.handle(.reload(JobSet([.every(.seconds(10), "copy")])))
        #expect(counts(measures(world, "copy")) == [.success: 1, .failed: 1])
    }

    @Test func retriesAndSkippedFiringsAreCounted() {
        var world = World()
        world.load([
            Job.every(.seconds(10)).with { policy in
                policy.retry.retries = 2
                policy.retry.delay = .seconds(1)
            }
        ])
        world.pass(.seconds(10))
        world.endRuns(.exited(1))
        #expect(measures(world).runs.retries == 1)
        world.pass(.seconds(1))
        world.pass(.seconds(30))
        #expect(measures(world).skips[.stillRunning] == 3)
        #expect(world.agenda.counts.skips[.stillRunning] == 3)
        #expect(world.agenda.counts.runs.retries == 1)
    }

    @Test func aJobThatAsksForItHasAHistogramOfItsRuns() {
        var world = World()
        var job = Job.every(.seconds(10))
        job.hasDurationHistogram = true
        world.load([job])
        #expect(measures(world).durations == nil)
        for seconds in [2, 200] {
            world.pass(.seconds(10))
            guard let run = world.openRuns.keys.first else { return #expect(Bool(false)) }
            world.handle(.began(run, at: world.now.wall))
            world.handle(.ended(run, .exited(0), RunUsage(elapsed: .seconds(seconds))))
            world.openRuns[run] = nil
        }
        let durations = measures(world).durations
        #expect(durations?.count == 2 && durations?.sum == .seconds(202))
        let used = durations?.counts.indices.filter { durations?.counts[$0] == 1 }
        #expect(used?.map { Histogram.runBounds[$0] } == [.seconds(5), .seconds(300)])
    }

    @Test func aHistogramsRangesIncludeTheirBounds() {
        var histogram = Histogram(bounds: [.seconds(1), .seconds(5)])
        for value in [0, 1000, 1001, 5000, 5001, 100_000] { histogram.add(.milliseconds(value)) }
        #expect(histogram.counts == [2, 2, 2])
        #expect(histogram.sum == .milliseconds(112_002))
    }

    /// One firing on time, one that is late, and one that was missed, whose lateness is that of the machine's sleep.
    @Test func theLatenessOfMissedFiringsIsNotCounted() {
        var world = World()
        world.load([.every(.seconds(10))])
        world.pass(.seconds(10))
        #expect(world.agenda.counts.lateness.count == 1)
        #expect(world.agenda.counts.lateness.sum == .zero)
        world.endRuns()
        world.block(.seconds(12))
        world.pass(.zero)
        #expect(world.agenda.counts.lateness.sum == .seconds(2))
        var other = World()
        other.load([Job.every(.seconds(10)).counting(.wall)])
        other.kill()
        other.block(.seconds(3600))
        other.load([Job.every(.seconds(10)).counting(.wall)])
        other.pass(.zero)
        #expect(other.started.count == 1)
        #expect(other.agenda.counts.lateness.count == 0)
    }

    /// A job whose firing waits for the store is overdue, and its next firing is in the past.
    @Test func whatIsOverdueIsInThePast() {
        var world = World()
        world.load([.every(.seconds(10))])
        let due = world.now.wall + .seconds(10)
        #expect(measures(world).next == due)
        world.block(.seconds(400))
        #expect(measures(world).next == due)
        #expect(measures(world).remaining == .zero)
    }

    @Test func statesAreCountedInPortions() {
        var world = World()
        let jobs = (0..<7).map { Job.every(.seconds(10), Job.Name("j\($0)")!) }
        world.load(jobs + [.after(.seconds(1), "once")])
        _ = world.command(.pause, "j1")
        _ = world.command(.pause, "j2")
        _ = world.command(.stop, "j3")
        world.pass(.seconds(1))
        var states = StateCounts()
        var place = 0
        while case let count = world.agenda.countStates(from: place, count: 3, into: &states),
            count > 0
        {
            place += count
        }
        #expect(place == 8)
        #expect(
            [states.armed, states.paused, states.stopped, states.finished] == [4, 2, 1, 1])
    }

    @Test(
        arguments: [
            ("*-*-* 03:00", "2026-11-18T11:00:00Z", 86_400),
            // Wednesday; on Monday the gap over the weekend still counts, before and after the run.
            ("Mon..Fri 08:30", "2026-11-18T11:00:00Z", 86_400),
            ("Mon..Fri 08:30", "2026-11-23T08:29:00Z", 3 * 86_400),
            ("Mon..Fri 08:30", "2026-11-23T08:31:00Z", 3 * 86_400),
            ("Mon..Fri 08:30", "2026-11-24T08:31:00Z", 86_400),
        ] as [(String, String, Int)])
    func theIntervalOfACalendarIsItsLongestLatestGap(
        event: String, at: String, seconds: Int
    ) throws {
        let schedule = Schedule.wall(WallSchedule([.calendar(try CalendarSpec(event), .utc)]))
        let instant = try #require(WallInstant(rfc3339: at))
        #expect(schedule.interval(at: instant) == .seconds(seconds))
    }

    @Test func onlySchedulesThatRepeatHaveAnInterval() {
        let now = World().now.wall
        #expect(Schedule.every(.seconds(5)).interval(at: now) == .seconds(5))
        #expect(Schedule.after(.seconds(5)).interval(at: now) == nil)
        #expect(Schedule.onBoot(.seconds(5)).interval(at: now) == nil)
        #expect(
            Schedule.wall(WallSchedule([.at(now + .seconds(9))])).interval(at: now) == nil)
    }
}
