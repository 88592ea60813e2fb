// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Holds of the machine: nothing starts, no time counts, and afterwards each job continues once.
@Suite struct HoldTests {
    static let ada = Initiator.user("ada")

    @Test func nothingStartsUntilTheRelease_andNoTimeIsLost() {
        var world = World()
        world.load([.every(.seconds(60)), .every(.seconds(45), "other")])
        world.pass(.seconds(20))
        world.hold()
        world.pass(.seconds(1000))
        #expect(world.started.isEmpty)
        #expect(world.show("backup").accrued == .seconds(20))
        #expect(world.show("backup").phase.isPaused)
        world.release()
        #expect(world.show("backup").phase == .armed)
        world.pass(.seconds(25))
        #expect(world.started.map(\.job.name) == ["other"])
        world.pass(.seconds(15))
        #expect(world.started.map(\.job.name) == ["other", "backup"])
        #expect(world.hold == nil)
    }

    /// It costs one row, and no job changes.
    @Test func aHoldIsOneRow() {
        var world = World()
        world.load((0..<1000).map { .every(.seconds(60), .init("j\($0)")!) })
        let actions = world.handle(.hold(.init(by: Self.ada, note: "disk")))
        #expect(actions.count == 4)
        guard case .storeJobSet(let change, durable: true) = actions[0] else {
            Issue.record("\(actions[0])")
            return
        }
        #expect(change.records.isEmpty && change.hold != nil)
        #expect(!world.agenda.isCounting)
        #expect(world.handle(.checkpoint()).isEmpty)
    }

    @Test func aSecondHoldChangesTheTerms_andTheSameTermsChangeNothing() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.hold(note: "disk")
        let since = world.hold?.since
        world.hold(note: "disk")
        #expect(world.answers.last == .unchanged("already held by ada"))
        world.hold(until: .after(.seconds(100)))
        #expect(world.hold?.note == "disk" && world.hold?.since == since)
        world.pass(.seconds(100))
        #expect(world.hold == nil && world.show("backup").phase == .armed)
    }

    @Test func aTimerThatIsEarlyIsSetAgain() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.hold(until: .after(.seconds(100)))
        world.block(.seconds(99))
        let end = world.hold?.until
        #expect(world.handle(.holdDue) == [.armHold(end)])
        world.handle(.clockChanged)
        #expect(world.holdTimer == end)
        world.pass(.seconds(1))
        #expect(world.hold == nil && world.holdTimer == nil)
    }

    @Test func aHoldIntoThePastIsRefused() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.hold(until: .at(world.now.wall))
        guard case .refused = world.answers.last else { Issue.record("not refused"); return }
        #expect(world.hold == nil)
        world.release()
        #expect(world.answers.last == .unchanged("not held"))
    }

    @Test func jobsThatAreAddedAreHeld() throws {
        var world = World()
        world.load([.every(.seconds(60))])
        world.hold()
        let jobs = [
            Job.every(.seconds(60)), .every(.seconds(10), "new"), try .cron("* * * * *", "c"),
        ]
        world.handle(.reload(JobSet(jobs)))
        world.pass(.seconds(600))
        #expect(world.started.isEmpty)
        world.release()
        world.pass(.seconds(10))
        #expect(world.started.map(\.job.name) == ["new"])
        world.pass(.seconds(50))
        #expect(Set(world.started.map(\.job.name)) == ["new", "backup", "c"])
    }

    /// Without a daemon, and in another boot, the hold goes on; time before it is counted to its begin.
    @Test(arguments: TimeBasis.allCases, [0, 1, 2])
    func aHoldSurvivesTheEndOfTheDaemon(basis: TimeBasis, way: Int) {
        var world = World()
        let job = Job.every(.seconds(600)).counting(basis)
        world.load([job])
        world.beat()
        world.pass(.seconds(37))
        world.hold()
        world.pass(.seconds(50))
        for _ in 0..<2 {
            switch way {
            case 0: world.kill()
            case 1: world.stopCleanly()
            default: world.reboot(away: .seconds(300))
            }
            world.pass(.seconds(70))
            world.load([job])
            world.pass(.seconds(5))
        }
        #expect(world.show("backup").accrued == .seconds(37))
        world.release()
        world.pass(.seconds(10))
        #expect(world.show("backup").accrued == .seconds(47))
        #expect(world.started.isEmpty)
    }

    /// Its end came while no daemon ran: time that counts without a daemon counts from there.
    @Test(
        arguments: [
            (TimeBasis.active, 20), (.uptime, 20 + 40), (.boottime, 20 + 40), (.wall, 20 + 40),
        ], [false, true])
    func aHoldEndsOnTimeWithoutTheDaemon(end: (basis: TimeBasis, accrued: Int), isKilled: Bool) {
        var world = World()
        let job = Job.every(.seconds(600)).counting(end.basis)
        world.load([job])
        world.pass(.seconds(20))
        world.hold(until: .after(.seconds(100)))
        if isKilled { world.kill() } else { world.stopCleanly() }
        world.pass(.seconds(140))
        world.load([job])
        world.pass(.zero)
        #expect(world.hold == nil)
        #expect(world.show("backup").phase == .armed)
        #expect(world.show("backup").accrued == .seconds(end.accrued))
    }

    /// A pause that ends in a hold is a part of it, and `on-resume` is applied once.
    @Test(arguments: [false, true])
    func aPauseAndAHoldAreOnePause(endsByItself: Bool) throws {
        var world = World()
        let job = try Job.cron("* * * * *").with { $0.onResume = .fireIfDue }
        world.load([job])
        world.handle(
            .command(
                JobCommand(
                    .pause, "backup", by: Self.ada,
                    until: endsByItself ? .after(.seconds(200)) : nil)))
        world.pass(.seconds(120))
        world.hold()
        world.pass(.seconds(120))
        if !endsByItself { #expect(world.command(.resume, "backup") == .done) }
        world.pass(.seconds(120))
        #expect(world.started.isEmpty)
        world.release()
        #expect(world.started.map(\.firing.missed) == [5])
        #expect(world.started.map(\.firing.cause) == [.resume])
    }

    @Test func aPauseThatBeginsInAHoldGoesOnAfterIt() throws {
        var world = World()
        let job = try Job.cron("* * * * *").with { $0.onResume = .fireIfDue }
        world.load([job, .every(.seconds(100), "other")])
        world.hold(note: "disk")
        world.pass(.seconds(120))
        #expect(world.command(.pause, "backup", note: "mine") == .done)
        world.pass(.seconds(120))
        world.release()
        world.pass(.seconds(60))
        #expect(world.started.isEmpty)
        guard case .paused(let pause) = world.show("backup").phase else {
            Issue.record("not paused")
            return
        }
        #expect(pause.by == Self.ada && pause.note == "mine")
        #expect(world.command(.resume, "backup") == .done)
        #expect(world.started.map(\.firing.missed) == [4])
    }

    @Test func aHeldJobIsNeitherResumedNorStarted() {
        var world = World()
        world.load([.every(.seconds(60)), .every(.seconds(60), "stopped")])
        _ = world.command(.stop, "stopped")
        world.hold()
        let held = Answer.unchanged("the machine is held; `timerctl release` ends that")
        #expect(world.command(.resume, "backup") == held)
        #expect(world.command(.start, "backup") == held)
        #expect(world.command(.start, "stopped") == .done)
        world.pass(.seconds(600))
        #expect(world.started.isEmpty)
        world.release()
        world.pass(.seconds(59))
        #expect(world.started.isEmpty)
        world.pass(.seconds(1))
        #expect(world.started.count == 2)
    }

    @Test func aJobThatIsStartedInAHoldIsHeldFromThen() {
        var world = World()
        world.load([Job.every(.seconds(60)).with { $0.onResume = .fireIfDue }])
        _ = world.command(.stop, "backup")
        world.hold()
        world.pass(.seconds(50))
        #expect(world.command(.start, "backup") == .done)
        #expect(!world.agenda.isCounting && world.timers.isEmpty)
        world.pass(.seconds(30))
        world.release()
        #expect(world.started.isEmpty && world.agenda.isCounting)
        world.pass(.seconds(60))
        #expect(world.started.count == 1)
        _ = world.command(.stop, "backup")
        #expect(!world.agenda.isCounting)
    }

    @Test func aRunIsRefused_unlessItIsForced() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.hold(note: "disk")
        guard case .refused(let why) = world.command(.run, "backup") else {
            Issue.record("not refused")
            return
        }
        #expect(why.contains("held by ada") && why.contains("disk"))
        var notice = JobCommand(.run, "backup", by: .user("notify.ops"))
        notice.ignoresHold = true
        world.handle(.command(notice))
        #expect(world.started.count == 1)
        world.endRuns()
        world.handle(.command(JobCommand(.run, "backup", by: Self.ada, isForced: true)))
        #expect(world.started.count == 2)
    }

    /// What waits when the hold begins starts after it: a retry, a queued run, a run for which there was
    /// no room, and one that a user had requested.
    @Test func whatWaitsStartsAfterTheHold() {
        var world = World(concurrentRunsMax: 1)
        let retried = Job.every(.seconds(60)).with {
            $0.retry.retries = 1; $0.retry.delay = .seconds(30)
        }
        world.load([retried, .every(.seconds(3600), "asked"), .every(.seconds(3600), "first")])
        world.pass(.seconds(60))
        world.endRuns(.exited(1))
        _ = world.command(.run, "first")
        _ = world.command(.run, "asked")
        #expect(world.started.map(\.job.name) == ["backup", "first"])
        world.hold()
        world.endRuns()
        world.pass(.seconds(1000))
        #expect(world.started.count == 2)
        world.release()
        world.pass(.seconds(1))
        world.endRuns()
        world.pass(.seconds(1))
        #expect(Set(world.started.dropFirst(2).map(\.job.name)) == ["backup", "asked"])
    }

    /// A job that is finished or stopped has no pause, and a run of it may wait when the hold begins. What
    /// waits of a stopped job ends with the daemon.
    @Test(arguments: zip([false, false, true], [false, true, false]))
    func whatWaitsOfAJobWithoutATimerStartsAfterTheHold(isStopped: Bool, isKilled: Bool) {
        var world = World(concurrentRunsMax: 1)
        world.hasRunner = true
        let jobs = [
            Job.every(.seconds(60)),
            isStopped ? .every(.seconds(3600), "once") : .after(.seconds(60), "once"),
        ]
        world.load(jobs)
        world.pass(.seconds(59))
        if isStopped { _ = world.command(.stop, "once") }
        world.pass(.seconds(1))
        if isStopped { _ = world.command(.run, "once") }
        #expect(world.started.map(\.job.name) == ["backup"])
        #expect(world.show("once").phase == (isStopped ? .stopped : .finished))
        world.hold()
        world.endRuns()
        if isKilled {
            world.kill()
            world.load(jobs)
        }
        world.pass(.seconds(1000))
        #expect(world.started.count == 1)
        world.release()
        #expect(world.started.map(\.job.name) == ["backup", "once"])
    }

    @Test func activeRunsAreSuspended_ifRequested() {
        var world = World()
        world.load([.every(.seconds(60)), .after(.seconds(60), "once")])
        world.pass(.seconds(60))
        world.hold(withRun: true)
        #expect(world.suspended == Set(world.started.map(\.id)))
        world.release()
        #expect(world.suspended.isEmpty)
    }

    @Test func theEndOfARunInAHoldStartsItsFollowerAfterIt() {
        var world = World()
        var follower = Job(name: "report", command: .arguments(["true"]), schedule: .onDemand)
        follower.follows = Follows([Follows.Cause("backup")])
        let jobs = [Job.every(.seconds(60)), follower]
        world.load(jobs)
        world.pass(.seconds(60))
        world.hold()
        world.endRuns()
        world.kill()
        world.load(jobs)
        world.pass(.seconds(100))
        #expect(world.started.count == 1)
        world.release()
        #expect(world.started.map(\.job.name) == ["backup", "report"])
    }

    @Test func staleTimeStandsStillInAHold() {
        var world = World()
        world.notifiers = [IncidentTests().mail([.stale])]
        let job = Job.every(.seconds(60)).with {
            $0.notify = [world.notifiers[0].name]
            $0.staleAfter = .seconds(100)
        }
        world.load([job])
        world.pass(.seconds(50))
        world.hold()
        world.pass(.seconds(1000))
        #expect(world.outbox.isEmpty)
        world.release()
        world.pass(.seconds(49))
        #expect(world.outbox.isEmpty)
        world.pass(.seconds(2))
        #expect(world.outbox.map(\.kind) == [.stale])
    }

    @Test func aJobThatIsRemovedInAHoldReturnsAfterIt() {
        var world = World()
        world.load([.every(.seconds(60)), .every(.seconds(90), "other")])
        world.pass(.seconds(30))
        world.hold()
        world.pass(.seconds(10))
        world.handle(.reload(JobSet([.every(.seconds(90), "other")])))
        world.pass(.seconds(10))
        world.release()
        world.handle(.reload(JobSet([.every(.seconds(60)), .every(.seconds(90), "other")])))
        #expect(world.show("backup").phase == .armed)
        #expect(world.show("backup").accrued == .seconds(30))
    }

    @Test func aJobThatTheConfigurationPausesInAHoldStaysPaused() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.hold()
        world.handle(.reload(JobSet([.every(.seconds(60), paused: true)])))
        world.release()
        world.pass(.seconds(600))
        #expect(world.started.isEmpty && world.show("backup").phase.isPaused)
    }

    /// A kill after each action of a release: the hold ends, or it is still there and no job lost anything.
    @Test func aKillDuringTheReleaseLosesNothing() throws {
        let jobs = [
            Job.every(.seconds(600)).counting(.wall), .every(.seconds(600), "active"),
            try Job.cron("* * * * *", "due").with { $0.onResume = .fireIfDue },
        ]
        var whole = 0
        while true {
            var world = World()
            world.load(jobs)
            world.pass(.seconds(30))
            world.endRuns()
            world.hold()
            world.pass(.seconds(100))
            let actions = world.agenda.handle(.release(by: Self.ada), at: world.now)
            if whole > actions.count { break }
            for action in actions.prefix(whole) { world.perform(action) }
            world.kill()
            world.load(jobs)
            if world.hold != nil { world.release() }
            world.pass(.seconds(5))
            #expect(world.show("active").accrued == .seconds(35), "after \(whole) actions")
            #expect(world.show("backup").accrued == .seconds(35), "after \(whole) actions")
            // One run before the hold, and one that `on-resume` makes.
            let rows = world.openRuns.count + world.closed.count
            #expect(rows == 2 && world.started.count == 2, "after \(whole) actions")
            whole += 1
        }
    }
}

extension World {
    mutating func hold(
        note: String? = nil, until: JobCommand.PauseEnd? = nil, withRun: Bool = false
    ) {
        handle(.hold(.init(by: .user("ada"), note: note, until: until, withRun: withRun)))
    }

    mutating func release() { handle(.release(by: .user("ada"))) }
}
