// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Testing

@testable import TimerLog

@Suite struct EntryQueueTests {
    private final class Written: Sendable {
        let entries = Mutex<[(number: Int, at: DispatchTime)]>([])

        func add(_ number: Int) { entries.withLock { $0.append((number, .now())) } }
    }

    private final class Steps: Sendable {
        private let steps = Mutex<[String]>([])

        var taken: [String] { steps.withLock { $0 } }

        func note(_ step: String) { steps.withLock { $0.append(step) } }
    }

    /// Waits until everything before is written.
    private func settle(_ queue: EntryQueue) async {
        await withCheckedContinuation { continuation in queue.add { continuation.resume() } }
    }

    @Test func entriesAreWrittenInTheirOrder_andNoneEarly() async {
        let queue = EntryQueue(label: "test")
        let written = Written()
        let start = DispatchTime.now()
        let delays: [Int] = [0, 0, 30, 0, 10, 50, 0, 50, 5]
        for (number, delay) in delays.enumerated() {
            queue.add(after: .milliseconds(delay)) { written.add(number) }
        }
        await settle(queue)
        let entries = written.entries.withLock { $0 }
        #expect(entries.map(\.number) == Array(delays.indices))
        for (number, at) in entries {
            let least = delays[...number].max() ?? 0
            #expect(at >= start + .milliseconds(least))
        }
    }

    /// Until `together` returns, the lines of a batch may still be in memory, and a crash would lose
    /// them.
    @Test func writtenIsCalledAfterTheWholeBatch() async {
        let steps = Steps()
        let queue = EntryQueue(label: "test") { body in
            body()
            steps.note("batch ends")
        }
        queue.add(after: .milliseconds(5)) { steps.note("one") }
        queue.add(written: { steps.note("two is written") }) { steps.note("two") }
        queue.add { steps.note("three") }
        await withCheckedContinuation { continuation in
            queue.add(written: { continuation.resume() }) {}
        }
        #expect(steps.taken == ["one", "two", "three", "batch ends", "two is written"])
        // An entry that waits for nothing is written alone.
        await withCheckedContinuation { continuation in
            queue.add(written: { continuation.resume() }) { steps.note("four") }
        }
        #expect(steps.taken.last == "four")
    }

    @Test func fromManyThreadsAtOnceNoneIsLost_andEachKeepsItsOrder() async {
        let queue = EntryQueue(label: "test")
        let written = Written()
        let seed = UInt64.random(in: 0 ... .max)
        print("entries: seed \(seed)")
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            var state = seed &+ UInt64(thread)
            for number in 0..<500 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let delay: Duration =
                    state >> 62 == 0 ? .microseconds(Int64(state >> 40) % 2000) : .zero
                queue.add(after: delay) { written.add(thread * 1000 + number) }
            }
        }
        await settle(queue)
        let numbers = written.entries.withLock { $0.map(\.number) }
        #expect(numbers.count == 2000)
        for thread in 0..<4 {
            let own = numbers.filter { $0 / 1000 == thread }
            #expect(own == (0..<500).map { thread * 1000 + $0 })
        }
    }
}
