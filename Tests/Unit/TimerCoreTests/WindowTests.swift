// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// `window`: when runs of a job may start.
@Suite struct WindowTests {
    /// The world begins at 11:06:40 UTC, and its days have 24 hours.
    private static func job(
        _ job: Job, _ texts: [String] = ["22:00-06:00"], outside: JobWindow.Outside = .wait,
        stopsAtEnd: Bool = false
    ) throws -> Job {
        var window = JobWindow(try WeekRanges(texts), zone: .utc)
        window.outside = outside
        window.stopsAtEnd = stopsAtEnd
        var job = job
        job.window = window
        if outside == .skip, case .wall(var schedule) = job.schedule {
            schedule.window = window
            job.schedule = .wall(schedule)
        }
        return job
    }

    private func start(_ jobs: [Job], seed: UInt64 = 0) -> World {
        var world = World(seed: seed)
        world.load(jobs)
        return world
    }

    /// Lets time pass until this time of the day in UTC.
    private func pass(_ world: inout World, until hour: Int, _ minute: Int = 0) {
        let day = world.wall / 1_000_000 % 86_400
        let span = Int64(hour * 3600 + minute * 60) - day
        world.pass(.seconds(span > 0 ? span : span + 86_400))
    }

    private func time(_ instant: WallInstant?) -> String? {
        instant.map { String($0.rfc3339.dropFirst(11)) }
    }

    // MARK: - Firings that wait

    @Test func aFiringWaitsForTheWindow() throws {
        var world = start([try Self.job(try .cron("0 14 * * *"))])
        #expect(time(world.show("backup").next) == "22:00:00Z")
        pass(&world, until: 21, 59)
        #expect(world.started.isEmpty && world.recorded.isEmpty)
        pass(&world, until: 22)
        #expect(
            world.started.count == 1 && time(world.started[0].firing.id.scheduled) == "14:00:00Z")
        #expect(world.started[0].firing.missed == 0 && world.started[0].firing.cause == .schedule)
        world.endRuns()
        pass(&world, until: 21)
        #expect(world.started.count == 1)
        #expect(time(world.show("backup").next) == "22:00:00Z")
    }

    @Test func severalWaitAsOne() throws {
        var world = start([try Self.job(try .cron("0 * * * *").with { $0.concurrency = .allow })])
        pass(&world, until: 22)
        // 12:00 to 22:00.
        #expect(world.started.count == 1 && world.started[0].firing.missed == 10)
        world.endRuns()
        pass(&world, until: 5, 30)
        #expect(world.started.count == 1 + 7)
        world.endRuns()
        pass(&world, until: 6)
        #expect(world.started.count == 8)
        #expect(world.rings < 20)
    }

    /// The interval goes on while its firing waits, so the next one is early.
    @Test(arguments: [TimeBasis.active, .uptime, .boottime, .wall])
    func anIntervalGoesOnWhileItWaits(_ basis: TimeBasis) throws {
        let job = try Self.job(.every(.seconds(5 * 3600)).counting(basis), ["20:00-24:00"])
        var world = start([job])
        pass(&world, until: 19)
        #expect(world.started.isEmpty)
        #expect(time(world.show("backup").next) == "20:00:00Z")
        #expect(world.show("backup").remaining == .seconds(3600))
        pass(&world, until: 20)
        // It was due at 16:06:40.
        #expect(
            world.started.count == 1 && time(world.started[0].firing.id.scheduled) == "16:06:40Z")
        #expect(time(world.show("backup").next) == "21:06:40Z")
        world.endRuns()
        pass(&world, until: 22)
        #expect(world.started.count == 2)
    }

    @Test func theRandomDelayBeginsWhenItOpens() throws {
        for seed: UInt64 in 1...20 {
            let job = try Self.job(try .cron("0 14 * * *")).with { $0.randomDelay = .seconds(1800) }
            var world = start([job], seed: seed)
            let delay = world.agenda.jitterDelay("backup")
            pass(&world, until: 22)
            #expect(world.started.isEmpty)
            world.pass(delay - .milliseconds(1))
            #expect(world.started.isEmpty)
            world.pass(.milliseconds(1))
            #expect(world.started.count == 1)
        }
    }

    @Test func aDelayBeyondTheEndWaitsAgain() throws {
        let seed = try #require(
            (UInt64(1)...50).first { seed in
                let job = try? Self.job(try .cron("30 5 * * *")).with {
                    $0.randomDelay = .seconds(3600)
                }
                return job.map { start([$0], seed: seed).agenda.jitterDelay("backup") }
                    .map { $0 > .seconds(1800) } ?? false
            })
        let job = try Self.job(try .cron("30 5 * * *")).with { $0.randomDelay = .seconds(3600) }
        var world = start([job], seed: seed)
        pass(&world, until: 5, 30)
        pass(&world, until: 21, 59)
        #expect(world.started.isEmpty)
        pass(&world, until: 22)
        #expect(world.started.count == 1)
    }

    /// What waits is in no row, and a restart finds it.
    @Test(arguments: [false, true])
    func aRestartKeepsWhatWaits(isReboot: Bool) throws {
        let job = try Self.job(try .cron("0 14 * * *")).with { $0.onMissed = .skip }
        var world = start([job])
        pass(&world, until: 15)
        if isReboot { world.reboot(away: .seconds(3600)) } else { world.kill() }
        world.load([job])
        pass(&world, until: 22)
        #expect(world.started.count == 1 && world.skipped.isEmpty)
        #expect(time(world.started[0].firing.id.scheduled) == "14:00:00Z")
    }

    /// A firing was missed if nothing could fire when its window opened.
    @Test(arguments: [Policy.Missed.runOnce, .skip])
    func whatTheOpeningMissesIsMissed(_ onMissed: Policy.Missed) throws {
        let job = try Self.job(try .cron("0 14 * * *")).with { $0.onMissed = onMissed }
        var world = start([job])
        pass(&world, until: 15)
        world.reboot(away: .seconds(8 * 3600))
        world.load([job])
        world.pass(.zero)
        if onMissed == .skip {
            #expect(world.started.isEmpty && world.skipped.map(\.reason) == ["missed"])
        } else {
            #expect(world.started.count == 1 && world.started[0].firing.cause == .catchUp)
        }
    }

    /// The machine comes back when the window has closed again.
    @Test func whatIsCaughtUpWaitsForTheNextOpening() throws {
        let job = try Self.job(try .cron("0 14 * * *"))
        var world = start([job])
        pass(&world, until: 15)
        world.reboot(away: .seconds(16 * 3600))
        world.load([job])
        pass(&world, until: 21)
        #expect(world.started.isEmpty)
        #expect(time(world.show("backup").next) == "22:00:00Z")
        pass(&world, until: 22)
        #expect(world.started.count == 1)
        #expect(world.started[0].firing.cause == .catchUp && world.started[0].firing.missed == 1)
    }

    @Test func theDeadlineCountsFromTheOpening() throws {
        let job = try Self.job(try .cron("0 14 * * *")).with { $0.startingDeadline = .seconds(60) }
        var world = start([job])
        pass(&world, until: 22)
        #expect(world.started.count == 1 && world.skipped.isEmpty)
    }

    @Test(arguments: [Policy.Resume.nextSlot, .fireIfDue])
    func aPauseKeepsWhatWaits(_ onResume: Policy.Resume) throws {
        let job = try Self.job(try .cron("0 14 * * *")).with { $0.onResume = onResume }
        var world = start([job])
        pass(&world, until: 15)
        _ = world.command(.pause, "backup")
        pass(&world, until: 16)
        _ = world.command(.resume, "backup")
        #expect(world.started.isEmpty)
        pass(&world, until: 22)
        #expect(world.started.count == 1)
    }

    /// A pause over the opening is a pause over the firing.
    @Test(arguments: [Policy.Resume.nextSlot, .fireIfDue])
    func aPauseOverTheOpening(_ onResume: Policy.Resume) throws {
        let job = try Self.job(try .cron("0 14 * * *")).with { $0.onResume = onResume }
        var world = start([job])
        pass(&world, until: 15)
        _ = world.command(.pause, "backup")
        pass(&world, until: 23)
        _ = world.command(.resume, "backup")
        #expect(world.started.count == (onResume == .fireIfDue ? 1 : 0))
        world.endRuns()
        pass(&world, until: 14)
        pass(&world, until: 22)
        #expect(world.started.count == (onResume == .fireIfDue ? 2 : 1))
    }

    /// `fire-if-due` at a time when the window is closed.
    @Test func whatAResumeStartsWaitsAsWell() throws {
        let job = try Self.job(try .cron("0 23 * * *")).with { $0.onResume = .fireIfDue }
        var world = start([job])
        pass(&world, until: 21)
        _ = world.command(.pause, "backup")
        pass(&world, until: 8)
        _ = world.command(.resume, "backup")
        #expect(world.started.isEmpty && world.recorded.count == 1)
        pass(&world, until: 22)
        #expect(
            world.started.count == 1 && time(world.started[0].firing.id.scheduled) == "23:00:00Z")
    }

    // MARK: - Skipping

    @Test func outsideTheWindowThereAreNoFirings() throws {
        let job = try Self.job(
            try .cron("0 * * * *").with { $0.concurrency = .allow }, outside: .skip)
        var world = start([job])
        #expect(time(world.show("backup").next) == "22:00:00Z")
        pass(&world, until: 22)
        #expect(world.started.count == 1 && world.started[0].firing.missed == 0)
        world.endRuns()
        pass(&world, until: 5)
        #expect(world.started.count == 8 && time(world.show("backup").next) == "22:00:00Z")
        #expect(world.skipped.isEmpty)
    }

    @Test(arguments: [TimeBasis.active, .wall])
    func anIntervalSkipsItsPointsOutside(_ basis: TimeBasis) throws {
        let job = try Self.job(
            .every(.seconds(5 * 3600)).counting(basis), ["20:00-24:00"], outside: .skip)
        var world = start([job])
        // The points are 16:06:40, 21:06:40, 02:06:40 and so on.
        #expect(time(world.show("backup").next) == "21:06:40Z")
        pass(&world, until: 21)
        #expect(world.started.isEmpty)
        pass(&world, until: 22)
        #expect(world.started.count == 1 && world.started[0].firing.missed == 0)
        #expect(time(world.started[0].firing.id.scheduled) == "21:06:40Z")
        #expect(world.skipped.isEmpty && world.rings <= 2)
    }

    /// Of the points that a sleep passes, those outside the window are not missed.
    @Test func aSleepMissesOnlyWhatIsInside() throws {
        let job = try Self.job(
            .every(.seconds(3600)).counting(.boottime), ["20:00-24:00"], outside: .skip
        ).with { $0.onMissed = .runAll }
        var world = start([job])
        world.sleep(.seconds(12 * 3600))
        world.handle(.clockChanged)
        world.pass(.zero)
        world.endRuns()
        world.endRuns()
        world.endRuns()
        #expect(
            world.started.map { time($0.firing.id.scheduled) } == [
                "20:06:40Z", "21:06:40Z", "22:06:40Z", "23:06:40Z",
            ])
    }

    @Test func onceOutsideIsSkipped() throws {
        var world = start([try Self.job(.after(.seconds(60)), outside: .skip)])
        world.pass(.seconds(60))
        #expect(world.started.isEmpty && world.skipped.map(\.reason) == ["outside-window"])
        #expect(world.show("once").phase == .finished)
    }

    // MARK: - Runs that were made

    @Test func aUserIgnoresTheWindow() throws {
        var world = start([try Self.job(try .cron("0 14 * * *"), stopsAtEnd: true)])
        _ = world.command(.run, "backup")
        #expect(world.started.count == 1)
        pass(&world, until: 7)
        #expect(world.asked.isEmpty)
    }

    @Test func aRetryWaitsForTheWindow() throws {
        let job = try Self.job(try .cron("30 5 * * *")).with {
            $0.retry.retries = 2
            $0.retry.delay = .seconds(3600)
            $0.retry.delayMax = .seconds(3600)
        }
        var world = start([job])
        pass(&world, until: 5, 30)
        world.endRuns(.exited(1))
        pass(&world, until: 21, 59)
        #expect(world.attempts == [1])
        world.kill()
        world.load([job])
        pass(&world, until: 22)
        #expect(world.attempts == [1, 2])
    }

    /// A run of the queue whose turn comes when the window has closed.
    @Test func theQueueWaitsForTheWindow() throws {
        let job = try Self.job(try .cron("0 4,5 * * *")).with { $0.concurrency = .queue }
        var world = start([job])
        pass(&world, until: 5)
        #expect(world.started.count == 1 && world.recorded.count == 2)
        pass(&world, until: 7)
        world.endRuns()
        #expect(world.started.count == 1)
        pass(&world, until: 22)
        #expect(world.started.count == 2)
    }

    @Test func aFollowerWaitsForItsWindow() throws {
        var follower = Job(name: "upload", command: .arguments(["true"]), schedule: .onDemand)
        follower.follows = Follows([.init("backup")])
        let jobs = [Job.every(.seconds(3600)), try Self.job(follower)]
        var world = start(jobs)
        for _ in 0..<3 {
            world.pass(.seconds(3600))
            world.endRuns()
        }
        #expect(world.started.count == 3)
        #expect(time(world.show("upload").next) == "22:00:00Z")
        world.kill()
        world.load(jobs)
        pass(&world, until: 22)
        // The last end of all; backup has run at 15:06 to 21:06, and each run has ended or not.
        #expect(world.started.filter { $0.id.firing.job == "upload" }.count == 1)
    }

    @Test func aFollowerIsSkippedOutside() throws {
        var follower = Job(name: "upload", command: .arguments(["true"]), schedule: .onDemand)
        follower.follows = Follows([.init("backup")])
        var world = start([Job.every(.seconds(3600)), try Self.job(follower, outside: .skip)])
        world.pass(.seconds(3600))
        world.endRuns()
        #expect(world.skipped.map(\.reason) == ["outside-window"])
    }

    // MARK: - The end of the window

    @Test func theEndStopsRuns() throws {
        let job = try Self.job(try .cron("0 5 * * *"), stopsAtEnd: true).with {
            $0.retry.retries = 2
        }
        var world = start([job])
        pass(&world, until: 5)
        #expect(world.started.count == 1)
        pass(&world, until: 5, 59)
        #expect(world.asked.isEmpty)
        pass(&world, until: 6)
        let run = world.started[0]
        #expect(world.asked == [run.id])
        world.end(run, .signalled("SIGTERM"))
        #expect(world.closed[run.id] == .windowEnded && world.verdicts[run.id] == false)
        pass(&world, until: 22)
        #expect(world.attempts == [1])
    }

    /// The end may be while the daemon is away, or the machine sleeps, or the clock is set.
    @Test(arguments: ["kill", "sleep", "step"])
    func theEndIsNotForgotten(_ what: String) throws {
        let job = try Self.job(try .cron("0 5 * * *"), stopsAtEnd: true)
        var world = start([job])
        world.hasRunner = true
        pass(&world, until: 5)
        switch what {
        case "kill":
            world.kill()
            world.block(.seconds(2 * 3600))
            world.load([job])
            world.pass(.zero)
        case "sleep":
            world.sleep(.seconds(2 * 3600))
            world.handle(.clockChanged)
            world.pass(.zero)
        default:
            world.wall += 2 * 3600 * 1_000_000
            world.handle(.clockChanged)
            world.pass(.zero)
        }
        #expect(world.asked == [world.started[0].id])
    }

    @Test func aReloadMayCloseTheWindow() throws {
        let job = try Self.job(try .cron("0 5 * * *"), stopsAtEnd: true)
        var world = start([job])
        pass(&world, until: 5)
        world.handle(
            .reload(
                JobSet([try Self.job(try .cron("0 5 * * *"), ["22:00-04:00"], stopsAtEnd: true)]),
                portion: 10))
        world.pass(.zero)
        #expect(world.asked == [world.started[0].id])
    }

    // MARK: - Clocks and zones

    /// The machine sleeps while a firing waits: the wall clock decides.
    @Test(arguments: [TimeBasis.active, .wall])
    func theWallClockOpensIt(_ basis: TimeBasis) throws {
        let job = try Self.job(.every(.seconds(3600)).counting(basis))
        var world = start([job])
        world.pass(.seconds(2 * 3600))
        world.sleep(.seconds(6 * 3600))
        world.handle(.clockChanged)
        pass(&world, until: 21, 59)
        #expect(world.started.isEmpty)
        pass(&world, until: 22)
        #expect(world.started.count == 1)
    }

    /// A clock that is set back brings an interval into an open window.
    @Test func aClockThatIsSetMovesTheOpening() throws {
        let job = try Self.job(.every(.seconds(3600)))
        var world = start([job])
        world.wall -= 2 * 3600 * 1_000_000
        world.handle(.clockChanged)
        #expect(time(world.show("backup").next) == "22:00:00Z")
        world.wall -= 5 * 3600 * 1_000_000
        world.handle(.clockChanged)
        // It is 04:06:40 now, and the window is open.
        #expect(time(world.show("backup").next) == "05:06:40Z")
    }

    @Test func theZoneOfAWindowMayChange() throws {
        var zone = try ZoneRules(posix: "<+00>0")
        zone.isLocal = true
        var window = JobWindow(try WeekRanges(["22:00-06:00"]), zone: zone)
        window.outside = .wait
        var job = Job.every(.seconds(3600))
        job.window = window
        var world = start([job])
        var new = try ZoneRules(posix: "<+02>-2")
        new.isLocal = true
        world.handle(.zonesChanged([:], local: new))
        #expect(time(world.show("backup").next) == "20:00:00Z")
    }

    // MARK: - What is shown

    @Test func upcomingRunsWaitForTheWindow() throws {
        let job = try Self.job(.every(.seconds(5 * 3600)), ["20:00-24:00"])
        let world = start([job])
        let end = world.now.wall + .seconds(2 * 86_400)
        let times = world.show("backup").upcomingRuns(until: end, most: 10).map { time($0.at) }
        // 16:06:40 waits, and 21:06:40 does not; 02:06:40 to 17:06:40 wait for 20:00 of the next day.
        #expect(times == ["20:00:00Z", "21:06:40Z", "20:00:00Z", "22:06:40Z"])
    }

    /// In a minute of each day there is no point of this interval for years: nothing is announced.
    @Test func withoutAPointInTheWindowNothingIsNext() throws {
        var world = start([
            try Self.job(.every(.seconds(18_586)), ["12:00-12:01"], outside: .skip)
        ])
        #expect(world.show("backup").next == nil && world.show("backup").remaining == nil)
        let end = world.now.wall + .seconds(9 * 86_400)
        #expect(world.show("backup").upcomingRuns(until: end, most: 10).isEmpty)
        world.pass(.seconds(9 * 86_400))
        #expect(world.started.isEmpty && world.rings < 5)
    }

    @Test func upcomingRunsSkipWhatIsOutside() throws {
        let job = try Self.job(.every(.seconds(5 * 3600)), ["20:00-24:00"], outside: .skip)
        let world = start([job])
        let end = world.now.wall + .seconds(2 * 86_400)
        let times = world.show("backup").upcomingRuns(until: end, most: 10).map { time($0.at) }
        #expect(times == ["21:06:40Z", "22:06:40Z"])
    }
}

extension Agenda {
    /// The random delay of the next firing of a job.
    fileprivate func jitterDelay(_ job: Job.Name) -> Duration {
        guard let slot = slot(of: job), let entry = entries[slot], let next = entry.occurrence
        else { return .zero }
        return entry.delay(ordinal: next.microsecondsSinceEpoch)
    }
}
