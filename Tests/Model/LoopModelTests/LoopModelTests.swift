// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing
import TimerCore

@testable import TimerDaemon

/// The agenda and the values of the loop together, over kills, slow disks and commands at any moment:
/// what a real daemon shows only when its threads meet at the right moment is found by a seed here.
///
/// TIMERD_TEST_SEED repeats a failure, and TIMERD_TEST_CASES sets how many courses are tried.
@Suite struct LoopModelTests {
    private static func jobs(_ random: inout SeededRandom) throws -> [Job] {
        let spans: [Duration] = [
            .milliseconds(200), .milliseconds(333), .seconds(1), .seconds(2), .seconds(7),
        ]
        return try (0..<2 + random.int(below: 5)).map { index in
            let name = try #require(Job.Name("job-\(index)"))
            var job = Job(
                name: name, command: .shell("true"),
                schedule: .every(spans[random.int(below: spans.count)]))
            let choices: [Policy.Concurrency] = [.forbid, .queue, .replace, .allow]
            job.policy.concurrency = choices[random.int(below: choices.count)]
            job.policy.slots = slots(&random)
            job.execution.condition = condition(&random)
            job.window = try window(&random)
            job.limit = limit(&random)
            return job
        }
    }

    /// A course begins at 11:06:40 and takes some seconds.
    private static func window(_ random: inout SeededRandom) throws -> JobWindow? {
        guard random.int(below: 3) == 0 else { return nil }
        let texts = ["11:06:40-11:06:41", "11:06:43-11:06:46", "11:06:45-11:06:40"]
        var window = JobWindow(
            WeekRanges([try WeekRanges.Part(texts[random.int(below: texts.count)])]), zone: .utc)
        window.outside = random.int(below: 2) == 0 ? .wait : .skip
        window.stopsAtEnd = random.int(below: 2) == 0
        return window
    }

    private static func limit(_ random: inout SeededRandom) -> RunLimit? {
        guard random.int(below: 3) == 0 else { return nil }
        return random.int(below: 2) == 0
            ? RunLimit(runs: 1 + random.int(below: 6))
            : RunLimit(successes: 1 + random.int(below: 6))
    }

    private static func slots(_ random: inout SeededRandom) -> [RunSlot.Use] {
        World.slots.filter { _ in random.int(below: 3) == 0 }.map {
            RunSlot.Use($0.name, weight: 1 + random.int(below: $0.max))
        }
    }

    /// What the runner is asked here is answered by chance.
    private static func condition(_ random: inout SeededRandom) -> Condition? {
        guard random.int(below: 3) == 0 else { return nil }
        var condition = Condition()
        condition.mounted = [.init("/mnt")]
        condition.otherwise = random.int(below: 2) == 0 ? .skip : .wait
        condition.waitMax = .seconds(1 + random.int(below: 20))
        return condition
    }

    /// Jobs that follow some of these, or each other, at once or after a moment.
    private static func followers(of jobs: [Job], _ random: inout SeededRandom) throws -> [Job] {
        var followers: [Job] = []
        for index in 0..<random.int(below: 4) {
            var job = Job(
                name: try #require(Job.Name("follower-\(index)")), command: .shell("true"),
                schedule: .onDemand)
            // Each end makes a run of its own.
            job.policy.concurrency = .allow
            job.policy.slots = slots(&random)
            job.execution.condition = condition(&random)
            let first = (jobs + followers)[random.int(below: jobs.count + followers.count)].name
            let on: [Follows.On] = [.success, .end, .failure]
            let delays: [Duration] = [.zero, .zero, .milliseconds(70), .seconds(3)]
            job.follows = Follows([
                .init(
                    first, on: on[random.int(below: on.count)],
                    delay: delays[random.int(below: delays.count)])
            ])
            followers.append(job)
        }
        return followers
    }

    private struct Counts {
        var starts = 0
        var kills = 0
        var commands = 0
        var chains = 0
        var checks = 0
    }

    /// One course: some daemons one after the other, each killed at any moment but the last.
    private static func course(_ seed: UInt64) throws -> (faults: [String], counts: Counts) {
        var random = SeededRandom(seed: seed)
        let world = try World()
        let jobs = try jobs(&random)
        let followers = try followers(of: jobs, &random)
        var counts = Counts()
        for life in 0..<3 {
            let loop = try SimulatedLoop(
                world, jobs: jobs + followers, random: SeededRandom(seed: random.next()))
            let end = world.time + Int64(random.int(below: 8_000_000_000)) + 200_000_000
            for _ in 0..<random.int(below: 12) {
                counts.commands += 1
                let number = life * 100 + counts.commands + 1
                let many = random.int(below: 2) == 0
                let chosen = many ? jobs.map(\.name) : [jobs[random.int(below: jobs.count)].name]
                let isPause = random.int(below: 3) > 0
                loop.plan(
                    .command(
                        Command(
                            number: number, state: isPause ? .paused("\(number)") : .running,
                            jobs: chosen)),
                    at: world.time + Int64(random.int(below: Int(end - world.time))))
            }
            for _ in 0..<random.int(below: 3) {
                counts.commands += 1
                loop.plan(
                    .machine(
                        isHeld: random.int(below: 3) > 0, number: life * 100 + counts.commands + 1),
                    at: world.time + Int64(random.int(below: Int(end - world.time))))
            }
            for _ in 0..<random.int(below: 4) {
                loop.plan(
                    .mountsChanged, at: world.time + Int64(random.int(below: Int(end - world.time)))
                )
            }
            while loop.advance(before: end) {}
            if life < 2 {
                counts.kills += 1
                if random.int(below: 2) == 0 { loop.writeWhatIsUnderWay() }
                try world.checkCommands()
                try world.checkHold()
                try world.checkLimits(jobs)
                counts.chains = try world.checkChains(followers)
            } else {
                settle(loop, world)
                try world.checkLimits(jobs)
                counts.chains = try world.checkChains(followers)
            }
        }
        counts.starts = world.started.count
        counts.checks = world.checkCount
        return (world.faults, counts)
    }

    /// Without further firings everything comes to an end: nothing waits for ever, and each job that
    /// is due some time has a timer.
    private static func settle(_ loop: SimulatedLoop, _ world: World) {
        loop.plan(.machine(isHeld: false, number: .max), at: world.time)
        var steps = 0
        while !loop.isQuiet, steps < 20_000, loop.advance(before: .max) { steps += 1 }
        world.expect(steps < 20_000 || !loop.isQuiet, "it never rests")
        guard loop.isQuiet else { return }
        world.expect(loop.gate.isEmpty, "a command waits for ever")
        for job in loop.agenda.names {
            guard case .awake(let due)? = loop.agenda.alarm(of: job) else { continue }
            let timer = loop.alarms.first(of: job)
            world.expect(
                timer.map { $0 <= due.nanoseconds - 1_000_000_000_000 } == true,
                "\(job) is due and has no timer")
        }
    }

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    @Test func everyCourseKeepsTheLaws() throws {
        var random = SeededRandom()
        let cases = Self.number("TIMERD_TEST_CASES") ?? 100
        var (starts, kills, commands, chains, checks) = (0, 0, 0, 0, 0)
        for index in 0..<cases {
            let seed =
                index == 0 ? (Self.number("TIMERD_TEST_SEED") ?? random.next()) : random.next()
            let (faults, counts) = try Self.course(seed)
            #expect(faults.isEmpty, "course \(index), seed \(seed): \(faults.prefix(3))")
            guard faults.isEmpty else { break }
            starts += counts.starts
            kills += counts.kills
            commands += counts.commands
            chains += counts.chains
            checks += counts.checks
        }
        print(
            "\(cases) courses: \(starts) starts, \(kills) kills, \(commands) commands, "
                + "\(chains) runs after others, \(checks) checks of conditions")
        #expect(starts > Int(cases) && kills > 0 && commands > 0)
        #expect(chains > Int(cases) && checks > Int(cases))
    }
}
