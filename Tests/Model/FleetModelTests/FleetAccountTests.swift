// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import Testing
import TimerCore
import TimerFleet

/// Active time of one account between two machines, of which one knows an old value of the clock.
@Suite struct FleetAccountTests {
    private static let interval = FleetJob(
        FleetScript.job, definition: "d1", schedule: .every(.seconds(600)))

    /// A machine that follows the clock of a fleet with an interval job, which is paused.
    private static func paused() throws -> FleetScript {
        var script = FleetScript([interval])
        script.form()
        script.run(.seconds(20))
        script.handle(.command(1, .pause(FleetScript.job, PauseTerms(by: "ops"))))
        script.settle()
        #expect(try script.jobValue()?.opened == nil)
        return script
    }

    private func clock(_ script: FleetScript) throws -> ClockValue {
        try ClockValue(text: try #require(script.store.keys[.clock]).value)
    }

    /// Another machine, which lags by 15 s, resumes the job.
    private func resume(_ script: inout FleetScript) throws -> JobValue {
        var value = try #require(try script.jobValue())
        let known = try clock(script)
        let late = ClockValue(
            time: known.time - .seconds(15), openings: known.openings + 1, by: FleetScript.web2)
        value.pause = nil
        value.opened = late.time
        value.opening = late.openings
        script.write([.job(FleetScript.job): value.text, .clock: late.text])
        return value
    }

    @Test func anAccountThatALaggingMachineOpened_gainsNothing() throws {
        var script = try Self.paused()
        let before = try #require(try script.jobValue()).active
        _ = try resume(&script)
        script.settle()
        script.run(.seconds(3))
        script.handle(.command(2, .pause(FleetScript.job, PauseTerms(by: "ops"))))
        script.settle()
        let value = try #require(try script.jobValue())
        #expect(value.pause != nil && value.active == before + .seconds(3))
    }

    @Test func noAccountIsClosedByAClockFromBeforeItsOpening() throws {
        var script = try Self.paused()
        let opened = try resume(&script)
        // The watch does not bring it: the job is read because a change of it is refused.
        script.handle(.command(2, .skipNext(FleetScript.job, 1)))
        while !script.sent.isEmpty { script.applyFirst() }
        #expect(try script.jobValue()?.skips == 1)
        script.handle(.command(3, .pause(FleetScript.job, PauseTerms(by: "ops"))))
        while !script.sent.isEmpty { script.applyFirst() }
        let value = try #require(try script.jobValue())
        #expect(value.pause == nil && value.active == opened.active)
        #expect(value.opened == opened.opened)
        // When the watch brings the clock, it is closed.
        script.settle()
        script.run(.seconds(1))
        let closed = try #require(try script.jobValue())
        #expect(closed.pause != nil && closed.active <= opened.active + .seconds(1))
    }

    @Test func anOpeningThatIsLateDoesNothing_andIsMadeAgain() throws {
        var script = try Self.paused()
        let active = try #require(try script.jobValue()).active
        script.handle(.command(2, .resume(FleetScript.job)))
        let index = try #require(
            script.sent.firstIndex { $0.transaction.branches.count == 2 })
        let (id, opening) = script.sent.remove(at: index)
        // It is on its way for 9 s, and another machine writes the clock.
        script.pass(.seconds(3))
        let known = try clock(script)
        let next = ClockValue(
            time: known.time + .seconds(5), openings: known.openings, by: FleetScript.web2)
        script.write([.clock: next.text])
        script.pass(.seconds(6))
        let applied = script.store.apply(opening)
        let answer = try #require(applied?.0)
        script.handle(.answered(id, answer))
        script.settle()
        script.run(.seconds(1))
        // It is opened now, and what passed before that is not counted.
        let value = try #require(try script.jobValue())
        let time = try clock(script).time
        #expect(value.pause == nil && value.opened == time)
        script.run(.seconds(4))
        script.handle(.command(3, .pause(FleetScript.job, PauseTerms(by: "ops"))))
        script.settle()
        let counted = try #require(try script.jobValue()).active - active
        #expect(counted >= .seconds(4) && counted <= .seconds(5))
    }

    @Test func anOpeningThatIsAnsweredWhileTheStoreIsReadAgainLosesNoTime() throws {
        var script = try Self.paused()
        let active = try #require(try script.jobValue()).active
        script.handle(.command(2, .resume(FleetScript.job)))
        script.handle(.watchLost)
        while !script.sent.isEmpty { script.applyFirst() }
        #expect(try script.jobValue()?.opened != nil)
        // The store's answer is on its way for 3 s.
        script.pass(.seconds(3))
        script.settle()
        script.run(.seconds(4))
        script.handle(.command(3, .pause(FleetScript.job, PauseTerms(by: "ops"))))
        script.settle()
        let value = try #require(try script.jobValue())
        #expect(value.pause != nil && value.active == active + .seconds(7))
    }

    @Test func aReloadDoesNotSetAnAccountBackToASmallerReading() throws {
        var script = try Self.paused()
        script.handle(.command(2, .resume(FleetScript.job)))
        script.settle()
        script.run(.seconds(2))
        // Another machine counted the time up to a reading that this one does not know.
        var value = try #require(try script.jobValue())
        let opened = try #require(value.opened) + .seconds(30)
        value.active += .seconds(30)
        value.opened = opened
        script.write([.job(FleetScript.job): value.text])
        script.settle()
        var job = Self.interval
        job.definition = "d2"
        script.handle(.configured([job], isReload: true))
        script.settle()
        let after = try #require(try script.jobValue())
        #expect(after.definition == "d2" && after.opened == opened)
        #expect(after.active == value.active && after.opening == value.opening)
    }

    @Test func aHoldDoesNotBringAReadingFromBeforeAnOpening() throws {
        var script = try Self.paused()
        script.write([.member(FleetScript.web2): Self.other.text])
        script.settle()
        script.handle(.command(2, .hold(by: "ops")))
        #expect(script.sent.count == 1)
        let opened = try resume(&script)
        while !script.sent.isEmpty { script.applyFirst() }
        script.settle()
        script.run(.seconds(1))
        let hold = try HoldValue(text: try #require(script.store.keys[.hold]).value)
        let start = try #require(opened.opened)
        #expect(hold.isHeld && hold.time >= start && hold.time <= start + .seconds(1))
    }

    /// Another machine that is fit.
    private static let other = MemberValue(
        incarnation: Incarnation(boot: SimulatedMachine.bootID(2, 1), number: 1), labels: [],
        definitions: [:], isFit: true, skew: nil, version: "")

    /// The snapshot was asked for before the machine slept, and the watch then brings at once what it
    /// missed: of these values only the last one is the time.
    @Test func changesThatWaitedWhileTheMachineSleptAreNoComparison() throws {
        var script = FleetScript([Self.interval])
        script.form()
        script.write([.member(FleetScript.web2): Self.other.text])
        script.settle()
        script.run(.seconds(20))
        let opened = try #require(try script.jobValue())
        let start = try clock(script).time
        script.handle(.watchLost)
        script.handle(.command(2, .pause(FleetScript.job, PauseTerms(by: "ops"))))
        for write in 1...6 {
            script.sleep(.seconds(2))
            let value = ClockValue(
                time: start + .seconds(2) * write, openings: opened.opening, by: FleetScript.web2)
            script.write([.clock: value.text])
        }
        script.settle()
        script.run(.seconds(8))
        let value = try #require(try script.jobValue())
        #expect(value.pause != nil && value.active >= opened.active + .seconds(32))
    }

    /// All machines crash and start again, each time before one of them could compare its clock.
    @Test func aMachineThatIsStartedAgainEachFiveSecondsLetsTheClockGoOn() throws {
        var script = try Self.paused()
        let begin = try clock(script).time
        for start in 2..<12 {
            script = script.restarted([Self.interval], boot: 1, start: Int64(start))
            script.write([.member(FleetScript.web2): Self.other.text])
            script.settle()
            script.run(.seconds(5))
        }
        // What is lost each time is the time since the last write, of which there is one each 2 s.
        let passed = try clock(script).time - begin
        #expect(passed >= .seconds(30) && passed <= .seconds(50))
    }

    @Test func thousandAccountsAreOpenedByFewTransactions() throws {
        let jobs = try (0..<1000).map { number in
            var job = Self.interval
            job.name = try #require(Job.Name("job\(number)"))
            return job
        }
        var script = FleetScript(jobs)
        script.form()
        let values = try jobs.map { try script.jobValue($0.name) }
        #expect(values.allSatisfy { $0?.opened != nil })
        let openings = Set(values.map { $0?.opening })
        #expect(openings.count == 9)
        #expect(try clock(script).openings == 9)
    }
}
