// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

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
        world.handle(.order(Order(.skipNext, "j", by: .user("ada"), count: 2)))
        if kind == "paused" {
            let end = world.now.wall + .seconds(1500)
            world.handle(.order(Order(.pause, "j", by: .user("ada"), until: .at(end))))
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
        _ = world.order(.stop, "stopped")
        _ = world.order(.pause, "paused")
        for job in ["stopped", "paused"] as [Job.Name] {
            let end = world.now.wall + .seconds(999_999)
            #expect(world.show(job).upcomingRuns(until: end, most: 9).isEmpty)
        }
    }
}
