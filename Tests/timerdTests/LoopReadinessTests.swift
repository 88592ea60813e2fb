// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import timerd

/// When a loop that starts is ready.
@Suite struct LoopReadinessTests {
    private let jobs = ["a", "b"].map {
        Job(name: Job.Name($0)!, command: .shell("true"), schedule: .every(.seconds(3600)))
    }

    @Test func aLoopIsReadyOnceTheRunnerIs_andWorksBefore() async throws {
        let fixture = try LoopFixture(jobs, preparationMax: .seconds(3600))
        await fixture.waitUntilBegun()
        #expect(await fixture.snapshot().jobs.count == 2)
        #expect(fixture.reportsOfReadiness == [])
        fixture.launcher.release()
        await fixture.waitUntilReady()
        #expect(fixture.reportsOfReadiness == [true])
    }

    /// Others do not wait for a runner that hangs. What it answers later has no effect.
    @Test func aLoopIsReadyWithoutARunnerThatHangs() async throws {
        let fixture = try LoopFixture(jobs, preparationMax: .zero)
        await fixture.waitUntilReady()
        fixture.launcher.release()
        _ = await fixture.snapshot()
        #expect(fixture.reportsOfReadiness == [false])
    }

    /// READY after STOPPING would make the service manager take the daemon for one that runs.
    @Test func aLoopThatIsShutDownBeforeIsNeverReady() async throws {
        let fixture = try LoopFixture(jobs, preparationMax: .seconds(3600))
        await fixture.waitUntilBegun()
        await withCheckedContinuation { continuation in
            fixture.loop.later { loop in
                loop.shutDown(closed: { _ in }, drained: { continuation.resume() })
            }
        }
        fixture.launcher.release()
        _ = await fixture.snapshot()
        #expect(fixture.reportsOfReadiness == [])
    }
}
