// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import Synchronization
import Testing
import TimerCore
import TimerDaemon
import TimerRecording

@testable import TimerStore

/// Notifications in the loop and in the store.
@Suite struct LoopNotifyTests {
    private func notifier(_ on: Set<NotificationKind>) -> Notifier {
        Notifier(
            name: Notifier.Name("ops")!,
            transport: .mail(to: ["root"], from: nil, contentType: nil), on: on)
    }

    private func job(_ name: String, _ change: (inout Policy) -> Void = { _ in }) -> Job {
        var job = Job(
            name: Job.Name(name)!, command: .shell("false"), schedule: .every(.seconds(3600)))
        job.first = .zero
        job.policy.notify = [Notifier.Name("ops")!]
        change(&job.policy)
        return job
    }

    /// A kill can happen between any two transactions. So no reader may ever see the end of a run
    /// without the message about it, or before the one about its start.
    @Test func noReaderSeesARunWithoutItsNotification() async throws {
        let count = 300
        let fixture = try LoopFixture(
            (0..<count).map { job("j\($0)") }, notifiers: [notifier([.failure, .start])])
        let loop = fixture.loop
        fixture.launcher.onStart { run in
            loop.later { $0.receive(.ended(run.id, .exited(1), RunUsage())) }
        }
        let reader = try Store(readingBeside: "\(fixture.folder)/\(Store.fileName)")
        var seen = 0
        try await fixture.wait {
            var row: [Int64] = []
            let statement = """
                SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM run WHERE failed = 1),
                    (SELECT count(*) FROM notification WHERE kind = 'start'),
                    (SELECT count(*) FROM notification WHERE kind = 'failure'),
                    (SELECT count(*) FROM incident WHERE notified_us IS NOT NULL)
                """
            _ = try? reader.connection.run(statement, doing: "look") { found in
                row = (0..<5).map { found.integer($0) ?? -1 }
            }
            guard row.count == 5 else { return false }
            seen += 1
            // Runs that wait for capacity are recorded before they start.
            #expect(row[0] >= row[2] && row[2] >= row[1], "\(row)")
            #expect(row[1] == row[3] && row[1] == row[4], "\(row)")
            return row[1] == Int64(count)
        }
        #expect(seen > 1)
        let jobs = await fixture.snapshot().jobs
        #expect(jobs.allSatisfy { $0.incidents.map(\.id.kind) == [.failure] })
    }

    /// The recorder says so when there is something to send.
    @Test func whoSendsIsCalledAfterTheCommit() async throws {
        let fixture = try LoopFixture([job("a")], notifiers: [notifier([.failure])])
        let calls = Mutex(0)
        fixture.recorder.follow(.init(notified: { calls.withLock { $0 += 1 } }))
        await fixture.waitUntilReady()
        try await fixture.wait { !fixture.launcher.started.isEmpty }
        #expect(calls.withLock { $0 } == 0)
        let run = fixture.launcher.started[0].run.id
        fixture.loop.later { $0.receive(.ended(run, .exited(1), RunUsage())) }
        try await fixture.wait { calls.withLock { $0 } == 1 }
        let reader = try Store(readingBeside: "\(fixture.folder)/\(Store.fileName)")
        let found = try reader.notificationsWithoutMessage(limit: 10)
        #expect(found.map(\.notification.run) == [run])
        #expect(found.map(\.notification.kind) == [.failure])
    }

    /// One timer serves all jobs, and it fires by itself.
    @Test func aLateRunIsNoticedByTheTimer() async throws {
        // Runs never begin, because the launcher does not report it.
        let late = job("late") { $0.lateAfter = .seconds(1) }
        let fixture = try LoopFixture([late], notifiers: [notifier([.late])])
        let reader = try Store(readingBeside: "\(fixture.folder)/\(Store.fileName)")
        try await fixture.wait {
            ((try? reader.notificationsWithoutMessage(limit: 10)) ?? []).map(\.notification.kind)
                == [.late]
        }
        #expect(await fixture.snapshot().jobs[0].incidents.map(\.id.kind) == [.late])
    }
}
