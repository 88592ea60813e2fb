// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// What `timerctl log` shows, one after the other.
enum LogItem: Hashable {
    /// A run, and that its lines follow.
    case begin(RunStatus)
    /// Lines of this run follow again, behind those of another one.
    case again(String)
    /// A line of output.
    case line(LogReply.Line)
    /// A line of which is only known that it was written, by this run.
    case kept(String, run: String)
    /// Lines that are not there, or why there are none, in words.
    case note(String)
    /// The end of a run. Whether its lines came just before.
    case end(RunStatus, isLast: Bool)

    /// Whether it counts as a line: it is output, or says what there is instead.
    var isLine: Bool {
        switch self {
        case .line, .kept, .note: true
        case .begin, .again, .end: false
        }
    }
}

/// How far the output of runs was shown, so that lines that are missing are noticed. Each run is followed from its first
/// line on, or from the start of the daemon.
struct LogProgress {
    /// How many lines of each run were shown or are missing.
    private var passed: [String: Int] = [:]

    /// What there is to be shown of the output in an answer.
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
    /// Where all output of a run is that was not dropped.
    static func journal(of run: String) -> String {
        "`journalctl TIMERD_RUN_ID=\(run)` shows what was logged"
    }
}
