// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TimerCore

@testable import timerd

/// Ends of runs that may wait to be reported together.
@Suite struct LoopEndsTests {
    private func job(
        _ name: String, every span: Duration = .seconds(3600),
        _ concurrency: Policy.Concurrency = .forbid
    ) -> Job {
        var job = Job(name: Job.Name(name)!, command: .shell("true"), schedule: .every(span))
        job.policy.concurrency = concurrency
        return job
    }

    /// Each run ends at once, but its end is reported only when the loop asks for that.
    @discardableResult
    private func holdEndsBack(_ fixture: LoopFixture) -> Ended {
        let (loop, ended) = (fixture.loop, Ended())
        fixture.launcher.onStart { run in ended.runs.withLock { $0.append(run.id) } }
        fixture.launcher.gather { [clocks = fixture.clocks] in
            ended.asked.withLock { $0.append(clocks.wall) }
            let runs = ended.runs.withLock { runs in
                defer { runs = [] }
                return runs
            }
            for run in runs { loop.later { $0.receive(.ended(run, .exited(0), RunUsage())) } }
        }
        return ended
    }

    private final class Ended: Sendable {
        let runs = Mutex<[Run.ID]>([])
        /// When the loop asked for the ends.
        let asked = Mutex<[WallInstant]>([])
    }

    /// Otherwise each firing but the first would be skipped.
    @Test func aRunWhoseEndWaitsPreventsNoFiring() async throws {
        let fixture = try LoopFixture([job("a", every: .milliseconds(20))])
        let ended = holdEndsBack(fixture)
        await fixture.waitUntilReady()
        try await fixture.wait { fixture.launcher.started.count > 5 }
        // Nor does it make one late: the loop asks before the run is due.
        try await fixture.wait {
            fixture.launcher.started.dropFirst().contains { $0.notBefore > $0.at.awake }
        }
        // On a busy machine a run may be recorded, and so started, only after the next firing was
        // due. That one is skipped, but not before the loop has asked.
        guard let skip = await fixture.snapshot().jobs[0].lastSkip, skip.reason == .stillRunning
        else { return }
        let asked = ended.asked.withLock { $0 }
        let lead = Loop.lead + .milliseconds(1)
        #expect(asked.contains { $0 <= skip.at && skip.scheduled <= $0 + lead })
    }

    @Test func aRunWhoseEndWaitsPreventsNoCommand() async throws {
        let fixture = try LoopFixture([job("a")])
        holdEndsBack(fixture)
        await fixture.waitUntilReady()
        for count in 1...3 {
            let answer = await withCheckedContinuation { continuation in
                fixture.loop.later { loop in
                    loop.handle(Order(.run, Job.Name("a")!, by: .user("ann"))) { answer, _ in
                        continuation.resume(returning: answer)
                    }
                }
            }
            try #require(answer.run != nil, "\(answer)")
            try await fixture.wait { fixture.launcher.started.count == count }
        }
    }

    @Test func itPreventsNoCommandForManyJobs() async throws {
        let fixture = try LoopFixture([job("a"), job("b")])
        holdEndsBack(fixture)
        await fixture.waitUntilReady()
        for count in 1...3 {
            let answers = await withCheckedContinuation { continuation in
                fixture.loop.later { loop in
                    loop.handle(nil) {
                        Order(.run, $0, by: .user("ann"))
                    } unknown: { _, _ in
                    } done: { results in
                        continuation.resume(returning: results.map(\.answer))
                    }
                }
            }
            #expect(answers.count == 2 && answers.allSatisfy { $0.run != nil }, "\(answers)")
            try await fixture.wait { fixture.launcher.started.count == 2 * count }
        }
    }

    private func permissions(
        of fixture: LoopFixture, _ change: @escaping @Sendable (isolated Loop) -> Void
    ) async -> [Bool] {
        let before = fixture.launcher.permissions
        await withCheckedContinuation { continuation in
            fixture.loop.later { loop in
                change(loop)
                continuation.resume()
            }
        }
        return Array(fixture.launcher.permissions.dropFirst(before.count))
    }

    private static func start(_ job: String, in loop: isolated Loop) {
        loop.handle(Order(.run, Job.Name(job)!, by: .user("ann"))) { _, _ in }
    }

    /// What waits for an end, or for a place, gets it at once.
    @Test func endsMayWaitOnlyWhileNothingDependsOnThem() async throws {
        let others = (0..<Loop.busyRuns).map { job("other-\($0)") }
        let fixture = try LoopFixture([job("queued", .queue)] + others)
        await fixture.waitUntilReady()
        // With this event at the latest.
        _ = await permissions(of: fixture) { Self.start("queued", in: $0) }
        #expect(fixture.launcher.permissions == [true])
        #expect(await permissions(of: fixture) { Self.start("queued", in: $0) } == [false])
        try await fixture.wait { fixture.launcher.started.count == 1 }
        let first = fixture.launcher.started[0].run.id
        #expect(
            await permissions(of: fixture) {
                $0.receive(.ended(first, .exited(0), RunUsage()))
            } == [true])
        #expect(
            await permissions(of: fixture) { loop in
                for other in others { Self.start(other.name.description, in: loop) }
            } == [false])
        try await fixture.wait { fixture.launcher.started.count == 2 + others.count }
        let runs = fixture.launcher.started.map(\.run.id)
        #expect(
            await permissions(of: fixture) { loop in
                for run in runs { loop.receive(.ended(run, .exited(0), RunUsage())) }
            } == [true])
        #expect(
            await permissions(of: fixture) { $0.shutDown(closed: { _ in }, drained: {}) } == [false]
        )
    }

    /// With an interval that begins at the end of a run, the next run would be late.
    @Test func aScheduleThatBeginsWithAnEndGetsItAtOnce() async throws {
        var after = job("a")
        after.from = .end
        let fixture = try LoopFixture([after, job("b")])
        await fixture.waitUntilReady()
        #expect(await permissions(of: fixture) { Self.start("b", in: $0) } == [])
        #expect(fixture.launcher.permissions == [])
    }
}
