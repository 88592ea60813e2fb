// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// `catch-up-delay`: missed runs that are caught up do not all start when the machine does.
@Suite struct CatchUpDelayTests {
    /// A job of each hour, whose missed runs are spread over half an hour.
    private static func job(
        _ name: Job.Name = "backup", change: (inout Policy) -> Void = { _ in }
    ) throws -> Job {
        try Job.cron("0 * * * *", name).with {
            $0.catchUpDelay = .seconds(1800)
            change(&$0)
        }
    }

    /// A machine that was away, for three of the hours unless said otherwise, until 10 minutes
    /// after a full hour.
    private func returned(
        _ jobs: [Job], later: [Job]? = nil, seed: UInt64 = 1, away: Duration = .seconds(3 * 3600)
    ) -> World {
        var world = World(seed: seed)
        world.load(jobs)
        let untilHour = 3600 - world.wall / 1_000_000 % 3600
        world.pass(.seconds(untilHour + 600))
        world.endRuns()
        world.started = []
        world.reboot(away: away)
        world.load(later ?? jobs)
        world.pass(.zero)
        return world
    }

    /// How long the run waits that is caught up.
    private func left(_ world: World, _ name: Job.Name = "backup") -> Duration? {
        world.show(name).live.compactMap(\.startsAt).first.map { $0 - world.now.awake }
    }

    @Test func aMissedRunWaitsForARandomTime() throws {
        var delays: [Duration] = []
        for seed: UInt64 in 1...40 {
            var world = returned([try Self.job()], seed: seed)
            #expect(world.started.isEmpty && world.recorded.count == 2)
            let delay = try #require(left(world))
            #expect(delay >= .zero && delay < .seconds(1800))
            #expect(world.show("backup").nextAttempt == delay)
            let run = try #require(world.show("backup").live.first)
            #expect(run.firing.cause == .catchUp && run.firing.missed == 2 && !run.isRetry)
            #expect(
                world.notices.contains {
                    if case .catchUpDelayed(run.id, delay) = $0 { true } else { false }
                })
            world.pass(delay)
            #expect(world.started.map(\.id) == [run.id])
            delays.append(delay)
        }
        #expect(Set(delays).count > 35)
        #expect(delays.contains { $0 < .seconds(600) } && delays.contains { $0 > .seconds(1200) })
    }

    @Test func whatIsNotMissedStartsAtOnce() throws {
        var world = World()
        world.load([try Self.job()])
        world.pass(.seconds(3600))
        #expect(world.started.count == 1)
    }

    /// A machine that restarts again and again gets to its run, because only the rest of the delay
    /// passes each time.
    @Test(arguments: [false, true])
    func restartsDoNotDrawAgain(isReboot: Bool) throws {
        let job = try Self.job()
        let seed = try #require(
            (UInt64(1)...40).first { seed in
                (left(returned([job], seed: seed)) ?? .zero) > .seconds(1000)
            })
        var world = returned([job], seed: seed)
        let whole = try #require(left(world))
        let run = try #require(world.show("backup").live.first).id
        for count in 1...3 {
            world.pass(.seconds(100))
            if isReboot { world.reboot(away: .seconds(100)) } else { world.kill() }
            world.load([job])
            world.pass(.zero)
            let passed: Duration = .seconds(count * (isReboot ? 200 : 100))
            #expect(left(world) == whole - passed && world.started.isEmpty)
        }
        world.pass(whole)
        #expect(world.started.map(\.id) == [run])
        #expect(world.notices.count { if case .catchUpDelayed = $0 { true } else { false } } == 1)
    }

    @Test func aDelayThatHasPassedMeanwhileIsOver() throws {
        let job = try Self.job()
        var world = returned([job])
        let run = try #require(world.show("backup").live.first).id
        world.reboot(away: .seconds(1800))
        world.load([job])
        #expect(world.started.map(\.id) == [run])
    }

    @Test func aRunThatBecomesDueReplacesIt() throws {
        let job = try Job.cron("*/5 * * * *").with { $0.catchUpDelay = .seconds(3600 * 24) }
        var world = returned([job])
        let waiting = try #require(world.show("backup").live.first).id
        world.pass(.seconds(300))
        #expect(world.closed[waiting] == .replaced && world.started.count == 1)
        #expect(world.started[0].firing.cause == .schedule)
        #expect(world.show("backup").live.allSatisfy { !$0.isDelayed })
    }

    @Test func aRunByHandReplacesIt() throws {
        var world = returned([try Self.job()])
        let waiting = try #require(world.show("backup").live.first).id
        guard case .requested? = world.command(.run, "backup") else {
            return #expect(Bool(false), "refused")
        }
        #expect(world.closed[waiting] == .replaced && world.started.count == 1)
    }

    @Test func itIsCancelledByKillAndByStop() throws {
        for verb in [JobCommand.Verb.kill, .stop] {
            var world = returned([try Self.job()])
            let waiting = try #require(world.show("backup").live.first).id
            _ = world.command(verb, "backup")
            #expect(world.closed[waiting] != nil)
            world.pass(.seconds(1800))
            #expect(world.started.isEmpty)
        }
    }

    @Test func aPauseHoldsIt() throws {
        var world = returned([try Self.job()])
        let delay = try #require(left(world))
        _ = world.command(.pause, "backup")
        world.pass(.seconds(1800))
        #expect(world.started.isEmpty && world.show("backup").nextAttempt == nil)
        _ = world.command(.resume, "backup")
        world.pass(.milliseconds(1))
        #expect(world.started.count == 1 && delay < .seconds(1800))
    }

    @Test func theDeadlineLeavesItThisTime() throws {
        let job = try Self.job { $0.startingDeadline = .seconds(3000) }
        for seed: UInt64 in 1...10 {
            var world = returned([job], seed: seed, away: .seconds(3600))
            #expect(world.started.isEmpty && left(world) != nil)
            world.pass(.seconds(1800))
            #expect(world.started.count == 1)
        }
    }

    /// With `run-all` the first one waits, and the others follow it one by one.
    @Test(arguments: [Policy.Concurrency.forbid, .queue])
    func ofSeveralRunsTheFirstWaits(concurrency: Policy.Concurrency) throws {
        var world = returned([
            try Self.job {
                $0.onMissed = .runAll
                $0.concurrency = concurrency
            }
        ])
        let waits = world.show("backup").live.map(\.wait)
        let until = try #require(world.show("backup").live.first?.startsAt)
        #expect(waits == [.catchUpDelay(until: until), .previousRun, .previousRun])
        world.pass(.seconds(1800))
        for count in 1...3 {
            #expect(world.started.count == count)
            world.endRuns()
        }
        #expect(
            world.started.map(\.id.firing.scheduled)
                == world.started.map(\.id.firing.scheduled).sorted())
    }

    /// Runs that may overlap have a delay each.
    @Test func runsThatOverlapWaitEachForItself() throws {
        var world = returned([
            try Self.job {
                $0.onMissed = .runAll
                $0.concurrency = .allow
            }
        ])
        let instants = world.show("backup").live.compactMap(\.startsAt)
        #expect(Set(instants).count == 3)
        world.pass(.seconds(1800))
        #expect(world.started.count == 3)
    }

    @Test func anIntervalWaitsForIt() {
        let job = Job.every(.seconds(3600)).counting(.wall).with {
            $0.catchUpDelay = .seconds(600)
        }
        var world = World(seed: 5)
        world.load([job])
        world.reboot(away: .seconds(3 * 3600 + 100))
        world.load([job])
        world.pass(.zero)
        #expect(world.started.isEmpty)
        world.pass(.seconds(600))
        #expect(world.started.count == 1 && world.started[0].firing.missed == 2)
    }

    /// The daemon starts after the machine, so what is due at the boot looks missed.
    @Test func whatIsDueAtTheBootDoesNotWait() throws {
        for job in [
            Job(name: "boot", command: .shell("true"), schedule: .onBoot(.seconds(1))),
            try Job.cron("@reboot", "boot"),
        ] {
            var world = World(seed: 5)
            let patient = job.with { $0.catchUpDelay = .seconds(1800) }
            world.load([patient])
            world.reboot(away: .seconds(100))
            world.awake = 20_000_000_000
            world.started = []
            world.load([patient])
            world.pass(.zero)
            #expect(world.started.count == 1)
        }
    }

    /// A suspend is a time in which nothing could run, too.
    @Test func aSuspendIsFollowedByADelay() throws {
        var world = World(seed: 5)
        world.load([try Self.job()])
        world.pass(.seconds(3600))
        world.endRuns()
        world.started = []
        world.sleep(.seconds(3 * 3600 + 600))
        world.handle(.clockChanged)
        world.pass(.zero)
        #expect(world.started.isEmpty && left(world) != nil)
        world.pass(.seconds(1800))
        #expect(world.started.count == 1)
    }

    /// It is late only after the longest delay.
    @Test func aDelayedRunIsNotLate() throws {
        func incidents(_ lateAfter: Duration) throws -> Int {
            var world = World(seed: 1)
            world.notifiers = [
                Notifier(
                    name: "ops", transport: .mail(to: ["root"], from: nil, contentType: nil),
                    on: [.late])
            ]
            let job = try Self.job {
                $0.notify = ["ops"]
                $0.lateAfter = lateAfter
            }
            world.load([job])
            world.reboot(away: .seconds(2 * 3600))
            world.load([job])
            world.pass(.seconds(1))
            return world.incidents.count
        }
        // The older of the two runs that were missed was due up to 2 hours before.
        #expect(try incidents(.seconds(7200)) == 0)
        #expect(try incidents(.seconds(60)) == 1)
    }

    /// The time that a condition may wait begins when the delay is over.
    @Test func aConditionIsCheckedAfterIt() throws {
        var job = try Self.job()
        let plain = job
        var condition = Condition()
        condition.networkOnline = true
        condition.otherwise = .wait
        condition.waitMax = .seconds(60)
        job.execution.condition = condition
        var world = returned([plain], later: [job])
        #expect(world.checks.isEmpty)
        world.pass(try #require(left(world)))
        #expect(world.checks.count == 1)
        world.answer(.no("network-online"))
        #expect(world.show("backup").live.map(\.awaitsCondition) == [true])
    }
}
