// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// What `timerctl log` prints.
enum LogItem: Hashable {
    case line(String)
    /// Lines that are not there, in words.
    case missing(String)
}

/// How far the output of runs was shown, so that lines that are missing are noticed.
struct LogProgress {
    /// How many lines of each run were shown or are missing.
    private var passed: [String: Int] = [:]
    private var isFirst = true

    /// What there is to be shown of an answer.
    ///
    /// The earlier lines of a run that is not in the first answer were not requested, and so are not missing.
    mutating func items(of reply: LogReply) -> [LogItem] {
        var items: [LogItem] = []
        for line in reply.lines {
            let before = passed[line.run] ?? (isFirst ? 0 : line.number - 1)
            items += Self.missing(line.number - 1 - before, of: line.run, isStart: before == 0)
            items.append(.line(line.text))
            passed[line.run] = max(before, line.number)
        }
        for written in reply.written {
            let before = passed[written.run] ?? (isFirst ? 0 : written.lines)
            items += Self.missing(written.lines - before, of: written.run, isStart: before == 0)
            passed[written.run] = max(before, written.lines)
        }
        let known = Set(reply.written.map(\.run))
        passed = passed.filter { known.contains($0.key) }
        isFirst = false
        return items
    }

    private static func missing(_ lines: Int, of run: String, isStart: Bool) -> [LogItem] {
        guard lines > 0 else { return [] }
        let what =
            !isStart
            ? plural(lines, "line") : lines == 1 ? "the first line" : "the first \(lines) lines"
        return [
            .missing(
                "\(what) of run \(run) \(lines == 1 ? "is" : "are") not kept here; "
                    + "journalctl TIMERD_RUN_ID=\(run) shows what was logged")
        ]
    }
}
