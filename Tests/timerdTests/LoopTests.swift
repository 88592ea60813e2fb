// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TimerCore

@testable import TimerStore
@testable import timerd

@Suite struct LoopTests {
    private func names(_ text: String...) -> [Job.Name] { text.compactMap { Job.Name($0) } }

    private func job(_ name: String, every span: Duration = .seconds(3600)) -> Job {
        Job(name: Job.Name(name)!, command: .shell("true"), schedule: .every(span))
    }

    /// A reload that comes with the beginning, as by a request that waited in an activated socket: each
    /// job is there once, and what is saved is what came of the reload.
    @Test func aReloadAtOnceComesBehindTheBeginning() async throws {
        let bench = try LoopBench([job("a"), job("b"), job("c")])
        let notice = await bench.reload([job("a"), job("b", every: .seconds(60)), job("d")])
        #expect(
            notice
                == .reloaded(
                    added: names("d"), changed: names("b"), removed: names("c"), kept: 1))
        await bench.waitUntilReady()
        #expect(await bench.snapshot().jobs.map(\.job.name) == names("a", "b", "d"))
        let records = try await bench.records()
        #expect(records.map(\.job) == names("a", "b", "c", "d"))
        #expect(records.filter { $0.removed != nil }.map(\.job) == names("c"))
    }

    /// Another program has the database locked for longer than several intervals: everything that comes due is
    /// made when the lock is gone, and nothing twice.
    @Test(arguments: [Policy.Missed.runAll, .runOnce])
    func firingsWaitWhileTheStoreIsLocked(onMissed: Policy.Missed) async throws {
        // Long enough for an end to be told before the next firing.
        let interval = Duration.milliseconds(250)
        var job = job("a", every: interval)
        job.policy.onMissed = onMissed
        let bench = try LoopBench([job])
        let loop = bench.loop
        bench.launcher.onStart { run in
            loop.later { $0.receive(.ended(run.id, .exited(0), RunUsage())) }
        }
        await bench.waitUntilReady()
        let other = try Store(path: "\(bench.folder)/\(Store.fileName)")
        try other.connection.execute("BEGIN IMMEDIATE", doing: "lock it")
        let before = bench.launcher.started.count
        // So much that several firings came due since.
        try await bench.wait { await bench.snapshot().jobs[0].accrued > interval * 15 }
        #expect(bench.launcher.started.count <= before + 1)
        try other.connection.execute("ROLLBACK", doing: "unlock it")
        let expected = onMissed == .runAll ? before + 16 : before + 2
        try await bench.wait { bench.launcher.started.count > expected }
        let runs = bench.launcher.started.map(\.run)
        #expect(Set(runs.map(\.id)).count == runs.count)
        #expect(await bench.snapshot().jobs[0].lastSkip == nil)
        let gaps = zip(runs, runs.dropFirst()).map {
            $1.id.firing.scheduled - $0.id.firing.scheduled - interval * $0.firing.missed
        }
        // On the grid, but for the rounding of each instant.
        #expect(
            gaps.allSatisfy { abs(($0 - interval) / .milliseconds(1)) < 1 }, "\(gaps)")
    }
}
