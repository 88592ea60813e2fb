// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// The items that `timerctl log` prints one after the other.
enum LogItem: Hashable {
    /// The start of a run, whose lines follow.
    case begin(RunStatus)
    /// More lines of this run follow, after lines of another one.
    case again(String)
    /// A line of output with its time and stream.
    case line(LogReply.Line)
    /// A line that a run has not ended.
    case unfinished(LogReply.Line)
    /// A stored line of this run, whose time and stream are not known.
    case kept(String, run: String)
    /// A note about missing lines.
    case note(String)
    /// The end of a run, and whether its lines came just before.
    case end(RunStatus, isLast: Bool)

    /// Whether it counts as a line: output, or a note that replaces output.
    var isLine: Bool {
        switch self {
        case .line, .unfinished, .kept, .note: true
        case .begin, .again, .end: false
        }
    }
}

/// How much of the output was shown, so that missing lines are noticed. Each run is tracked from
/// its first line on, or from the start of the daemon.
struct LogProgress {
    /// How many lines of each run were shown or are known to be missing.
    private var passed: [String: Int] = [:]

    /// The items for the output in an answer.
    mutating func items(of reply: LogReply) -> [LogItem] {
        var items: [LogItem] = []
        for line in reply.lines {
            let before = passed[line.run] ?? 0
            items += Self.missing(line.number - 1 - before, of: line.run, isStart: before == 0)
            items.append(.line(line))
            passed[line.run] = max(before, line.number)
        }
        for written in reply.written {
            let before = passed[written.run] ?? 0
            items += Self.missing(written.lineCount - before, of: written.run, isStart: before == 0)
            passed[written.run] = max(before, written.lineCount)
        }
        return items
    }

    private static func missing(_ lines: Int, of run: String, isStart: Bool) -> [LogItem] {
        guard lines > 0 else { return [] }
        let what =
            !isStart
            ? plural(lines, "line") : lines == 1 ? "the first line" : "the first \(lines) lines"
        return [
            .note("\(what) \(lines == 1 ? "is" : "are") not kept here; \(Text.journal(of: run))")
        ]
    }
}

extension Text {
    /// The place of the whole output of a run that was not dropped.
    static func journal(of run: String) -> String {
        "`journalctl TIMERD_RUN_ID=\(run)` shows what was logged"
    }
}
