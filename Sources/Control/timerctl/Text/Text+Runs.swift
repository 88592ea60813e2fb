// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// The texts of `timerctl history` and of output.
extension Text {
    /// The lines of `timerctl history`: each run, and below it the last lines of its output, and
    /// between them the runs that were skipped.
    ///
    /// - Parameter period: what --since and --until say, in words.
    static func history(_ reply: HistoryReply, outputLines: Int, period: String? = nil) -> String {
        let range = period.map { " \($0)" } ?? ""
        let skipped = reply.skippedRuns ?? []
        guard !reply.runs.isEmpty || !skipped.isEmpty else { return "no runs\(range)" }
        let hasMachines = reply.runs.contains { $0.machine != nil }
        var rows: [(at: String, cells: [TextTable.Cell], output: String)] = []
        for run in reply.runs {
            let cpu = run.userUsec.flatMap { user in run.systemUsec.map { user + $0 } }
            var cells = [
                run.job, instant(run.ended), run.outcome ?? "-", span(run.elapsedUsec), span(cpu),
                run.peakBytes.map { "\($0 / 1024) KiB" } ?? "-",
                run.id + (run.arguments.map { ", with \(RunArguments.shown($0))" } ?? ""),
            ]
            if hasMachines { cells.insert(run.machine ?? "-", at: 1) }
            rows.append((run.ended ?? "", cells.map { .init($0) }, run.output ?? ""))
        }
        for skip in skipped {
            var cells = [
                skip.job, instant(skip.at), "skipped(\(skip.reason))", "-", "-", "-",
                self.skipped(skip),
            ]
            if hasMachines { cells.insert("-", at: 1) }
            rows.append((skip.at, cells.map { .init($0) }, ""))
        }
        // Both are in this order already, and instants sort as their texts do.
        if !skipped.isEmpty { rows.sort { $0.at > $1.at } }
        var lines: [String] = []
        let table = TextTable(
            ["JOB"] + (hasMachines ? ["MACHINE"] : [])
                + ["ENDED", "RESULT", "TOOK", "CPU", "PEAK", "RUN"], rows.map(\.cells))
        for (index, line) in table.lines().enumerated() {
            lines.append(line)
            guard index > 0, outputLines > 0 else { continue }
            lines += lastLines(of: rows[index - 1].output, outputLines).map {
                "    | \($0)"
            }
        }
        if period != nil { lines += ["", "\(plural(reply.runs.count, "run"))\(range)"] }
        return lines.joined(separator: "\n")
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
        lines(of: output).filter { !$0.isEmpty }.suffix(count).map { Terminal.shown($0) }
    }

    /// The lines of an output. They are split by bytes, because Swift combines CR and LF into one
    /// character.
    static func lines(of output: String) -> [String] {
        var lines = output.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { String($0) }
    }
}
