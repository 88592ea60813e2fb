// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// The places of the commands of conditions.
@Suite struct CheckQueueTests {
    private func run(_ job: Job.Name, _ number: Int64) -> Run.ID {
        Run.ID(firing: Firing.ID(job: job, scheduled: WallInstant(secondsSinceEpoch: number)))
    }

    @Test func theyHavePlacesOfTheirOwn() throws {
        let job = try #require(Job.Name("a"))
        var queue = StartQueue(placesMax: 1)
        queue.add([ScriptedRuns.preparation(run(job, 1))])
        queue.add((1...2).map { ScriptedRuns.preparation(run(.checks, $0)) })
        queue.add(ScriptedRuns.preparation(run(.messages, 1)))
        // No run may start beside another one, but checks and messages may.
        var active = StartQueue.Occupancy(runs: 1, messages: 0, places: 1)
        #expect(queue.hasNext(beside: active))
        #expect(queue.next(after: 0, beside: active)?.request.id == run(.checks, 1))
        active.checks = StartQueue.activeChecksMax
        #expect(queue.next(after: 0, beside: active)?.request.id == run(.messages, 1))
        #expect(!queue.hasNext(beside: active) && queue.contains(run(.checks, 2)))
        // And checks take no place of a run.
        active = StartQueue.Occupancy(
            runs: 0, messages: 0, places: 0, checks: StartQueue.activeChecksMax)
        #expect(queue.next(after: 0, beside: active)?.request.id == run(job, 1))
        #expect(queue.remove(run(.checks, 2)) != nil && !queue.contains(run(.checks, 2)))
        queue.close()
        queue.add([ScriptedRuns.preparation(run(.checks, 3))])
        #expect(!queue.hasNext(beside: .init(runs: 0, messages: 0, places: 0)))
    }
}
