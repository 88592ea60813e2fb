// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import Synchronization
import Testing
import TimerControl
import TimerCore
import TimerLog

@testable import TimerStore
@testable import TimerDaemon

@Suite struct LoopTests {
    private func names(_ text: String...) -> [Job.Name] { text.compactMap { Job.Name($0) } }

    private func job(_ name: String, every span: Duration = .seconds(3600)) -> Job {
        Job(name: Job.Name(name)!, command: .shell("true"), schedule: .every(span))
    }

    /// A reload that comes during the start, like from a request that waited in an activated
    /// socket: each job is loaded once, and the result of the reload is saved.
    @Test func aReloadDuringTheStartComesAfterTheStart() async throws {
        let fixture = try LoopFixture([job("a"), job("b"), job("c")])
        let notice = await fixture.reload([job("a"), job("b", every: .seconds(60)), job("d")])
        #expect(
            notice
                == .reloaded(
                    added: names("d"), changed: names("b"), removed: names("c"), kept: 1))
        await fixture.waitUntilReady()
        #expect(await fixture.snapshot().jobs.map(\.job.name) == names("a", "b", "d"))
        let records = try await fixture.records()
        #expect(records.map(\.job) == names("a", "b", "c", "d"))
        #expect(records.filter { $0.removed != nil }.map(\.job) == names("c"))
    }

    /// Another program locks the database for longer than several intervals: every due run starts
    /// when the lock is released, and none starts twice.
    @Test(arguments: [Policy.Missed.runAll, .runOnce])
    func firingsWaitWhileTheStoreIsLocked(onMissed: Policy.Missed) async throws {
        // Long enough for an end to be reported before the next firing, also beside many other tests.
        let interval = Duration.seconds(2)
        var job = job("a", every: interval)
        job.policy.onMissed = onMissed
        let fixture = try LoopFixture([job])
        let loop = fixture.loop
        fixture.launcher.onStart { run in
            loop.later { $0.receive(.ended(run.id, .exited(0), RunUsage())) }
        }
        await fixture.waitUntilReady()
        let other = try Store(path: "\(fixture.folder)/\(Store.fileName)")
        try other.connection.execute("BEGIN IMMEDIATE", doing: "lock it")
        let before = fixture.launcher.started.count
        // Long enough that several firings became due.
        try await fixture.wait { await fixture.snapshot().jobs[0].accrued > interval * 3 }
        #expect(fixture.launcher.started.count <= before + 1)
        try other.connection.execute("ROLLBACK", doing: "unlock it")
        let expected = onMissed == .runAll ? before + 4 : before + 2
        try await fixture.wait { fixture.launcher.started.count > expected }
        let runs = fixture.launcher.started.map(\.run)
        #expect(Set(runs.map(\.id)).count == runs.count)
        #expect(await fixture.snapshot().jobs[0].lastSkip == nil)
        let gaps = zip(runs, runs.dropFirst()).map {
            $1.id.firing.scheduled - $0.id.firing.scheduled - interval * $0.firing.missed
        }
        // On the grid, except for the rounding of each instant.
        #expect(
            gaps.allSatisfy { abs(($0 - interval) / .milliseconds(1)) < 1 }, "\(gaps)")
    }

    /// Those who follow the events hear of each one-off job that is not shown any more.
    @Test func theRemovalOfAnOldOneOffJobIsAnEvent() async throws {
        let now = try Clocks().wall
        func oneOff(_ name: String, at instant: WallInstant) -> Job {
            var job = Job(
                name: Job.Name(name)!, command: .shell("true"),
                schedule: .wall(WallSchedule([.at(instant)])))
            job.isOneOff = true
            return job
        }
        let fixture = try LoopFixture([
            oneOff("old", at: now - .seconds(3 * 86_400)),
            oneOff("new", at: now + .seconds(3600)), job("other"),
        ])
        let loop = fixture.loop
        fixture.launcher.onStart { run in
            loop.later { $0.receive(.ended(run.id, .exited(0), RunUsage())) }
        }
        await fixture.waitUntilReady()
        var removed: [Job.Name?] = []
        try await fixture.wait {
            loop.later { $0.expireOneOffs(at: now + .seconds(2 * 86_400)) }
            let events = fixture.feed.excerpt(after: 0, max: 1000).elements.map(\.element)
            removed = events.filter { $0.status(1).event == "one-off-removed" }.map(\.job)
            return !removed.isEmpty
        }
        #expect(removed == names("old"))
        #expect(await fixture.snapshot().jobs.map(\.job.name) == names("new", "other"))
    }
}
