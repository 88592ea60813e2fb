// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// Slots: at most so many runs at the same time, over jobs.
@Suite struct SlotTests {
    private static let disk = RunSlot(name: "disk", max: 1)

    private static func job(
        _ name: Job.Name, every seconds: Int64 = 10, _ slots: RunSlot.Use...,
        change: (inout Policy) -> Void = { _ in }
    ) -> Job {
        Job.every(.seconds(seconds), name).with {
            $0.slots = slots
            change(&$0)
        }
    }

    private func world(
        _ jobs: [Job], slots: [RunSlot] = [disk], most: Int = 64
    ) -> World {
        var world = World(concurrentRunsMax: most)
        world.slots = slots
        world.load(jobs)
        return world
    }

    @Test func runsShareASlotOneAtATime_inTheOrderInWhichTheyWereDue() {
        var world = world([
            Self.job("b", every: 12, .init("disk")), Self.job("a", every: 11, .init("disk")),
            Self.job("c", every: 13, .init("disk")), Self.job("free", every: 13),
        ])
        world.pass(.seconds(13))
        #expect(world.started.map(\.id.firing.job) == ["a", "free"])
        #expect(world.show("b").live.map(\.wait) == [.slot])
        #expect(world.agenda.waitingForSlots == 2)
        world.end(world.started[0])
        #expect(world.started.map(\.id.firing.job) == ["a", "free", "b"])
        world.end(world.started[2])
        #expect(world.started.map(\.id.firing.job) == ["a", "free", "b", "c"])
        world.end(world.started[3])
        #expect(world.agenda.waitingForSlots == 0)
    }

    /// The wait for a slot is the previous run of its job.
    @Test func theNextFiringIsSkippedWhileTheRunWaits() {
        var world = world([
            Self.job("a", every: 10, .init("disk")), Self.job("b", every: 11, .init("disk")),
        ])
        world.pass(.seconds(22))
        #expect(world.skipped.map(\.reason) == ["still-running", "still-running"])
    }

    @Test func aRunTakesAllItsSlotsOrNone() {
        let slots = [RunSlot(name: "disk", max: 1), RunSlot(name: "net", max: 1)]
        var world = world(
            [
                Self.job("a", every: 10, .init("disk")),
                Self.job("both", every: 11, .init("disk"), .init("net")),
                Self.job("n", every: 12, .init("net")),
            ], slots: slots)
        world.pass(.seconds(12))
        // `both` does not hold the net while it waits for the disk, but no run overtakes it there.
        #expect(world.started.map(\.id.firing.job) == ["a"])
        #expect(world.agenda.slot("net")?.held == 0)
        world.end(world.started[0])
        #expect(world.started.map(\.id.firing.job) == ["a", "both"])
        world.end(world.started[1])
        #expect(world.started.map(\.id.firing.job) == ["a", "both", "n"])
    }

    @Test func aHeavyRunIsNotOvertakenByLightOnes() {
        var world = world(
            [
                Self.job("light", every: 10, .init("disk", weight: 2)),
                Self.job("heavy", every: 11, .init("disk", weight: 3)),
                Self.job("late", every: 12, .init("disk")),
            ], slots: [RunSlot(name: "disk", max: 3)])
        world.pass(.seconds(12))
        #expect(world.started.map(\.id.firing.job) == ["light"])
        world.end(world.started[0])
        #expect(world.started.map(\.id.firing.job) == ["light", "heavy"])
        world.end(world.started[1])
        #expect(world.started.map(\.id.firing.job) == ["light", "heavy", "late"])
    }

    @Test func onBusySlotSkipMakesNoRun() {
        var world = world([
            Self.job("a", every: 10, .init("disk")),
            Self.job("b", every: 11, .init("disk")) { $0.onBusySlot = .skip },
        ])
        world.pass(.seconds(11))
        #expect(world.skipped.map(\.reason) == ["slot-busy"] && world.started.count == 1)
        #expect(world.show("b").lastSkip?.reason == .slotBusy)
        #expect(
            world.command(.run, "b")
                == .refused("the slot disk is taken, and on-busy-slot is skip"))
        world.end(world.started[0])
        world.pass(.seconds(11))
        #expect(world.started.contains { $0.id.firing.job == "b" } || world.skipped.count == 2)
    }

    @Test func aRunThatReplacesAWaitingOneTakesItsPlace() {
        var world = world([
            Self.job("a", every: 3600, .init("disk")),
            Self.job("b", every: 10, .init("disk")) { $0.concurrency = .replace },
            Self.job("c", every: 11, .init("disk")),
        ])
        _ = world.command(.run, "a")
        world.pass(.seconds(20))
        #expect(world.closed.values.map { $0 } == [.replaced])
        world.end(world.started[0])
        #expect(world.started.map(\.id.firing.job) == ["a", "b"])
    }

    @Test func requestedRunsAndRetriesWaitToo() {
        var world = world([
            Self.job("a", every: 10, .init("disk")),
            Self.job("b", every: 3600, .init("disk")) {
                $0.retry.retries = 1
                $0.retry.delay = .seconds(5)
            },
        ])
        _ = world.command(.run, "b")
        world.end(world.started[0], .exited(1))
        // The retry that waits for its delay holds nothing.
        _ = world.command(.run, "a")
        #expect(world.started.map(\.id.firing.job) == ["b", "a"])
        world.pass(.seconds(5))
        #expect(world.show("b").live.map(\.wait) == [.slot])
        world.end(world.started[1])
        #expect(world.started.map(\.id.attempt) == [1, 1, 2])
        let variables = RunVariables(["RUN_X": "1"])
        world.handle(.command(JobCommand(.run, "a", by: .user("ada"), variables: variables)))
        #expect(world.answers.last?.run == nil)
    }

    @Test func aReloadChangesTheLimit() {
        let jobs = ["a", "b", "c"].map { (name: Job.Name) in Self.job(name, .init("disk")) }
        var world = world(jobs)
        world.pass(.seconds(10))
        #expect(world.started.count == 1)
        world.handle(.reload(JobSet(jobs, slots: [RunSlot(name: "disk", max: 2)])))
        #expect(world.started.count == 2)
        // What is held stays held.
        world.handle(.reload(JobSet(jobs, slots: [RunSlot(name: "disk", max: 1)])))
        world.end(world.started[0])
        #expect(world.started.count == 2)
        world.end(world.started[1])
        #expect(world.started.count == 3)
    }

    @Test func aReloadWithoutTheSlotStartsWhatWaits() {
        let jobs = ["a", "b", "c"].map { (name: Job.Name) in Self.job(name, .init("disk")) }
        var world = world(jobs)
        world.pass(.seconds(10))
        world.handle(.reload(JobSet(jobs.map { $0.with { $0.slots = [] } })))
        #expect(world.started.count == 3)
        for run in world.started { world.end(run) }
        #expect(world.agenda.slot("disk") == nil)
    }

    @Test func aRenamedJobKeepsItsPlaceInTheQueue() {
        let jobs = ["a", "b", "c"].map { (name: Job.Name) in Self.job(name, .init("disk")) }
        var world = world(jobs)
        world.pass(.seconds(10))
        var renamed = jobs
        renamed[1] = Self.job("d", .init("disk"))
        renamed[1].renamedFrom = "b"
        world.handle(.reload(JobSet(renamed, slots: [Self.disk])))
        world.end(world.started[0])
        world.end(world.started[1])
        #expect(world.started.map(\.id.firing.job) == ["a", "d", "c"])
    }

    @Test(arguments: [JobCommand.Verb.stop, .kill])
    func aCancelledRunLetsTheNextOneStart(verb: JobCommand.Verb) {
        var world = world(
            [
                Self.job("a", every: 10, .init("disk")),
                Self.job("b", every: 11, .init("disk", weight: 2)),
                Self.job("c", every: 12, .init("disk")),
            ], slots: [RunSlot(name: "disk", max: 2)])
        world.pass(.seconds(12))
        #expect(world.started.map(\.id.firing.job) == ["a"])
        let waiting = world.show("b").live[0].id
        world.handle(
            .command(JobCommand(verb, "b", by: .user("ada"), run: verb == .kill ? waiting : nil)))
        #expect(world.started.map(\.id.firing.job) == ["a", "c"])
    }

    @Test func aPausedJobGivesItsTurnAway() {
        var world = world([
            Self.job("a", every: 10, .init("disk")), Self.job("b", every: 11, .init("disk")),
            Self.job("c", every: 12, .init("disk")),
        ])
        world.pass(.seconds(12))
        _ = world.command(.pause, "b")
        world.end(world.started[0])
        #expect(world.started.map(\.id.firing.job) == ["a", "c"])
        _ = world.command(.resume, "b")
        #expect(world.show("b").live.map(\.wait) == [.slot])
        world.end(world.started[1])
        #expect(world.started.map(\.id.firing.job) == ["a", "c", "b"])
    }

    @Test func aRunThatOutlivesTheDaemonKeepsItsSlot_andWaitingRunsStayInOrder() {
        let jobs = [
            Self.job("a", every: 10, .init("disk")), Self.job("b", every: 11, .init("disk")),
            Self.job("c", every: 12, .init("disk")),
        ]
        var world = world(jobs)
        world.hasRunner = true
        world.pass(.seconds(12))
        world.beat()
        world.kill()
        world.load(jobs)
        #expect(world.started.count == 1 && world.agenda.waitingForSlots == 2)
        world.end(world.started[0])
        world.end(world.started[1])
        #expect(world.started.map(\.id.firing.job) == ["a", "b", "c"])
    }

    @Test func withoutRoomForTheRunItKeepsItsPlaceAndHoldsNothing() {
        var world = world(
            [
                Self.job("free", every: 10), Self.job("a", every: 11, .init("disk")),
                Self.job("b", every: 12, .init("disk")), Self.job("late", every: 13),
            ], most: 1)
        world.pass(.seconds(13))
        #expect(world.started.map(\.id.firing.job) == ["free"])
        #expect(world.show("a").live.map(\.wait) == [.capacity])
        #expect(world.show("b").live.map(\.wait) == [.slot])
        #expect(world.agenda.slot("disk")?.held == 0)
        for index in 0..<4 { world.end(world.started[index]) }
        #expect(world.started.map(\.id.firing.job) == ["free", "a", "late", "b"])
    }

    /// Ten thousand firings of jobs that need several slots in any order: no slot is overbooked, no
    /// run waits that could start, and all start in the end.
    @Test func noDeadlockBetweenSlots() {
        var random = SeededRandom()
        var slots = (0..<4).map { RunSlot(name: RunSlot.Name("s\($0)")!, max: 1 + $0) }
        let jobs = (0..<12).map { number -> Job in
            let uses = slots.shuffled(using: &random).prefix(1 + random.int(below: 4)).map {
                RunSlot.Use($0.name, weight: 1 + random.int(below: $0.max))
            }
            return Job.every(.seconds(3600), Job.Name("j\(number)")!).with {
                $0.slots = uses
                $0.concurrency = .allow
            }
        }
        var world = World(concurrentRunsMax: 3)
        world.slots = slots
        world.load(jobs)
        var requested = 0
        while requested < 10_000 {
            switch random.int(below: 20) {
            case 0..<11:
                _ = world.command(.run, jobs[random.int(below: jobs.count)].name)
                requested += 1
                world.block(.microseconds(1))
            case 11..<19:
                let open = world.openRuns.values.filter(\.begun).map(\.0)
                guard let run = open.randomElement(using: &random) else { continue }
                world.end(run)
            default:
                slots[3].max = 3 + random.int(below: 3)
                world.handle(.reload(JobSet(jobs, slots: slots)))
            }
            if world.openRuns.count > 60 {
                while let (_, run) = world.openRuns.first(where: { $0.value.begun }) {
                    world.end(run.0)
                }
            }
            check(world, jobs)
        }
        while let (_, run) = world.openRuns.first(where: { $0.value.begun }) { world.end(run.0) }
        #expect(world.openRuns.isEmpty && world.started.count == requested)
    }

    private func check(_ world: World, _ jobs: [Job]) {
        var held: [RunSlot.Name: Int] = [:]
        for job in jobs {
            let active = world.show(job.name).live.count { $0.wait == nil }
            for use in job.policy.slots { held[use.name, default: 0] += use.weight * active }
        }
        for (name, held) in held { #expect(world.agenda.slot(name)?.held == held) }
        if world.agenda.liveRuns == 0 { #expect(world.openRuns.count == 0) }
    }
}
