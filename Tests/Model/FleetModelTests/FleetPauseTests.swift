// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import Testing
import TimerCore
import TimerFleet

/// Pauses of a job of the fleet: their ends, notes, and who changes them.
@Suite struct FleetPauseTests {
    private static func formed(_ job: FleetJob) -> FleetScript {
        var script = FleetScript([job])
        script.form()
        return script
    }

    private static func pause(
        _ script: inout FleetScript, _ id: Int, _ terms: PauseTerms
    ) throws -> JobValue.Pause? {
        script.handle(.command(id, .pause(FleetScript.job, terms)))
        script.settle()
        script.run(.milliseconds(500))
        #expect(script.done[id] == .some(nil))
        return try script.jobValue()?.pause
    }

    @Test func aPauseEndsByItself_andTheTimeCountsFromThenOn() throws {
        var script = Self.formed(
            FleetJob(FleetScript.job, definition: "d1", schedule: .every(.seconds(60))))
        let end = script.now.wall + .seconds(30)
        let pause = try Self.pause(
            &script, 1, PauseTerms(by: "ada", note: "disk swap", until: end, withRun: true))
        #expect(
            pause
                == JobValue.Pause(
                    since: end - .seconds(30), until: end, by: "ada", note: "disk swap",
                    withRun: true))
        script.run(.seconds(29))
        let active = try #require(try script.jobValue()?.active)
        #expect(try script.jobValue()?.pause != nil)
        #expect(!script.notices.contains(.pauseEnded(FleetScript.job)))
        script.run(.seconds(1))
        #expect(try script.jobValue()?.pause == nil)
        #expect(script.notices.filter { $0 == .pauseEnded(FleetScript.job) }.count == 1)
        // An interval of 60 s of which the time before the pause has passed.
        script.run(.seconds(60) - active - .seconds(1))
        #expect(script.started.isEmpty)
        script.run(.seconds(2))
        #expect(script.started.count == 1)
    }

    @Test func whatIsDueAfterTheEndRuns_alsoIfNoMachineWasThereToEndThePause() throws {
        let job = try FleetScript.calendarJob()
        var script = Self.formed(job)
        for run in script.started { script.end(run, .exited(0)) }
        let cursor = try #require(try script.jobValue()?.cursor)
        let end = cursor + .seconds(25)
        _ = try Self.pause(&script, 1, PauseTerms(by: "ada", until: end))
        var next = script.restarted([job], boot: 2, start: 2)
        next.now = script.now
        next.now.bootID = SimulatedMachine.bootID(1, 2)
        next.pass(.seconds(60))
        next.handle(.tick)
        next.settle()
        next.run(.seconds(12))
        let runs = try next.runs().filter { $0.id.firing.scheduled > cursor }
        // Those of the pause are skipped as paused, up to its end; later ones are one missed run.
        let paused = try #require(runs.first)
        #expect(paused.value.reason == .paused && paused.value.missed == 2)
        #expect(end - paused.id.firing.scheduled < .milliseconds(1))
        let made = runs[1]
        #expect(made.value.state == .claimed && made.value.missed == 3)
        #expect(made.value.after == paused.id.firing.scheduled)
    }

    @Test func aSecondPauseChangesTheTermsThatItNames() throws {
        var script = Self.formed(try FleetScript.calendarJob())
        let end = script.now.wall + .seconds(600)
        let first = try #require(
            try Self.pause(&script, 1, PauseTerms(by: "ada", note: "disk swap")))
        let second = try #require(try Self.pause(&script, 2, PauseTerms(by: "bob", until: end)))
        var expected = first
        (expected.by, expected.until) = ("bob", end)
        #expect(second == expected)
        // One that names nothing new changes nothing, not even who paused it.
        #expect(try Self.pause(&script, 3, PauseTerms(by: "eve", note: "disk swap")) == second)
    }

    @Test func twoPausesAtATimeDoNotChangeEachOtherForEver() throws {
        var script = Self.formed(try FleetScript.calendarJob())
        script.records = false
        script.run(.seconds(10))
        // The claim of a run that may still start lets both wait.
        #expect(try script.jobValue()?.live.first?.state == .claimed)
        script.handle(.command(1, .pause(FleetScript.job, PauseTerms(by: "ada", note: "a"))))
        script.handle(.command(2, .pause(FleetScript.job, PauseTerms(by: "bob", note: "b"))))
        script.settle()
        let revision = try #require(script.store.keys[.job(FleetScript.job)]).modified
        script.run(.seconds(4))
        #expect(script.store.keys[.job(FleetScript.job)]?.modified == revision)
        script.run(.seconds(10))
        #expect(script.done[1] == .some(nil) && script.done[2] == .some(nil))
    }

    @Test func aPauseThatWouldBeOverIsRefused_andOneThatEndedIsNotMadeAgain() throws {
        var script = Self.formed(try FleetScript.calendarJob())
        // It is asked before this machine may act, and the end passes meanwhile.
        let end = script.now.wall + .seconds(2)
        script.handle(.watchLost)
        script.handle(
            .command(1, .pause(FleetScript.job, PauseTerms(by: "ada", until: end))))
        script.pass(.seconds(3))
        script.settle()
        script.run(.seconds(8))
        #expect(script.done[1] == "the pause would have ended before the fleet could be asked")
        #expect(try script.jobValue()?.pause == nil)
        // Another machine, whose clock is ahead, ends it while this one waits for a claimed run.
        script.records = false
        script.run(.seconds(10))
        #expect(try script.jobValue()?.live.last?.state == .claimed)
        let terms = PauseTerms(by: "ada", until: script.now.wall + .seconds(3))
        script.handle(.command(2, .pause(FleetScript.job, terms)))
        script.settle()
        var value = try #require(try script.jobValue())
        #expect(value.pause != nil && script.done[2] == nil)
        value.pause = nil
        script.write([.job(FleetScript.job): value.text])
        script.settle()
        #expect(script.done[2] == "its pause was ended again before all machines knew it")
        #expect(try script.jobValue()?.pause == nil)
    }
}
