// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore
import TimerFleet

/// What a claim compares and writes, and how its answers are understood.
@Suite struct ClaimTests {
    private static let web1 = MachineName("web1")!
    private static let inc = Incarnation(boot: .unknown, number: 1)

    private static func claim(_ name: String, nonce: String = "n") -> Claim {
        let slot = WallInstant(secondsSinceEpoch: 100)
        let run = Run.ID(firing: Firing.ID(job: Job.Name(name)!, scheduled: slot))
        return Claim(
            run: run,
            value: RunValue(
                machine: web1, incarnation: inc, nonce: nonce,
                after: WallInstant(secondsSinceEpoch: 90), claimed: slot),
            job: JobValue(definition: "d", cursor: slot, firings: 1), known: 41,
            removed: [Run.ID(firing: run.firing, attempt: 9)])
    }

    @Test func aClaimComparesTheStoreTheLeaseTheHoldAndTheJob() {
        let claim = Self.claim("report")
        let transaction = FleetTransaction.claiming(
            [claim], by: Self.web1, lease: LeaseID(5), hold: 40
        ).bound(to: "{}")
        #expect(
            transaction.compares == [
                .lease(.member(Self.web1), LeaseID(5)), .modified(.hold, 40),
                .text(.identity, "{}"),
            ])
        #expect(transaction.reads == [.member(Self.web1), .hold, .identity])
        let job = claim.run.firing.job
        #expect(
            transaction.branches == [
                FleetTransaction.Branch(
                    compares: [.modified(.job(job), 41), .modified(.run(claim.run), 0)],
                    changes: [
                        .put(.job(job), claim.job.text, lease: nil),
                        .put(.run(claim.run), claim.value.text, lease: nil),
                        .delete(.run(Run.ID(firing: claim.run.firing, attempt: 9))),
                    ],
                    reads: [.job(job), .run(claim.run)])
            ])
    }

    @Test func theResultSaysWhatBecameOfEachClaim() throws {
        let claims = ["a", "b", "c"].map { Self.claim($0) }
        let jobB = Versioned(
            JobValue(definition: "other", cursor: WallInstant(secondsSinceEpoch: 1)), created: 2,
            modified: 50)
        // b: the job was changed; c: the same claim was applied by an earlier transaction.
        let own = Versioned(claims[2].value.text, created: 49, modified: 49)
        let answer = FleetAnswer(
            cluster: "c", revision: 60,
            branches: [
                .applied,
                .refused([
                    .job(claims[1].run.firing.job): Versioned(
                        jobB.value.text, created: 2, modified: 50),
                    .run(claims[1].run): Versioned<String>?.none,
                ]),
                .refused([.job(claims[2].run.firing.job): nil, .run(claims[2].run): own]),
            ])
        #expect(try answer.result(of: claims[0], at: 0) == .won(60))
        #expect(try answer.result(of: claims[1], at: 1) == .refused(job: jobB, run: nil))
        #expect(try answer.result(of: claims[2], at: 2) == .won(49))
        // The claim of another machine, or of an earlier start of this one, has another nonce.
        var other = claims[2]
        other.value.nonce = "m"
        let foreign = Versioned(claims[2].value, created: 49, modified: 49)
        #expect(try answer.result(of: other, at: 2) == .refused(job: nil, run: foreign))
        let none = FleetAnswer(cluster: "c", revision: 60, branches: [], reads: [.hold: nil])
        #expect(try none.result(of: claims[0], at: 0) == .notAllowed)
    }

    @Test func anAnswerThatCannotBeReadIsAnError() {
        let claim = Self.claim("a")
        let bad = Versioned("{}", created: 1, modified: 1)
        let answer = FleetAnswer(
            cluster: "c", revision: 2, branches: [.refused([.run(claim.run): bad])])
        #expect(throws: FleetFault.self) { try answer.result(of: claim, at: 0) }
    }
}
