// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Conditions: what must be true when a run is about to start.
@Suite struct ConditionTests {
    static func job(
        _ name: Job.Name = "backup", every seconds: Int64 = 100, waitMax: Int64? = nil,
        change: (inout Policy) -> Void = { _ in }
    ) -> Job {
        var job = Job.every(.seconds(seconds), name).with(change)
        var condition = Condition()
        condition.mounted = [.init("/mnt")]
        if let waitMax {
            condition.otherwise = .wait
            condition.waitMax = .seconds(waitMax)
        }
        job.execution.condition = condition
        return job
    }

    private func world(_ jobs: [Job], most: Int = 64, slots: [RunSlot] = []) -> World {
        var world = World(concurrentRunsMax: most)
        world.slots = slots
        world.load(jobs)
        return world
    }

    private static let isAway = Condition.Answer.no("mounted /mnt")

    @Test func aRunStartsAfterYes_andIsReleasedOnlyThen() {
        var world = world([Self.job()])
        let made = { (world: inout World) in world.pass(.seconds(100)) }
        made(&world)
        #expect(world.started.isEmpty && world.checks.count == 1)
        #expect(world.show("backup").live.map(\.wait) == [.check] && world.agenda.liveRuns == 1)
        let actions = world.answer(.yes)
        #expect(actions.first == .start([world.checks[0].run]))
        #expect(world.started.map(\.id) == [world.checks[0].run.id])
        world.end(world.started[0])
        #expect(world.closed.values.map { $0 } == [.exited(0)])
    }

    @Test func aRunIsSkippedAfterNo() {
        var world = world([Self.job { $0.retry.retries = 3 }])
        world.pass(.seconds(100))
        world.answer(Self.isAway)
        let run = world.checks[0].run.id
        #expect(world.closed[run] == .skipped(.condition("mounted /mnt")))
        #expect(world.verdicts[run] == false && world.started.isEmpty)
        #expect(world.show("backup").live.isEmpty && world.agenda.liveRuns == 0)
        #expect(world.show("backup").lastRun?.result == .skipped)
        world.pass(.seconds(100))
        #expect(world.checks.count == 2)
    }

    @Test func aFailedCheckFailsTheRun_whichIsRetriedAndCheckedAgain() {
        var world = world([
            Self.job {
                $0.retry.retries = 1
                $0.retry.delay = .seconds(5)
            }
        ])
        world.pass(.seconds(100))
        world.answer(.failed(errno: "EIO", why: "mounted /mnt"))
        #expect(
            world.closed[world.checks[0].run.id]
                == .spawnFailed(errno: "EIO", what: "condition: mounted /mnt"))
        #expect(world.verdicts[world.checks[0].run.id] == true)
        world.pass(.seconds(5))
        #expect(world.checks.map(\.run.id.attempt) == [1, 2] && world.started.isEmpty)
        world.answer(.yes)
        #expect(world.attempts == [2])
    }

    @Test func aRunWaitsLongerAndLonger_andIsSkippedThen() {
        var world = world([Self.job(every: 1000, waitMax: 200)])
        world.pass(.seconds(1000))
        var seconds: [Int64] = []
        let begin = world.awake
        while world.closed.isEmpty {
            world.answer(Self.isAway)
            let before = world.checks.count
            #expect(world.agenda.liveRuns == 0)
            while world.checks.count == before, world.closed.isEmpty { world.pass(.seconds(1)) }
            seconds.append((world.awake - begin) / 1_000_000_000)
        }
        #expect(seconds.dropLast() == [1, 3, 7, 15, 31, 63, 123, 183, 200])
        #expect(world.closed.values.map { $0 } == [.skipped(.condition("mounted /mnt"))])
        #expect(world.retryTimers.isEmpty && world.started.isEmpty)
        let waits = world.notices.filter { if case .awaitsCondition = $0 { true } else { false } }
        #expect(
            waits == [
                .awaitsCondition(
                    world.checks[0].run.id, "mounted /mnt", atMost: .seconds(200))
            ])
    }

    @Test func aRunThatWaitsStartsAsSoonAsItsConditionIsMet() {
        var world = world([Self.job(waitMax: 3600)])
        world.pass(.seconds(100))
        world.answer(Self.isAway)
        let live = world.show("backup").live[0]
        #expect(live.condition?.what == "mounted /mnt")
        #expect(live.checkedAgainAt == world.now.awake + .seconds(1))
        #expect(world.agenda.waitingForCondition == 1)
        world.pass(.seconds(1))
        world.answer(.yes)
        #expect(world.started.count == 1 && world.agenda.waitingForCondition == 0)
    }

    @Test func aLateAnswerIsIgnored() {
        var world = world([Self.job(waitMax: 3600)])
        world.pass(.seconds(100))
        world.answer(Self.isAway)
        let first = world.checks[0]
        #expect(world.handle(.checked(first.run.id, number: first.number, .yes)).isEmpty)
        world.pass(.seconds(1))
        #expect(world.checks.count == 2)
        #expect(world.handle(.checked(first.run.id, number: first.number, .yes)).isEmpty)
        world.answer(.yes)
        let last = world.checks[1]
        #expect(world.handle(.checked(last.run.id, number: last.number, .yes)).isEmpty)
        #expect(world.started.count == 1)
        world.end(world.started[0])
        #expect(world.handle(.checked(last.run.id, number: last.number, .yes)).isEmpty)
    }

    /// The run that is checked or waits is the previous run of its job.
    @Test(arguments: [false, true])
    func concurrencyDecidesBesideIt(waits: Bool) {
        func after(_ concurrency: Policy.Concurrency, most: Int? = nil) -> World {
            var world = world([
                Self.job(waitMax: 3600) {
                    $0.concurrency = concurrency
                    $0.concurrencyMax = most
                }
            ])
            world.pass(.seconds(100))
            if waits { world.answer(Self.isAway) }
            world.block(.seconds(99))
            world.pass(.seconds(1))
            return world
        }
        #expect(after(.forbid).skipped.map(\.reason) == ["still-running"])
        var queued = after(.queue)
        #expect(queued.show("backup").live.map(\.isQueued) == [false, true])
        queued.answer(.yes)
        queued.end(queued.started[0])
        #expect(queued.checks.last?.run.id.firing != queued.checks[0].run.id.firing)
        #expect(after(.allow, most: 1).skipped.map(\.reason) == ["concurrency-max"])
        var replaced = after(.replace)
        #expect(replaced.closed == [replaced.checks[0].run.id: .replaced])
        #expect(replaced.show("backup").live.map(\.wait) == [.check])
        replaced.answer(.yes)
        #expect(replaced.started.count == 1)
    }

    /// `replace` while another run is active: the new run waits for its end, and is checked then.
    @Test func aRunThatReplacesAnActiveOneIsCheckedAfterItsEnd() {
        var world = world([Self.job { $0.concurrency = .replace }])
        world.pass(.seconds(100))
        world.answer(.yes)
        world.pass(.seconds(100))
        #expect(world.asked == [world.started[0].id] && world.checks.count == 1)
        world.end(world.started[0], .signalled("SIGTERM"))
        #expect(world.checks.count == 2)
    }

    @Test func itsPlaceAndItsSlotsAreItsDuringTheCheckOnly() {
        let disk = RunSlot(name: "disk", max: 1)
        let slots = [RunSlot.Use("disk")]
        var world = world(
            [
                Self.job("a", every: 10, waitMax: 3600) { $0.slots = slots },
                Job.every(.seconds(11), "b").with { $0.slots = slots },
                Job.every(.seconds(12), "c").with { $0.slots = slots },
            ], slots: [disk])
        world.pass(.seconds(12))
        #expect(world.agenda.slot("disk")?.held == 1 && world.started.isEmpty)
        world.answer(Self.isAway)
        // The slot goes to the next run, and when `a` is asked again, it comes before `c`.
        #expect(world.started.map(\.id.firing.job) == ["b"])
        world.pass(.seconds(1))
        #expect(world.show("a").live.map(\.wait) == [.slot] && world.checks.count == 1)
        world.end(world.started[0])
        #expect(world.checks.count == 2 && world.started.count == 1)
        world.answer(.yes)
        #expect(world.started.map(\.id.firing.job) == ["b", "a"])
        world.end(world.started[1])
        #expect(world.started.map(\.id.firing.job) == ["b", "a", "c"])
    }

    @Test func maxConcurrentCountsTheCheck_andTheOrderIsKept() {
        var world = world(
            [
                Self.job("a", every: 10, waitMax: 3600), Job.every(.seconds(11), "b"),
                Job.every(.seconds(12), "c"),
            ], most: 1)
        world.pass(.seconds(12))
        #expect(world.started.isEmpty && world.agenda.waitingForCapacity == 2)
        world.answer(Self.isAway)
        #expect(world.started.map(\.id.firing.job) == ["b"])
        world.pass(.seconds(1))
        #expect(world.show("a").live.map(\.wait) == [.capacity])
        world.end(world.started[0])
        #expect(world.checks.count == 2)
        world.answer(Self.isAway)
        #expect(world.started.map(\.id.firing.job) == ["b", "c"])
    }

    @Test(arguments: [false, true], [JobCommand.Verb.stop, .kill])
    func aCommandCancelsIt(waits: Bool, verb: JobCommand.Verb) {
        var world = world(
            [Self.job("a", every: 10, waitMax: 3600), Job.every(.seconds(11), "b")], most: 1)
        world.pass(.seconds(11))
        if waits {
            world.answer(Self.isAway)
            world.end(world.started[0])
        }
        _ = world.command(verb, "a")
        #expect(world.closed[world.checks[0].run.id] == .stopped)
        #expect(world.show("a").live.isEmpty)
        // What it had is free.
        #expect(world.started.map(\.id.firing.job) == ["b"])
        world.answer(.yes)
        #expect(world.started.count == 1)
    }

    @Test func inAPauseItIsNotAskedAgain_andDoesNotStart() {
        var world = world([Self.job(waitMax: 3600)])
        world.pass(.seconds(100))
        world.answer(Self.isAway)
        _ = world.command(.pause, "backup")
        world.pass(.seconds(100))
        #expect(world.checks.count == 1 && world.retryTimers.isEmpty)
        _ = world.command(.resume, "backup")
        #expect(world.checks.count == 2)
        _ = world.command(.pause, "backup")
        world.answer(.yes)
        #expect(world.started.isEmpty && world.show("backup").live.map(\.wait) == [.previousRun])
        _ = world.command(.resume, "backup")
        world.answer(.yes)
        #expect(world.started.count == 1)
    }

    @Test func aPauseHoldsNoRequestedRun() {
        var world = world([Self.job(waitMax: 3600)])
        _ = world.command(.pause, "backup")
        _ = world.command(.run, "backup")
        world.answer(Self.isAway)
        world.pass(.seconds(1))
        world.answer(.yes)
        #expect(world.started.count == 1)
    }

    @Test func aPauseWithItsRunsSuspendsNothingThatIsChecked() {
        var world = world([Self.job()])
        world.pass(.seconds(100))
        world.handle(.command(JobCommand(.pause, "backup", by: .user("ada"), withRun: true)))
        #expect(world.suspended.isEmpty)
    }

    @Test func forceStartsItAtOnce_alsoAfterARestart() throws {
        let jobs = [Job.every(.seconds(3600), "other"), Self.job(waitMax: 3600)]
        var world = world(jobs, most: 1)
        _ = world.command(.run, "other")
        world.handle(.command(JobCommand(.run, "backup", by: .user("ada"), isForced: true)))
        #expect(world.show("backup").live.map(\.wait) == [.capacity])
        let cause = try #require(world.show("backup").live.first?.firing.cause)
        #expect(cause.description == "requested-forced(ada)" && cause.isForced)
        #expect(Firing.Cause(cause.description) == cause)
        world.beat()
        world.kill()
        world.load(jobs)
        #expect(world.started.last?.id.firing.job == "backup" && world.checks.isEmpty)
    }

    @Test func aRunWithVariablesDoesNotWait() {
        var job = Self.job(waitMax: 3600)
        job.execution.runVariables = ["RUN_X"]
        var world = world([job])
        let variables = RunVariables(["RUN_X": "1"])
        world.handle(.command(JobCommand(.run, "backup", by: .user("ada"), variables: variables)))
        world.answer(Self.isAway)
        #expect(world.closed.values.map { $0 } == [.skipped(.condition("mounted /mnt"))])
    }

    @Test func theStartingDeadlineCountsWhileItWaits() {
        var world = world([Self.job(waitMax: 3600) { $0.startingDeadline = .seconds(5) }])
        world.pass(.seconds(100))
        for _ in 0..<3 {
            world.answer(Self.isAway)
            world.pass(.seconds(4))
        }
        #expect(world.closed.values.map { $0 } == [.lost(.deadline)])
        #expect(world.skipped.map(\.reason) == ["deadline"] && world.started.isEmpty)
    }

    @Test func itsDeadlineCanPassDuringTheCheck() {
        var world = world([Self.job { $0.startingDeadline = .seconds(5) }])
        world.pass(.seconds(100))
        world.block(.seconds(6))
        world.answer(.yes)
        #expect(world.closed.values.map { $0 } == [.lost(.deadline)])
    }

    @Test func anotherConditionIsAskedAtOnce_withTheNewDefinition() {
        var world = world([Self.job(waitMax: 3600)])
        world.pass(.seconds(100))
        for _ in 0..<5 {
            world.answer(Self.isAway)
            world.pass(.seconds(1))
        }
        let before = world.checks.count
        var changed = Self.job(waitMax: 3600)
        changed.execution.condition?.mounted = [.init("/srv")]
        world.handle(.reload(JobSet([changed])))
        #expect(world.checks.count == before + 1)
        #expect(world.checks.last?.run.job == changed)
        // An answer about the former condition says nothing.
        let former = world.checks[before - 1]
        world.handle(.checked(former.run.id, number: former.number, .yes))
        #expect(world.started.isEmpty)
        // One without a condition starts it.
        world.answer(.no("mounted /srv"))
        world.handle(.reload(JobSet([.every(.seconds(100))])))
        #expect(world.started.count == 1)
    }

    @Test func aReloadDuringTheCheckAsksOnceMore() {
        var world = world([Self.job()])
        world.pass(.seconds(100))
        var changed = Self.job()
        changed.command = .arguments(["false"])
        world.handle(.reload(JobSet([changed])))
        #expect(world.checks.count == 2 && world.agenda.liveRuns == 1)
        let first = world.checks[0]
        world.handle(.checked(first.run.id, number: first.number, .yes))
        #expect(world.started.isEmpty)
        world.answer(.yes)
        #expect(world.started.map(\.job) == [changed])
    }

    @Test(arguments: [false, true])
    func aRenamedJobIsAskedUnderItsNewName(waits: Bool) {
        var world = world([Self.job(waitMax: 3600)])
        world.pass(.seconds(100))
        if waits { world.answer(Self.isAway) }
        var renamed = Self.job("copy", waitMax: 3600)
        renamed.renamedFrom = "backup"
        world.handle(.reload(JobSet([renamed])))
        if waits { world.pass(.seconds(1)) }
        #expect(world.checks.last?.run.id.firing.job == "copy")
        world.answer(.yes)
        #expect(world.started.map(\.id.firing.job) == ["copy"])
    }

    @Test func aRemovedJobHasNoSuchRun() {
        var world = world([Self.job()])
        world.pass(.seconds(100))
        world.handle(.reload(JobSet([])))
        #expect(world.closed.values.map { $0 } == [.stopped] && world.agenda.liveRuns == 0)
        world.answer(.yes)
        #expect(world.started.isEmpty)
    }

    /// A run that was not released is taken up by the next daemon, also after a reboot.
    @Test(arguments: [false, true], [false, true])
    func theNextDaemonAsksAgain(waits: Bool, isReboot: Bool) {
        let jobs = [Self.job(every: 10_000, waitMax: 100)]
        var world = world(jobs)
        world.pass(.seconds(10_000))
        if waits { world.answer(Self.isAway) }
        world.beat()
        if isReboot { world.reboot(away: .seconds(20)) } else { world.kill() }
        let before = world.checks.count
        world.load(jobs)
        #expect(world.checks.count == before + 1 && world.started.isEmpty)
        // What it may wait counts from when it was recorded.
        while world.closed.isEmpty {
            world.answer(Self.isAway)
            world.pass(.seconds(1))
        }
        let waited = (world.wall - world.checks[0].run.id.firing.scheduled.microsecondsSinceEpoch)
        #expect(abs(waited - 100_000_000) <= 2_000_000)
    }

    @Test func aShutdownLeavesItToTheNextDaemon() {
        let jobs = [Self.job()]
        var world = world(jobs)
        world.pass(.seconds(100))
        world.handle(.shutdown)
        #expect(world.notices.last == .shutDown(counting: 1, live: 0))
        world.answer(.yes)
        #expect(world.started.isEmpty && world.closed.isEmpty)
    }

    @Test func aJobWithAConditionIsNotDecidedAhead() {
        var world = world([Self.job(), .every(.seconds(100), "plain")])
        #expect(!world.agenda.mayFireAhead("backup") && world.agenda.mayFireAhead("plain"))
        world.pass(.seconds(100))
        #expect(world.started.map(\.id.firing.job) == ["plain"])
    }

    @Test func otherRunsOfTheJobRefuseOneByHand() {
        var world = world([Self.job()])
        world.pass(.seconds(100))
        let run = world.checks[0].run.id
        #expect(
            world.command(.run, "backup") == .refused("its run \(run) waits for its condition"))
    }

    /// After an hour of checks, the next one is up to a minute away.
    @Test func aChangeOfTheMachineAsksAtOnce() {
        var world = world([Self.job(every: 100_000, waitMax: 7200)])
        world.pass(.seconds(100_000))
        for _ in 0..<10 {
            world.answer(Self.isAway)
            world.pass(.seconds(60))
        }
        world.answer(Self.isAway)
        let count = world.checks.count
        world.handle(.machineChanged([.network, .power]))
        world.pass(.seconds(1))
        #expect(world.checks.count == count, "it does not depend on these")
        world.handle(.machineChanged([.network, .mounts]))
        world.pass(.milliseconds(1))
        #expect(world.checks.count == count + 1)
        world.answer(.yes)
        #expect(world.started.count == 1)
        #expect(world.handle(.machineChanged(.all)).isEmpty)
    }

    /// The runner may have looked before the change, and its answer comes after the report.
    @Test func aNoThatIsOlderThanAChangeIsAskedOnceMore() {
        var world = world([Self.job(every: 100_000, waitMax: 7200)])
        world.pass(.seconds(100_000))
        for _ in 0..<10 {
            world.answer(Self.isAway)
            world.pass(.seconds(60))
        }
        let count = world.checks.count
        world.handle(.machineChanged(.mounts))
        world.pass(.seconds(1))
        #expect(world.checks.count == count, "a check is under way")
        world.answer(Self.isAway)
        world.pass(.milliseconds(1))
        #expect(world.checks.count == count + 1)
        world.answer(Self.isAway)
        world.pass(.seconds(59))
        #expect(world.checks.count == count + 1, "this answer is newer than the change")
    }

    @Test func aChangeOfTheMachineDoesNotEndAPause() {
        var world = world([Self.job(every: 100_000, waitMax: 7200)])
        world.pass(.seconds(100_000))
        world.answer(Self.isAway)
        _ = world.command(.pause, "backup")
        world.handle(.machineChanged(.mounts))
        world.pass(.seconds(100))
        #expect(world.checks.count == 1)
        _ = world.command(.resume, "backup")
        world.pass(.milliseconds(1))
        #expect(world.checks.count == 2)
    }

    @Test func whatIsAskedSaysWhatIsWatched() {
        var condition = Condition()
        condition.loadBelow = 4
        condition.command = ["/bin/true"]
        #expect(condition.watched.isEmpty)
        condition.pathExists = [.init("/srv")]
        #expect(condition.watched == .mounts)
        condition.acPower = false
        condition.networkOnline = true
        #expect(condition.watched == .all)
    }

    @Test func theDelaysGrowToAMinute() {
        let delays = (0...9).map { Condition.delay(afterAnswers: $0) }
        #expect(delays == [1, 1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    }

    /// A run is checked after its row, in one event or after a store that was away.
    @Test func theRowComesBeforeTheCheck() {
        var world = world([Self.job()])
        world.breakStore()
        world.pass(.seconds(100))
        #expect(world.checks.isEmpty)
        world.block(.seconds(5))
        world.restoreStore()
        #expect(world.checks.count == 1)
        world.answer(.yes)
        #expect(world.started.count == 1)
    }
}

extension World {
    /// The runner answers the last check.
    @discardableResult
    mutating func answer(_ answer: Condition.Answer) -> [Action] {
        guard let check = checks.last else {
            Issue.record("nothing was checked")
            return []
        }
        return handle(.checked(check.run.id, number: check.number, answer))
    }
}
