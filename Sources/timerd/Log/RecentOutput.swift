// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerCore

/// The last lines that runs wrote, for clients that follow the output. It holds what came since the daemon
/// started, and of that only so much; of one run that writes much no more than leaves those of others.
final class RecentOutput: Sendable {
    /// The most bytes of active runs together, each line taken for a little more than it has. The run that has most
    /// loses its oldest lines first.
    static let bytesMax = 3 << 20
    /// The most bytes of a run that has ended, of which somebody may not have seen the last lines yet, and of all those
    /// together.
    static let endedRunBytesMax = 64 << 10
    static let endedBytesMax = 1 << 20
    /// So many bytes are dropped at a time, or half of what a run has, so that it is seldom looked for.
    private static let portionMax = 64 << 10
    private static let lineCost = 128

    /// One line.
    struct Line: Sendable {
        /// Counted from 1 for the daemon's first.
        var number: UInt64
        var run: Run.ID
        /// Counted from 1 for the first of its run. Numbers that are missing are of lines that were dropped.
        var ordinal: Int
        var text: [UInt8]
        var toStderr: Bool
        /// When it came, by the wall clock.
        var at: WallInstant
    }

    /// What is known of a run.
    private struct Output {
        var lines: [Line] = []
        var head = 0
        var bytes = 0
        /// How many lines it has written, with those that were dropped.
        var written = 0
        var hasEnded = false

        mutating func skip(_ count: Int) {
            let (sum, overflow) = written.addingReportingOverflow(count)
            written = overflow ? .max : sum
        }

        /// Drops the oldest lines until there are so many bytes, or fewer.
        mutating func shrink(to most: Int) {
            while bytes > most, head < lines.count {
                bytes -= lines[head].text.count + RecentOutput.lineCost
                lines[head].text = []
                head += 1
            }
            // The room is given back when half of it is unused, so that each line costs the same over many.
            if head * 2 >= lines.count {
                lines.removeFirst(head)
                head = 0
            }
        }

        /// The lines behind this number.
        /// - Complexity: O(log *n*) to find them.
        func lines(after number: UInt64) -> ArraySlice<Line> {
            var (first, end) = (head, lines.count)
            while first < end {
                let middle = first + (end - first) / 2
                if lines[middle].number > number { end = middle } else { first = middle + 1 }
            }
            return lines[first...]
        }
    }

    private struct State {
        var outputs: [Run.ID: Output] = [:]
        /// Those of them that have ended, in that order.
        var ended: [Run.ID] = []
        var bytes = 0
        var endedBytes = 0
        var number: UInt64 = 0

        /// Changes what is known of a run, with the sums.
        mutating func change(_ run: Run.ID, _ body: (inout Output) -> Void) {
            // Of a run that is not known to be active nothing is kept for long.
            if outputs[run] == nil { ended.append(run) }
            let before = outputs[run]?.bytes ?? 0
            body(&outputs[run, default: Output(hasEnded: true)])
            let more = (outputs[run]?.bytes ?? 0) - before
            if outputs[run]?.hasEnded == true { endedBytes += more } else { bytes += more }
        }

        mutating func makeRoom() {
            while bytes > RecentOutput.bytesMax,
                let most = outputs.lazy.filter({ !$0.value.hasEnded })
                    .max(by: { $0.value.bytes < $1.value.bytes })
            {
                let portion = min(RecentOutput.portionMax, most.value.bytes / 2 + 1)
                change(most.key) { $0.shrink(to: $0.bytes - portion) }
            }
            guard endedBytes > RecentOutput.endedBytesMax else { return }
            var gone = 0
            while endedBytes > RecentOutput.endedBytesMax, gone < ended.count {
                endedBytes -= outputs.removeValue(forKey: ended[gone])?.bytes ?? 0
                gone += 1
            }
            ended.removeFirst(gone)
        }
    }

    private let state = Mutex(State())

    /// A run has begun.
    func begin(_ run: Run.ID) {
        state.withLock { state in
            if state.outputs[run] == nil { state.outputs[run] = Output() }
        }
    }

    /// A run has ended. What it left behind may write on.
    func end(_ run: Run.ID) {
        state.withLock { state in
            guard let output = state.outputs[run], !output.hasEnded else { return }
            state.outputs[run] = nil
            state.bytes -= output.bytes
            guard output.bytes > 0 else { return }
            state.change(run) {
                $0 = output
                $0.hasEnded = true
                $0.shrink(to: Self.endedRunBytesMax)
            }
            state.makeRoom()
        }
    }

    /// - Parameter at: when it came, by the wall clock.
    func add(
        _ text: [UInt8], of run: Run.ID, toStderr: Bool,
        at: WallInstant = WallInstant(microsecondsSinceEpoch: 0)
    ) {
        state.withLock { state in
            state.number += 1
            let number = state.number
            state.change(run) { output in
                output.skip(1)
                output.lines.append(
                    Line(
                        number: number, run: run, ordinal: output.written, text: text,
                        toStderr: toStderr, at: at))
                output.bytes += text.count + Self.lineCost
                if output.hasEnded { output.shrink(to: Self.endedRunBytesMax) }
            }
            state.makeRoom()
        }
    }

    /// So many lines of a run were dropped before they came here.
    func skip(_ lines: Int, of run: Run.ID) {
        state.withLock { state in
            if state.outputs[run] != nil { state.change(run) { $0.skip(lines) } }
        }
    }

    /// What there is of some runs.
    struct Excerpt {
        /// Their lines, in the order in which they came.
        var lines: [Line] = []
        /// How many lines each has written, with those that were dropped.
        var written: [Run.ID: Int] = [:]
        /// The number to go on from.
        var last: UInt64 = 0
    }

    /// The lines of these runs behind this number.
    /// - Complexity: O(*r* + *n* log *n*) in the runs that are known and the lines that came since.
    func lines(after number: UInt64, of isWanted: (Run.ID) -> Bool) -> Excerpt {
        var excerpt = state.withLock { state in
            var excerpt = Excerpt(last: state.number)
            for (run, output) in state.outputs where output.written > 0 && isWanted(run) {
                excerpt.lines += output.lines(after: number)
                excerpt.written[run] = output.written
            }
            return excerpt
        }
        excerpt.lines.sort { $0.number < $1.number }
        return excerpt
    }

    /// How many bytes are held, of active runs and of those that have ended, and of how many runs anything is known.
    var size: (active: Int, ended: Int, runs: Int) {
        state.withLock { ($0.bytes, $0.endedBytes, $0.outputs.count) }
    }
}
