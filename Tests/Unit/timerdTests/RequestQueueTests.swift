// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore
import TimerStore

@testable import TimerRecording

/// What waits while the store cannot be written.
@Suite struct RequestQueueTests {
    private func save(_ name: String, _ firings: Int) -> Store.Change {
        let now = Now(
            wall: WallInstant(secondsSinceEpoch: 0), awake: AwakeInstant(nanoseconds: 0),
            boot: BootInstant(nanoseconds: 0), bootID: .unknown)
        return .save(
            JobRecord(
                job: Job.Name(name)!, phase: .armed, active: .zero, accrued: .zero,
                isCounting: true, firings: firings, lastScheduled: nil, configuredPaused: false,
                removed: nil, at: now, instance: 1))
    }

    private func queue(after first: [Store.Change]) -> RequestQueue {
        var queue = RequestQueue()
        queue.append(RequestQueue.Request(changes: first, durable: true))
        for number in 1...RequestQueue.countMax {
            queue.append(RequestQueue.Request(changes: [save("a", number)], durable: false))
        }
        queue.compactPending()
        return queue
    }

    @Test func onlyTheNewestRecordOfAJobWaits() {
        let queue = queue(after: [save("a", 0), save("b", 0)])
        #expect(Array(queue.changes) == [save("b", 0), save("a", RequestQueue.countMax)])
    }

    /// What is written first must be right also if nothing after it is written.
    @Test func theRecordsBesideARenewalAreKept() {
        let renewal = RecordRenewal(
            at: .init(
                wall: WallInstant(secondsSinceEpoch: 1), awake: AwakeInstant(nanoseconds: 1),
                boot: BootInstant(nanoseconds: 1), bootID: .unknown), instance: 2, jobs: 2)
        let first: [Store.Change] = [.renew(renewal), save("a", 0)]
        let queue = queue(after: first)
        #expect(Array(queue.changes) == first + [save("a", RequestQueue.countMax)])
    }
}
