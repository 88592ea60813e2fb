// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import Synchronization
package import TimerCore

/// The last lines that runs wrote, for clients that follow the output. It holds lines since the
/// start of the daemon, up to a limit. A run that writes much does not push out the lines of
/// others.
package final class RecentOutput: Sendable {
    package init() {}

    /// The most bytes of all active runs together; each line counts a little more than its length.
    /// The run with the most bytes loses its oldest lines first.
    static let bytesMax = 3 << 20
    /// The most bytes of a run that has ended, and of all ended runs together. They are kept
    /// because a client may not have read the last lines yet.
    static let endedRunBytesMax = 64 << 10
    static let endedBytesMax = 1 << 20
    /// How many bytes are dropped at a time; at most half of the run's bytes. Larger steps make the
    /// search for the largest run rare.
    private static let portionMax = 64 << 10
    private static let lineCost = 128

    /// A whole line of output, or one that has not ended yet.
    package struct Line: Sendable {
        /// Counted from 1 for the first line since the daemon's start.
        var number: UInt64
        package var run: Run.ID
        /// Counted from 1 for the first line of the run. Missing numbers belong to dropped lines.
        package var ordinal: Int
        package var text: [UInt8]
        package var toStderr: Bool
        /// When the line came, by the wall clock.
        package var at: WallInstant
    }

    /// What is kept of the output of one run.
    private struct Output {
        var lines: [Line] = []
        var head = 0
        var bytes = 0
        /// How many lines the run has written, including dropped ones.
        var written = 0
        var hasEnded = false
        /// The line that standard output has not ended, and that of standard error.
        private(set) var unfinished: [Line?] = [nil, nil]

        mutating func setUnfinished(_ line: Line?, toStderr: Bool) {
            let stream = toStderr ? 1 : 0
            bytes += Self.cost(of: line) - Self.cost(of: unfinished[stream])
            unfinished[stream] = line
        }

        private static func cost(of line: Line?) -> Int {
            line.map { $0.text.count + RecentOutput.lineCost } ?? 0
        }

        mutating func skip(_ count: Int) {
            let (sum, overflow) = written.addingReportingOverflow(count)
            written = overflow ? .max : sum
        }

        /// Drops the oldest lines until at most this many bytes are left.
        mutating func shrink(to most: Int) {
            while bytes > most, head < lines.count {
                bytes -= lines[head].text.count + RecentOutput.lineCost
                lines[head].text = []
                head += 1
            }
            // Memory is released when half of it is unused. On average each line then costs the
            // same.
            if head * 2 >= lines.count {
                lines.removeFirst(head)
                head = 0
            }
        }

        /// The lines after this number.
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
        /// The runs that have ended, in that order.
        var ended: [Run.ID] = []
        var bytes = 0
        var endedBytes = 0
        var number: UInt64 = 0

        /// Changes the output of a run and updates the sums.
        mutating func change(_ run: Run.ID, _ body: (inout Output) -> Void) {
            // A run that is not known to be active is treated as ended, so its output is not kept
            // for long.
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

    /// A run has started, so that it can be found even before its first line.
    package func begin(_ run: Run.ID) {
        state.withLock { state in
            if state.outputs[run] == nil { state.outputs[run] = Output() }
        }
    }

    /// A run has ended. Processes that it left behind may write more.
    package func end(_ run: Run.ID) {
        state.withLock { state in
            guard var output = state.outputs[run], !output.hasEnded else { return }
            state.outputs[run] = nil
            state.bytes -= output.bytes
            for toStderr in [false, true] { output.setUnfinished(nil, toStderr: toStderr) }
            guard output.bytes > 0 else { return }
            state.change(run) {
                $0 = output
                $0.hasEnded = true
                $0.shrink(to: Self.endedRunBytesMax)
            }
            state.makeRoom()
        }
    }

    /// - Parameter at: when the line came, by the wall clock.
    package func add(
        _ text: [UInt8], of run: Run.ID, toStderr: Bool,
        at: WallInstant = WallInstant(microsecondsSinceEpoch: 0)
    ) {
        state.withLock { state in
            state.number += 1
            let number = state.number
            state.change(run) { output in
                output.setUnfinished(nil, toStderr: toStderr)
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

    /// An active run has written this after its last line, without an end. The line replaces it.
    package func note(unfinished text: [UInt8], of run: Run.ID, toStderr: Bool, at: WallInstant) {
        state.withLock { state in
            guard state.outputs[run]?.hasEnded == false else { return }
            let number = state.number
            state.change(run) { output in
                let line = Line(
                    number: number, run: run, ordinal: output.written + 1, text: text,
                    toStderr: toStderr, at: at)
                output.setUnfinished(text.isEmpty ? nil : line, toStderr: toStderr)
            }
            state.makeRoom()
        }
    }

    /// This many lines of a run were dropped before they came here.
    package func skip(_ lines: Int, of run: Run.ID) {
        state.withLock { state in
            guard state.outputs[run] != nil else { return }
            state.change(run) { output in
                // A line that has not ended may be one of the dropped ones.
                for toStderr in [false, true] { output.setUnfinished(nil, toStderr: toStderr) }
                output.skip(lines)
            }
        }
    }

    /// What is kept of the output of some runs.
    package struct Excerpt {
        /// Their lines, in the order in which they came.
        package var lines: [Line] = []
        /// The lines that the runs have not ended yet, such as a prompt.
        package var unfinished: [Line] = []
        /// How many lines each run has written, including dropped ones.
        package var written: [Run.ID: Int] = [:]
        /// The number from which the next request continues.
        package var last: UInt64 = 0
    }

    /// The lines of these runs after this number.
    /// - Complexity: O(*r* + *n* log *n*) in the number of known runs and of the lines since.
    package func lines(after number: UInt64, of isWanted: (Run.ID) -> Bool) -> Excerpt {
        var excerpt = state.withLock { state in
            var excerpt = Excerpt(last: state.number)
            for (run, output) in state.outputs where isWanted(run) {
                excerpt.unfinished += output.unfinished.compactMap(\.self)
                guard output.written > 0 else { continue }
                excerpt.lines += output.lines(after: number)
                excerpt.written[run] = output.written
            }
            return excerpt
        }
        excerpt.lines.sort { $0.number < $1.number }
        excerpt.unfinished.sort { $0.at < $1.at }
        return excerpt
    }

    /// The bytes of active runs and of ended runs, and the number of known runs.
    var size: (active: Int, ended: Int, runs: Int) {
        state.withLock { ($0.bytes, $0.endedBytes, $0.outputs.count) }
    }
}
