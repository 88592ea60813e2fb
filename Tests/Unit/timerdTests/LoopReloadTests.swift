// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import Synchronization
import Testing
import TimerCore

@testable import TimerStore
@testable import TimerDaemon

/// Work on many jobs is divided into parts, and other work gets its turn between them.
@Suite struct LoopReloadTests {
    private func job(_ number: Int, every span: Duration = .seconds(3600)) -> Job {
        Job(name: Job.Name("j\(number)")!, command: .shell("true"), schedule: .every(span))
    }

    private func jobs(_ count: Int, every span: Duration = .seconds(3600)) -> [Job] {
        (0..<count).map { job($0, every: span) }
    }

    /// Reloads, and submits something after the first part.
    private func reload(
        _ fixture: LoopFixture, _ jobs: [Job],
        begun: @escaping @Sendable (isolated Loop) -> Void
    ) async -> Notice? {
        await withCheckedContinuation { continuation in
            fixture.loop.later { loop in
                loop.reload(.init(JobSet(jobs), rejected: [])) {
                    continuation.resume(returning: $0)
                }
                fixture.loop.later(begun)
            }
        }
    }

    @Test func otherWorkIsDoneBetweenThePartsOfAReload() async throws {
        let fixture = try LoopFixture(jobs(1500))
        await fixture.waitUntilReady()
        let changed = Mutex(-1)
        let notice = await reload(fixture, jobs(1500, every: .seconds(60))) { loop in
            let count = loop.agenda.jobs.count { $0.schedule == .every(.seconds(60)) }
            changed.withLock { $0 = count }
        }
        #expect(
            notice
                == .reloaded(added: [], changed: jobs(1500).map(\.name), removed: [], kept: 0))
        #expect((0..<1500).contains(changed.withLock { $0 }))
        #expect(
            await fixture.snapshot().jobs.allSatisfy { $0.job.schedule == .every(.seconds(60)) })
    }

    /// No reader sees half of one configuration and half of another, and none is left in that
    /// state.
    @Test func aListAnOrderForAllJobsAndAStopWaitForTheWholeOfAReload() async throws {
        let fixture = try LoopFixture(jobs(1000))
        await fixture.waitUntilReady()
        let listed = Mutex<[Job.Name]>([])
        let ordered = Mutex<[Job.Name]>([])
        let closed = Mutex(false)
        let new = (500..<1500).map { job($0, every: .seconds(60)) }
        let notice = await reload(fixture, new) { loop in
            #expect(loop.agenda.isReloading)
            loop.gather { snapshot, _ in listed.withLock { $0 = snapshot.jobs.map(\.job.name) } }
            loop.handle(nil) {
                JobCommand(.pause, $0, by: .user("ann"))
            } unknown: { _, _ in
            } done: { results in
                ordered.withLock { $0 = results.map(\.command.job) }
            }
            loop.shutDown { _ in
                closed.withLock { $0 = true }
            } drained: {
            }
        }
        guard case .reloaded(let added, _, let removed, let kept) = notice else {
            Issue.record("\(notice.debugDescription)")
            return
        }
        #expect(added.count == 500 && removed.count == 500 && kept == 0)
        try await fixture.wait { closed.withLock { $0 } && !ordered.withLock { $0.isEmpty } }
        try await fixture.wait { !listed.withLock { $0.isEmpty } }
        #expect(listed.withLock { $0 } == new.map(\.name))
        #expect(ordered.withLock { $0 } == new.map(\.name))
        let records = try await fixture.records()
        #expect(records.count { $0.removed != nil } == 500)
    }

    @Test func aSecondReloadComesAfterTheFirst() async throws {
        let fixture = try LoopFixture(jobs(1000))
        await fixture.waitUntilReady()
        let second = Mutex<Notice?>(nil)
        let first = await reload(fixture, jobs(900)) { loop in
            loop.reload(.init(JobSet(jobs(800)), rejected: [])) { notice in
                second.withLock { $0 = notice }
            }
        }
        #expect(
            first
                == .reloaded(
                    added: [], changed: [], removed: (900..<1000).map { job($0).name }, kept: 900))
        try await fixture.wait { second.withLock { $0 } != nil }
        #expect(await fixture.snapshot().jobs.count == 800)
    }

    /// A command for many jobs that is refused does not block those behind it.
    @Test func commandsAfterOneThatIsRefusedAreExecuted() async throws {
        let fixture = try LoopFixture(jobs(500))
        await fixture.waitUntilReady()
        let refused = Mutex(0)
        let done = Mutex(0)
        _ = await fixture.command(.pause, nil, by: .user("ann")) {
            fixture.loop.later { loop in
                for names in [[Job.Name("nobody")!], nil] {
                    loop.handle(names) {
                        JobCommand(.resume, $0, by: .user("ann"))
                    } unknown: { _, _ in
                        refused.withLock { $0 += 1 }
                    } done: { results in
                        done.withLock { $0 = results.count }
                    }
                }
            }
        }
        try await fixture.wait { done.withLock { $0 } == 500 }
        #expect(refused.withLock { $0 } == 1)
    }

    /// The timers of the start are set once its records are written. Decisions made meanwhile
    /// count.
    @Test func aTimerIsSetByWhatTheAgendaHasByThen() async throws {
        let fixture = try LoopFixture(jobs(3))
        _ = await fixture.reload([job(0), job(1, every: .milliseconds(300)), job(2)])
        await fixture.waitUntilReady()
        try await fixture.wait { !fixture.launcher.started.isEmpty }
        #expect(fixture.launcher.started.first?.run.id.firing.job == job(1).name)
    }

    @Test func everyTimerOfManyIsSet() async throws {
        let count = JobTimers<JobTimer>.perPortion * 3 + 1
        let fixture = try LoopFixture(jobs(count, every: .seconds(2)))
        fixture.launcher.onStart { [loop = fixture.loop] run in
            loop.later { $0.receive(.ended(run.id, .exited(0), RunUsage())) }
        }
        try await fixture.wait {
            Set(fixture.launcher.started.map(\.run.id.firing.job)).count == count
        }
    }

    @Test func aCheckpointIsMadeSomeJobsAtATime() async throws {
        let fixture = try LoopFixture(jobs(1000))
        await fixture.waitUntilReady()
        let before = try await fixture.records()
        let isBusy = await withCheckedContinuation { continuation in
            fixture.loop.later { loop in
                loop.beginCheckpoint()
                fixture.loop.later {
                    continuation.resume(returning: $0.portions.contains(.checkpoint))
                }
            }
        }
        #expect(isBusy)
        try await fixture.wait {
            await withCheckedContinuation { continuation in
                fixture.loop.later {
                    continuation.resume(returning: !$0.portions.contains(.checkpoint))
                }
            }
        }
        let after = try await fixture.records()
        #expect(zip(before, after).allSatisfy { $0.active < $1.active } && after.count == 1000)
    }

    @Test func aPreviewOfManyJobsChangesNothing() async throws {
        let fixture = try LoopFixture(jobs(1000))
        await fixture.waitUntilReady()
        let new =
            (500..<1000).map { job($0) } + (0..<250).map { job($0, every: .seconds(60)) } + [
                job(2000)
            ]
        let preview = await withCheckedContinuation { continuation in
            fixture.loop.later { loop in
                loop.preview(JobSet(new)) { continuation.resume(returning: $0) }
            }
        }
        #expect(preview.kept.count == 500 && preview.changed.count == 250)
        #expect(preview.added.map(\.job) == [job(2000).name] && preview.removed.count == 250)
        #expect(await fixture.snapshot().jobs.count == 1000)
    }
}
