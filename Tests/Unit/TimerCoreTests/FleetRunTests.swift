// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Jobs that a fleet shares: the agenda runs what the fleet gives it, and decides nothing itself.
@Suite struct FleetRunTests {
    private static func shared(_ span: Duration = .seconds(10)) -> Job {
        var job = Job.every(span)
        job.fleet = FleetPolicy()
        return job
    }

    private static func claimed(
        _ second: Int64 = 0, attempt: Int = 1, cause: Firing.Cause = .schedule, missed: Int = 0
    ) -> ClaimedRun {
        let scheduled = WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
        let firing = Firing.ID(job: "backup", scheduled: scheduled)
        return ClaimedRun(
            id: Run.ID(firing: firing, attempt: attempt), missed: missed, active: .seconds(7),
            claim: .init(cause: cause, fence: 4711, before: BootInstant(nanoseconds: 99)))
    }

    @Test func itHasNoTimer_andCountsNoTime() {
        var world = World()
        world.load([Self.shared()])
        #expect(world.timers.isEmpty && world.wallTimers.isEmpty && !world.agenda.isCounting)
        world.pass(.seconds(100))
        #expect(world.started.isEmpty && world.show("backup").active == .zero)
        #expect(world.show("backup").next == nil && world.show("backup").remaining == nil)
        // No change of the clocks arms it either.
        world.step(.seconds(86_400))
        world.step(.seconds(-90_000))
        world.handle(.wake("backup"))
        #expect(world.started.isEmpty && world.timers.isEmpty)
    }

    @Test func aWallScheduleHasNoTimerEither() throws {
        var world = World()
        var job = Self.shared()
        job.schedule = .wall(
            WallSchedule([.calendar(try CalendarSpec("*:*:0/5"), .utc)]))
        world.load([job])
        world.pass(.seconds(60))
        world.step(.seconds(86_400))
        world.step(.seconds(-90_000))
        world.pass(.seconds(60))
        #expect(world.started.isEmpty && world.wallTimers.isEmpty)
    }

    @Test func whatTheFleetGivesIsRecordedAndStarted_andItsEndIsStored() throws {
        var world = World()
        world.load([Self.shared()])
        let actions = world.handle(.claimed(Self.claimed(missed: 3)))
        guard case .begin(let runs, let start, _) = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(runs == start && runs.count == 1)
        #expect(runs[0].firing.missed == 3 && runs[0].firing.active == .seconds(7))
        #expect(runs[0].firing.cause.claim?.fence == 4711)
        world.handle(.began(runs[0].id, at: world.now.wall))
        #expect(world.show("backup").live.count == 1)
        world.handle(.ended(runs[0].id, .exited(0), RunUsage()))
        #expect(world.closed[runs[0].id] == .exited(0) && world.show("backup").live.isEmpty)
        // The same run is not started twice at the same time.
        world.handle(.claimed(Self.claimed(1)))
        #expect(world.handle(.claimed(Self.claimed(1))).isEmpty)
    }

    @Test func overlapAndRetriesAreDecidedByTheFleetAlone() {
        var world = World()
        var job = Self.shared()
        job.policy.retry.retries = 3
        job.policy.startingDeadline = .seconds(1)
        world.load([job])
        world.pass(.seconds(100))
        world.handle(.claimed(Self.claimed(0)))
        world.handle(.claimed(Self.claimed(10)))
        #expect(world.started.count == 2)
        world.handle(.ended(world.started[0].id, .exited(1), RunUsage()))
        world.pass(.seconds(1000))
        #expect(world.started.count == 2 && world.retryTimers.isEmpty)
        world.handle(.claimed(Self.claimed(0, attempt: 2)))
        #expect(world.started.last?.id.attempt == 2)
    }

    @Test func itWaitsForRoom_andNothingElse() {
        var world = World(concurrentRunsMax: 1)
        world.load([Self.shared()])
        world.handle(.claimed(Self.claimed(0)))
        world.handle(.claimed(Self.claimed(10)))
        #expect(world.started.count == 1)
        world.handle(.ended(world.started[0].id, .exited(0), RunUsage()))
        #expect(world.started.count == 2)
    }

    @Test func aRunOfAJobThatIsNotConfiguredOrNotSharedIsDeclined() {
        var world = World()
        world.load([])
        let run = Self.claimed()
        #expect(world.handle(.claimed(run)) == [.decline(run.id)])
        world.handle(.reload(JobSet([Job.every(.seconds(10))])))
        #expect(world.handle(.claimed(run)) == [.decline(run.id)])
        #expect(world.started.isEmpty)
    }

    @Test(arguments: JobCommand.Verb.allCases) func commandsForItAreRefusedHere(
        verb: JobCommand.Verb
    ) {
        var world = World()
        world.load([Self.shared()])
        let answer = world.command(verb, "backup")
        if verb == .kill {
            #expect(answer == .unchanged("no run is active") || answer != nil)
        } else if case .refused(let reason) = answer {
            #expect(reason.contains("fleet"))
        } else {
            Issue.record("\(verb): \(answer as Any)")
        }
        #expect(world.show("backup").phase == .armed && world.started.isEmpty)
    }

    /// A crash between the record and the start: another machine may have the firing by now.
    @Test func afterARestartARunThatWasNotStartedIsClosed_andOneThatRunsGoesOn() {
        var world = World()
        world.hasRunner = true
        world.load([Self.shared()])
        world.handle(.claimed(Self.claimed(0)))
        world.handle(.claimed(Self.claimed(10)))
        let (lost, kept) = (world.started[0].id, world.started[1].id)
        world.openRuns[lost]?.begun = false
        world.openRuns[kept]?.begun = true
        world.kill()
        world.load([Self.shared()])
        #expect(world.closed[lost] == .lost(.unstarted) && world.closed[kept] == nil)
        #expect(world.show("backup").live.map(\.id) == [kept])
        world.handle(.ended(kept, .exited(1), RunUsage()))
        #expect(world.closed[kept] == .exited(1) && world.retryTimers.isEmpty)
    }

    @Test func aPausedJobThatBecomesSharedForgetsItsPause_andAJobThatIsSharedNoMoreBeginsAnew() {
        var world = World()
        world.load([Job.every(.seconds(10))])
        world.pass(.seconds(5))
        _ = world.command(.pause, "backup")
        world.handle(.reload(JobSet([Self.shared()])))
        #expect(world.show("backup").phase == .armed && !world.agenda.isCounting)
        #expect(world.show("backup").accrued == .zero)
        world.pass(.seconds(100))
        #expect(world.started.isEmpty)
        world.handle(.reload(JobSet([Job.every(.seconds(10))])))
        #expect(world.show("backup").remaining == .seconds(10))
        world.pass(.seconds(10))
        #expect(world.started.count == 1)
    }

    @Test func aCalendarJobThatWasSharedWhileTheDaemonWasDownCatchesNothingUp() throws {
        var world = World()
        let schedule = Schedule.wall(
            WallSchedule([.calendar(try CalendarSpec("*:*:0/5"), .utc)]))
        var job = Self.shared()
        job.schedule = schedule
        world.load([job])
        world.pass(.seconds(300))
        world.stopCleanly()
        job.fleet = nil
        world.load([job])
        #expect(world.started.isEmpty)
        world.pass(.seconds(5))
        #expect(world.started.count == 1)
    }

    @Test func theTimeWithoutADaemonIsNotAddedHere() {
        var world = World()
        let job = Self.shared().counting(.wall)
        world.load([job])
        world.stopCleanly()
        world.pass(.seconds(300))
        world.load([job])
        #expect(world.show("backup").active == .zero && world.started.isEmpty)
        #expect(!world.notices.contains { if case .recovered = $0 { true } else { false } })
    }

    @Test func theCauseHasATextWithItsFence() throws {
        for cause: Firing.Cause in [.schedule, .catchUp, .requested(by: .user("a, b)"))] {
            let claim = Firing.Cause.claimed(.init(cause: cause, fence: 12, before: nil))
            #expect(Firing.Cause(claim.description) == claim && claim.word == cause.word)
            #expect(claim.requester == cause.requester)
        }
        #expect(
            Firing.Cause.claimed(.init(cause: .schedule, fence: 4711, before: nil)).description
                == "claimed(4711, schedule)")
        for text in [
            "claimed(", "claimed()", "claimed(1)", "claimed(x, schedule)", "claimed(01, schedule)",
            "claimed(1, claimed(2, schedule))", "claimed(1, later)", "claimed(1, schedule",
        ] {
            #expect(Firing.Cause(text) == nil, "\(text)")
        }
    }

    @Test func whatTheFleetKnowsIsShown() throws {
        var world = World()
        world.load([Self.shared()])
        var snapshot = world.show("backup")
        snapshot.show(nil)
        #expect(snapshot.fleet == nil && snapshot.next == nil)
        var view = FleetJobView(
            next: world.now.wall + .seconds(4), active: .seconds(60), accrued: .seconds(6),
            countedAt: world.now.awake, firings: 5, skips: 2)
        world.pass(.seconds(1))
        snapshot = world.show("backup")
        snapshot.show(view)
        #expect(snapshot.active == .seconds(61) && snapshot.accrued == .seconds(7))
        #expect(snapshot.remaining == .seconds(3) && snapshot.firings == 5 && snapshot.skips == 2)
        view.pause = Pause(since: world.now.wall, by: .user("ada"))
        view.isStale = true
        snapshot.show(view)
        #expect(snapshot.phase.word == "paused" && snapshot.next == nil)
    }

    /// No machine may start it, so nothing happens.
    @Test func theNextRunIsNotInThePast() throws {
        var world = World()
        let spec = try CalendarSpec("*-*-* *:*:00")
        var job = Self.shared()
        job.schedule = .wall(WallSchedule([.calendar(spec, .utc)]))
        world.load([job])
        let view = FleetJobView(
            next: job.schedule.nextWall(after: world.now.wall), active: .zero, accrued: .zero,
            firings: 0, skips: 0)
        for _ in 0..<3 {
            world.pass(.seconds(60))
            var snapshot = world.show("backup")
            snapshot.show(view)
            #expect(snapshot.next == job.schedule.nextWall(after: world.now.wall))
            #expect(try #require(snapshot.remaining) <= .seconds(60))
        }
    }

    // MARK: - Pauses with their runs

    /// A world in which a run of each of these jobs is active.
    private static func running(_ names: [Job.Name]) -> (World, [Job.Name: Run.ID]) {
        var world = World()
        world.load(
            names.map { name in
                var job = shared()
                job.name = name
                return job
            })
        var runs: [Job.Name: Run.ID] = [:]
        for name in names {
            var run = claimed()
            run.id = Run.ID(firing: Firing.ID(job: name, scheduled: run.id.firing.scheduled))
            runs[name] = run.id
            world.handle(.claimed(run))
            world.handle(.began(run.id, at: world.now.wall))
        }
        return (world, runs)
    }

    @Test func theRunsOfJobsThatTheFleetPausedWithThemAreSuspended_eachOnce() throws {
        var (world, runs) = Self.running(["a", "b"])
        let (a, b) = (try #require(runs["a"]), try #require(runs["b"]))
        // An earlier instance may have suspended what is not to be suspended any more.
        #expect(Self.effects(world.handle(.runsPaused(["a"]))) == ["resume \(b)", "suspend \(a)"])
        #expect(world.handle(.runsPaused(["a"])).isEmpty)
        #expect(Self.effects(world.handle(.runsPaused(["a", "b"]))) == ["suspend \(b)"])
        world.handle(.ended(a, .exited(0), RunUsage()))
        #expect(Self.effects(world.handle(.runsPaused([]))) == ["resume \(b)"])
        // A run that starts during the pause is suspended as well.
        #expect(world.handle(.runsPaused(["a"])).isEmpty)
        var next = Self.claimed(10)
        next.id = Run.ID(firing: Firing.ID(job: "a", scheduled: next.id.firing.scheduled))
        world.handle(.claimed(next))
        #expect(Self.effects(world.handle(.runsPaused(["a"]))) == ["suspend \(next.id)"])
    }

    @Test func aJobThatLeavesTheFleetHasNoSuspendedRuns() throws {
        var (world, runs) = Self.running(["a"])
        world.handle(.runsPaused(["a"]))
        var job = Self.shared()
        job.name = "a"
        job.fleet = nil
        let actions = Self.effects(world.handle(.reload(JobSet([job]))))
        #expect(actions == ["resume \(try #require(runs["a"]))"])
    }

    private static func effects(_ actions: [Action]) -> [String] {
        actions.compactMap { action in
            switch action {
            case .suspend(let run): "suspend \(run)"
            case .resume(let run): "resume \(run)"
            default: nil
            }
        }
    }
}

extension Schedule {
    fileprivate func nextWall(after instant: WallInstant) -> WallInstant? {
        if case .wall(let schedule) = self { schedule.next(after: instant) } else { nil }
    }
}
