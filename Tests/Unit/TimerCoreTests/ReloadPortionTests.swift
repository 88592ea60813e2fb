// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// A reload of many jobs, divided into portions.
@Suite struct ReloadPortionTests {
    private func name(_ number: Int) -> Job.Name { Job.Name("j\(number)")! }

    private func jobs(_ numbers: Range<Int>, every seconds: Int64 = 60) -> [Job] {
        numbers.map { .every(.seconds(seconds), name($0)) }
    }

    /// Starts a reload, and executes only its first portion.
    private func begin(_ jobs: [Job], portion: Int, in world: inout World) {
        world.handle(.reload(JobSet(jobs), portion: portion))
    }

    private func finish(_ world: inout World) -> Int {
        var portions = 0
        while world.agenda.isReloading {
            world.handle(.reloadMore)
            portions += 1
        }
        return portions
    }

    /// Jobs that stay unchanged, change, are added, removed, paused, finished or renamed.
    private func draw(_ random: inout SeededRandom, _ old: [Job]) -> [Job] {
        var jobs: [Job] = []
        var numbers = Set(old.compactMap { Int($0.name.description.dropFirst()) })
        for var job in old {
            switch random.int(below: 6) {
            case 0: break
            case 1: job.schedule = .every(.seconds(Int64(20 + random.int(below: 90))))
            case 2: job.paused.toggle()
            case 3:
                let new = (numbers.max() ?? 0) + 1
                numbers.insert(new)
                job = .every(.seconds(60), name(new))
                if random.int(below: 2) == 0 { job.renamedFrom = name(new - random.int(below: 9)) }
            default: break
            }
            if random.int(below: 8) > 0 { jobs.append(job) }
        }
        let names = Set(jobs.map(\.name))
        var renames: Set<Job.Name> = []
        for index in jobs.indices {
            guard let old = jobs[index].renamedFrom else { continue }
            if names.contains(old) || !renames.insert(old).inserted {
                jobs[index].renamedFrom = nil
            }
        }
        if random.int(below: 2) == 0 { jobs.shuffle(using: &random) }
        return jobs
    }

    /// The complete visible state, except the numbers of events.
    private func looks(_ world: World) -> [JobSnapshot] {
        world.agenda.snapshot(at: world.now).jobs.map { job in
            var job = job
            for index in job.live.indices { job.live[index].event = 0 }
            return job
        }
    }

    @Test func portionsHaveTheSameResultAsOneStep() {
        var random = SeededRandom()
        for _ in 0..<200 {
            var whole = World(seed: 7)
            var old = jobs(0..<12)
            whole.load(old)
            whole.pass(.seconds(Int64(random.int(below: 200))))
            var parts = whole
            for _ in 0..<3 {
                let new = draw(&random, old)
                whole.handle(.reload(JobSet(new)))
                begin(new, portion: 1 + random.int(below: 3), in: &parts)
                _ = finish(&parts)
                #expect(looks(whole) == looks(parts))
                #expect(whole.agenda.jobs == new)
                #expect(whole.records == parts.records && whole.timers == parts.timers)
                #expect(whole.notices.suffix(1) == parts.notices.suffix(1))
                #expect(whole.agenda.zoneNames == parts.agenda.zoneNames)
                let span = Duration.seconds(Int64(random.int(below: 100)))
                whole.pass(span)
                parts.pass(span)
                old = new
            }
            #expect(Set(whole.started.map(\.id)) == Set(parts.started.map(\.id)))
        }
    }

    @Test func dueJobsFireBetweenTwoPortions_byTheirCurrentDefinition() {
        var world = World()
        world.load(jobs(0..<10))
        world.pass(.seconds(50))
        begin(jobs(0..<10, every: 55), portion: 3, in: &world)
        #expect(world.agenda.isReloading && world.started.isEmpty)
        // Comparing all ten cost as much as one change. The elapsed time of each job is kept: the
        // changed jobs are due at 55 s, the others at 60 s.
        world.pass(.seconds(6))
        #expect(world.started.count == 2)
        world.pass(.seconds(5))
        #expect(world.started.count == 10)
        #expect(finish(&world) == 3)
        #expect(
            world.agenda.snapshot(at: world.now).jobs.allSatisfy {
                $0.job.schedule == .every(.seconds(55))
            })
    }

    @Test func unchangedJobsAreOnlyCompared() {
        var world = World()
        world.load(jobs(0..<64))
        let timers = world.timers
        begin(jobs(0..<64), portion: 2, in: &world)
        // Eight comparisons cost as much as one change.
        #expect(finish(&world) == 7)
        #expect(world.timers == timers)
        #expect(world.notices.last == .reloaded(added: [], changed: [], removed: [], kept: 64))
    }

    @Test func removedJobsAreNotShown_andTheirSlotsAreUsedAgainAfterTheReload() {
        var world = World()
        world.load(jobs(0..<20))
        begin(jobs(20..<40), portion: 5, in: &world)
        #expect(world.agenda.jobCount == 15 && world.agenda.names.count == 15)
        while world.agenda.isReloading {
            let names = world.agenda.names
            #expect(Set(names).count == names.count && names.count == world.agenda.jobCount)
            world.handle(.checkpoint())
            world.handle(.clockChanged)
            world.handle(.reloadMore)
        }
        #expect(world.agenda.names == (20..<40).map(name))
        world.handle(.reload(JobSet(jobs(40..<60))))
        // There are no more slots than two configurations have jobs.
        #expect(world.agenda.entries.slotCount == 40)
        #expect(world.records.values.count { $0.removed == nil } == 20)
    }

    @Test func aReloadIsFinishedBeforeTheNextOneStarts() {
        var world = World()
        world.load(jobs(0..<10))
        begin(jobs(5..<15), portion: 1, in: &world)
        begin(jobs(10..<20), portion: 1, in: &world)
        _ = finish(&world)
        #expect(world.agenda.names == (10..<20).map(name))
        let told = world.notices.filter { if case .reloaded = $0 { true } else { false } }
        #expect(told.count == 2)
    }

    @Test func aStopInTheMiddleKeepsTheStateOfEachJob() {
        var world = World()
        world.load(jobs(0..<10))
        world.pass(.seconds(20))
        begin(jobs(5..<15, every: 90), portion: 2, in: &world)
        world.stopCleanly()
        world.load(jobs(5..<15, every: 90))
        #expect(world.show(name(7)).accrued == .seconds(20))
        #expect(world.agenda.names == (5..<15).map(name))
    }

    /// Each portion is written separately, so the state after a kill between two portions is as
    /// good as before or after.
    @Test func afterAKillInTheMiddleTheNextStartUsesTheSavedPortions() {
        for portions in 0..<12 {
            var world = World()
            world.load(jobs(0..<10))
            world.pass(.seconds(20))
            world.handle(.checkpoint())
            world.beat()
            let renames = (20..<25).map { number in
                var job = Job.every(.seconds(90), name(number))
                job.renamedFrom = name(number - 20)
                return job
            }
            let new = jobs(5..<10, every: 90) + renames
            begin(new, portion: 1, in: &world)
            for _ in 0..<portions { world.handle(.reloadMore) }
            world.kill()
            world.load(new)
            #expect(world.agenda.names == new.map(\.name))
            for job in new {
                #expect(world.show(job.name).accrued == .seconds(20), "\(job.name), \(portions)")
            }
        }
    }

    @Test func aCheckpointInPortionsSavesAllJobs() {
        var world = World()
        world.load(jobs(0..<10))
        world.pass(.seconds(20))
        for place in stride(from: 0, to: 12, by: 3) {
            world.handle(.checkpoint(place..<place + 3))
            #expect(world.records.values.count { $0.accrued == .seconds(20) } == min(10, place + 3))
        }
        #expect(world.agenda.handle(.checkpoint(10..<Int.max), at: world.now).isEmpty)
    }

    /// The instants by which the shell sets its timers.
    @Test func alarmReturnsTheInstantOfTheLastTimerAction() throws {
        var world = World()
        world.load([
            .every(.seconds(60), "a"), try .cron("* * * * *", "b"), .every(.seconds(60), "c"),
        ])
        _ = world.command(.pause, "c")
        for job in ["a", "b", "c"] as [Job.Name] {
            let told =
                world.timers[job].map { Alarm.awake($0) } ?? world.wallTimers[job].map { .wall($0) }
            #expect(world.agenda.alarm(of: job) == told)
        }
        #expect(world.agenda.alarm(of: "a") != nil && world.agenda.alarm(of: "c") == nil)
        #expect(world.agenda.alarm(of: "z") == nil && world.agenda.retryAlarm(of: "a") == nil)
    }
}
