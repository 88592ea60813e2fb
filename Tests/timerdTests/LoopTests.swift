// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

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
}
