// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import Testing
import TimerCore
@testable import TimerFleet

/// Jobs that each machine runs for itself, and the pause that they share.
@Suite struct FleetTemplateTests {
    private static let template = Job.Name("backup")!
    private static let own = Job.Name("backup@web1")!
    private static let other = Job.Name("backup@web2")!
    private static let third = Job.Name("backup@web3")!

    private static func job(_ schedule: FleetJob.Schedule? = nil) throws -> FleetJob {
        var job = try FleetScript.calendarJob(own)
        if let schedule { job.schedule = schedule }
        job.template = template
        return job
    }

    /// The value that another machine has of its job.
    private static func value(_ script: FleetScript, pause: JobValue.Pause? = nil) -> String {
        var value = JobValue(definition: "d2", cursor: script.now.wall, pause: pause)
        value.template = template
        return value.text
    }

    /// A fleet with the jobs of this machine and of another one.
    private static func formed(_ schedule: FleetJob.Schedule? = nil) throws -> FleetScript {
        var script = FleetScript([try job(schedule)])
        script.form()
        script.write([.job(other): value(script)])
        script.settle()
        return script
    }

    private static func execute(
        _ script: inout FleetScript, _ id: Int, _ command: FleetCommand
    ) {
        script.handle(.command(id, command))
        script.settle()
        script.run(.milliseconds(500))
    }

    private static func endAll(_ script: inout FleetScript) {
        for run in script.started where script.rows[run]?.value.state.isFinal == false {
            script.end(run, .exited(0))
        }
    }

    @Test func itIsAJobOfThisMachineWithATemplate() throws {
        var script = try Self.formed()
        let shared = try #require(try script.jobValue(Self.template))
        #expect(shared.isTemplate && shared.pause == nil && shared.live.isEmpty)
        #expect(try script.jobValue(Self.own)?.template == Self.template)
        script.run(.seconds(10))
        #expect(script.started.map(\.firing.job) == [Self.own])
        #expect(script.member.machineRuns(of: Self.template).map(\.run.firing.job) == [Self.own])
    }

    @Test func aPauseOfTheTemplatePausesTheJobsOfAllMachinesAtOnce() throws {
        var script = try Self.formed()
        Self.endAll(&script)
        Self.execute(&script, 1, .pause(Self.template, PauseTerms(by: "ada", note: "disk swap")))
        #expect(script.done[1] == .some(nil))
        let revision = script.store.keys[.job(Self.template)]?.modified
        for name in [Self.template, Self.own, Self.other] {
            #expect(try script.jobValue(name)?.pause?.note == "disk swap", "\(name)")
            #expect(script.store.keys[.job(name)]?.modified == revision, "\(name)")
        }
        #expect(try script.jobValue(Self.own)?.pause?.isOfTemplate == true)
        let started = script.started.count
        script.run(.seconds(30))
        #expect(script.started.count == started)
        // Each machine resumes its own job.
        Self.execute(&script, 2, .resume(Self.template))
        #expect(script.done[2] == .some(nil))
        #expect(try script.jobValue(Self.template)?.pause == nil)
        #expect(try script.jobValue(Self.own)?.pause == nil)
        #expect(try script.jobValue(Self.other)?.pause != nil)
        script.run(.seconds(10))
        #expect(script.started.count == started + 1)
    }

    @Test func aMachineThatJoinsMeanwhileIsPausedToo() throws {
        var script = try Self.formed()
        Self.endAll(&script)
        script.handle(.command(1, .pause(Self.template, PauseTerms(by: "ada"))))
        // The transaction is on its way when another machine joins, which writes the template as well.
        let shared = try #require(script.store.keys[.job(Self.template)]?.value)
        script.write([.job(Self.third): Self.value(script), .job(Self.template): shared])
        #expect(!script.sent.isEmpty)
        script.settle()
        script.run(.milliseconds(500))
        #expect(script.done[1] == .some(nil))
        for name in [Self.own, Self.other, Self.third] {
            #expect(try script.jobValue(name)?.pause != nil, "\(name)")
        }
    }

    @Test(arguments: [false, true])
    func aMachineThatJoinsAPausedTemplateIsPaused(isInterval: Bool) throws {
        var script = FleetScript([])
        script.form()
        var shared = JobValue(
            definition: JobValue.templateDefinition, cursor: script.now.wall,
            pause: JobValue.Pause(since: script.now.wall, by: "ada"))
        script.write([.job(Self.template): shared.text])
        script.settle()
        let job = try Self.job(isInterval ? .every(.seconds(5)) : nil)
        script.handle(.configured([job], isReload: true))
        script.settle()
        script.run(.seconds(30))
        let joined = try #require(try script.jobValue(Self.own))
        #expect(joined.pause?.by == "ada" && joined.opened == nil && script.started.isEmpty)
        shared.pause = nil
        script.write([.job(Self.template): shared.text])
        script.settle()
        script.run(.seconds(11))
        #expect(try script.jobValue(Self.own)?.pause == nil)
        #expect(script.started.map(\.firing.job).first == Self.own)
    }

    /// A refused transaction reads the job with its new pause, while the machine still knows the
    /// template without it.
    @Test func anOldTemplateDoesNotEndANewPause() throws {
        var script = try Self.formed()
        Self.endAll(&script)
        script.handle(.command(1, .skipNext(Self.own, 2)))
        var shared = try #require(try script.jobValue(Self.template))
        var own = try #require(try script.jobValue(Self.own))
        shared.pause = JobValue.Pause(since: script.now.wall, by: "bob")
        own.pause = JobValue.Pause(since: script.now.wall, by: "bob", isOfTemplate: true)
        script.write([.job(Self.template): shared.text, .job(Self.own): own.text])
        // Only what the machine sent is answered; the watch is late.
        while !script.sent.isEmpty, script.sent.count < 10 { script.applyFirst() }
        #expect(try script.jobValue(Self.own)?.pause?.by == "bob")
        script.settle()
        script.run(.seconds(30))
        #expect(try script.jobValue(Self.own)?.pause?.by == "bob")
    }

    @Test func whatAUserPausedByItsOwnNameStaysAsItIs() throws {
        var script = try Self.formed()
        Self.endAll(&script)
        Self.execute(&script, 1, .pause(Self.own, PauseTerms(by: "ada", note: "own")))
        Self.execute(&script, 2, .pause(Self.template, PauseTerms(by: "bob", note: "all")))
        #expect(try script.jobValue(Self.own)?.pause?.note == "own")
        #expect(try script.jobValue(Self.other)?.pause?.note == "all")
        Self.execute(&script, 3, .resume(Self.template))
        #expect(try script.jobValue(Self.own)?.pause?.note == "own")
        Self.execute(&script, 4, .resume(Self.own))
        #expect(try script.jobValue(Self.own)?.pause == nil)
    }

    @Test func aJobThatWasResumedByItsOwnNameIsPausedAgain() throws {
        var script = try Self.formed()
        Self.endAll(&script)
        Self.execute(&script, 1, .pause(Self.template, PauseTerms(by: "ada")))
        Self.execute(&script, 2, .resume(Self.own))
        #expect(try script.jobValue(Self.own)?.pause == nil)
        script.run(.seconds(15))
        #expect(try script.jobValue(Self.own)?.pause == nil)
        Self.endAll(&script)
        Self.execute(&script, 3, .pause(Self.template, PauseTerms(by: "ada")))
        #expect(script.done[3] == .some(nil))
        #expect(try script.jobValue(Self.own)?.pause != nil)
    }

    @Test func aPauseWithAnEndEndsForAll() throws {
        var script = try Self.formed(.every(.seconds(20)))
        let end = script.now.wall + .seconds(60)
        Self.execute(&script, 1, .pause(Self.template, PauseTerms(by: "ada", until: end)))
        let paused = try #require(try script.jobValue(Self.own))
        #expect(paused.pause?.until == end && paused.opened == nil)
        script.run(.seconds(59))
        #expect(try script.jobValue(Self.own)?.active == paused.active)
        script.run(.seconds(2))
        #expect(try script.jobValue(Self.template)?.pause == nil)
        #expect(try script.jobValue(Self.own)?.pause == nil)
        #expect(script.notices.filter { $0 == .pauseEnded(Self.own) }.count == 1)
        script.run(.seconds(20))
        #expect(script.started.count == 1)
    }

    @Test func firingsOfAllMachinesAreSkipped() throws {
        var script = try Self.formed()
        Self.endAll(&script)
        Self.execute(&script, 1, .skipNext(Self.template, 2))
        #expect(script.done[1] == .some(nil))
        #expect(try script.jobValue(Self.own)?.skips == 2)
        #expect(try script.jobValue(Self.other)?.skips == 2)
    }

    /// A claimed run of another machine, which may still start.
    private static func claim(in script: inout FleetScript) throws {
        var other = try #require(try script.jobValue(Self.other))
        let run = Run.ID(firing: Firing.ID(job: Self.other, scheduled: script.now.wall))
        let boot = SimulatedMachine.bootID(2, 1)
        let incarnation = Incarnation(boot: boot, number: 1)
        other.live = [
            .init(run: run, machine: FleetScript.web2, incarnation: incarnation, state: .claimed)
        ]
        let claimed = RunValue(
            machine: FleetScript.web2, incarnation: incarnation, nonce: "n", state: .claimed,
            claimed: script.now.wall)
        let member = MemberValue(
            incarnation: incarnation, labels: [], definitions: [:], isFit: true, skew: nil,
            version: "")
        script.write([
            .member(FleetScript.web2): member.text, .job(Self.other): other.text,
            .run(run): claimed.text,
        ])
        script.settle()
    }

    /// Another machine ends the hold, and begins one of its own, which covers later claims.
    @Test func aHoldThatBeganAgainIsWaitedForAnew() throws {
        var script = try Self.formed()
        Self.endAll(&script)
        try Self.claim(in: &script)
        script.handle(.command(1, .hold(by: "ada")))
        script.settle()
        script.run(.seconds(6))
        var hold = try HoldValue(text: try #require(script.store.keys[.hold]).value)
        #expect(hold.isHeld && script.done[1] == nil)
        hold.isHeld = false
        hold.released = script.now.wall
        script.write([.hold: hold.text])
        (hold.isHeld, hold.since, hold.released) = (true, script.now.wall, nil)
        script.write([.hold: hold.text])
        // It reads both at once.
        script.handle(.watchLost)
        script.settle()
        script.run(.seconds(6))
        #expect(script.done[1] == nil)
        script.run(.seconds(6))
        #expect(script.done[1] == .some(nil))
    }

    @Test func aClaimThatMayStillStartDelaysTheAnswer() throws {
        var script = try Self.formed()
        Self.endAll(&script)
        try Self.claim(in: &script)
        script.handle(.command(1, .pause(Self.template, PauseTerms(by: "ada"))))
        script.settle()
        script.run(.seconds(3))
        #expect(try script.jobValue(Self.other)?.pause != nil && script.done[1] == nil)
        script.run(.seconds(8))
        #expect(script.done[1] == .some(nil))
    }

    @Test func aJobWithTheNameOfTheTemplateIsReplacedByAReloadOnly() throws {
        var script = FleetScript([])
        script.form()
        script.write([
            .job(Self.template): JobValue(definition: "d9", cursor: script.now.wall).text
        ])
        script.settle()
        script.handle(.configured([try Self.job()], isReload: false))
        script.settle()
        script.run(.seconds(30))
        #expect(try script.jobValue(Self.own) == nil && script.started.isEmpty)
        Self.execute(&script, 1, .pause(Self.template, PauseTerms(by: "ada")))
        #expect(script.done[1]??.contains("fleet = \"one\"") == true)
        var changed = try Self.job()
        changed.definition = "d3"
        script.handle(.configured([changed], isReload: true))
        script.settle()
        script.run(.seconds(11))
        #expect(try script.jobValue(Self.template)?.isTemplate == true)
        #expect(script.started.count == 1)
    }

    @Test func aTemplateIsForgottenAfterItsJobs() throws {
        var script = try Self.formed()
        script.handle(.configured([], isReload: true))
        script.settle()
        Self.endAll(&script)
        script.run(.seconds(1))
        Self.execute(&script, 1, .forget(Self.template))
        #expect(script.done[1]??.contains("backup@web") == true)
        Self.execute(&script, 2, .forget(Self.own))
        Self.execute(&script, 3, .forget(Self.other))
        Self.execute(&script, 4, .forget(Self.template))
        #expect(script.done[4] == .some(nil))
        // A machine that has the job again begins with a template without a pause.
        script.handle(.configured([try Self.job()], isReload: false))
        script.settle()
        script.run(.seconds(11))
        #expect(try script.jobValue(Self.template)?.isTemplate == true)
        #expect(try script.jobValue(Self.own)?.template == Self.template)
        #expect(script.started.last?.firing.job == Self.own)
    }
}
