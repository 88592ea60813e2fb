// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Runs of a fleet: their process is created before an instant, or never.
@Suite struct FleetStartTests {
    private func later(_ seconds: Int64) -> BootInstant {
        BootInstant(nanoseconds: RunnerClock.boot().nanoseconds + seconds * 1_000_000_000)
    }

    @Test func inTime_itRunsWithItsFence() throws {
        let fixture = try RunnerFixture()
        var request = fixture.request(.shell("echo $TIMERD_FENCE"))
        request.fleet = FleetStart(fence: 4711, before: later(60))
        let end = fixture.run(request)
        #expect(end.outcome == .exited(0) && end.lines == ["4711"])
        let other = fixture.run(fixture.request(.shell("echo \"${TIMERD_FENCE-none}\"")))
        #expect(other.lines == ["none"])
        fixture.runner.shutdown(grace: .zero)
    }

    @Test func tooLate_itDoesNotStart_andThatIsRememberedLikeAnEnd() throws {
        let fixture = try RunnerFixture()
        var request = fixture.request(.shell("echo started"))
        request.fleet = FleetStart(fence: 1, before: later(0))
        let end = fixture.run(request)
        #expect(end.outcome == .lost(.unstarted) && end.lines.isEmpty)
        #expect(
            !fixture.events.contains { if case .began = $0 { true } else { false } })
        // The next runner knows it too, so the run cannot start after all.
        fixture.runner.shutdown(grace: .zero)
        let next = try RunnerFixture(registry: fixture.registry)
        request.fleet = FleetStart(fence: 1, before: later(60))
        let again = next.run(request)
        #expect(again.outcome == .lost(.unstarted) || again.outcome == .lost(.runner))
        #expect(again.lines.isEmpty)
        next.runner.shutdown(grace: .zero)
    }

    @Test func theRequestHasItOnTheWire() throws {
        let job = Job(
            name: Job.Name("a")!, command: .shell("x"), schedule: .every(.seconds(1)))
        let claim = Firing.Cause.Claim(
            cause: .catchUp, fence: .max, before: BootInstant(nanoseconds: 77))
        let firing = Firing(
            id: Firing.ID(job: job.name, scheduled: WallInstant(secondsSinceEpoch: 9)), missed: 1,
            active: .seconds(1), cause: .claimed(claim))
        let request = StartRequest(Run(firing: firing, job: job))
        #expect(request.fleet == FleetStart(fence: .max, before: BootInstant(nanoseconds: 77)))
        let message = WireRequest.start([request])
        #expect(try WireRequest(message.bytes[...]) == message)
        // Of an earlier instance of the daemon: never.
        let old = Firing(
            id: firing.id, missed: 0, active: .zero,
            cause: .claimed(.init(cause: .schedule, fence: 3, before: nil)))
        #expect(StartRequest(Run(firing: old, job: job)).fleet?.before.nanoseconds == 0)
        let local = Firing(id: firing.id, missed: 0, active: .zero)
        #expect(StartRequest(Run(firing: local, job: job)).fleet == nil)
    }
}
