// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerControl

/// What is shown of slots.
@Suite struct SlotTests {
    private let now = Now(
        wall: WallInstant(secondsSinceEpoch: 1_800_000_000), awake: AwakeInstant(nanoseconds: 1),
        boot: BootInstant(nanoseconds: 1), bootID: BootID(String(repeating: "0", count: 32))!)

    /// `a` holds the disk, and `b` and then `c` wait for it.
    ///
    /// - Parameter idle: a job that does not.
    private func agenda(and idle: String? = nil) throws -> Agenda {
        let disk = try #require(RunSlot.Name("disk"))
        let jobs = (["a", "b", "c"] + [idle].compactMap(\.self)).compactMap { Job.Name($0) }.map {
            name in
            var policy = Policy()
            policy.slots = [RunSlot.Use(disk)]
            return Job(
                name: name, command: .arguments(["true"]),
                schedule: .every(.seconds(3600)), policy: policy)
        }
        var (agenda, _) = Agenda.load(
            JobSet(jobs, slots: [RunSlot(name: disk, max: 1)]), RecoveredState(instance: 1),
            concurrentRunsMax: 64, at: now)
        for job in jobs where job.name.description != idle {
            _ = agenda.handle(.command(JobCommand(.run, job.name, by: .user("ada"))), at: now)
        }
        let run = try #require(agenda.snapshot(of: jobs[0].name, at: now)?.live.first?.id)
        _ = agenda.handle(.began(run, at: now.wall), at: now)
        return agenda
    }

    private func slot(_ agenda: Agenda) throws -> SlotStatus {
        let name = try #require(agenda.slotNames.first)
        return SlotStatus(try #require(agenda.slot(name)))
    }

    @Test func aSlotNamesItsHoldersAndThoseWhoWaitInTheirOrder() throws {
        let slot = try slot(try agenda())
        #expect(slot.slot == "disk" && slot.max == 1 && slot.taken == 1)
        #expect(slot.holders.map(\.job) == ["a"] && slot.holders[0].began == now.wall.rfc3339Micros)
        #expect(slot.waiting.map { $0.prefix(2) } == ["b:", "c:"])
    }

    @Test func aRunThatWaitsSaysForWhat() throws {
        let agenda = try agenda()
        let job = try #require(Job.Name("c"))
        let status = JobStatus(try #require(agenda.snapshot(of: job, at: now)))
        #expect(status.running.map(\.waits) == ["slot"] && status.running.map(\.slot) == ["disk"])
        #expect(RunWords.wait(status.running[0]) { $0 } == "waits for the slot disk")
        #expect(status.policy?.slotUses?.map(\.slot) == ["disk"])
        var reply = WhyReply(
            job: "c", now: now.wall.rfc3339, status: status, rejection: nil, activeRuns: 1,
            maxConcurrent: 64, slots: [try slot(agenda)])
        #expect(
            Explanation(reply) { _ in "02:10" }.sentences.contains {
                $0.hasSuffix(
                    "waits for the slot disk (1), which is held by a since 02:10. 1 run waits before it."
                )
            })
        let idle = try #require(Job.Name("d"))
        reply.status = JobStatus(
            try #require(try self.agenda(and: "d").snapshot(of: idle, at: now)))
        #expect(
            Explanation(reply) { _ in "02:10" }.sentences.contains(
                "The slot disk (1) is taken by a since 02:10: a run that becomes due now waits for it."
            ))
        reply.status = status
        reply.slots = nil
        #expect(
            Explanation(reply) { $0 }.sentences.contains {
                $0.hasSuffix("waits for the slot disk.")
            })
    }
}
