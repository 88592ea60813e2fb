// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// The runs that are suspended because the fleet paused their jobs.
@Suite struct FleetSuspensionTests {
    private static func run(_ job: Job.Name) -> Run.ID {
        Run.ID(firing: Firing.ID(job: job, scheduled: World().now.wall), attempt: 1)
    }

    private static let runs = ["a", "b", "c"].map { run($0) }

    @Test func atFirstAllOthersAreResumed_becauseAnEarlierInstanceMayHaveSuspendedThem() {
        var suspension = FleetSuspension()
        #expect(!suspension.isKnown)
        let (resumed, suspended) = suspension.change(to: [Self.runs[1]], ofAll: Self.runs)
        #expect(resumed == [Self.runs[0], Self.runs[2]] && suspended == [Self.runs[1]])
        #expect(suspension.isKnown)
    }

    @Test func laterOnlyTheDifferenceCounts() {
        var suspension = FleetSuspension()
        _ = suspension.change(to: [Self.runs[0], Self.runs[1]], ofAll: [])
        let (resumed, suspended) = suspension.change(
            to: [Self.runs[1], Self.runs[2]], ofAll: Self.runs)
        #expect(resumed == [Self.runs[0]] && suspended == [Self.runs[2]])
        let again = suspension.change(to: [Self.runs[1], Self.runs[2]], ofAll: Self.runs)
        #expect(again.resumed.isEmpty && again.suspended.isEmpty)
    }

    @Test func aJobThatIsNotSharedAnyMoreIsForgotten() {
        var suspension = FleetSuspension()
        #expect(suspension.release(Self.runs).isEmpty && !suspension.isKnown)
        _ = suspension.change(to: [Self.runs[0], Self.runs[1]], ofAll: [])
        #expect(suspension.release([Self.runs[1], Self.runs[2]]) == [Self.runs[1]])
        #expect(suspension.release([Self.runs[1]]).isEmpty)
        #expect(suspension.change(to: [], ofAll: []).resumed == [Self.runs[0]])
    }
}
