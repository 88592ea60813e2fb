// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import Testing
import TimerCore
import TimerFleet

/// What one member does in cases that random fleets rarely reach.
@Suite struct FleetMemberTests {
    private static func formed(_ jobs: [FleetJob]) -> FleetScript {
        var script = FleetScript(jobs)
        script.form()
        return script
    }

    /// A text of the store, changed by another machine.
    private func identity(_ script: FleetScript, epoch: Int64) throws -> IdentityValue {
        let found = try #require(script.store.keys[.identity])
        var value = try IdentityValue(text: found.value)
        value.epoch = epoch
        value.adopted = script.now.wall + .seconds(30)
        return value
    }

    @Test func aFiringIsClaimedRecordedAndStarted() throws {
        var script = Self.formed([try FleetScript.calendarJob()])
        script.run(.seconds(10))
        #expect(script.started.count == 1)
        let runs = try script.runs()
        #expect(runs.map(\.id) == script.started && runs.first?.value.state == .claimed)
        #expect(script.rows.count == 1)
    }

    @Test func nothingIsClaimedInAStoreThatWasAdoptedInTheMeantime() throws {
        var script = Self.formed([try FleetScript.calendarJob()])
        script.pass(.seconds(3))
        script.handle(.tick)
        #expect(script.sent.contains { $0.transaction.branches.first?.changes.count == 2 })
        // Another machine adopts the store before the claim arrives.
        let other = try identity(script, epoch: 2)
        script.write([.identity: other.text])
        while !script.sent.isEmpty { script.applyFirst() }
        #expect(try script.runs().isEmpty)
        script.settle()
        script.run(.seconds(60))
        let runs = try script.runs()
        #expect(runs.first?.value.reason == .adopted)
        #expect(script.started.allSatisfy { $0.firing.scheduled > other.adopted })
        #expect(!script.started.isEmpty)
    }

    @Test func whatBecameOfAClaimIsAskedAlsoAfterAnAdoption() throws {
        var script = Self.formed([try FleetScript.calendarJob()])
        script.pass(.seconds(3))
        script.handle(.tick)
        // The claim is applied, and its answer is lost. Then the store is adopted again.
        let claim = try #require(
            script.sent.firstIndex { $0.transaction.branches.first?.changes.count == 2 })
        let (id, transaction) = script.sent.remove(at: claim)
        _ = script.store.apply(transaction)
        let run = try #require(try script.runs().first?.id)
        script.write([.identity: try identity(script, epoch: 2).text])
        script.handle(.unknown(id))
        script.settle()
        script.run(.seconds(10))
        // It is known again as a run of this machine, and may still be started.
        #expect(script.started == [run])
    }

    @Test func anAccountIsNotClosedByAReadingFromBeforeAHold() throws {
        let interval = FleetJob(FleetScript.job, definition: "d1", schedule: .every(.seconds(60)))
        var script = Self.formed([interval])
        script.run(.seconds(4))
        let opened = try #require(try script.jobValue()?.opened)
        // Another machine holds the fleet, and this one does not learn of it for 5 s.
        let reading = try #require(script.member.time(at: script.now.awake))
        let hold = HoldValue(isHeld: true, time: reading, by: "ops")
        script.write([.hold: hold.text])
        script.pass(.seconds(5))
        script.handle(.command(1, .pause(FleetScript.job, PauseTerms(by: "ops"))))
        script.settle()
        script.run(.seconds(2))
        let value = try #require(try script.jobValue())
        #expect(value.pause != nil && value.active == reading - opened)
    }

    @Test func aRunThatEndedDoesNotLiveOnInACopyThatWasRestored() throws {
        let job = try FleetScript.calendarJob()
        var script = Self.formed([job])
        script.run(.seconds(4))
        let run = try #require(script.started.first)
        script.handle(.began(run, at: script.now.wall))
        script.settle()
        // The daemon starts again while the run is running, a copy is made, and the run ends.
        var next = script.restarted(
            [job], boot: 1, start: 2, registry: [run: .began(script.now.wall)])
        next.run(.seconds(1))
        let old = next.store
        next.end(run, .exited(0))
        #expect(next.rows.isEmpty)
        var copy = SimulatedStore()
        copy.restore(old, cluster: "c2")
        next.store = copy
        next.handle(.watchLost)
        next.run(.seconds(4))
        next.handle(.command(1, .adopt))
        next.run(.seconds(30))
        #expect(try next.runs().first { $0.id == run }?.value.state.isFinal == true)
        #expect(!next.started.isEmpty)
    }

    @Test func aHoldIsAcknowledgedOnlyWhenTheClaimsBeforeItAreKnown() throws {
        var script = Self.formed([try FleetScript.calendarJob()])
        let job = try #require(try script.jobValue())
        script.handle(.command(1, .hold(by: "ops")))
        script.pass(.seconds(2))
        script.handle(.tick)
        // Another machine claims a run and then the hold is written. This machine reads the hold,
        // because its write of the clock is refused, before the watch brings the claim.
        let run = Run.ID(firing: Firing.ID(job: FleetScript.job, scheduled: script.now.wall))
        var claimed = job
        claimed.cursor = script.now.wall
        claimed.live = [
            JobValue.LiveRun(
                run: run, machine: FleetScript.web2,
                incarnation: Incarnation(boot: .unknown, number: 1), state: .claimed)
        ]
        script.write([.job(FleetScript.job): claimed.text])
        while !script.sent.isEmpty { script.applyFirst() }
        script.handle(.tick)
        while !script.sent.isEmpty { script.applyFirst() }
        #expect(try HoldValue(text: try #require(script.store.keys[.hold]).value).isHeld)
        #expect(script.done[1] == nil)
        script.watch()
        #expect(script.done[1] == nil)
        script.run(.seconds(11))
        #expect(script.done[1] != nil)
    }

    /// A lease that ends too early is no proof that its machine starts nothing any more.
    @Test(arguments: [false, true])
    func aClaimedRunOfAMachineThatIsGoneIsLostOnlyAfterItsStartDeadline(isClockAhead: Bool) throws {
        var script = Self.formed([try FleetScript.calendarJob()])
        let member = MemberValue(
            incarnation: Incarnation(boot: .unknown, number: 1), labels: [], definitions: [:],
            isFit: true, skew: nil, version: "")
        let run = Run.ID(firing: Firing.ID(job: FleetScript.job, scheduled: script.now.wall))
        var job = try #require(try script.jobValue())
        job.cursor = script.now.wall
        job.live = [
            JobValue.LiveRun(
                run: run, machine: FleetScript.web2, incarnation: member.incarnation,
                state: .claimed)
        ]
        let claimed = RunValue(
            machine: FleetScript.web2, incarnation: member.incarnation, nonce: "1",
            claimed: script.now.wall + .seconds(isClockAhead ? 500 : 0))
        script.write([
            .member(FleetScript.web2): member.text, .job(FleetScript.job): job.text,
            .run(run): claimed.text,
        ])
        script.settle()
        script.pass(.seconds(1))
        _ = script.store.apply(
            FleetTransaction(
                compares: [], changes: [.delete(.member(FleetScript.web2))], reads: []))
        script.settle()
        script.handle(.command(1, .pause(FleetScript.job, PauseTerms(by: "ops"))))
        script.settle()
        script.run(.seconds(7))
        #expect(try script.runs().map(\.value.state) == [.claimed])
        #expect(script.done[1] == nil)
        script.run(.seconds(7))
        #expect(try script.runs().map(\.value.state) == [.lost])
        #expect(script.done[1] == .some(nil))
    }

    @Test func aStoreThatCannotBeReadIsReadAgainAfterAWhile() throws {
        var script = Self.formed([try FleetScript.calendarJob()])
        script.write([.clock: "{"])
        script.handle(.watchLost)
        let before = script.loads
        script.settle()
        script.run(.seconds(10))
        #expect((3...5).contains(script.loads - before), "\(script.loads - before)")
        #expect(script.notices.contains { if case .fault = $0 { true } else { false } })
    }

    @Test func theLostRunsOfSeveralJobsAreAllRetried() throws {
        let names = try ["a", "b", "c"].map { try #require(Job.Name($0)) }
        let jobs = try names.map { name in
            var job = try FleetScript.calendarJob(name)
            job.retriesOfLost = 1
            // The next firing is far away: it would take the place of the retry.
            job.schedule = .wall(
                WallSchedule([.calendar(try CalendarSpec("*-*-* *:00:07"), .utc)]))
            return job
        }
        var script = Self.formed(jobs)
        #expect(script.started.count == 3)
        for run in script.started { script.handle(.began(run, at: script.now.wall)) }
        script.settle()
        // After a reboot it is not known what became of them.
        var next = script.restarted(jobs, boot: 2, start: 2)
        next.run(.seconds(40))
        let attempts = next.started.map(\.attempt)
        #expect(attempts == [2, 2, 2])
        #expect(Set(next.started.map(\.firing.job)) == Set(names))
    }

    @Test func aMemberSaysWhenItMustBeCalled() throws {
        var job = try FleetScript.calendarJob()
        job.policy.concurrency = .allow
        var script = Self.formed([job])
        let calls = script.calls
        script.run(.seconds(60))
        // For one minute: 30 writes of the clock, 18 keepalives, 6 firings.
        #expect(script.started.count >= 6)
        #expect((40...70).contains(script.calls - calls), "\(script.calls - calls)")
    }

    @Test func theNextMachineTakesOverAfterItsDelay_andNotLater() throws {
        var job = try FleetScript.calendarJob()
        job.prefer = [FleetScript.web2]
        job.policy.concurrency = .allow
        job.takeoverDelay = .seconds(2)
        var script = Self.formed([job])
        // The machine that is preferred is there, and does nothing.
        let other = MemberValue(
            incarnation: Incarnation(boot: .unknown, number: 1),
            definitions: [FleetScript.job: "d1"], isFit: true, version: "")
        script.write([.member(FleetScript.web2): other.text])
        script.watch()
        script.settle()
        script.run(.seconds(31))
        #expect(script.started.count >= 3)
        for run in try script.runs() {
            #expect(run.value.claimed == run.id.firing.scheduled + .seconds(2))
        }
    }

    @Test func anIntervalJobFiresWhenItsActiveTimeIsOver_andNotLater() throws {
        let job = FleetJob(FleetScript.job, definition: "d1", schedule: .every(.seconds(7)))
        var script = Self.formed([job])
        script.run(.seconds(30))
        let runs = try script.runs()
        #expect(runs.count >= 4)
        for (first, second) in zip(runs, runs.dropFirst()) {
            let span = second.value.claimed - first.value.claimed
            // Instants of the wall clock are whole microseconds.
            #expect(
                span >= .seconds(7) - .microseconds(9) && span <= .seconds(7) + .microseconds(9))
        }
    }

    @Test func aRunThatWasNotLostAfterAllIsNotRetried() throws {
        var job = try FleetScript.calendarJob()
        job.retriesOfLost = 1
        job.schedule = .wall(WallSchedule([.calendar(try CalendarSpec("*-*-* *:00:07"), .utc)]))
        var script = Self.formed([job])
        let run = try #require(script.started.first)
        script.handle(.began(run, at: script.now.wall))
        script.settle()
        // After a reboot it is not known what became of it.
        var next = script.restarted([job], boot: 2, start: 2)
        for _ in 0..<50 where try next.runs().first?.value.state != .lost {
            next.run(.milliseconds(500))
        }
        #expect(try next.runs().map(\.value.state) == [.lost])
        // Up to a second before it would be retried.
        var other = next
        other.run(.seconds(1))
        while try other.runs().count == 1 {
            next.run(.seconds(1))
            other.run(.seconds(1))
        }
        // Another machine knows that it ended. This one reads the job only: a change is refused.
        var ended = try #require(try next.runs().first).value
        ended.state = .ended
        ended.outcome = .exited(0)
        ended.began = ended.claimed
        ended.ended = ended.claimed
        let value = try #require(try next.jobValue())
        next.write([.run(run): ended.text, .job(FleetScript.job): value.text])
        next.handle(.command(1, .skipNext(FleetScript.job, 1)))
        while !next.sent.isEmpty { next.applyFirst() }
        var claims = 0
        for _ in 0..<6 {
            next.pass(.milliseconds(500))
            next.handle(.tick)
            let retry = Run.ID(firing: run.firing, attempt: 2)
            claims += next.sent.count { $0.transaction.puts(retry) }
            while !next.sent.isEmpty { next.applyFirst() }
        }
        // It tried once, and then it knew.
        #expect(claims == 1)
        #expect(try next.runs().map(\.id) == [run])
    }
}
