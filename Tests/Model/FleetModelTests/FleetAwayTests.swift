// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import Testing
import TimerCore
import TimerFleet

/// What a machine does while the store does not answer, and with what was due then.
@Suite struct FleetAwayTests {
    private static func formed(_ jobs: [FleetJob]) -> FleetScript {
        var script = FleetScript(jobs)
        script.form()
        return script
    }

    /// The store does not answer for this time; then all that waits is answered.
    private static func away(_ script: inout FleetScript, _ span: Duration) {
        script.handle(.watchLost)
        script.pass(span)
        script.handle(.tick)
        script.settle()
    }

    // MARK: - Runs of a machine that is cut off

    @Test func aRunEndsASecondBeforeTheLeaseCan() throws {
        var stopping = try FleetScript.calendarJob()
        stopping.endsIsolated = true
        let keeping = try FleetScript.calendarJob(Job.Name("other")!)
        var script = Self.formed([stopping, keeping])
        script.run(.seconds(10))
        for run in script.started { script.handle(.began(run, at: script.now.wall)) }
        script.settle()
        script.run(.seconds(4))
        #expect(Set(script.started.map(\.firing.job)) == [stopping.name, keeping.name])
        let run = try #require(script.started.first { $0.firing.job == stopping.name })
        // Nothing is answered any more. The last keepalive was sent at most a third of the lease ago.
        let since = script.now.boot
        script.handle(.watchLost)
        for _ in 0..<20 where script.endedHere.isEmpty {
            let wake = script.member.nextWake(at: script.now)
            script.pass(wake.boot - script.now.boot)
            script.handle(.tick)
        }
        #expect(script.endedHere == [run])
        let span = script.now.boot - since
        #expect(span <= .seconds(9) && span > .seconds(9) - .seconds(10) / 3 - .milliseconds(1))
        // It is asked once, and its end is reported as soon as there is a connection again.
        script.pass(.seconds(30))
        script.handle(.tick)
        #expect(script.endedHere == [run])
        script.handle(.ended(run, .stopped, at: script.now.wall))
        script.settle()
        script.run(.seconds(3))
        #expect(try script.runs().first { $0.id == run }?.value.outcome == .stopped)
    }

    @Test func aDaemonThatStartsWithoutTheStoreEndsTheRunsOfTheLastOne() throws {
        var job = try FleetScript.calendarJob()
        job.endsIsolated = true
        var script = Self.formed([job])
        script.run(.seconds(10))
        let run = try #require(script.started.first)
        script.handle(.began(run, at: script.now.wall))
        script.settle()
        var next = script.restarted(
            [job], boot: 1, start: 2, registry: [run: .began(script.now.wall)])
        next.pass(.milliseconds(9_900))
        next.handle(.tick)
        #expect(next.endedHere.isEmpty)
        next.pass(.milliseconds(100))
        next.handle(.tick)
        #expect(next.endedHere == [run])
    }

    // MARK: - A store that is far away

    /// Opening an account writes the fleet clock, and of two writes only one is applied.
    @Test(arguments: [50, 100, 200, 400])
    func aJobIsResumedThoughEachAnswerTakesLong(milliseconds: Int) throws {
        let job = FleetJob(FleetScript.job, definition: "d1", schedule: .every(.seconds(600)))
        let roundTrip = Duration.milliseconds(milliseconds)
        var script = FleetScript([job])
        script.run(.seconds(2), roundTrip: roundTrip)
        script.handle(.command(0, .adopt))
        script.run(.seconds(20), roundTrip: roundTrip)
        for round in 1...3 {
            script.handle(
                .command(round * 2, .pause(FleetScript.job, PauseTerms(by: "ops"))))
            script.run(.seconds(3), roundTrip: roundTrip)
            #expect(script.done[round * 2] == .some(nil))
            script.handle(.command(round * 2 + 1, .resume(FleetScript.job)))
            script.run(.seconds(3), roundTrip: roundTrip)
            #expect(script.done[round * 2 + 1] == .some(nil))
            #expect(try script.jobValue()?.opened != nil)
        }
        // The clock is written every 2 s, and not after each answer.
        let before = script.store.history.count
        script.run(.seconds(60), roundTrip: roundTrip)
        #expect(script.store.history.count - before < 40)
    }

    // MARK: - What was due while the store was away

    /// The fleet's time is that in which a daemon runs. Without that, an outage would stop all jobs of
    /// all machines, as a pause does.
    @Test func elapsedTimeGoesOnWhileTheStoreDoesNotAnswer() throws {
        let job = FleetJob(FleetScript.job, definition: "d1", schedule: .every(.seconds(600)))
        var script = Self.formed([job])
        script.run(.seconds(10))
        let before = try #require(script.member.time(at: script.now.awake))
        Self.away(&script, .seconds(44))
        script.run(.seconds(10))
        let after = try #require(script.member.time(at: script.now.awake))
        #expect(after - before == .seconds(54))
        #expect(script.started.isEmpty)
        script.run(.seconds(540))
        #expect(script.started.count == 1)
    }

    @Test(arguments: [false, true])
    func whatWasDueWaitsOrIsSkipped(skips: Bool) throws {
        var job = try FleetScript.calendarJob()
        job.skipsAway = skips
        var script = Self.formed([job])
        script.run(.seconds(5))
        for run in script.started { script.end(run, .exited(0)) }
        let before = try script.runs().count
        Self.away(&script, .seconds(60))
        let back = script.now.wall
        script.run(.seconds(9))
        let runs = Array(try script.runs().dropFirst(before))
        let late = try #require(runs.first)
        #expect(late.value.missed >= 4 && late.id.firing.scheduled <= back)
        #expect(late.value.state == (skips ? .skipped : .claimed))
        #expect(late.value.reason == (skips ? .away : nil))
        // What is due after the return runs.
        script.run(.seconds(11))
        #expect(try script.runs().last?.value.reason != .away)
        if skips { #expect(script.started.last.map { $0.firing.scheduled > back } == true) }
    }

    @Test func aShortAbsenceDoesNotCount() throws {
        var job = try FleetScript.calendarJob()
        job.skipsAway = true
        var script = Self.formed([job])
        script.run(.milliseconds(8_500))
        for run in script.started { script.end(run, .exited(0)) }
        let count = script.started.count
        Self.away(&script, .seconds(7))
        script.run(.seconds(6))
        #expect(script.started.count > count)
        #expect(try script.runs().allSatisfy { $0.value.reason != .away })
    }

    /// Another machine may have had a connection, and then it starts the run when it is its turn.
    @Test func itIsSkippedOnlyWhenAllOthersCouldHaveStartedIt() throws {
        var job = try FleetScript.calendarJob()
        job.skipsAway = true
        job.takeoverDelay = .seconds(20)
        job.schedule = .wall(
            WallSchedule([
                .at(WallInstant(microsecondsSinceEpoch: Simulation.wallStart + 40_000_000))
            ]))
        var script = Self.formed([job])
        let other = MemberValue(
            incarnation: Incarnation(boot: SimulatedMachine.bootID(2, 1), number: 1),
            definitions: [job.name: job.definition], isFit: true, version: "")
        script.write([.member(FleetScript.web2): other.text])
        script.settle()
        script.run(.seconds(4))
        Self.away(&script, .seconds(40))
        script.run(.seconds(20))
        #expect(try script.runs().isEmpty && script.started.isEmpty)
        script.run(.seconds(20))
        #expect(try script.runs().map(\.value.reason) == [.away])
    }

    // MARK: - Drained machines

    @Test func aDrainedMachineIsDrainedAfterItsRestartToo() throws {
        let job = try FleetScript.calendarJob()
        var script = Self.formed([job])
        script.handle(.command(1, .drain))
        #expect(script.done[1] == .some(nil))
        var next = script.restarted([job], boot: 2, start: 2)
        #expect(next.notices == [.drained])
        next.run(.seconds(30))
        #expect(next.started.isEmpty && script.started.count <= 1)
        next.handle(.command(1, .undrain))
        next.run(.seconds(12))
        #expect(!next.started.isEmpty)
    }
}
