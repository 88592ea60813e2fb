// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// The other values of the runner's thread, from scripts.
@Suite struct RunnerValueTests {
    // MARK: - Barriers

    private enum Step {
        /// A loop iteration in which these barriers arrive, and which may have left something.
        case iteration([Int], isComplete: Bool, passed: [Int])
        case reaped(areAll: Bool)
    }

    @Test(
        arguments: [
            // A barrier is passed by the iteration after the one in which it arrives.
            [
                .iteration([1, 2], isComplete: true, passed: []),
                .iteration([3], isComplete: true, passed: [1, 2]),
                .iteration([], isComplete: true, passed: [3]),
                .iteration([], isComplete: true, passed: []),
            ],
            // Not while events are left, nor while there may be more ended processes.
            [
                .iteration([1], isComplete: true, passed: []),
                .iteration([], isComplete: false, passed: []), .reaped(areAll: false),
                .iteration([2], isComplete: true, passed: []), .reaped(areAll: true),
                .iteration([], isComplete: true, passed: [1, 2]),
            ],
        ] as [[Step]])
    private func barriers(steps: [Step]) {
        var ends = EndWatch<Int>()
        for (number, step) in steps.enumerated() {
            switch step {
            case .reaped(let areAll):
                ends.didReap(areAll: areAll)
                #expect(ends.mayHaveMore == !areAll)
            case .iteration(let new, let isComplete, let passed):
                ends.beginIteration()
                for barrier in new { ends.add(barrier) }
                #expect(ends.endIteration(isComplete: isComplete) == passed, "step \(number)")
            }
        }
        #expect(!ends.isBusy)
        ends.add(9)
        #expect(ends.isBusy && ends.finish() == [9] && !ends.isBusy)
    }

    // MARK: - Leftovers

    private static let second: Int64 = 1_000_000_000
    private let group = Leftovers.Group(
        run: ScriptedRuns.run(1), name: "group", grace: .seconds(10))

    @Test func leftoversGetAMoment_thenSIGTERM_andSIGKILLAfterTheirGracePeriod() {
        var leftovers = Leftovers()
        #expect(leftovers.isEmpty && leftovers.due(1, at: .max) == nil)
        #expect(leftovers.add(group, 1, at: 0) == Self.second)
        #expect(leftovers.due(1, at: Self.second - 1) == nil)
        #expect(leftovers.due(1, at: Self.second) == group)
        var now = Self.second
        #expect(
            leftovers.step(1, at: now) == .terminate(group, until: now + Leftovers.pollInterval))
        // The longer they take, the less often they are looked at.
        var pauses: [Int64] = []
        now += Leftovers.pollInterval
        while case .wait(let until)? = leftovers.step(1, at: now) {
            pauses.append((until - now) / 1_000_000)
            #expect(leftovers.due(1, at: until - 1) == nil && leftovers.due(1, at: until) == group)
            now = until
        }
        #expect(now == 11 * Self.second && leftovers.isEmpty)
        #expect(pauses.prefix(5) == [100, 100, 150, 225, 337])
        #expect(pauses.dropLast() == pauses.dropLast().sorted()[...])
    }

    @Test func theLastStepKillsThem() {
        var leftovers = Leftovers()
        _ = leftovers.add(group, 1, at: 0)
        _ = leftovers.step(1, at: Self.second)
        let kill = leftovers.step(1, at: 11 * Self.second)
        #expect(kill == .kill(group, until: 11 * Self.second + Leftovers.pollInterval))
        #expect(leftovers.isEmpty && leftovers.step(1, at: .max) == nil)
        _ = leftovers.add(group, 2, at: 0)
        leftovers.remove(2)
        #expect(leftovers.isEmpty)
    }

    @Test func aShutdownShortensTheirTime() {
        var leftovers = Leftovers()
        _ = leftovers.add(group, 1, at: 0)
        _ = leftovers.add(group, 2, at: 0)
        _ = leftovers.step(2, at: Self.second)
        #expect(leftovers.serials.sorted() == [1, 2])
        let now = 2 * Self.second
        #expect(
            leftovers.end(1, within: .milliseconds(50), at: now)
                == .terminate(group, until: now + 50_000_000))
        #expect(
            leftovers.end(2, within: .milliseconds(50), at: now)
                == .wait(until: now + 50_000_000))
        // A longer time than they have does not help them.
        #expect(
            leftovers.end(1, within: .seconds(60), at: now) == .wait(until: now + 50_000_000))
        #expect(leftovers.end(3, within: .zero, at: now) == nil)
    }

    // MARK: - Events

    @Test func anEventIsHeldBackForAMoment() {
        let calls = Mutex<[Bool]>([])
        let holds = Mutex(true)
        var events = EventReporter({ _ in }) { isLate in
            calls.withLock { $0.append(isLate) }
            return holds.withLock { $0 }
        }
        #expect(events.next == nil)
        events.endIteration(isLate: false, at: 0)
        #expect(events.next == EventReporter.gathering)
        // Further events do not delay it.
        events.endIteration(isLate: false, at: 5)
        #expect(events.next == EventReporter.gathering)
        holds.withLock { $0 = false }
        events.endIteration(isLate: false, at: EventReporter.gathering)
        #expect(events.next == nil)
        events.endIteration(isLate: true, at: 0)
        events.finish()
        #expect(calls.withLock { $0 } == [false, false, true, true, true])
    }

    // MARK: - Descriptors

    @Test func theKernelKeepsWhatADescriptorBelongsTo() {
        let children = [1, 2, 1 << 40].flatMap { (serial: UInt64) in
            Epoll.Part.allCases.map { Epoll.Source.child(serial, $0) }
        }
        let sources = [.mailbox, .ends] + children
        #expect(sources.map { Epoll.Source(token: $0.token) } == sources)
        #expect(Set(sources.map(\.token)).count == sources.count)
    }
}
