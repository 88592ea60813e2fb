// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Testing
import TimerCore

@testable import TimerAPI

/// Holds requests back until the test releases them.
private final class Gatherer: Sendable {
    private let held = Mutex<[@Sendable (Snapshot, [String]) -> Void]>([])
    private let asked = DispatchSemaphore(value: 0)
    private let number = Mutex(0)

    func gather(_ done: @escaping @Sendable (Snapshot, [String]) -> Void) {
        held.withLock { $0.append(done) }
        number.withLock { $0 += 1 }
        asked.signal()
    }

    var count: Int { number.withLock { $0 } }

    /// Waits for a request, and answers with the number of requests so far.
    func answer() {
        asked.wait()
        let done = held.withLock { $0.removeFirst() }
        let boot = BootID("0123456789abcdef0000000000000001")!
        let now = Now(
            wall: WallInstant(microsecondsSinceEpoch: 0), awake: AwakeInstant(nanoseconds: 0),
            boot: BootInstant(nanoseconds: 0), bootID: boot)
        done(Snapshot(at: now, jobs: []), ["\(count)"])
    }
}

@Suite struct ListCoalescerTests {
    @Test func clientsThatAskMeanwhileShareTheNextOne() {
        let gatherer = Gatherer()
        let listings = ListCoalescer<[String], String> {
            let done = $0
            gatherer.gather { done($1) }
        } make: {
            $0[0]
        }
        let told = Mutex<[String]>([])
        let all = DispatchGroup()
        func ask(_ who: String) {
            all.enter()
            listings.list { answer in
                told.withLock { $0.append("\(who)\(answer)") }
                all.leave()
            }
        }
        ask("a")
        // An answer is being made already, and may have passed the data that these requests need.
        for _ in 0..<100 { ask("b") }
        #expect(gatherer.count == 1)
        gatherer.answer()
        gatherer.answer()
        all.wait()
        #expect(told.withLock { $0 } == ["a1"] + Array(repeating: "b2", count: 100))
        ask("c")
        gatherer.answer()
        all.wait()
        #expect(told.withLock { $0.last } == "c3" && gatherer.count == 3)
    }
}
