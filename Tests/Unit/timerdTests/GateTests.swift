// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerDaemon

/// Which of the waiting work may run.
@Suite struct GateTests {
    /// A step of a script.
    private enum Step {
        case add(String, Blockers)
        case remove(Blockers)
        /// Everything that may run while these blockers are present, in its order.
        case run(Blockers, [String])
    }

    @Test(
        arguments: [
            // Work without blockers runs in the order in which it came.
            [.add("a", []), .add("b", []), .run([.clocks, .decision], ["a", "b"]), .run([], [])],
            // Each work waits for all of its blockers.
            [
                .add("a", [.clocks, .decision]), .run([.clocks], []), .run([.decision], []),
                .run([.transaction, .timers], ["a"]),
            ],
            // What waits for something else is not in the way.
            [
                .add("a", .decision), .add("b", .clocks), .add("c", .decision),
                .run(.decision, ["b"]), .run([], ["a", "c"]),
            ],
            // Work that came first runs first, whatever it waited for.
            [
                .add("a", [.decision, .transaction]), .add("b", .decision), .add("c", .clocks),
                .run([], ["a", "b", "c"]),
            ],
            // Removed work never runs.
            [
                .add("a", .runner), .add("b", [.runner, .clocks]), .add("c", .clocks),
                .remove(.runner), .run([], ["c"]),
            ],
        ] as [[Step]])
    private func scripts(steps: [Step]) {
        var gate = Gate<String>()
        for (number, step) in steps.enumerated() {
            switch step {
            case .add(let work, let blockers): gate.add(work, after: blockers)
            case .remove(let blocker): gate.remove(waitingFor: blocker)
            case .run(let present, let expected):
                var run: [String] = []
                while let work = gate.next(despite: present) { run.append(work) }
                #expect(run == expected, "step \(number)")
            }
        }
    }

    /// Work that runs may block what comes after it.
    @Test func workIsRemovedOneAtATime() {
        var gate = Gate<Int>()
        for number in 1...3 { gate.add(number, after: .transaction) }
        #expect(gate.next(despite: []) == 1)
        #expect(gate.next(despite: .transaction) == nil)
        #expect(gate.next(despite: []) == 2 && !gate.isEmpty)
        #expect(gate.next(despite: []) == 3 && gate.isEmpty)
    }

    @Test func itIsKnownWhatIsWaitedFor() {
        var gate = Gate<Int>()
        gate.add(1, after: [.clocks, .decision])
        #expect(gate.isWaiting(for: .clocks) && gate.isWaiting(for: .decision))
        #expect(!gate.isWaiting(for: .timers))
        _ = gate.next(despite: [])
        #expect(!gate.isWaiting(for: .clocks))
    }
}
