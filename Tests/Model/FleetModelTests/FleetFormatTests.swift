// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import Testing
import TimerCore

@testable import TimerFleet

/// Machines with different versions, and values that cannot be read.
@Suite struct FleetFormatTests {
    private static let other = Job.Name("other")!

    /// Each 10 s, whatever became of the run before.
    private static func job(_ name: Job.Name = FleetScript.job) throws -> FleetJob {
        var job = try FleetScript.calendarJob(name)
        job.policy.concurrency = .allow
        return job
    }

    /// What another machine with this format wrote about itself.
    private static func member(_ format: FleetFormat) -> String {
        MemberValue(
            incarnation: Incarnation(boot: SimulatedMachine.bootID(2, 1), number: 1),
            definitions: [:], isFit: false, version: "1", format: format
        ).text
    }

    private static func identity(_ script: FleetScript) throws -> IdentityValue {
        try IdentityValue(text: try #require(script.store.keys[.identity]).value)
    }

    /// Adds a member that no version knows to the value of a key.
    private static func spoil(_ key: FleetKey, in script: inout FleetScript) throws -> String {
        let text = try #require(script.store.keys[key]).value
        script.write([key: "{\"zzz\":1," + text.dropFirst()])
        return text
    }

    // MARK: - Formats

    @Test func aFleetOfOneVersionUsesItsFormat() throws {
        var script = FleetScript([try Self.job()])
        script.form()
        #expect(try Self.identity(script).format == FleetFormat.newest.rawValue)
        script.run(.seconds(10))
        let run = try #require(try script.runs().first)
        // The number of the adoption goes before the revision.
        #expect(try #require(script.rows[run.id]?.value.fence) >> 48 == 1)
    }

    @Test func anOlderMachineIsWaitedFor() throws {
        var script = FleetScript([try Self.job()])
        script.write([.member(FleetScript.web2): Self.member(.first)])
        script.settle()
        script.handle(.command(0, .adopt))
        script.settle()
        let own = FleetKey.member(FleetScript.web1)
        #expect(try !#require(script.store.keys[own]).value.contains("unfit"))
        script.run(.seconds(20))
        #expect(try Self.identity(script).format == 1)
        let old = try #require(try script.runs().first)
        #expect(try #require(script.rows[old.id]?.value.fence) < 1 << 48)
        // It is upgraded.
        script.write([.member(FleetScript.web2): Self.member(.second)])
        script.settle()
        #expect(try Self.identity(script).format == 2)
        script.handle(.command(1, .drain))
        script.run(.seconds(1))
        let value = try MemberValue(text: try #require(script.store.keys[own]).value)
        #expect(value.unfitness == .drained && !value.isFit)
    }

    /// The words of a machine for a run that had nothing to do, and those that an older version reads.
    @Test(
        arguments: [
            (.skipped(.exit(75)), .exited(75)),
            (.skipped(.condition("mounted /mnt")), .stopped),
            (.exited(75), .exited(75)), (.lost(.runner), .lost(.runner)),
        ] as [(RunOutcome, RunOutcome)])
    func anOlderMachineCanReadHowARunEnded(outcome: RunOutcome, older: RunOutcome) throws {
        for format in [FleetFormat.third, .newest] {
            var script = FleetScript([try Self.job()])
            script.write([.member(FleetScript.web2): Self.member(format)])
            script.settle()
            script.handle(.command(0, .adopt))
            script.run(.seconds(20))
            let run = try #require(script.started.first)
            script.end(run, outcome)
            script.run(.seconds(1))
            let stored = try #require(try script.runs().first { $0.id == run })
            #expect(stored.value.outcome == (format == .newest ? outcome : older))
        }
    }

    @Test func aNewerStoreIsNotTouched() throws {
        var script = FleetScript([try Self.job()])
        script.form()
        script.run(.seconds(10))
        var identity = try Self.identity(script)
        identity.format = 99
        // Of a newer format more may be unknown.
        script.write([.identity: "{\"zzz\":[1]," + identity.text.dropFirst()])
        script.settle()
        #expect(script.member.finding == .newer)
        #expect(script.notices.contains(.guarded(.newer)))
        let (revision, started) = (script.store.revision, script.started.count)
        script.handle(.command(1, .adopt))
        script.run(.seconds(60))
        #expect(script.store.revision == revision && script.started.count == started)
        // The same for a daemon that starts.
        var next = script.restarted(
            [try Self.job()], boot: 1, start: 2)
        let before = next.store.revision
        next.run(.seconds(60))
        #expect(next.member.finding == .newer && next.store.revision == before)
    }

    /// What versions without formats wrote.
    @Test func valuesOfTheFirstFormatAreReadAndWrittenAsBefore() throws {
        let identity = #"{"adopted_us":1800000000000000,"cluster":"c","epoch":2,"fleet":"f"}"#
        #expect(try IdentityValue(text: identity).format == 1)
        #expect(try IdentityValue(text: identity).text == identity)
        let member =
            #"{"defs":{"a":"1"},"fit":true,"inc":"0000000000000000000000000000000f:3","labels":["db"],"skew_ms":[-1,2],"version":"0.1.0"}"#
        #expect(try MemberValue(text: member).format == 1)
        #expect(try MemberValue(text: member).text == member)
    }

    // MARK: - What cannot be read

    @Test func aJobThatCannotBeReadStopsAlone() throws {
        let (first, second) = (
            try Self.job(), try Self.job(Self.other)
        )
        var script = FleetScript([first, second])
        script.form()
        script.run(.seconds(10))
        let text = try Self.spoil(.job(FleetScript.job), in: &script)
        script.settle()
        let before = script.started.count
        script.run(.seconds(30))
        let later = script.started.dropFirst(before)
        #expect(later.count == 3 && later.allSatisfy { $0.firing.job == Self.other })
        guard case .unreadable(.job(FleetScript.job), let fault)? = script.notices.last else {
            Issue.record("\(script.notices)")
            return
        }
        #expect(fault.description.hasPrefix("job/report: unknown member 'zzz'"))
        script.handle(.command(1, .pause(FleetScript.job, PauseTerms(by: "ops"))))
        script.settle()
        #expect(script.done[1]??.contains("unknown member 'zzz'") == true)
        let view = try #require(script.member.jobViews(at: script.now)[FleetScript.job])
        #expect(view.fault != nil && view.next == nil)
        #expect(script.member.jobViews(at: script.now)[Self.other]?.fault == nil)
        // It is corrected.
        script.write([.job(FleetScript.job): text])
        script.settle()
        script.run(.seconds(20))
        #expect(script.started.last { $0.firing.job == FleetScript.job } != nil)
        #expect(
            script.started.dropFirst(before).contains { $0.firing.job == FleetScript.job })
    }

    @Test func aDaemonStartsBesideAJobThatCannotBeRead() throws {
        let jobs = [try Self.job(), try Self.job(Self.other)]
        var script = FleetScript(jobs)
        script.form()
        script.run(.seconds(10))
        _ = try Self.spoil(.job(FleetScript.job), in: &script)
        var next = script.restarted(jobs, boot: 1, start: 2)
        next.settle()
        next.run(.seconds(40))
        #expect(next.member.finding == nil)
        #expect(next.started.contains { $0.firing.job == Self.other })
        #expect(!next.started.contains { $0.firing.job == FleetScript.job })
        #expect(next.member.jobViews(at: next.now)[FleetScript.job]?.fault != nil)
    }

    @Test func aRunThatCannotBeReadStopsItsJobAlone() throws {
        let jobs = [try Self.job(), try Self.job(Self.other)]
        var script = FleetScript(jobs)
        script.form()
        script.run(.seconds(10))
        let run = try #require(try script.runs().first).id
        let text = try Self.spoil(.run(run), in: &script)
        script.settle()
        let before = script.started.count
        script.run(.seconds(20))
        #expect(script.started.dropFirst(before).allSatisfy { $0.firing.job == Self.other })
        script.write([.run(run): text])
        script.settle()
        script.run(.seconds(20))
        #expect(script.started.dropFirst(before).contains { $0.firing.job == FleetScript.job })
    }

    /// A machine with a newer version is there, and its runs go on.
    @Test func theRunsOfAMachineThatCannotBeReadAreNotLost() throws {
        var script = FleetScript([try Self.job()])
        script.form()
        let member = FleetKey.member(FleetScript.web2)
        script.write([member: Self.member(.second)])
        script.settle()
        let run = Run.ID(
            firing: Firing.ID(job: FleetScript.job, scheduled: script.now.wall.ofRequest))
        let incarnation = Incarnation(boot: SimulatedMachine.bootID(2, 1), number: 1)
        var job = try #require(try script.jobValue())
        job.live = [
            JobValue.LiveRun(
                run: run, machine: FleetScript.web2, incarnation: incarnation, state: .began)
        ]
        let value = RunValue(
            machine: FleetScript.web2, incarnation: incarnation, nonce: "n", state: .began,
            claimed: script.now.wall)
        script.write([.job(FleetScript.job): job.text, .run(run): value.text])
        script.settle()
        _ = try Self.spoil(member, in: &script)
        script.settle()
        script.run(.seconds(60))
        #expect(try script.jobValue()?.live.contains { $0.run == run } == true)
        let machines = script.member.status(at: script.now).machines
        #expect(machines.map(\.name) == [FleetScript.web1, FleetScript.web2])
        #expect(machines.map(\.value.isFit) == [true, false])
    }

    // MARK: - A store that is older

    @Test func anOlderStoreStaysRefusedWhenItsRevisionHasGrown() throws {
        let job = try Self.job()
        var script = FleetScript([job])
        script.form()
        let copy = script.store
        script.run(.seconds(60))
        script.handle(.command(7, .pause(job.name, PauseTerms(by: "ops"))))
        script.settle()
        #expect(script.member.status(at: script.now).loss == nil)
        script.store = copy
        script.handle(.watchLost)
        script.settle()
        #expect(script.member.finding == .older)
        #expect(
            script.member.status(at: script.now).loss
                == FleetStatus.Loss(memory: .own, paused: [job.name], isHeld: false))
        for _ in 0..<400 {
            script.write([.member(FleetScript.web2): Self.member(.second)])
        }
        // Also what the cursor tells is written by someone.
        var value = try #require(try script.jobValue())
        value.cursor = script.now.wall + .seconds(3600)
        script.write([.job(job.name): value.text])
        script.run(.seconds(30))
        #expect(script.member.finding == .older)
        var next = script.restarted([job], boot: 1, start: 2)
        next.run(.seconds(30))
        #expect(next.member.finding == .older && next.started.isEmpty)
        next.handle(.command(1, .adopt))
        next.settle()
        next.run(.seconds(20))
        #expect(next.member.finding == nil && next.done[1] == .some(nil))
    }

    // MARK: - Why a machine starts nothing

    @Test func aMachineSaysWhyItStartsNothing() throws {
        var script = FleetScript([try Self.job()])
        script.settle()
        script.handle(.command(0, .adopt))
        script.settle()
        #expect(script.member.status(at: script.now).obstacle == .joining)
        script.run(.seconds(10))
        #expect(script.member.status(at: script.now).obstacle == nil)
        script.handle(.command(1, .drain))
        script.settle()
        #expect(script.member.status(at: script.now).obstacle == .drained)
        script.handle(.command(2, .undrain))
        script.settle()
        // The clock is set.
        script.now.wall = script.now.wall + .seconds(3)
        script.handle(.tick)
        script.settle()
        #expect(script.member.status(at: script.now).obstacle == .joining)
    }

    @Test func aNameThatIsTakenIsSaid() throws {
        var script = FleetScript([try Self.job()])
        script.form()
        let key = FleetKey.member(FleetScript.web1)
        var value = try MemberValue(text: try #require(script.store.keys[key]).value)
        value.incarnation = Incarnation(boot: SimulatedMachine.bootID(7, 1), number: 1)
        script.write([key: value.text])
        script.settle()
        script.run(.seconds(20))
        #expect(script.member.status(at: script.now).obstacle == .nameTaken)
        #expect(script.member.status(at: script.now).machines.first?.value == value)
    }
}
