// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// The texts of `timerctl history` and of output.
extension Text {
    /// The lines of `timerctl history`: each run, and below it the last lines of its output, and
    /// between them the runs that were skipped.
    ///
    /// - Parameters:
    ///   - period: what --since and --until say, in words.
    ///   - hasMore: whether there are older ones.
    static func history(
        _ reply: HistoryReply, outputLines: Int, period: String? = nil, hasMore: Bool = false,
        on screen: Screen = Screen(),
        now: WallInstant = Terminal.now
    ) -> String {
        let range = period.map { " \($0)" } ?? ""
        let skipped = reply.skippedRuns ?? []
        guard !reply.runs.isEmpty || !skipped.isEmpty else { return "no runs\(range)" }
        var rows = reply.runs.map { run in
            HistoryRow(at: run.ended ?? "", cells: cells(of: run, now), output: run.output ?? "")
        }
        rows += skipped.map { HistoryRow(at: $0.at, cells: cells(of: $0, now), output: "") }
        // Both are in this order already, and instants sort as their texts do.
        if !skipped.isEmpty { rows.sort { $0.at > $1.at } }
        let hasMachines = reply.runs.contains { $0.machine != nil }
        let table = TextTable(
            historyColumns(hasMachines),
            rows.map { hasMachines ? $0.cells : $0.cells.withoutMachine })
        var lines: [String] = []
        let blocks = table.fitted(to: screen.columns).rowLines(color: screen.hasColor)
        for (index, block) in blocks.enumerated() {
            lines += block
            guard index > 0, outputLines > 0 else { continue }
            lines += lastLines(of: rows[index - 1].output, outputLines).flatMap {
                screen.lines($0, after: "    | ")
            }
        }
        let count = plural(reply.runs.count, "run")
        if hasMore {
            lines += [""] + screen.lines("The latest \(count)\(range); --limit shows more of them")
        } else if period != nil {
            lines += ["", "\(count)\(range)"]
        }
        return lines.joined(separator: "\n")
    }

    private struct HistoryRow {
        var at: String
        var cells: [TextTable.Cell]
        var output: String
    }

    private static func historyColumns(_ hasMachines: Bool) -> [TextTable.Column] {
        let all: [TextTable.Column] = [
            .init("JOB", .ownLine, least: 16), .init("MACHINE", importance: 50),
            .init("ENDED", importance: 60), .init("RESULT", .wrap, least: 16),
            .init("TOOK", importance: 40, isNumber: true),
            .init("CPU", importance: 20, isNumber: true),
            .init("PEAK", importance: 10, isNumber: true),
            .init("RUN", .wrap, least: 44, importance: 30),
        ]
        return hasMachines ? all : all.withoutMachine
    }

    private static func cells(of run: RunStatus, _ now: WallInstant) -> [TextTable.Cell] {
        let cpu = run.userUsec.flatMap { user in run.systemUsec.map { user + $0 } }
        let style: TextTable.Style = run.failed == true ? .bad : .plain
        let arguments = run.arguments.map { ", with \(RunArguments.shown($0))" } ?? ""
        return [
            .init(run.job), .init(run.machine ?? "-"), .init(when(run.ended, now: now)),
            .init(RunWords.end(of: run) ?? "-", style),
            // How long a run took whose end was not seen is not known.
            .init(run.began == nil || run.reason == "lost" ? "-" : span(run.elapsedUsec)),
            .init(run.began == nil ? "-" : span(cpu)), .init(size(run.peakBytes)),
            .init(run.id + arguments),
        ]
    }

    private static func cells(of skip: SkippedRuns, _ now: WallInstant) -> [TextTable.Cell] {
        [
            .init(skip.job), .init("-"), .init(when(skip.at, now: now)),
            .init("skipped: \(RunWords.skip(skip.reason))"), .init("-"), .init("-"), .init("-"),
            .init(skipped(skip)),
        ]
    }

    private static func skipped(_ skip: SkippedRuns) -> String {
        let which =
            skip.skippedCount == 1
            ? "due \(instant(skip.firstScheduled))"
            : "\(skip.skippedCount) runs, due from \(instant(skip.firstScheduled))"
        return which + (skip.blockedBy.map { ", because of \($0)" } ?? "")
    }

    /// The last lines of an output that are not empty.
    static func lastLines(of output: String, _ count: Int) -> [String] {
        OutputLines.last(count, of: output).map { Printable.text($0) }
    }

    /// The lines of an output.
    static func lines(of output: String) -> [String] { OutputLines.all(of: output) }
}

extension Array {
    /// The columns, or the cells, of a history of this machine alone.
    fileprivate var withoutMachine: [Element] { Array(prefix(1) + dropFirst(2)) }
}
