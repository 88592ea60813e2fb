// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// The next runs, compared with what then happens.
@Suite struct UpcomingRunTests {
    private static func cron(_ text: String, _ name: Job.Name) throws -> Job {
        let source = WallSchedule.Source.cron(try CronSpec(text), .utc)
        return Job(
            name: name, command: .shell("true"),
            schedule: .wall(WallSchedule([source], gap: nil, overlap: nil)))
    }

    /// The times of the firings of a job in the next hours, in microseconds, each with whether it
    /// was skipped.
    private func firings(
        of job: Job.Name, in world: inout World, for span: Duration
    ) -> [(at: Int64, isSkipped: Bool)] {
        var found: [(at: Int64, isSkipped: Bool)] = []
        var told = world.notices.count
        var begun = world.started.count
        let end = world.awake + span.wholeNanoseconds
        while world.awake < end {
            world.pass(.milliseconds(100))
            world.endRuns()
            for run in world.started[begun...] where run.id.firing.job == job {
                found.append((world.wall, false))
            }
            for case .skipped(let firing, _) in world.notices[told...] where firing.id.job == job {
                found.append((world.wall, true))
            }
            (told, begun) = (world.notices.count, world.started.count)
        }
        return found
    }

    @Test(arguments: ["every", "cron", "offset", "paused"])
    func whatIsAnnouncedHappens(kind: String) throws {
        var job =
            kind == "every"
            ? Job.every(.seconds(613), "j") : try Self.cron("*/10 * * * *", "j")
        if kind == "offset" { job.policy.randomOffset = .seconds(600) }
        var world = World(seed: 7)
        world.load([job])
        world.handle(.command(JobCommand(.skipNext, "j", by: .user("ada"), count: 2)))
        if kind == "paused" {
            let end = world.now.wall + .seconds(1500)
            world.handle(.command(JobCommand(.pause, "j", by: .user("ada"), until: .at(end))))
        }
        let span = Duration.seconds(3600)
        let announced = world.show("j").upcomingRuns(until: world.now.wall + span, most: 100)
        #expect(announced.count >= 3)
        let found = firings(of: "j", in: &world, for: span)
        #expect(found.count == announced.count, "\(announced) \(found)")
        for (run, happened) in zip(announced, found) {
            let late = happened.at - run.at.microsecondsSinceEpoch
            #expect((0...100_000).contains(late), "\(late)")
            #expect((run.kind == .skipped) == happened.isSkipped)
        }
    }

    /// A job with all that can decide when it runs, around the begin of the world.
    private static func draw(_ random: inout SeededRandom, at now: WallInstant) throws -> Job {
        let lines = ["0 * * * *", "*/20 8-18 * * *", "30 2 * * *", "15 */5 * * 1-5"]
        var job =
            random.int(below: 2) == 0
            ? try cron(lines[random.int(below: lines.count)], "j")
            : Job.every(.seconds(600 + random.int(below: 30_000)), "j")
        job.policy.concurrency = .allow
        func instant() -> WallInstant { now + .seconds(random.int(below: 4 * 86_400) - 86_400) }
        if random.int(below: 2) == 0 {
            let times = ["22:00-06:00", "Mon..Fri 09:30-17:00", "12:00-12:01", "Thu 00:00-24:00"]
            var window = JobWindow(
                try WeekRanges([times[random.int(below: times.count)]]), zone: .utc)
            window.outside = random.int(below: 2) == 0 ? .wait : .skip
            job.window = window
        }
        if random.int(below: 3) == 0 {
            job.validity = JobValidity(
                notBefore: random.int(below: 2) == 0 ? instant() : nil,
                notAfter: random.int(below: 2) == 0 ? instant() : nil)
        }
        if random.int(below: 3) == 0 { job.limit = RunLimit(runs: 1 + random.int(below: 9)) }
        guard case .wall(var schedule) = job.schedule else { return job }
        if job.window?.outside == .skip { schedule.window = job.window }
        schedule.validity = job.validity
        if random.int(below: 3) == 0 {
            let day = CivilDate(daysSinceEpoch: Int(now.secondsSinceEpoch / 86_400) + 1)
            let list = DateList(name: "closed", days: DaySet([.range(day, day)]))
            schedule.rules = Boxed(
                wrappedValue: random.int(below: 2) == 0
                    ? FiringRules(except: [list]) : FiringRules(onlyOn: [list]))
        }
        job.schedule = .wall(schedule)
        return job
    }

    private static func words(_ job: Job) -> String {
        "\(job.schedule), window \(job.window?.ranges.texts ?? []) \(job.window?.outside as Any), "
            + "\(job.validity as Any), \(job.limit as Any)"
    }

    /// Each run that is announced comes at its time, and no other one.
    @Test func whatIsAnnouncedHappensWithAnyRules() throws {
        var random = SeededRandom()
        for number in 0..<400 {
            var world = World(seed: 7)
            let job = try Self.draw(&random, at: world.now.wall)
            world.load([job])
            let end = world.now.wall + .seconds(3 * 86_400)
            let announced = world.show("j").upcomingRuns(until: end, most: 1000).map(\.at)
            while world.now.wall < end {
                world.pass(min(.seconds(600), end - world.now.wall))
                world.endRuns()
            }
            let begun = world.started.compactMap { world.recorded[$0.id] }
            try #require(
                begun.count == announced.count
                    && zip(begun, announced).allSatisfy { ($0 - $1).length <= .milliseconds(1) },
                "job \(number): \(Self.words(job))\nannounced \(announced)\nbegun \(begun)")
        }
    }

    @Test func aRetryComesBeforeTheNextRun() throws {
        var job = Job.every(.seconds(600), "j")
        job.policy.retry.retries = 2
        job.policy.retry.delay = .seconds(60)
        var world = World()
        world.load([job])
        world.pass(.seconds(600))
        world.endRuns(.exited(1))
        let runs = world.show("j").upcomingRuns(until: world.now.wall + .seconds(1300), most: 9)
        #expect(runs.map(\.kind) == [.retry, .run, .run])
        #expect(runs[0].at <= world.now.wall + .seconds(120))
        #expect(world.show("j").upcomingRuns(until: world.now.wall, most: 9).isEmpty)
        #expect(
            world.show("j").upcomingRuns(until: world.now.wall + .seconds(99_999), most: 1).count
                == 1)
    }

    @Test func aStoppedJobAndOneThatIsPausedWithoutAnEndHaveNone() throws {
        var world = World()
        world.load([.every(.seconds(60), "stopped"), .every(.seconds(60), "paused")])
        _ = world.command(.stop, "stopped")
        _ = world.command(.pause, "paused")
        for job in ["stopped", "paused"] as [Job.Name] {
            let end = world.now.wall + .seconds(999_999)
            #expect(world.show(job).upcomingRuns(until: end, most: 9).isEmpty)
        }
    }
}
