// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

@Suite struct ReloadTests {
    @Test func anUnchangedJobKeepsItsInstant_toTheNanosecond() {
        var world = World()
        world.load([.every(.seconds(60), "a"), .every(.seconds(60), "b")])
        world.pass(.seconds(17))
        let before = world.timers
        let actions = world.handle(
            .reload(JobSet([.every(.seconds(60), "a"), .every(.seconds(60), "b")])))
        #expect(world.timers == before)
        #expect(actions == [.log(.reloaded(added: [], changed: [], removed: [], kept: 2))])
    }

    @Test func aChangedCommandKeepsTheElapsedTime_andTheTimer() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(17))
        let before = world.timers
        world.handle(.reload(JobSet([.every(.seconds(60), command: .shell("false"))])))
        #expect(world.timers == before && world.show("backup").accrued == .seconds(17))
        #expect(
            world.notices.last == .reloaded(added: [], changed: ["backup"], removed: [], kept: 0))
        world.pass(.seconds(43))
        #expect(world.started[0].job.command == .shell("false"))
    }

    @Test func aChangedIntervalKeepsTheElapsedTime() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(30))
        world.handle(.reload(JobSet([.every(.seconds(40))])))
        #expect(world.show("backup").remaining == .seconds(10))
        world.handle(.reload(JobSet([.every(.seconds(20))])))
        #expect(world.show("backup").remaining == .zero)
        world.pass(.zero)
        #expect(world.started.count == 1 && world.show("backup").accrued == .seconds(10))
    }

    @Test func theStateOfARemovedJobIsKeptForItsName_forThirtyDays() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(30))
        world.handle(.reload(JobSet()))
        #expect(world.timers.isEmpty && !world.agenda.isCounting)
        world.pass(.seconds(3600))
        world.handle(.reload(JobSet([.every(.seconds(60))])))
        #expect(world.show("backup").accrued == .seconds(30))

        world.handle(.reload(JobSet()))
        world.stopCleanly()
        world.sleep(.seconds(29 * 86_400))
        world.load([])
        world.stopCleanly()
        world.load([.every(.seconds(60))])
        #expect(world.show("backup").accrued == .seconds(30))

        world.handle(.reload(JobSet()))
        world.stopCleanly()
        world.sleep(.seconds(31 * 86_400))
        world.load([])
        #expect(world.records["backup"] == nil)
    }

    @Test func aRunOfARemovedJobContinues_andItsEndIsRecorded() {
        var world = World(concurrentRunsMax: 1)
        world.load([.every(.seconds(5), "a"), .every(.seconds(7), "b")])
        world.pass(.seconds(5))
        let run = world.started[0].id
        world.handle(.reload(JobSet([.every(.seconds(7), "b")])))
        world.pass(.seconds(2))
        #expect(world.started.count == 1, "its place is still taken")
        world.handle(.ended(run, .exited(0), RunUsage()))
        #expect(world.closed[run] == .exited(0) && world.started.count == 2)
    }

    @Test func aPauseByAUserIsKeptByAReload_andAConfiguredPauseFollowsTheConfiguration() {
        var world = World()
        world.load([.every(.seconds(60))])
        _ = world.command(.pause, "backup")
        world.handle(.reload(JobSet([.every(.seconds(60), command: .shell("x"))])))
        #expect(world.show("backup").phase.word == "paused")
        _ = world.command(.resume, "backup")

        world.handle(.reload(JobSet([.every(.seconds(60), paused: true)])))
        #expect(
            world.show("backup").phase == .paused(Pause(since: world.now.wall, by: .configuration)))
        _ = world.command(.resume, "backup")
        world.stopCleanly()
        world.load([.every(.seconds(60), paused: true)])
        #expect(
            world.show("backup").phase == .armed, "resumed against `paused = true`, it stays so")

        world.handle(.reload(JobSet([.every(.seconds(60))])))
        world.handle(.reload(JobSet([.every(.seconds(60), paused: true)])))
        #expect(world.show("backup").phase.word == "paused")
        world.handle(.reload(JobSet([.every(.seconds(60))])))
        #expect(world.show("backup").phase == .armed)
    }

    @Test func aFinishedJobWithARepeatingScheduleRestarts() {
        var world = World()
        world.load([.after(.seconds(5))])
        world.pass(.seconds(5))
        world.endRuns()
        world.handle(.reload(JobSet([.every(.seconds(5), "once")])))
        #expect(world.show("once").phase == .armed && world.show("once").accrued == .zero)
    }

    @Test func aSlotIsUsedAgain() {
        var world = World()
        for round in 0..<50 {
            world.load([])
            let jobs = (0..<10).map { Job.every(.seconds(60), Job.Name("j\(round * 10 + $0)")!) }
            world.handle(.reload(JobSet(jobs)))
            #expect(world.agenda.jobCount == 10)
            #expect(world.agenda.alarms(of: jobs.map(\.name)).allSatisfy { $0.next != nil })
            world.handle(.reload(JobSet()))
            #expect(world.agenda.entries.slotCount == 10)
            #expect(world.timers.isEmpty)
            world.stopCleanly()
        }
    }
}
