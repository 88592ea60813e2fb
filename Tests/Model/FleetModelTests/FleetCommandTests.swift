// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import Testing
import TimerCore
@testable import TimerFleet

/// Commands whose goal is already so in what the machine knows, which may be old.
@Suite struct FleetCommandTests {
    private static let interval = FleetJob(
        FleetScript.job, definition: "d1", schedule: .every(.seconds(600)))
    private static let terms = PauseTerms(by: "ops")
    private static let key = FleetKey.job(FleetScript.job)

    /// A fleet whose commands were all executed.
    private static func formed(
        _ jobs: [FleetJob] = [interval], after commands: [FleetCommand] = []
    ) -> FleetScript {
        var script = FleetScript(jobs)
        script.form()
        for (id, command) in commands.enumerated() {
            script.handle(.command(100 + id, command))
            script.settle()
            #expect(script.done[100 + id] == .some(nil))
        }
        return script
    }

    /// Another machine writes this, which the watch does not bring yet, and this machine gets the
    /// command. It must execute it in the store as that is.
    private static func execute(
        _ command: FleetCommand, in script: inout FleetScript, after change: [FleetKey: String]
    ) {
        script.write(change)
        script.handle(.command(1, command))
        #expect(script.done[1] == nil, "it was not asked: \(command)")
        // Only answers, until the store is as requested.
        for _ in 0..<4 where !script.sent.isEmpty { script.applyFirst() }
        script.settle()
        #expect(script.done[1] == .some(nil), "\(command)")
    }

    /// What another machine makes of a job.
    private static func changed(
        _ script: FleetScript, _ change: (inout JobValue) -> Void
    ) throws -> [FleetKey: String] {
        var value = try #require(try script.jobValue())
        change(&value)
        return [key: value.text]
    }

    private static func held(_ script: FleetScript, _ isHeld: Bool) throws -> [FleetKey: String] {
        var value = try HoldValue(text: try #require(script.store.keys[.hold]).value)
        value.isHeld = isHeld
        if isHeld { value.since = script.now.wall } else { value.released = script.now.wall }
        return [.hold: value.text]
    }

    private static func isHeld(_ script: FleetScript) throws -> Bool {
        try HoldValue(text: try #require(script.store.keys[.hold]).value).isHeld
    }

    // MARK: - Old knowledge

    @Test func aPauseThatWasEndedUnseenIsMadeAgain() throws {
        var script = Self.formed(after: [.pause(FleetScript.job, Self.terms)])
        let change = try Self.changed(script) { $0.pause = nil }
        Self.execute(.pause(FleetScript.job, Self.terms), in: &script, after: change)
        #expect(try script.jobValue()?.pause != nil)
    }

    @Test func aPauseThatBeganUnseenIsEnded() throws {
        var script = Self.formed()
        let now = script.now.wall
        let change = try Self.changed(script) {
            $0.pause = Self.terms.pause(after: nil, at: now)
            $0.opened = nil
        }
        Self.execute(.resume(FleetScript.job), in: &script, after: change)
        #expect(try script.jobValue()?.pause == nil)
    }

    @Test func skipsThatWereRemovedUnseenAreMadeAgain() throws {
        var script = Self.formed(after: [.skipNext(FleetScript.job, 2)])
        let change = try Self.changed(script) { $0.skips = 0 }
        Self.execute(.skipNext(FleetScript.job, 2), in: &script, after: change)
        #expect(try script.jobValue()?.skips == 2)
    }

    @Test func aHoldThatWasEndedUnseenIsMadeAgain() throws {
        var script = Self.formed(after: [.hold(by: "ops")])
        let change = try Self.held(script, false)
        Self.execute(.hold(by: "ops"), in: &script, after: change)
        #expect(try Self.isHeld(script))
    }

    @Test func aHoldThatBeganUnseenIsReleased() throws {
        var script = Self.formed()
        let change = try Self.held(script, true)
        Self.execute(.release(by: "ops"), in: &script, after: change)
        #expect(try !Self.isHeld(script))
    }

    @Test func aDefinitionThatWasReplacedUnseenIsWrittenAgain() throws {
        var script = Self.formed()
        let change = try Self.changed(script) { $0.definition = "d2" }
        Self.execute(.define(FleetScript.job), in: &script, after: change)
        #expect(try script.jobValue()?.definition == "d1")
    }

    @Test func aJobThatCameBackUnseenIsForgottenAgain() throws {
        var script = Self.formed()
        script.handle(.configured([], isReload: true))
        script.settle()
        script.handle(.command(100, .forget(FleetScript.job)))
        script.settle()
        #expect(try script.jobValue()?.isForgotten == true)
        let change = try Self.changed(script) { $0.definition = "d2" }
        Self.execute(.forget(FleetScript.job), in: &script, after: change)
        #expect(try script.jobValue()?.isForgotten == true)
    }

    @Test func aStoreThatWasAdoptedUnseenIsReadBeforeAnAdoptionIsAnswered() throws {
        var script = Self.formed()
        var identity = try IdentityValue(
            text: try #require(script.store.keys[.identity]).value)
        identity.epoch += 1
        let loads = script.loads
        Self.execute(.adopt, in: &script, after: [.identity: identity.text])
        #expect(script.loads == loads + 1)
    }

    @Test func jobsOfAllMachinesAreChangedAlsoIfThatWasUndoneUnseen() throws {
        let (own, other) = (Job.Name("backup@web1")!, Job.Name("backup@web2")!)
        let template = Job.Name("backup")!
        for command in [
            FleetCommand.pause(template, Self.terms), .skipNext(template, 2), .resume(template),
        ] {
            var job = try FleetScript.calendarJob(own)
            job.template = template
            var script = Self.formed([job])
            var value = JobValue(definition: "d2", cursor: script.now.wall)
            value.template = template
            script.write([.job(other): value.text])
            script.settle()
            for run in script.started { script.end(run, .exited(0)) }
            script.handle(.command(100, command))
            script.settle()
            #expect(script.done[100] == .some(nil))
            let isResume = command == .resume(template)
            let undone = isResume ? template : other
            value = try #require(try script.jobValue(undone))
            value.pause = isResume ? Self.terms.pause(after: nil, at: script.now.wall) : nil
            value.skips = 0
            Self.execute(command, in: &script, after: [.job(undone): value.text])
            let end = try #require(try script.jobValue(undone))
            #expect(isResume == (end.pause == nil) || end.skips == 2, "\(command)")
        }
    }

    // MARK: - Asking

    @Test func whatIsSoIsAnsweredWhenTheStoreHasConfirmedIt_whichChangesNothing() throws {
        var script = Self.formed(after: [.pause(FleetScript.job, Self.terms)])
        let revision = script.store.revision
        script.handle(.command(1, .pause(FleetScript.job, Self.terms)))
        script.handle(.command(2, .release(by: "ops")))
        #expect(script.done[1] == nil && script.done[2] == nil)
        while !script.sent.isEmpty { script.applyFirst() }
        #expect(script.done[1] == .some(nil) && script.done[2] == .some(nil))
        #expect(script.store.revision == revision)
    }

    @Test func aChangeThatThisMachineMadeForACommandConfirmsIt() throws {
        var script = Self.formed()
        script.handle(.command(1, .skipNext(FleetScript.job, 2)))
        try #require(script.sent.count == 1)
        script.applyFirst()
        #expect(script.done[1] == .some(nil) && script.sent.isEmpty)
    }

    @Test func aTransactionFromBeforeTheCommandConfirmsNothing() throws {
        var script = Self.formed()
        script.handle(.command(1, .skipNext(FleetScript.job, 2)))
        script.handle(.command(2, .skipNext(FleetScript.job, 2)))
        script.applyFirst()
        #expect(script.done[1] == .some(nil) && script.done[2] == nil)
        try #require(!script.sent.isEmpty)
        script.applyFirst()
        #expect(script.done[2] == .some(nil))
    }

    @Test func whatTheStoreDoesNotAnswerIsAskedAgain() throws {
        var script = Self.formed()
        script.handle(.command(1, .release(by: "ops")))
        try #require(script.sent.count == 1)
        let (id, _) = script.sent.removeFirst()
        script.run(.seconds(1))
        #expect(script.done[1] == nil)
        script.handle(.unknown(id))
        script.settle()
        #expect(script.done[1] == .some(nil))
    }

    @Test func anAnswerFromBeforeTheStoreWasReadAgainConfirmsNothing() throws {
        var script = Self.formed()
        script.handle(.command(1, .release(by: "ops")))
        try #require(!script.sent.isEmpty)
        let (id, transaction) = script.sent.removeFirst()
        script.handle(.watchLost)
        script.settle()
        let applied = script.store.apply(transaction)
        script.handle(.answered(id, try #require(applied).0))
        #expect(script.done[1] == nil)
        script.settle()
        #expect(script.done[1] == .some(nil))
    }

    /// The same number as on one machine, and a limit that the manual names.
    @Test(arguments: [(5000, 5000), (2_000_000, 1_000_000), (-3, 0)] as [(Int64, Int64)])
    func asManyFiringsAreSkippedAsRequested(requested: Int64, accepted: Int64) throws {
        let script = Self.formed(after: [.skipNext(FleetScript.job, requested)])
        #expect(try script.jobValue()?.skips == accepted)
    }

    @Test(arguments: [Policy.Concurrency.forbid, .allow])
    func aRunByHandIsRefusedBesideAnother_unlessBothMayRun(concurrency: Policy.Concurrency) throws {
        var job = FleetJob(FleetScript.job, definition: "d1", schedule: .every(.seconds(600)))
        job.policy.concurrency = concurrency
        var script = Self.formed([job], after: [.run(FleetScript.job, on: FleetScript.web1)])
        let first = try #require(script.started.first)
        script.handle(.began(first, at: script.now.wall))
        script.settle()
        script.handle(.command(1, .run(FleetScript.job, on: FleetScript.web1)))
        script.settle()
        guard concurrency == .forbid else {
            #expect(script.done[1] == .some(nil) && script.started.count == 2)
            return
        }
        let why = try #require(script.done[1] ?? nil)
        #expect(why == "its run \(first) on web1 is not over, and concurrency is forbid")
        #expect(script.started == [first])
        script.end(first, .exited(0))
        script.handle(.command(2, .run(FleetScript.job, on: FleetScript.web1)))
        script.settle()
        #expect(script.done[2] == .some(nil) && script.started.count == 2)
    }

    @Test func manyCommandsAreConfirmedByFewTransactions() throws {
        let names = (0..<300).map { Job.Name("job\($0)")! }
        var script = Self.formed(try names.map { try FleetScript.calendarJob($0) })
        for run in script.started { script.end(run, .exited(0)) }
        script.sent = []
        for (id, name) in names.enumerated() { script.handle(.command(1 + id, .resume(name))) }
        var asked = 0
        while !script.sent.isEmpty {
            asked += 1
            #expect(script.sent[0].transaction.operations <= FleetTransaction.operationsMax)
            script.applyFirst()
        }
        #expect(asked <= 5)
        #expect((1...300).allSatisfy { script.done[$0] == .some(nil) })
    }

    @Test func aDefinitionThatThisMachineDoesNotHaveIsRefused() {
        var script = Self.formed()
        script.handle(.command(1, .define(Job.Name("other")!)))
        #expect(script.done[1] == "this machine has no job other")
    }
}
