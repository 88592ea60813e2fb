// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Which of the runs that wait may start.
@Suite struct StartQueueTests {
    /// A number is a run of a job, and a negative number one that sends a message.
    private static func run(_ number: Int) -> Run.ID {
        number > 0 ? ScriptedRuns.run(number) : ScriptedRuns.message(-number)
    }

    private enum Step {
        case add([Int])
        case limit(Int)
        case remove(Int, wasThere: Bool)
        case close
        /// What starts in one loop iteration with so many active runs, messages and ended ones.
        case start(runs: Int, messages: Int, ended: Int, [Int])
    }

    /// Starts what may start, all of which stays active.
    private static func start(
        _ queue: inout StartQueue, _ active: StartQueue.Occupancy
    ) -> [Run.ID] {
        var active = active
        var started: [Run.ID] = []
        while let next = queue.next(after: started.count, beside: active) {
            started.append(next.request.id)
            active.places += 1
            if next.request.id.isMessage { active.messages += 1 } else { active.runs += 1 }
        }
        return started
    }

    @Test(
        arguments: [
            // In their order, as many as the limit allows, and the rest when there is room.
            [
                .add([1, 2]), .add([3]), .limit(2), .start(runs: 0, messages: 0, ended: 0, [1, 2]),
                .start(runs: 2, messages: 0, ended: 0, []),
                .start(runs: 1, messages: 0, ended: 0, [3]),
            ],
            // One iteration starts 32 of them, and no message while further runs may start.
            [
                .add(Array(1...40)), .add([-1]),
                .start(runs: 0, messages: 0, ended: 0, Array(1...32)),
                .start(runs: 32, messages: 0, ended: 0, Array(33...40) + [-1]),
            ],
            // Messages have places of their own, also while no run may start.
            [
                .add([1]), .add([-1, -2, -3, -4, -5]), .limit(1),
                .start(runs: 1, messages: 0, ended: 0, [-1, -2, -3, -4]),
                .start(runs: 1, messages: 4, ended: 0, []),
                .start(runs: 1, messages: 3, ended: 0, [-5]),
                .start(runs: 0, messages: 4, ended: 0, [1]),
            ],
            // Runs that have ended take places as long as their output is read.
            [
                .add([1, 2]), .start(runs: 0, messages: 0, ended: 50, []),
                .start(runs: 20, messages: 0, ended: 29, [1]),
            ],
            // A run that was removed does not start.
            [
                .add([1, 2, 3]), .add([-1]), .remove(2, wasThere: true),
                .remove(2, wasThere: false), .remove(-1, wasThere: true),
                .start(runs: 0, messages: 0, ended: 0, [1, 3]),
            ],
            // Nothing starts any more once it is closed.
            [.add([1]), .add([-1]), .close, .add([2]), .start(runs: 0, messages: 0, ended: 0, [])],
        ] as [[Step]])
    private func scripts(steps: [Step]) {
        var queue = StartQueue(placesMax: 50)
        for (number, step) in steps.enumerated() {
            switch step {
            case .add(let runs): queue.add(runs.map { ScriptedRuns.preparation(Self.run($0)) })
            case .limit(let count): queue.limit(to: count)
            case .remove(let run, let wasThere):
                #expect(queue.contains(Self.run(run)) == wasThere, "step \(number)")
                let removed = queue.remove(Self.run(run))
                #expect((removed?.request.id == Self.run(run)) == wasThere, "step \(number)")
            case .close: queue.close()
            case .start(let runs, let messages, let ended, let expected):
                let active = StartQueue.Occupancy(
                    runs: runs, messages: messages, places: runs + messages + ended)
                #expect(queue.hasNext(beside: active) == !expected.isEmpty, "step \(number)")
                let started = Self.start(&queue, active)
                #expect(started == expected.map(Self.run), "step \(number)")
            }
        }
        let isClosed = steps.contains { if case .close = $0 { true } else { false } }
        #expect(queue.isOpen != isClosed)
    }

    /// Each row: the time in milliseconds, how many runs start then, and what changes.
    @Test(
        arguments: [
            [(0, 16, nil), (50, 1, .began), (90, 5, nil), (160, 0, .ended)],
            [(0, 10, nil), (100, 10, nil), (200, 10, nil)],
            [(0, 32, .began), (100, 32, nil), (200, 17, nil), (300, 16, .ended)],
        ] as [[(at: Int64, starts: Int, change: StartBurst.Change?)]])
    func aBurstIsManyStartsWithinAShortTime(
        rows: [(at: Int64, starts: Int, change: StartBurst.Change?)]
    ) {
        var burst = StartBurst()
        for row in rows {
            let change = burst.note(starts: row.starts, at: 1_000_000_000 + row.at * 1_000_000)
            #expect(change == row.change, "\(row)")
        }
    }
}
