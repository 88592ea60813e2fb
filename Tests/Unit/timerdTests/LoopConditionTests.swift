// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import Testing
import TimerCore

@testable import TimerDaemon

/// Checks of conditions in the loop.
@Suite struct LoopConditionTests {
    @Test func aRunIsCheckedThenReleasedThenStarted() async throws {
        var job = Job(
            name: Job.Name("a")!, command: .shell("true"), schedule: .every(.milliseconds(50)))
        var condition = Condition()
        condition.mounted = [.init("/mnt")]
        job.execution.condition = condition
        let fixture = try LoopFixture([job])
        await fixture.waitUntilReady()
        try await fixture.wait { !fixture.launcher.checks.isEmpty }
        let first = fixture.launcher.checks[0]
        #expect(fixture.launcher.started.isEmpty)
        fixture.loop.later { loop in
            loop.receive(.checked(first.run.id, number: first.number, .no("mounted /mnt")))
        }
        try await fixture.wait { fixture.launcher.checks.count >= 2 }
        let second = fixture.launcher.checks[1]
        #expect(fixture.launcher.started.isEmpty && second.run.id != first.run.id)
        fixture.loop.later { loop in
            loop.receive(.checked(second.run.id, number: second.number, .yes))
        }
        try await fixture.wait { !fixture.launcher.started.isEmpty }
        #expect(fixture.launcher.started.map(\.run.id) == [second.run.id])
    }
}
