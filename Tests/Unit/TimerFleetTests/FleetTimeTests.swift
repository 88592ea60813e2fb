// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore
import TimerFleet

/// The fleet clock of one machine, the skew, the start deadline and the guard.
@Suite struct FleetTimeTests {
    private static let web1 = MachineName("web1")!
    private static let second: Int64 = 1_000_000_000

    private func at(_ seconds: Double) -> AwakeInstant {
        AwakeInstant(nanoseconds: Int64(seconds * Double(Self.second)))
    }

    private func hold(_ isHeld: Bool, _ seconds: Int, _ revision: Int64) -> Versioned<HoldValue> {
        Versioned(
            HoldValue(isHeld: isHeld, time: .seconds(seconds), by: "ops"), created: 1,
            modified: revision)
    }

    private func clock(_ seconds: Int, _ revision: Int64) -> Versioned<ClockValue> {
        Versioned(
            ClockValue(time: .seconds(seconds), by: Self.web1), created: 1, modified: revision)
    }

    @Test func theEstimateIsTheLargestOne() {
        var clock = FleetClock(hold: hold(false, 100, 5), at: at(10))
        #expect(clock.reading(at: at(10)) == .seconds(100))
        #expect(clock.reading(at: at(12)) == .seconds(102))
        // Received late, an old value changes nothing; a new one from before it neither.
        clock.receive(self.clock(101, 7), at: at(13))
        #expect(clock.reading(at: at(13)) == .seconds(103))
        clock.receive(self.clock(110, 8), at: at(14))
        #expect(clock.reading(at: at(15)) == .seconds(111))
        #expect(clock.modified == 8 && clock.seen == at(14))
        clock.receive(self.clock(105, 6), at: at(16))
        #expect(clock.reading(at: at(16)) == .seconds(112))
        #expect(clock.modified == 8 && clock.seen == at(14))
        #expect(clock.instant(reaching: .seconds(120)) == at(24))
        // The clock of the machine does not run backwards; if it did, this one would not.
        #expect(clock.reading(at: at(1)) == .seconds(110))
    }

    @Test func anOpeningTakesTheTimeThatOthersAreAhead() {
        // This machine lags: its value was old when it arrived.
        var lagging = FleetClock(hold: hold(false, 0, 5), at: at(140))
        lagging.receive(clock(100, 7), at: at(140))
        let opening = lagging.opening([], by: Self.web1, at: at(142))
        let value = ClockValue(time: .seconds(102), openings: 1, by: Self.web1)
        #expect(opening.compares == [.modified(.clock, 7), .modified(.hold, 5)])
        #expect(opening.branches[0].compares.isEmpty)
        #expect(opening.branches[0].changes == [.put(.clock, value.text, lease: nil)])
        // Another one was ahead of it.
        var ahead = FleetClock(hold: hold(false, 0, 5), at: at(0))
        ahead.receive(clock(100, 7), at: at(100))
        #expect(ahead.reading(at: at(143)) == .seconds(143))
        ahead.receive(Versioned(value, created: 1, modified: 8), at: at(143))
        #expect(ahead.reading(at: at(143)) == .seconds(102) && !ahead.isAhead)
        // The same opening, in a later write, takes nothing more.
        let later = ClockValue(time: .seconds(102), openings: 1, by: Self.web1)
        ahead.receive(Versioned(later, created: 1, modified: 9), at: at(145))
        #expect(ahead.reading(at: at(145)) == .seconds(104) && ahead.isAhead)
        let write = ClockValue(time: .seconds(104), openings: 1, by: Self.web1)
        #expect(
            ahead.write(by: Self.web1, at: at(145)).branches[0].changes == [
                .put(.clock, write.text, lease: nil)
            ])
    }

    @Test func anOpeningFromBeforeAHoldChangesTheNumberOnly() {
        var clock = FleetClock(hold: hold(false, 0, 5), at: at(0))
        clock.receive(hold(true, 50, 9), at: at(50))
        let old = ClockValue(time: .seconds(40), openings: 3, by: Self.web1)
        clock.receive(Versioned(old, created: 1, modified: 8), at: at(51))
        #expect(clock.reading(at: at(60)) == .seconds(50) && clock.openings == 3)
    }

    @Test func theClockStandsDuringAHold_andValuesFromBeforeItAreIgnored() {
        var clock = FleetClock(hold: hold(false, 0, 5), at: at(0))
        clock.receive(hold(true, 3, 9), at: at(4))
        #expect(clock.reading(at: at(60)) == .seconds(3))
        #expect(clock.instant(reaching: .seconds(4)) == nil)
        // It is still written: its changes show that the watch works.
        let standing = ClockValue(time: .seconds(3), by: Self.web1)
        #expect(
            clock.write(by: Self.web1, at: at(60)).branches[0].changes == [
                .put(.clock, standing.text, lease: nil)
            ])
        clock.receive(self.clock(50, 8), at: at(60))
        clock.receive(hold(false, 3, 12), at: at(70))
        clock.receive(self.clock(50, 8), at: at(70))
        clock.receive(hold(true, 1, 9), at: at(70))
        #expect(clock.reading(at: at(71)) == .seconds(4))
        clock.receive(self.clock(50, 13), at: at(72))
        #expect(clock.reading(at: at(72)) == .seconds(50))
    }

    @Test func aWriteComparesTheClockAndTheHold() {
        var clock = FleetClock(hold: hold(false, 0, 5), at: at(0))
        clock.receive(self.clock(1, 7), at: at(1))
        #expect(!clock.isAhead)
        let write = clock.write(by: Self.web1, at: at(2))
        let value = ClockValue(time: .seconds(2), by: Self.web1)
        #expect(
            write
                == FleetTransaction(
                    compares: [.modified(.clock, 7), .modified(.hold, 5)],
                    changes: [.put(.clock, value.text, lease: nil)], reads: [.clock, .hold]))
    }

    private func wall(_ milliseconds: Int64) -> WallInstant {
        WallInstant(microsecondsSinceEpoch: milliseconds * 1000)
    }

    /// Answers as (date in seconds, sent and received in milliseconds), and the bounds after them.
    @Test(
        arguments: [
            ([(10, 10_500, 10_500)], -499...500), ([(10, 10_400, 10_600)], -599...600),
            ([(10, 10_900, 10_900), (12, 12_100, 12_100)], -99...100),
            ([(10, 13_500, 13_600)], 2501...3600), ([(13, 10_000, 10_100)], -3999...(-2900)),
            // The clock was set in between: the last answer counts.
            ([(10, 10_500, 10_500), (20, 25_500, 25_500)], 4501...5500),
        ] as [([(Int64, Int64, Int64)], ClosedRange<Int64>)])
    func skew(answers: [(Int64, Int64, Int64)], bounds: ClosedRange<Int64>) throws {
        var skew = SkewBounds()
        for (date, sent, received) in answers {
            skew.receive(date: date, sent: wall(sent), received: wall(received))
        }
        let found = try #require(skew.milliseconds)
        #expect(abs(found.lowerBound - bounds.lowerBound) <= 1, "\(found)")
        #expect(abs(found.upperBound - bounds.upperBound) <= 1, "\(found)")
    }

    @Test func aClockIsRightOnlyIfThatIsCertain() {
        var skew = SkewBounds()
        #expect(!skew.isWithin(.seconds(1)) && skew.milliseconds == nil)
        skew.receive(date: 10, sent: wall(11_700), received: wall(11_800))
        #expect(skew.bounds == 700_001...1_800_000)
        #expect(skew.isWithin(.seconds(1)) && !skew.isWithin(.milliseconds(700)))
        // The clock was set: nothing is known until the next answer.
        skew.clockChanged()
        #expect(!skew.isWithin(.seconds(1)))
        skew.receive(date: 20, sent: wall(18_000), received: wall(18_100))
        #expect(!skew.isWithin(.seconds(1)))
        // An answer that took long says little, the next one more.
        skew.clockChanged()
        skew.receive(date: 20, sent: wall(14_000), received: wall(20_000))
        #expect(!skew.isWithin(.seconds(1)))
        skew.receive(date: 21, sent: wall(21_000), received: wall(21_100))
        #expect(skew.isWithin(.seconds(1)))
        skew.receive(date: .max, sent: wall(0), received: wall(0))
        skew.receive(date: .min, sent: wall(0), received: wall(0))
        // A clock that was set back during the request.
        skew.receive(date: 20, sent: wall(18_000), received: wall(17_000))
        #expect(skew.bounds == nil)
    }

    @Test func aClockThatIsCertainlyWrongIsBeyondTheLimit() {
        var skew = SkewBounds()
        // It is ahead by 1.5 s: the answers narrow that down.
        skew.receive(date: 10, sent: wall(11_500), received: wall(11_500))
        #expect(skew.isWithin(.seconds(1)) && !skew.isBeyond(.seconds(1)))
        skew.receive(date: 10, sent: wall(12_400), received: wall(12_400))
        #expect(skew.isBeyond(.seconds(1)) && !skew.isWithin(.seconds(1)))
        #expect(!skew.isBeyond(.milliseconds(1500)))
        var behind = SkewBounds()
        behind.receive(date: 20, sent: wall(17_000), received: wall(17_000))
        #expect(behind.isBeyond(.seconds(1)) && !behind.isBeyond(.seconds(3)))
    }

    /// How far this machine is ahead of each endpoint, in ms, and of that in the middle: the answers are exact
    /// to the second that a date has.
    @Test(
        arguments: [
            ([0], -1000...0), ([3000], 2000...3000), ([0, 3000, 3000], 2000...3000),
            ([0, 0, 3000], -1000...0), ([3000, 0, -3000], -1000...0), ([0, 3000], -1000...3000),
            ([0, 0, 3000, 3000], -1000...3000), ([0, 0, 0, 3000, 3_600_000], -1000...0), ([], nil),
        ] as [([Int64], ClosedRange<Int64>?)])
    func theClockInTheMiddleCounts(ahead: [Int64], bounds: ClosedRange<Int64>?) {
        var skews = EndpointSkews()
        for (number, ahead) in ahead.enumerated() {
            let now = wall(100_000 + ahead)
            skews.receive(from: "etcd\(number)", date: 100, sent: now, received: now)
        }
        #expect(skews.middle.milliseconds == bounds)
        skews.clockChanged()
        #expect(skews.middle.milliseconds == nil)
    }

    @Test func aStartIsBoundToTheKeepaliveAndTheClaim() {
        var deadline = StartDeadline(lease: .seconds(10))
        func boot(_ seconds: Int64) -> BootInstant {
            BootInstant(nanoseconds: seconds * Self.second)
        }
        #expect(deadline.instant(claimSent: boot(5)) == nil)
        deadline.answered(sent: boot(100))
        deadline.answered(sent: boot(97))
        #expect(deadline.instant(claimSent: boot(101)) == boot(109))
        #expect(deadline.instant(claimSent: boot(95)) == boot(104))
        #expect(StartDeadline(lease: .zero).lease == .seconds(3))
    }

    @Test func theGuardNoticesAStoreThatIsNotTheKnownOne() {
        let job = Job.Name("report")!
        func cursor(_ seconds: Int64) -> [Job.Name: WallInstant] {
            [job: WallInstant(secondsSinceEpoch: seconds)]
        }
        func identity(_ fleet: String, _ cluster: String, _ epoch: Int64) -> IdentityValue {
            IdentityValue(fleet: fleet, cluster: cluster, epoch: epoch, adopted: wall(0))
        }
        func seen(_ revision: Int64, _ seconds: Int64) -> SeenValues {
            let value = JobValue(
                definition: "d", cursor: WallInstant(secondsSinceEpoch: seconds))
            return SeenValues(
                revision: revision,
                jobs: [job: Versioned(value, created: 1, modified: revision)])
        }
        let one = identity("f", "c", 1)
        let two = identity("f", "d", 2)
        var known = IdentityGuard()
        func check(_ cluster: String, _ identity: IdentityValue?, _ revision: Int64, _ at: Int64)
            -> IdentityGuard.Finding?
        {
            known.check(
                cluster: cluster, identity: identity.map { Versioned($0, created: 1, modified: 1) },
                revision: revision, log: nil, cursors: cursor(at))
        }
        #expect(check("c", nil, 9, 1) == .notFormed)
        #expect(check("c", one, 9, 1) == nil)
        // A copy of it that was restored: also who knows nothing must not use it.
        #expect(check("d", one, 9, 1) == .foreign)
        known.see(cluster: "c", identity: one, seen(9, 10))
        known.see(cluster: "c", identity: one, seen(8, 5))
        #expect(check("c", one, 9, 10) == nil)
        #expect(check("c", nil, 9, 10) == .notFormed)
        #expect(check("c", identity("g", "c", 3), 9, 10) == .foreign)
        #expect(check("d", one, 9, 10) == .foreign)
        #expect(check("c", one, 8, 10) == .older)
        #expect(check("c", one, 10, 9) == .older)
        #expect(
            known.check(
                cluster: "c", identity: Versioned(one, created: 1, modified: 1), revision: 10,
                log: nil, cursors: [:]) == .older)
        #expect(check("d", two, 3, 1) == nil)
        known.see(cluster: "d", identity: two, seen(3, 1))
        #expect(check("c", one, 9, 10) == .older)
        #expect(check("d", two, 4, 1) == nil)
    }

    /// What the log and the revision of a store tell who remembers nothing: the lead that the identity
    /// demands, the revision at which that was written, and what was read.
    @Test(
        arguments: [
            // A log has an entry for each revision, and some more.
            (0, 5, FleetLog(entries: 12, revision: 9), nil),
            (0, 5, FleetLog(entries: 9, revision: 9), nil),
            // A log that began again with a snapshot.
            (0, 5, FleetLog(entries: 8, revision: 9), .restored),
            (0, 5, FleetLog(entries: 4, revision: 900), .restored),
            // It was adopted like that, and went on; then it was restored again.
            (-960, 905, FleetLog(entries: 12, revision: 908), nil),
            (-960, 905, FleetLog(entries: 12, revision: 1008), .restored),
            // A member that does not have the adoption yet says nothing.
            (0, 905, FleetLog(entries: 4, revision: 900), nil),
            (nil, 5, FleetLog(entries: 4, revision: 900), nil), (0, 5, nil, nil),
        ] as [(Int64?, Int64, FleetLog?, IdentityGuard.Finding?)])
    func aLogTellsThatAStoreWasRestored(
        lead: Int64?, modified: Int64, log: FleetLog?, finding: IdentityGuard.Finding?
    ) {
        let identity = IdentityValue(
            fleet: "f", cluster: "c", epoch: 1, adopted: wall(0), format: 3, logLead: lead)
        let found = IdentityGuard().check(
            cluster: "c", identity: Versioned(identity, created: 1, modified: modified),
            revision: log?.revision ?? 9, log: log, cursors: [:])
        #expect(found == finding)
    }

    /// Numbers that no log can have are not calculated with.
    @Test(
        arguments: [
            (0, 0, true), ((1 << 53) - 1, 0, true), (0, (1 << 53) - 1, true), (-1, 0, false),
            (0, -1, false), (1 << 53, 0, false), (0, 1 << 53, false), (.min, .max, false),
        ] as [(Int64, Int64, Bool)])
    func aLogHasNumbersThatCanBe(entries: Int64, revision: Int64, isOne: Bool) {
        #expect((FleetLog(entries: entries, revision: revision) != nil) == isOne)
    }
}
