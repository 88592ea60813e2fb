// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TimerControl
import TimerCore

@testable import TimerDaemon

/// What is known of the configuration after it was read again.
@Suite struct ConfigStateTests {
    private func rejection(_ name: String) -> Rejection { Rejection(name: name, errors: []) }

    private func at(_ second: Int64) -> WallInstant { WallInstant(secondsSinceEpoch: second) }

    @Test func aConfigurationThatIsUsedReplacesEverything() {
        var config = ConfigState(rejected: [rejection("a")], at: at(1))
        #expect(config.rejection(of: Job.Name("a")!)?.name == "a")
        let new = Loop.NewJobSet(
            JobSet([]), rejected: [rejection("b")], outdated: [rejection("c")])
        config.use(new, at: at(2))
        let found = ["a", "b", "c"].map { config.rejection(of: Job.Name($0)!)?.name }
        #expect(found == [nil, "b", "c"])
        #expect(config.reasonOutdated(Job.Name("b")!) == nil)
        #expect(config.reasonOutdated(Job.Name("c")!)?.name == "c")
        #expect(config.accepted == at(2) && config.refusal == nil)
    }

    @Test func aRefusalChangesOnlyTheReason_untilAConfigurationIsUsed() {
        var config = ConfigState(rejected: [rejection("a")], at: at(1))
        config.refuse(because: "a file is missing")
        #expect(config.refusal == "a file is missing")
        #expect(config.rejected.map(\.name) == ["a"] && config.accepted == at(1))
        config.use(.init(JobSet([]), rejected: [], refusal: "one file is broken"), at: at(2))
        #expect(config.refusal == "one file is broken" && config.accepted == at(1))
        config.use(.init(JobSet([]), rejected: []), at: at(3))
        #expect(config.refusal == nil && config.accepted == at(3))
    }

    @Test func theNotifiersOfEachNewConfigurationAreReported() {
        let counts = Mutex<[Int]>([])
        var config = ConfigState(rejected: [], at: at(1))
        config.use(.init(JobSet([]), rejected: []), at: at(2))
        config.followNotifiers { notifiers in counts.withLock { $0.append(notifiers.count) } }
        config.use(.init(JobSet([]), rejected: []), at: at(3))
        config.refuse(because: "a file is missing")
        #expect(counts.withLock { $0 } == [0])
    }
}
