// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// `not-before` and `not-after`: from when and until when a schedule makes runs.
@Suite struct ValidityTests {
    /// The world begins at 11:06:40 UTC on 2026-11-18.
    private static func job(_ job: Job, from: String? = nil, until: String? = nil) throws -> Job {
        var job = job
        let validity = JobValidity(
            notBefore: from.flatMap { WallInstant(rfc3339: $0) },
            notAfter: until.flatMap { WallInstant(rfc3339: $0) })
        job.validity = validity
        if case .wall(var schedule) = job.schedule {
            schedule.validity = validity
            job.schedule = .wall(schedule)
        }
        return job
    }

    private func start(_ jobs: [Job]) -> World {
        var world = World()
        world.load(jobs)
        return world
    }

    private func times(_ world: World) -> [String] {
        world.started.map { String($0.firing.id.scheduled.rfc3339.dropFirst(11)) }
    }

    private static let schedules = ["interval", "cron"]

    private static func hourly(_ kind: String) throws -> Job {
        let job = kind == "cron" ? try Job.cron("6 * * * *") : Job.every(.seconds(3600))
        return job.with { $0.concurrency = .allow }
    }

    @Test(arguments: schedules)
    func itMakesRunsInThisTimeAlone(_ kind: String) throws {
        let job = try Self.job(
            try Self.hourly(kind), from: "2026-11-18T14:00:00Z", until: "2026-11-18T17:06:40Z")
        var world = start([job])
        let next = try #require(world.show("backup").next)
        #expect(next.rfc3339.hasPrefix("2026-11-18T14:06"))
        let end = world.now.wall + .seconds(86_400)
        #expect(world.show("backup").upcomingRuns(until: end, most: 10).count == 4)
        world.pass(.seconds(86_400))
        #expect(times(world).map { $0.prefix(5) } == ["14:06", "15:06", "16:06", "17:06"])
        #expect(world.started.allSatisfy { $0.firing.missed == 0 } && world.skipped.isEmpty)
        #expect(world.show("backup").phase == .finished && world.rings <= 4)
        let finished = world.notices.count { if case .finished = $0 { true } else { false } }
        #expect(finished == 1)
        // A user still can run it.
        _ = world.command(.run, "backup")
        #expect(world.started.count == 5)
    }

    /// It stays finished over a restart, and a later end lets it go on.
    @Test(arguments: schedules)
    func aRestartAndAReload(_ kind: String) throws {
        let job = try Self.job(try Self.hourly(kind), until: "2026-11-18T12:30:00Z")
        var world = start([job])
        world.pass(.seconds(3 * 3600))
        #expect(world.started.count == 1)
        world.kill()
        world.load([job])
        #expect(world.show("backup").phase == .finished && world.show("backup").next == nil)
        world.pass(.seconds(3 * 3600))
        #expect(world.started.count == 1)
        let longer = try Self.job(try Self.hourly(kind), until: "2026-11-19T00:00:00Z")
        world.handle(.reload(JobSet([longer]), portion: 10))
        #expect(world.show("backup").phase == .armed)
        world.pass(.seconds(3600))
        #expect(world.started.count == 2)
    }

    /// What was missed in time is caught up after the end.
    @Test(arguments: schedules)
    func whatWasMissedIsCaughtUp(_ kind: String) throws {
        let job = try Self.job(
            try Self.hourly(kind).counting(.wall), until: "2026-11-18T12:30:00Z")
        var world = start([job])
        world.reboot(away: .seconds(5 * 3600))
        world.load([job])
        world.pass(.seconds(3 * 3600))
        #expect(world.started.count == 1 && world.started[0].firing.cause == .catchUp)
        #expect(world.started[0].firing.missed == 0)
        #expect(world.show("backup").phase == .finished)
    }

    /// A clock that was wrong by days and is set back.
    @Test(arguments: schedules)
    func aCorrectedClockBringsItBack(_ kind: String) throws {
        let job = try Self.job(try Self.hourly(kind), until: "2026-11-18T14:30:00Z")
        var world = World()
        world.wall += 10 * 86_400 * 1_000_000
        world.load([job])
        #expect(world.show("backup").phase == .finished)
        world.wall -= 10 * 86_400 * 1_000_000
        world.handle(.clockChanged)
        #expect(world.show("backup").phase == .armed)
        world.pass(.seconds(86_400))
        #expect(world.started.count == 3)
    }
}
