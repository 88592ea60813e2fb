// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

extension Job {
    /// The job with another policy.
    func with(_ change: (inout Policy) -> Void) -> Job {
        var job = self
        change(&job.policy)
        return job
    }

    func counting(_ basis: TimeBasis) -> Job {
        var job = self
        job.count = basis
        return job
    }

    /// Every so many minutes of the hour, in UTC.
    static func cron(_ line: String, _ name: Job.Name = "backup") throws -> Job {
        let schedule = WallSchedule([.cron(try CronSpec(line), .utc)])
        return Job(name: name, command: .arguments(["true"]), schedule: .wall(schedule))
    }
}

extension World {
    /// What was let go, and why.
    var skipped: [(count: Int, reason: String)] {
        notices.compactMap {
            if case .skipped(let firing, let reason) = $0 {
                (firing.missed + 1, reason.word)
            } else {
                nil
            }
        }
    }

    /// The attempts that were started, of all firings.
    var attempts: [Int] { started.map(\.id.attempt) }

    mutating func end(_ run: Run, _ outcome: RunOutcome = .exited(0)) {
        suspended.remove(run.id)
        handle(.ended(run.id, outcome, RunUsage()))
    }
}

/// Slots that passed while nothing could fire.
@Suite struct MissedTests {
    /// The machine sleeps over five slots of a job each minute.
    private func slept(_ job: Job) -> World {
        var world = World()
        world.load([job])
        world.pass(.seconds(1))
        world.sleep(.seconds(300))
        world.handle(.clockChanged)
        world.pass(.zero)
        return world
    }

    @Test func runOnceMakesOneRunOfThem() throws {
        let world = slept(try .cron("* * * * *"))
        #expect(world.started.map(\.firing.missed) == [4])
        #expect(world.skipped.isEmpty)
    }

    @Test func skipMakesNone_andTheNextSlotFires() throws {
        var world = slept(try Job.cron("* * * * *").with { $0.onMissed = .skip })
        #expect(world.started.isEmpty)
        #expect(world.skipped.map(\.count) == [5] && world.skipped.map(\.reason) == ["missed"])
        world.pass(.seconds(60))
        #expect(world.started.map(\.firing.missed) == [0])
    }

    @Test func runAllMakesARunOfEach_oneAfterTheOther() throws {
        var world = slept(try Job.cron("* * * * *").with { $0.onMissed = .runAll })
        for count in 1...5 {
            #expect(world.started.count == count)
            if let last = world.started.last { world.end(last) }
        }
        #expect(world.started.count == 5)
        let apart = zip(world.started, world.started.dropFirst()).map {
            $1.id.firing.scheduled - $0.id.firing.scheduled
        }
        #expect(apart == Array(repeating: .seconds(60), count: 4))
    }

    @Test func runAllIsCapped_andTheCapIsSaid() throws {
        var world = World()
        world.load([try Job.cron("* * * * *").with { $0.onMissed = .runAll }])
        world.sleep(.seconds(250 * 60))
        world.handle(.clockChanged)
        world.pass(.zero)
        #expect(
            world.skipped.map(\.count) == [150] && world.skipped.map(\.reason) == ["catch-up-max"])
        #expect(world.show("backup").live.count == Agenda.catchUpMax)
    }

    @Test func whatTheDaemonIsAMomentLateForIsNotMissed() throws {
        var world = World()
        world.load([try Job.cron("* * * * *").with { $0.onMissed = .skip }])
        world.block(.seconds(80))
        world.handle(.wake("backup"))
        #expect(world.started.count == 1 && world.skipped.isEmpty)
    }

    @Test func aFirstEverStartMissesNothing() throws {
        var world = World()
        world.load([try Job.cron("* * * * *").with { $0.onMissed = .runAll }])
        world.pass(.zero)
        #expect(world.started.isEmpty && world.skipped.isEmpty)
    }

    @Test(arguments: [(Policy.Missed.runOnce, 1), (.skip, 0), (.runAll, 1)])
    func whatPassedWhileTheDaemonWasDown(policy: Policy.Missed, started: Int) throws {
        var world = World()
        let job = try Job.cron("* * * * *").with { $0.onMissed = policy }
        world.load([job])
        world.stopCleanly()
        world.pass(.seconds(600))
        world.load([job])
        world.pass(.zero)
        #expect(world.started.count == started)
    }

    @Test(arguments: [(Policy.Missed.runOnce, [2]), (.skip, []), (.runAll, [0])])
    func intervalsThatWentOnWithoutTheDaemon(policy: Policy.Missed, missed: [Int]) {
        var world = World()
        let job = Job.every(.seconds(60)).counting(.uptime).with { $0.onMissed = policy }
        world.load([job])
        world.stopCleanly()
        world.pass(.seconds(190))
        world.load([job])
        world.pass(.zero)
        #expect(world.started.map(\.firing.missed) == missed)
        #expect(world.show("backup").accrued == .seconds(10))
    }

    /// A clock set forward by less than three hours is caught up with once, whatever the policy.
    @Test(arguments: Policy.Missed.allCases)
    func aClockSetForwardIsCaughtUpWithOnce(policy: Policy.Missed) throws {
        var world = World()
        world.load([try Job.cron("* * * * *").with { $0.onMissed = policy }])
        world.step(.seconds(3600))
        #expect(world.started.map(\.firing.missed) == [59])
    }

    @Test func aFiringOlderThanItsDeadlineIsLetGoOnRecord() throws {
        var world = World()
        let job = try Job.cron("* * * * *").with { $0.startingDeadline = .seconds(90) }
        world.load([job])
        world.stopCleanly()
        world.pass(.seconds(600))
        world.load([job])
        world.pass(.zero)
        #expect(world.skipped.map(\.reason) == ["deadline"])
        #expect(world.closed.values.contains(.lost(.deadline)))
        #expect(world.started.count == 1)
        let age = world.now.wall - world.started[0].id.firing.scheduled
        #expect(age <= .seconds(90))
    }

    @Test func aStampFarInTheFutureIsClamped() throws {
        var world = World()
        let job = try Job.cron("* * * * *")
        world.load([job])
        world.pass(.seconds(60))
        world.endRuns()
        world.stopCleanly()
        let future = world.now.wall + .seconds(86_400)
        world.records["backup"]?.lastScheduled = future
        world.load([job])
        world.pass(.seconds(120))
        #expect(world.started.count == 2)
    }
}

/// A firing while a run of the job lives.
@Suite struct ConcurrencyTests {
    private func world(_ policy: Policy.Concurrency) -> World {
        var world = World()
        world.load([Job.every(.seconds(10)).with { $0.concurrency = policy }])
        return world
    }

    @Test func queueHoldsOne_andLetsFurtherOnesGo() {
        var world = world(.queue)
        world.pass(.seconds(30))
        #expect(world.started.count == 1)
        #expect(world.show("backup").live.map(\.wait) == [nil, .turn])
        #expect(world.skipped.map(\.reason) == ["queue-full"])
        world.end(world.started[0])
        #expect(world.started.count == 2)
        world.end(world.started[1])
        #expect(world.started.count == 2 && world.show("backup").live.isEmpty)
    }

    @Test func replaceEndsTheRun_andBeginsWhenItHasEnded() {
        var world = world(.replace)
        world.pass(.seconds(20))
        #expect(world.asked == [world.started[0].id] && world.started.count == 1)
        world.pass(.seconds(10))
        #expect(world.asked.count == 1)
        world.end(world.started[0], .signalled("SIGTERM"))
        #expect(world.closed[world.started[0].id] == .replaced)
        #expect(world.started.count == 2)
        // The second firing waited and was replaced by the third.
        #expect(world.closed.values.filter { $0 == .replaced }.count == 2)
        #expect(
            world.started[1].id.firing.scheduled - world.started[0].id.firing.scheduled
                == .seconds(20))
    }

    @Test func allowRunsAll() {
        var world = world(.allow)
        world.pass(.seconds(50))
        #expect(world.started.count == 5 && world.skipped.isEmpty)
    }

    @Test func whatWaitedPastItsDeadlineIsLost() {
        var world = World()
        world.load([
            Job.every(.seconds(10)).with {
                $0.concurrency = .queue
                $0.startingDeadline = .seconds(5)
            }
        ])
        world.pass(.seconds(28))
        world.end(world.started[0])
        #expect(world.started.count == 1)
        #expect(world.closed.values.filter { $0 == .lost(.deadline) }.count == 1)
        #expect(world.show("backup").lastSkip?.reason == .deadline)
    }

    @Test func aPauseHoldsWhatIsQueued() {
        var world = world(.queue)
        world.pass(.seconds(20))
        _ = world.order(.pause, "backup")
        world.end(world.started[0])
        #expect(world.started.count == 1)
        _ = world.order(.resume, "backup")
        #expect(world.started.count == 2)
    }

    @Test func stopCallsOffWhatWaits() {
        var world = world(.queue)
        world.pass(.seconds(20))
        _ = world.order(.stop, "backup")
        world.end(world.started[0])
        #expect(world.started.count == 1 && world.openRuns.isEmpty)
        #expect(world.closed.values.filter { $0 == .stopped }.count == 1)
    }

    @Test func whatIsQueuedOutlivesTheDaemon() {
        var world = world(.queue)
        let job = Job.every(.seconds(10)).with { $0.concurrency = .queue }
        world.pass(.seconds(20))
        world.beat()
        world.kill()
        world.load([job])
        // The first run may have done its work; the second never began.
        #expect(world.closed[world.started[0].id] == .lost(.daemon))
        #expect(world.started.count == 2)
    }

    @Test func callingOffAWaitingRunGivesItsPlaceToTheNext() {
        var world = World(concurrentRunsMax: 1)
        world.load([
            .every(.seconds(10), "a"), .every(.seconds(11), "b"), .every(.seconds(12), "c"),
        ])
        world.pass(.seconds(13))
        #expect(world.started.map(\.id.firing.job) == ["a"])
        _ = world.order(.stop, "b")
        world.end(world.started[0])
        #expect(world.started.map(\.id.firing.job) == ["a", "c"])
        world.end(world.started[1])
        #expect(world.agenda.pendingRuns == 0)
    }
}

/// Further attempts at a firing.
@Suite struct RetryTests {
    private var job: Job {
        Job.every(.seconds(600), first: .zero).with {
            $0.retry.retries = 3
            $0.retry.delay = .seconds(10)
        }
    }

    @Test func aFailedRunIsTriedAgain_laterEachTime() {
        var world = World()
        world.load([job])
        world.pass(.zero)
        let start = world.now.awake
        var instants: [Duration] = []
        for attempt in 1...4 {
            #expect(world.attempts == Array(1...attempt))
            instants.append(world.now.awake - start)
            world.end(world.started[attempt - 1], .exited(1))
            if let instant = world.retryTimers["backup"] { world.pass(instant - world.now.awake) }
        }
        #expect(instants == [.zero, .seconds(10), .seconds(30), .seconds(70)])
        #expect(world.started.count == 4 && world.show("backup").live.isEmpty)
        #expect(Set(world.started.map(\.id.firing)).count == 1)
    }

    @Test(arguments: [
        (RunOutcome.exited(2), true), (.signalled("SIGSEGV"), true), (.timedOut, true),
        (.spawnFailed(errno: "ENOENT", what: "exec"), true), (.exited(0), false),
        (.exited(75), false), (.stopped, false), (.lost(.daemon), false),
    ])
    func whatIsTriedAgain(outcome: RunOutcome, again: Bool) {
        var world = World()
        var job = job
        job.execution.successExitCodes = [0, 75]
        world.load([job])
        world.pass(.zero)
        world.end(world.started[0], outcome)
        #expect((world.retryTimers["backup"] != nil) == again)
    }

    @Test func aPauseHoldsAFurtherAttempt_untilItIsResumed() {
        var world = World()
        world.load([job])
        world.pass(.zero)
        world.end(world.started[0], .exited(1))
        _ = world.order(.pause, "backup")
        world.pass(.seconds(3600))
        #expect(world.started.count == 1)
        _ = world.order(.resume, "backup")
        #expect(world.attempts == [1, 2])
    }

    @Test func aFurtherAttemptOutlivesTheDaemon_andItsDelayGoesOn() {
        var world = World()
        world.load([job])
        world.pass(.zero)
        world.end(world.started[0], .exited(1))
        world.pass(.seconds(4))
        world.beat()
        world.kill()
        world.pass(.seconds(3))
        world.load([job])
        world.pass(.seconds(3) - .milliseconds(1))
        #expect(world.started.count == 1)
        world.pass(.milliseconds(1))
        #expect(world.attempts == [1, 2])
    }

    @Test func aFiringWhileAnAttemptIsToComeIsLetGo() {
        var world = World()
        world.load([
            Job.every(.seconds(10)).with {
                $0.retry.retries = 1
                $0.retry.delay = .seconds(15)
            }
        ])
        world.pass(.seconds(10))
        world.end(world.started[0], .exited(1))
        world.pass(.seconds(10))
        #expect(world.skipped.map(\.reason) == ["still-running"])
        world.pass(.seconds(5))
        #expect(world.attempts == [1, 2])
    }

    @Test(arguments: [(1, 10.0), (2, 20.0), (7, 600.0), (1000, 600.0)])
    func theDelayGrowsUpToItsMost(attempt: Int, seconds: Double) {
        #expect(Policy.Retry().delay(after: attempt) == .seconds(seconds))
    }
}

/// Pauses that end, and what resuming does.
@Suite struct PauseTests {
    private func order(_ until: Order.PauseEnd, withRun: Bool = false) -> Event {
        .order(Order(.pause, "backup", by: .user("ada"), until: until, withRun: withRun))
    }

    @Test func aPauseEndsByItself_andTheRestIsWaitedFor() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(20))
        world.handle(order(.after(.seconds(100))))
        world.pass(.seconds(139))
        #expect(world.started.isEmpty)
        world.pass(.seconds(1))
        #expect(world.started.count == 1)
        #expect(
            world.notices.contains {
                if case .resumed(_, .pauseEnd, _, _) = $0 { true } else { false }
            })
    }

    @Test func aPauseIntoThePastIsRefused() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.handle(order(.at(world.now.wall)))
        guard case .refused = world.answers.last else { Issue.record("not refused"); return }
    }

    /// The daemon is down when the pause ends: what counts without it counts from then on.
    @Test(arguments: [
        (TimeBasis.active, 20), (.uptime, 20 + 40), (.boottime, 20 + 40), (.wall, 20 + 40),
    ])
    func aPauseEndsOnTimeWithoutTheDaemon(basis: TimeBasis, accrued: Int) {
        var world = World()
        let job = Job.every(.seconds(600)).counting(basis)
        world.load([job])
        world.pass(.seconds(20))
        world.handle(order(.after(.seconds(100))))
        world.stopCleanly()
        world.pass(.seconds(140))
        world.load([job])
        world.pass(.zero)
        #expect(world.show("backup").phase == .armed)
        #expect(world.show("backup").accrued == .seconds(accrued))
    }

    @Test func runsStandStillWithTheJob_ifItIsOrderedSo() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(60))
        world.handle(order(.after(.seconds(10)), withRun: true))
        #expect(world.suspended == [world.started[0].id])
        world.pass(.seconds(10))
        #expect(world.suspended.isEmpty)
    }

    @Test(arguments: [
        (nil, 40), (Policy.Resume.keepRemaining, 40), (.nextSlot, 40), (.restart, 60),
    ])
    func resumingAnInterval(policy: Policy.Resume?, left: Int) {
        var world = World()
        world.load([Job.every(.seconds(60)).with { $0.onResume = policy }])
        world.pass(.seconds(20))
        _ = world.order(.pause, "backup")
        world.pass(.seconds(300))
        _ = world.order(.resume, "backup")
        #expect(world.show("backup").remaining == .seconds(left) && world.started.isEmpty)
    }

    @Test(arguments: [(39, 0, 40), (40, 1, 60), (300, 1, 60)])
    func fireIfDueFires_onceTheIntervalIsOver(paused: Int, started: Int, left: Int) {
        var world = World()
        world.load([Job.every(.seconds(60)).with { $0.onResume = .fireIfDue }])
        world.pass(.seconds(20))
        _ = world.order(.pause, "backup")
        world.pass(.seconds(paused))
        _ = world.order(.resume, "backup")
        #expect(world.started.count == started)
        #expect(world.show("backup").remaining == .seconds(left))
    }

    @Test(arguments: [
        (nil, []), (Policy.Resume.nextSlot, []), (.keepRemaining, []), (.restart, []),
        (.fireIfDue, [4]),
    ])
    func resumingASlot(policy: Policy.Resume?, missed: [Int]) throws {
        var world = World()
        world.load([try Job.cron("* * * * *").with { $0.onResume = policy }])
        _ = world.order(.pause, "backup")
        world.pass(.seconds(300))
        _ = world.order(.resume, "backup")
        world.pass(.zero)
        #expect(world.started.map(\.firing.missed) == missed)
    }

    @Test func theNextFiringsAreLetGoByOrder() {
        var world = World()
        world.load([.every(.seconds(10))])
        let order = Event.order(Order(.skipNext, "backup", by: .user("ada"), count: 2))
        world.handle(order)
        #expect(world.answers.last == .done && world.records["backup"]?.skips == 2)
        world.handle(order)
        guard case .unchanged = world.answers.last else { Issue.record("changed"); return }
        world.beat()
        world.kill()
        world.load([.every(.seconds(10))])
        world.pass(.seconds(30))
        #expect(world.started.count == 1)
        #expect(world.skipped.map(\.reason) == ["by-order", "by-order"])
    }
}

/// The four bases of time, against everything that can happen to a machine.
@Suite struct TimeBasisTests {
    enum Fault: String, CaseIterable, Sendable { case stop, kill, reboot, sleep, step, pause }

    /// 20 s count, then 100 s of the fault, then 5 s count: what is there at the end. The clocks of the new
    /// boot stand at 5 s when the daemon begins.
    @Test(arguments: [
        (
            TimeBasis.active,
            [Fault.stop: 25, .kill: 25, .reboot: 25, .sleep: 25, .step: 25, .pause: 25]
        ),
        (.uptime, [.stop: 125, .kill: 125, .reboot: 30, .sleep: 25, .step: 25, .pause: 25]),
        (.boottime, [.stop: 125, .kill: 125, .reboot: 30, .sleep: 125, .step: 25, .pause: 25]),
        (.wall, [.stop: 125, .kill: 125, .reboot: 125, .sleep: 125, .step: 25, .pause: 25]),
    ])
    func counts(basis: TimeBasis, expected: [Fault: Int]) {
        for fault in Fault.allCases {
            var world = World()
            let job = Job.every(.seconds(600)).counting(basis)
            world.load([job])
            world.pass(.seconds(20))
            suffer(fault, &world, [job])
            world.pass(.seconds(5))
            let seconds = expected[fault].map { Duration.seconds($0) }
            #expect(world.show("backup").accrued == seconds, "\(basis) over \(fault)")
            #expect(world.show("backup").active == seconds, "\(basis) over \(fault)")
        }
    }

    private func suffer(_ fault: Fault, _ world: inout World, _ jobs: [Job]) {
        switch fault {
        case .stop:
            world.stopCleanly()
            world.pass(.seconds(100))
            world.load(jobs)
        case .kill:
            world.beat()
            world.kill()
            world.pass(.seconds(100))
            world.load(jobs)
        case .reboot:
            world.handle(.checkpoint)
            world.reboot(away: .seconds(100))
            world.load(jobs)
        case .sleep:
            world.sleep(.seconds(100))
            world.handle(.clockChanged)
        case .step: world.step(.seconds(100))
        case .pause:
            _ = world.order(.pause, "backup")
            world.pass(.seconds(100))
            _ = world.order(.resume, "backup")
        }
    }

    @Test func aSleepBringsAGridPointOfBoottimeNearer() {
        var world = World()
        world.load([Job.every(.seconds(600)).counting(.boottime)])
        world.pass(.seconds(100))
        world.sleep(.seconds(300))
        world.handle(.clockChanged)
        world.pass(.seconds(199))
        #expect(world.started.isEmpty)
        world.pass(.seconds(1))
        #expect(world.started.count == 1)
    }

    @Test func whatNobodyWitnessedIsSaid() {
        var world = World()
        let job = Job.every(.seconds(6000)).counting(.uptime)
        world.load([job])
        world.pass(.seconds(20))
        world.handle(.checkpoint)
        world.reboot(away: .seconds(1000))
        world.load([job])
        let recovered = Notice.recovered(
            "backup", accrued: .seconds(25), credited: .seconds(5), forfeitedAtMost: .seconds(995),
            .uptime)
        #expect(world.notices.contains(recovered))
        #expect(world.show("backup").uncertain == .seconds(995))
        #expect(world.records["backup"]?.uncertain == .seconds(995))
    }

    @Test func anotherBasisKeepsWhatAccrued() {
        var world = World()
        world.load([Job.every(.seconds(600))])
        world.pass(.seconds(20))
        world.handle(.reload(Roster([Job.every(.seconds(600)).counting(.boottime)])))
        world.sleep(.seconds(100))
        world.handle(.clockChanged)
        #expect(world.show("backup").accrued == .seconds(120))
        world.handle(.reload(Roster([Job.every(.seconds(600))])))
        world.sleep(.seconds(100))
        world.handle(.clockChanged)
        #expect(world.show("backup").accrued == .seconds(120))
    }
}

/// Chance, and wake-ups that are shared.
@Suite struct ChanceTests {
    @Test func aDelayIsDrawnForEachFiring_andTheGridStays() {
        var world = World(seed: 7)
        world.load([Job.every(.seconds(60)).with { $0.randomDelay = .seconds(20) }])
        let start = world.now.awake
        var delays: [Duration] = []
        for index in 1...50 {
            let instant = world.timers["backup"] ?? start
            let delay = (instant - start) - .seconds(60 * index)
            #expect(delay >= .zero && delay < .seconds(20))
            delays.append(delay)
            world.pass(instant - world.now.awake)
            #expect(world.started.count == index)
            world.endRuns()
        }
        #expect(Set(delays).count > 40)
        let apart = zip(world.started, world.started.dropFirst()).map {
            $1.id.firing.scheduled - $0.id.firing.scheduled
        }
        #expect(apart.allSatisfy { $0 == .seconds(60) })
    }

    @Test func anOffsetIsTheSameForOneMachineAndJob() throws {
        func first(_ seed: UInt64, _ name: Job.Name) throws -> Duration {
            var world = World(seed: seed)
            let start = world.now.wall
            world.load([try Job.cron("0 * * * *", name).with { $0.randomOffset = .seconds(600) }])
            return (world.wallTimers[name] ?? start) - start
        }
        #expect(try first(1, "a") == first(1, "a"))
        #expect(try first(1, "a") != first(2, "a"))
        #expect(try first(1, "a") != first(1, "b"))
    }

    @Test func aDrawnDelayOutlivesARestart() throws {
        var world = World(seed: 3)
        let job = try Job.cron("0 * * * *").with { $0.randomDelay = .seconds(1800) }
        world.load([job])
        let instant = world.wallTimers["backup"]
        world.stopCleanly()
        world.load([job])
        #expect(world.wallTimers["backup"] == instant)
    }

    /// 100 jobs, each minute, at phases of their own: an accuracy of half a minute lets them share.
    @Test func jobsShareAWakeUp() {
        func rings(_ accuracy: Duration) -> (rings: Int, started: Int) {
            var world = World()
            let jobs = (0..<100).map { index in
                Job.every(
                    .seconds(60), .init("j\(index)")!, first: .milliseconds(60_000 + 597 * index)
                )
                .with {
                    $0.accuracy = accuracy
                    $0.concurrency = .allow
                }
            }
            world.load(jobs)
            world.pass(.seconds(600))
            #expect(
                world.agenda.snapshot(at: world.now).jobs.allSatisfy {
                    $0.remaining ?? .zero >= .zero
                })
            return (world.rings, world.started.count)
        }
        let exact = rings(.zero)
        let shared = rings(.seconds(30))
        print(
            "wake-ups in 10 min of 100 jobs: \(exact.rings) exact, \(shared.rings) with accuracy = 30s"
        )
        #expect(exact.rings >= 850 && shared.rings <= 40)
        #expect(shared.started >= exact.started - 100)
    }

    @Test func neverEarly_whoeverElseIsAwake() {
        var world = World()
        world.load([
            Job.every(.seconds(10), "a"),
            Job.every(.seconds(60), "b").with { $0.accuracy = .seconds(15) },
        ])
        world.pass(.seconds(59))
        #expect(!world.started.contains { $0.id.firing.job == "b" })
        world.endRuns()
        world.pass(.seconds(1))
        #expect(world.started.contains { $0.id.firing.job == "b" })
    }
}

/// Names that change.
@Suite struct RenameTests {
    private var heir: Job {
        Job(
            name: "vault", command: .arguments(["true"]), schedule: .every(.seconds(60)),
            formerly: "backup")
    }

    @Test func aRenamedJobTakesItsAccountAlong_atAReload() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(20))
        let preview = world.agenda.preview(Roster([heir]), at: world.now)
        #expect(preview.added == [.init(job: "vault", accrued: .seconds(20))])
        #expect(preview.removed == [.init(job: "backup", accrued: .seconds(20))])
        world.handle(.reload(Roster([heir])))
        #expect(world.show("vault").accrued == .seconds(20))
        #expect(world.records["backup"] == nil && world.records["vault"]?.accrued == .seconds(20))
        #expect(world.notices.contains(.renamed("vault", from: "backup")))
        world.pass(.seconds(40))
        #expect(world.started.count == 1)
    }

    @Test func aRenamedJobTakesItsAccountAlong_overARestart() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(20))
        world.stopCleanly()
        world.load([heir])
        #expect(world.show("vault").accrued == .seconds(20) && world.records["backup"] == nil)
    }

    @Test func anAccountOfItsOwnIsNotGivenUpForAnOldOne() {
        var world = World()
        world.load([.every(.seconds(60)), .every(.seconds(60), "vault")])
        world.pass(.seconds(20))
        _ = world.order(.stop, "backup")
        world.handle(.reload(Roster([heir])))
        #expect(world.show("vault").accrued == .seconds(20) && world.show("vault").phase == .armed)
    }

    @Test func aPreviewChangesNothing() {
        var world = World()
        world.load([.every(.seconds(60)), .every(.seconds(90), "other")])
        world.pass(.seconds(20))
        let before = world.agenda.snapshot(at: world.now)
        let preview = world.agenda.preview(
            Roster([.every(.seconds(60)), .every(.seconds(91), "other")]), at: world.now)
        #expect(preview.kept.map(\.job) == ["backup"] && preview.changed.map(\.job) == ["other"])
        #expect(world.agenda.snapshot(at: world.now) == before)
    }
}
