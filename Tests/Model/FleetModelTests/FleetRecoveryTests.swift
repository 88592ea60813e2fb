// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import Testing
import TimerCore

@testable import TimerFleet

/// What comes back after the store was lost and adopted.
@Suite struct FleetRecoveryTests {
    private static let job = FleetScript.job
    private static let other = Job.Name("other")!

    private static func interval(_ name: Job.Name = other) -> FleetJob {
        FleetJob(name, definition: "d1", schedule: .every(.seconds(3600)))
    }

    private static func jobs() throws -> [FleetJob] {
        [try FleetScript.calendarJob(), interval()]
    }

    /// A fleet that was formed and has run for a while.
    private static func formed() throws -> FleetScript {
        var script = FleetScript(try jobs())
        script.form()
        script.run(.seconds(20))
        for run in script.started { script.end(run, .exited(0)) }
        return script
    }

    private static func identity(_ script: FleetScript) throws -> IdentityValue {
        try IdentityValue(text: try #require(script.store.keys[.identity]).value)
    }

    private static func hold(_ script: FleetScript) throws -> HoldValue {
        try HoldValue(text: try #require(script.store.keys[.hold]).value)
    }

    private static func isRecovering(_ script: FleetScript) throws -> Bool {
        try identity(script).recovery != nil
    }

    /// The store is lost, and a copy of it, or an empty one, takes its place.
    private static func lose(
        _ script: inout FleetScript, copy: SimulatedStore? = nil, cluster: String = "c2"
    ) {
        script.store.restore(copy, cluster: cluster)
        script.handle(.watchLost)
        script.settle()
        script.run(.seconds(4))
    }

    private static func command(_ command: FleetCommand, _ id: Int, in script: inout FleetScript) {
        script.handle(.command(id, command))
        script.settle()
    }

    @Test func pausesSkipsTimeAndTheHoldComeBackIntoAnEmptyStore() throws {
        var script = try Self.formed()
        let until = script.now.wall + .seconds(7200)
        Self.command(
            .pause(Self.job, PauseTerms(by: "ops", note: "disk full", until: until)), 1,
            in: &script)
        Self.command(.skipNext(Self.other, 3), 2, in: &script)
        Self.command(.hold(by: "ann"), 3, in: &script)
        #expect(script.done.count == 4)
        let before = try #require(try script.jobValue())
        Self.lose(&script)
        #expect(script.member.finding == .foreign || script.member.finding == .notFormed)
        let loss = try #require(script.member.status(at: script.now).loss)
        #expect(loss.memory == .own && loss.paused == [Self.job] && loss.isHeld)
        Self.command(.adopt, 4, in: &script)
        #expect(script.done[4] == .some(nil))
        #expect(script.member.status(at: script.now).obstacle == .recovering)
        #expect(try Self.isRecovering(script))
        script.run(.seconds(20))
        #expect(try !Self.isRecovering(script))
        #expect(script.notices.last == .recovered(isHeld: false))
        let job = try #require(try script.jobValue())
        #expect(job.pause == before.pause && job.firings == before.firings)
        let other = try #require(try script.jobValue(Self.other))
        #expect(other.skips == 3 && other.pause == nil)
        // It was held when 20 s had passed since it was created.
        #expect(other.active > .seconds(19) && other.active < .seconds(30))
        let hold = try Self.hold(script)
        #expect(hold.isHeld && hold.by == "ann")
        #expect(try Self.identity(script).epoch == 2)
        // And it goes on.
        Self.command(.release(by: "ann"), 5, in: &script)
        script.run(.seconds(8))
        Self.command(.resume(Self.job), 6, in: &script)
        let started = script.started.count
        script.run(.seconds(30))
        #expect(script.started.count > started)
        #expect(try #require(try script.jobValue(Self.other)).recovered == nil)
    }

    @Test func theTimeGoesOnFromWhereItWas() throws {
        var script = try Self.formed()
        let active = try #require(
            script.member.jobView(of: Self.other, at: script.now)?.active)
        Self.lose(&script)
        Self.command(.adopt, 1, in: &script)
        script.run(.seconds(30))
        let now = try #require(script.member.jobView(of: Self.other, at: script.now)?.active)
        // What is left of the 30 s after the recovery, and at most what passed before its last contact.
        #expect(now > active + .seconds(5) && now < active + .seconds(18), "\(active) \(now)")
        #expect(try #require(try script.jobValue(Self.other)).opened != nil)
    }

    /// Others may have held the fleet since then.
    @Test func noTimeCountsWithoutAConnection() throws {
        var script = try Self.formed()
        // What is on the disk is from the last firing.
        script.run(.seconds(7))
        let active = try #require(
            script.member.jobView(of: Self.other, at: script.now)?.active)
        script.pass(.seconds(100))
        Self.lose(&script)
        Self.command(.adopt, 1, in: &script)
        let value = try #require(try script.jobValue(Self.other))
        #expect(value.opened == nil && value.active >= active - .seconds(3))
        #expect(value.active <= active + .milliseconds(10))
    }

    /// Meanwhile others may have written, or may not have been able to.
    @Test func aConnectionThatWasLostDelaysTheEnd() throws {
        var script = try Self.formed()
        Self.lose(&script)
        Self.command(.adopt, 1, in: &script)
        script.run(.seconds(9))
        script.handle(.watchLost)
        script.settle()
        script.run(.seconds(8))
        #expect(try Self.isRecovering(script))
        script.run(.seconds(10))
        #expect(try !Self.isRecovering(script))
    }

    /// No run may start beside it.
    @Test func anActiveRunComesWithItsJob() throws {
        var script = try Self.formed()
        script.run(.seconds(10))
        let run = try #require(script.started.last)
        script.handle(.began(run, at: script.now.wall))
        script.settle()
        Self.lose(&script)
        Self.command(.adopt, 1, in: &script)
        script.run(.seconds(2))
        #expect(try Self.isRecovering(script))
        #expect(try script.jobValue()?.live.map(\.run) == [run])
        let started = script.started
        script.run(.seconds(60))
        #expect(script.started == started)
        script.handle(.ended(run, .exited(0), at: script.now.wall))
        script.run(.seconds(20))
        #expect(script.started.count > started.count)
    }

    /// A machine with an older version adopted a store in which nothing was left.
    @Test func anAdoptionByAnOlderVersionIsRefused() throws {
        var script = try Self.formed()
        Self.command(.pause(Self.job, PauseTerms(by: "ops")), 1, in: &script)
        var identity = try Self.identity(script)
        (identity.epoch, identity.format, identity.cluster) = (2, 2, "c2")
        identity.logLead = nil
        script.store.restore(nil, cluster: "c2")
        script.write([
            .identity: identity.text,
            .hold: HoldValue(isHeld: false, time: .zero, by: "web9").text,
        ])
        script.handle(.watchLost)
        script.settle()
        script.run(.seconds(4))
        #expect(script.member.finding == .older)
        Self.command(.adopt, 2, in: &script)
        script.run(.seconds(30))
        #expect(try Self.identity(script).epoch == 3)
        #expect(try script.jobValue()?.pause != nil)
    }

    @Test func theLeadOfTheLogIsWrittenLater() throws {
        var script = try Self.formed()
        var identity = try Self.identity(script)
        #expect(identity.logLead == 0)
        identity.logLead = nil
        script.write([.identity: identity.text])
        script.settle()
        script.run(.seconds(5))
        #expect(try Self.identity(script).logLead == 0)
    }

    /// The adoption, the revision of a value and that of the adoption, from where the value was brought
    /// back; and its point.
    @Test(
        arguments: [
            (1, 5, 20, nil, (1, 5)), (1, 21, 20, (1, 900), (1, 900)),
            // Brought back before a second adoption, or in an earlier recovery, which is over.
            (1, 5, 20, (1, 900), (1, 900)), (2, 5, 20, (1, 900), (2, 5)),
            (0, 5, 20, nil, (0, 5)),
        ] as [(Int64, Int64, Int64, (Int64, Int64)?, (Int64, Int64))])
    func points(
        recovery: Int64, modified: Int64, adopted: Int64, recovered: (Int64, Int64)?,
        point: (Int64, Int64)
    ) throws {
        let identity = IdentityValue(
            fleet: "f", cluster: "c", epoch: 3, adopted: WallInstant(secondsSinceEpoch: 0),
            format: 3, recovery: recovery)
        let hold = HoldValue(isHeld: false, time: .zero, by: "ops")
        let view = try #require(
            try FleetView(
                FleetSnapshot(
                    cluster: "c", revision: 50,
                    values: [
                        .identity: Versioned(identity.text, created: 1, modified: adopted),
                        .hold: Versioned(hold.text, created: 1, modified: 1),
                    ])))
        let found = view.point(
            modified: modified,
            recovered: recovered.flatMap { FleetPoint(epoch: $0.0, revision: $0.1) })
        #expect(found == FleetPoint(epoch: point.0, revision: point.1))
    }

    @Test func whatChangedAfterTheSnapshotComesBack() throws {
        var script = try Self.formed()
        Self.command(.pause(Self.other, PauseTerms(by: "ops")), 1, in: &script)
        let copy = script.store
        Self.command(.resume(Self.other), 2, in: &script)
        Self.command(.pause(Self.job, PauseTerms(by: "ops")), 3, in: &script)
        let fired = try #require(try script.jobValue()).firings
        script.run(.seconds(30))
        Self.lose(&script, copy: copy)
        Self.command(.adopt, 4, in: &script)
        // Accounts that stay open in the copy count on by its clock.
        let clock = try ClockValue(text: try #require(copy.keys[.clock]).value)
        #expect(try #require(script.member.time(at: script.now.awake)) >= clock.time)
        script.run(.seconds(30))
        #expect(try script.jobValue()?.pause != nil)
        #expect(try script.jobValue()?.firings == fired)
        #expect(try script.jobValue(Self.other)?.pause == nil)
    }

    @Test func aDaemonThatWasStartedSinceRemembersTheSame() throws {
        var script = try Self.formed()
        script.run(.seconds(60))
        Self.command(.pause(Self.job, PauseTerms(by: "ops")), 1, in: &script)
        Self.command(.hold(by: "ann"), 2, in: &script)
        var next = script.restarted(try Self.jobs(), boot: 2, start: 1)
        Self.lose(&next)
        Self.command(.adopt, 3, in: &next)
        next.run(.seconds(30))
        #expect(try next.jobValue()?.pause != nil)
        #expect(try Self.hold(next).isHeld)
        let other = try #require(try next.jobValue(Self.other))
        // The clock was written a moment before.
        #expect(other.active > .seconds(70), "\(other.active)")
    }

    @Test func withoutMemoryTheFleetIsHeld() throws {
        var former = try Self.formed()
        Self.command(.pause(Self.job, PauseTerms(by: "ops")), 1, in: &former)
        Self.command(.resume(Self.job), 2, in: &former)
        var store = former.store
        store.restore(former.store, cluster: "c2")
        var script = FleetScript(try Self.jobs(), store: store, at: former.now.wall, boot: 3)
        script.settle()
        #expect(script.member.finding == .foreign)
        #expect(script.member.status(at: script.now).loss?.memory == .others)
        Self.command(.adopt, 3, in: &script)
        script.run(.seconds(60))
        let hold = try Self.hold(script)
        #expect(hold.isHeld && hold.by == "timerd" && script.started.isEmpty)
        #expect(script.notices.last == .recovered(isHeld: true))
        Self.command(.release(by: "ops"), 4, in: &script)
        script.run(.seconds(30))
        #expect(!script.started.isEmpty)
    }

    /// Another machine was connected longer, or shorter.
    @Test(arguments: [true, false])
    func theLatestMemoryWins(isOthersLater: Bool) throws {
        var script = try Self.formed()
        let revision = try #require(script.store.keys[.job(Self.job)]).modified
        Self.lose(&script)
        Self.command(.adopt, 1, in: &script)
        script.run(.seconds(2))
        var value = try #require(try script.jobValue())
        value.pause = JobValue.Pause(since: script.now.wall, by: "other")
        value.recovered = FleetPoint(
            epoch: 1, revision: isOthersLater ? revision + 1 : revision - 1)
        script.write([.job(Self.job): value.text])
        script.settle()
        script.run(.seconds(30))
        #expect(try !Self.isRecovering(script))
        #expect((try script.jobValue()?.pause?.by == "other") == isOthersLater)
    }

    /// The other machine remembers the same, but its daemon was started since then.
    @Test(arguments: [true, false])
    func theLongestTimeWins(isOthersLonger: Bool) throws {
        var script = try Self.formed()
        let revision = try #require(script.store.keys[.job(Self.other)]).modified
        Self.lose(&script)
        Self.command(.adopt, 1, in: &script)
        script.run(.seconds(2))
        var value = try #require(try script.jobValue(Self.other))
        #expect(value.recovered == FleetPoint(epoch: 1, revision: revision))
        let own = value.active
        value.active = isOthersLonger ? own + .seconds(1) : own - .seconds(1)
        script.write([.job(Self.other): value.text])
        script.settle()
        #expect(try script.jobValue(Self.other)?.active == max(own, value.active))
    }

    @Test func commandsWaitUntilItIsOver() throws {
        var script = try Self.formed()
        Self.command(.pause(Self.job, PauseTerms(by: "ops")), 1, in: &script)
        let copy = script.store
        Self.command(.resume(Self.job), 2, in: &script)
        Self.lose(&script, copy: copy)
        Self.command(.adopt, 3, in: &script)
        // In the copy it is paused, as requested. It would not stay so.
        Self.command(.pause(Self.job, PauseTerms(by: "ops")), 4, in: &script)
        script.run(.seconds(3))
        #expect(script.done[4] == nil)
        script.run(.seconds(60))
        #expect(script.done[4] == .some(nil))
        #expect(try script.jobValue()?.pause != nil)
    }

    /// This machine remembers the pause that a user requests, and another one that it was ended.
    @Test func aCommandIsNotAnsweredByWhatWasBroughtBackUpToNow() throws {
        var script = try Self.formed()
        Self.command(.pause(Self.job, PauseTerms(by: "ops")), 1, in: &script)
        let revision = try #require(script.store.keys[.job(Self.job)]).modified
        Self.lose(&script)
        Self.command(.adopt, 2, in: &script)
        #expect(try script.jobValue()?.pause != nil)
        Self.command(.pause(Self.job, PauseTerms(by: "ops")), 3, in: &script)
        script.run(.seconds(2))
        #expect(script.done[3] == nil)
        var value = try #require(try script.jobValue())
        value.pause = nil
        value.recovered = FleetPoint(epoch: 1, revision: revision + 1)
        script.write([.job(Self.job): value.text])
        script.settle()
        script.run(.seconds(60))
        #expect(script.done[3] == .some(nil))
        #expect(try script.jobValue()?.pause != nil)
    }

    @Test func aDaemonThatStartsDuringTheRecoveryBringsItBack() throws {
        var script = try Self.formed()
        Self.command(.pause(Self.job, PauseTerms(by: "ops")), 1, in: &script)
        Self.lose(&script)
        Self.command(.adopt, 2, in: &script)
        // As if it had been killed before it wrote anything.
        _ = script.store.apply(
            FleetTransaction(
                compares: [], changes: [.delete(.job(Self.job)), .delete(.job(Self.other))],
                reads: []))
        var next = script.restarted(try Self.jobs(), boot: 1, start: 2)
        next.settle()
        next.run(.seconds(30))
        #expect(try !Self.isRecovering(next))
        #expect(try next.jobValue()?.pause != nil)
    }

    @Test func whatWasDueBeforeIsSkippedAndNothingRunsMeanwhile() throws {
        var job = Self.interval()
        job.schedule = .every(.seconds(15))
        job.policy.concurrency = .allow
        var script = FleetScript([job])
        script.form()
        script.run(.seconds(40))
        let started = script.started
        // Its firings wait.
        Self.command(.drain, 1, in: &script)
        script.run(.seconds(40))
        Self.lose(&script)
        Self.command(.adopt, 2, in: &script)
        script.run(.seconds(10))
        Self.command(.undrain, 3, in: &script)
        #expect(script.started == started)
        script.run(.seconds(16))
        let skipped = try script.runs(Self.other).filter { $0.value.reason == .adopted }
        #expect(skipped.count == 1 && skipped.first?.value.missed ?? 0 >= 1)
        script.run(.seconds(60))
        #expect(script.started.count >= started.count + 2)
    }

    @Test func aRestoredStoreIsNoticedWithoutMemory() throws {
        var former = try Self.formed()
        let copy = former.store
        former.run(.seconds(60))
        var store = copy
        store.restore(copy, cluster: copy.cluster)
        var script = FleetScript(try Self.jobs(), store: store, at: former.now.wall, boot: 3)
        script.settle()
        script.run(.seconds(60))
        #expect(script.member.finding == .restored && script.started.isEmpty)
        let revision = script.store.revision
        #expect(revision <= copy.revision + 5)
        Self.command(.adopt, 1, in: &script)
        script.run(.seconds(30))
        #expect(script.member.finding == nil)
        // The adoption says what its log is like from then on.
        var next = script.restarted(try Self.jobs(), boot: 4, start: 1)
        next.run(.seconds(20))
        #expect(next.member.finding == nil)
        // It is restored once more, from a later snapshot.
        var later = next.store
        for number in 0..<100 {
            next.write([.member(MachineName("m\(number)")!): FleetScript.absent])
        }
        later = next.store
        later.restore(later, cluster: later.cluster)
        var last = FleetScript(try Self.jobs(), store: later, at: next.now.wall, boot: 5)
        last.settle()
        #expect(last.member.finding == .restored)
    }

    @Test func beforeTheThirdFormatNothingComesBack() throws {
        var script = FleetScript(try Self.jobs())
        let old = MemberValue(
            incarnation: Incarnation(boot: SimulatedMachine.bootID(2, 1), number: 1),
            definitions: [:], isFit: false, version: "1", format: .second)
        script.write([.member(FleetScript.web2): old.text])
        script.form()
        Self.command(.pause(Self.job, PauseTerms(by: "ops")), 1, in: &script)
        #expect(try Self.identity(script).format == 2)
        Self.lose(&script)
        #expect(script.member.status(at: script.now).loss?.memory == .noMachine)
        script.write([.member(FleetScript.web2): old.text])
        Self.command(.adopt, 2, in: &script)
        #expect(try !Self.isRecovering(script))
        script.run(.seconds(10))
        #expect(try script.jobValue()?.pause == nil)
    }
}

extension FleetScript {
    /// What a machine without jobs writes about itself.
    fileprivate static let absent = MemberValue(
        incarnation: Incarnation(boot: SimulatedMachine.bootID(9, 1), number: 1),
        definitions: [:], isFit: false, version: "1", format: .newest
    ).text
}
