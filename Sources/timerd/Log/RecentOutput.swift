// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerCore

/// The last lines jobs wrote, for whoever looks at them as they come. It holds what came since the daemon
/// started, and of that only so much.
final class RecentOutput: Sendable {
    /// The most bytes that are held, each line taken for a little more than it has.
    static let bytesMax = 4 << 20
    private static let lineCost = 128

    /// One line.
    struct Line: Sendable {
        /// Counted from 1 for the daemon's first.
        var number: UInt64
        var run: Run.ID
        var text: [UInt8]
        var toStderr: Bool
    }

    private struct State {
        var lines: [Line] = []
        var head = 0
        var bytes = 0
        var number: UInt64 = 0
    }

    private let state = Mutex(State())

    func add(_ text: [UInt8], of run: Run.ID, toStderr: Bool) {
        state.withLock { state in
            state.number += 1
            state.lines.append(
                Line(number: state.number, run: run, text: text, toStderr: toStderr))
            state.bytes += text.count + Self.lineCost
            while state.bytes > Self.bytesMax {
                state.bytes -= state.lines[state.head].text.count + Self.lineCost
                state.lines[state.head].text = []
                state.head += 1
            }
            // What was taken out is let go of once it is half of what is kept.
            if state.head >= 1024, state.head * 2 >= state.lines.count {
                state.lines.removeFirst(state.head)
                state.head = 0
            }
        }
    }

    /// The lines of these runs behind this number, and the number to go on from.
    /// - Complexity: O(*n*) in the lines that came since.
    func lines(
        after number: UInt64, of isWanted: (Run.ID) -> Bool
    ) -> (lines: [Line], last: UInt64) {
        state.withLock { state in
            let first = state.lines.count > state.head ? state.lines[state.head].number : 1
            let skipped = number >= first ? Int(clamping: number - first + 1) : 0
            let found = state.lines[state.head...].dropFirst(skipped).filter {
                isWanted($0.run)
            }
            return (found, state.number)
        }
    }
}
