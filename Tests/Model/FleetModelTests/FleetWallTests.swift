// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import Testing
import TimerCore
import TimerFleet

/// Interval jobs that count by the wall clock, with one member: what counts, and what does not.
@Suite struct FleetWallTests {
    private static func job(_ basis: FleetBasis = .wall, _ definition: String = "d1") -> FleetJob {
        var job = FleetJob(
            FleetScript.job, definition: definition, schedule: .every(.seconds(600)))
        job.basis = basis
        return job
    }

    /// The wall clock of a script has whole microseconds, and loses a part of one at each step.
    private let slack = Duration.milliseconds(10)

    /// A fleet of one machine, and when the time of its job began.
    private static func formed(_ job: FleetJob = job()) throws -> (FleetScript, WallInstant) {
        var script = FleetScript([job])
        script.form()
        let opened = try #require(try script.jobValue()?.opened)
        return (script, WallInstant(microsecondsSinceEpoch: 0) + opened)
    }

    private static func command(_ script: inout FleetScript, _ id: Int, _ command: FleetCommand) {
        script.handle(.command(id, command))
        script.settle()
        script.run(.milliseconds(500))
        #expect(script.done[id] == .some(nil))
    }

    /// The time that has passed for the job at the last change of its account.
    private static func pause(_ script: inout FleetScript, _ id: Int) throws -> Duration {
        command(&script, id, .pause(FleetScript.job, PauseTerms(by: "ops")))
        return try #require(try script.jobValue()).active
    }

    /// The machine is started again after this time.
    private static func restarted(
        _ script: FleetScript, after span: Duration, _ job: FleetJob = job()
    ) -> FleetScript {
        var next = script.restarted([job], boot: 2, start: 2)
        next.now = script.now
        next.now.bootID = SimulatedMachine.bootID(1, 2)
        next.pass(span)
        next.handle(.tick)
        next.settle()
        next.run(.seconds(12))
        return next
    }

    // MARK: - What counts

    @Test func itFiresWhenItsTimeIsOver_andAgainAfterEachInterval() throws {
        var (script, opened) = try Self.formed()
        script.run(.seconds(2000))
        let runs = try script.runs()
        // A run that does not end lets the next ones be skipped.
        #expect(runs.map(\.value.reason) == [nil, .stillRunning, .stillRunning])
        for (number, run) in runs.enumerated() {
            let due = opened + .seconds(600 * (number + 1))
            #expect(run.value.claimed == due && due - run.id.firing.scheduled < .milliseconds(1))
        }
    }

    @Test func timeCountsWhileNoDaemonRuns() throws {
        let (script, opened) = try Self.formed()
        var next = Self.restarted(script, after: .seconds(2000))
        let run = try #require(try next.runs().first)
        #expect(run.value.missed == 2 && run.value.state == .claimed)
        #expect(opened + .seconds(1800) - run.id.firing.scheduled < .milliseconds(1))
        // The next one is on the old grid.
        next.end(run.id, .exited(0))
        next.run(opened + .seconds(2399) - next.now.wall)
        #expect(next.started.count == 1)
        next.run(.seconds(1) + slack)
        #expect(next.started.count == 2)
        // Active time does not count.
        let active = Self.job(.active)
        let (other, _) = try Self.formed(active)
        #expect(try Self.restarted(other, after: .seconds(2000), active).runs().isEmpty)
    }

    @Test func timeCountsWhileTheStoreIsAway_andIsShown() throws {
        var (script, opened) = try Self.formed()
        script.handle(.watchLost)
        script.pass(.seconds(300))
        let view = try #require(script.member.jobView(of: FleetScript.job, at: script.now))
        #expect(view.isStale && view.accrued == script.now.wall - opened)
        script.pass(.seconds(400))
        script.handle(.tick)
        script.settle()
        script.run(.seconds(12))
        #expect(script.started.count == 1)
        // How much active time has passed is not known without the store.
        var (other, _) = try Self.formed(Self.job(.active))
        let counted = other.member.jobView(of: FleetScript.job, at: other.now)?.countedAt
        #expect(counted == other.now.awake)
        other.handle(.watchLost)
        #expect(other.member.jobView(of: FleetScript.job, at: other.now)?.countedAt == nil)
    }

    @Test func itsAccountIsOpenedWithoutAWriteOfTheFleetClock() throws {
        var (script, _) = try Self.formed()
        func openings() throws -> Int64 {
            try ClockValue(text: try #require(script.store.keys[.clock]).value).openings
        }
        #expect(try openings() == 0)
        _ = try Self.pause(&script, 1)
        Self.command(&script, 2, .resume(FleetScript.job))
        script.run(.seconds(5))
        #expect(try openings() == 0 && script.jobValue()?.opening == 0)
    }

    // MARK: - What does not count

    @Test func aPauseStopsIt() throws {
        var (script, opened) = try Self.formed()
        script.run(.seconds(100))
        let active = try Self.pause(&script, 1)
        #expect(active == script.now.wall - opened - .milliseconds(500))
        script.run(.seconds(1000))
        Self.command(&script, 2, .resume(FleetScript.job))
        let resumed = script.now.wall - .milliseconds(500)
        script.run(resumed + (.seconds(600) - active) - .seconds(1) - script.now.wall)
        #expect(script.started.isEmpty)
        script.run(.seconds(1) + slack)
        #expect(script.started.count == 1)
    }

    @Test(arguments: [false, true])
    func itCountsFromTheEndOfAPauseThatNoMachineEnded(byUser: Bool) throws {
        var (script, opened) = try Self.formed()
        let paused = script.now.wall
        let end = paused + .seconds(100)
        Self.command(&script, 1, .pause(FleetScript.job, PauseTerms(by: "ops", until: end)))
        if byUser {
            // The user is faster than the machine, which reads the store first.
            script.handle(.watchLost)
            script.pass(.seconds(400))
            script.handle(.command(2, .resume(FleetScript.job)))
            script.settle()
            script.run(.seconds(12))
        } else {
            script = Self.restarted(script, after: .seconds(400))
        }
        let active = try Self.pause(&script, 3)
        let counted = (paused - opened) + (script.now.wall - .milliseconds(500) - end)
        #expect(active == counted)
    }

    @Test func holdsStopIt_alsoThoseBeforeTheLastOne() throws {
        var (script, opened) = try Self.formed()
        var held = Duration.zero
        for round in 0..<3 {
            Self.command(&script, 10 + round * 2, .hold(by: "ops"))
            script.run(.seconds(1000))
            #expect(script.member.jobView(of: FleetScript.job, at: script.now)?.countedAt == nil)
            Self.command(&script, 11 + round * 2, .release(by: "ops"))
            held += .milliseconds(1_000_500)
            script.run(.seconds(20))
        }
        #expect(script.started.isEmpty)
        let due = opened + .seconds(600) + held
        script.run(due - script.now.wall - .milliseconds(1))
        #expect(script.started.isEmpty)
        script.run(.milliseconds(1) + slack)
        #expect(script.started.count == 1)
    }

    @Test func aPauseThatEndedBeforeAHoldCountsNothingOfTheHold() throws {
        var (script, opened) = try Self.formed()
        let paused = script.now.wall
        let end = paused + .seconds(100)
        Self.command(&script, 1, .pause(FleetScript.job, PauseTerms(by: "ops", until: end)))
        // Other machines, which do not have the job, hold the fleet and release it.
        let hold = try HoldValue(text: try #require(script.store.keys[.hold]).value)
        let released = end + .seconds(300)
        let later = HoldValue(
            isHeld: false, time: hold.time, since: end + .seconds(50), released: released,
            by: "ops")
        script.write([.hold: later.text])
        script = Self.restarted(script, after: .seconds(500))
        let active = try Self.pause(&script, 2)
        #expect(active == (paused - opened) + (script.now.wall - .milliseconds(500) - released))
    }

    // MARK: - Changes of the basis

    @Test(arguments: [FleetBasis.wall, .active])
    func aReloadChangesTheBasis_andCountsUpToIt(first: FleetBasis) throws {
        let second: FleetBasis = first == .wall ? .active : .wall
        var script = FleetScript([Self.job(first)])
        script.form()
        script.run(.seconds(100))
        // All of it is counted up to the change.
        let before = try #require(
            script.member.jobView(of: FleetScript.job, at: script.now)
        ).active
        script.handle(.configured([Self.job(second, "d2")], isReload: true))
        script.settle()
        let changed = try #require(try script.jobValue())
        #expect(changed.basis == second && changed.definition == "d2")
        #expect(changed.active == before && changed.accrued == before)
        // From then on, only time by the wall clock counts without a daemon.
        script.run(.milliseconds(500))
        var next = Self.restarted(script, after: .seconds(300), Self.job(second, "d2"))
        let active = try Self.pause(&next, 1)
        let passed = next.now.wall - script.now.wall
        #expect(
            second == .wall ? active == before + passed : active < before + passed - .seconds(290))
    }

    @Test func aPausedJobTakesTheOtherBasis_andIsOpenedByItLater() throws {
        var (script, _) = try Self.formed()
        let before = try Self.pause(&script, 1)
        script.handle(.configured([Self.job(.active, "d2")], isReload: true))
        script.settle()
        var value = try #require(try script.jobValue())
        #expect(value.basis == .active && value.opened == nil && value.active == before)
        Self.command(&script, 2, .resume(FleetScript.job))
        value = try #require(try script.jobValue())
        #expect(value.opening == 1 && value.opened.map { $0 < .seconds(3600) } == true)
    }

    // MARK: - Wrong clocks

    @Test func aClockThatIsSetBackLosesNothing_andFiresNothingTwice() throws {
        var (script, opened) = try Self.formed()
        script.run(opened + .seconds(601) - script.now.wall)
        let run = try #require(script.started.first)
        script.end(run, .exited(0))
        let value = try #require(try script.jobValue())
        // An hour back, on the machine and in the store.
        script.now.wall = script.now.wall - .seconds(3600)
        script.handle(.tick)
        script.settle()
        script.run(.seconds(3000))
        #expect(script.started == [run])
        #expect(try script.jobValue()?.accrued == value.accrued)
        // Where it was before, the time goes on.
        script.run(.seconds(599) + .seconds(600) + slack)
        #expect(script.started.count == 2)
        #expect(try script.jobValue()?.active == .seconds(1200))
    }

    @Test func aMachineWhoseClockIsBehindCountsNoTimeTwice() throws {
        var (script, _) = try Self.formed()
        // Another machine, whose clock is 2 s ahead, pauses the job, and this one resumes it at once.
        var value = try #require(try script.jobValue())
        let ahead = script.now.wall + .seconds(2)
        let reading = ahead - WallInstant(microsecondsSinceEpoch: 0)
        let passed = reading - (value.opened ?? .zero)
        (value.active, value.accrued, value.opened) = (passed, passed, nil)
        value.pause = JobValue.Pause(since: ahead, by: "ops")
        script.write([.job(FleetScript.job): value.text])
        script.settle()
        Self.command(&script, 1, .resume(FleetScript.job))
        #expect(try script.jobValue()?.opened == reading)
        #expect(try Self.pause(&script, 2) == passed)
    }
}
