// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl
import TimerCore

/// Runs and their output as people read them.
extension Text {
    /// The lines of `timerctl history`: each run, and below it the last lines it wrote.
    static func history(_ reply: HistoryReply, outputLines: Int) -> String {
        guard !reply.runs.isEmpty else { return "no runs" }
        var rows = [["JOB", "ENDED", "RESULT", "TOOK", "CPU", "PEAK", "RUN"]]
        for run in reply.runs {
            let status = run.status
            let cpu = status.userUsec.flatMap { user in status.systemUsec.map { user + $0 } }
            rows.append([
                job(of: status.run), instant(run.ended), status.outcome ?? "-",
                span(status.elapsedUsec), span(cpu),
                status.peakBytes.map { "\($0 / 1024) KiB" } ?? "-", status.run,
            ])
        }
        var lines: [String] = []
        for (index, line) in aligned(rows).enumerated() {
            lines.append(line)
            guard index > 0, outputLines > 0 else { continue }
            let output = reply.runs[index - 1].output.split(
                separator: "\n", omittingEmptySubsequences: true)
            lines += output.suffix(outputLines).map { "    | \(shown(String($0)))" }
        }
        return lines.joined(separator: "\n")
    }

    /// The lines of one answer to `timerctl log`.
    static func log(_ reply: LogReply) -> [String] {
        let past = reply.past.map { past in
            let output = past.output.hasSuffix("\n") ? String(past.output.dropLast()) : past.output
            return output.isEmpty
                ? []
                : output.split(
                    separator: "\n", omittingEmptySubsequences: false
                ).map { shown(String($0)) }
        }
        return (past ?? []) + reply.lines.map { shown($0.text) }
    }

    private static func job(of run: String) -> String {
        Run.ID(run)?.firing.job.description ?? "-"
    }

    /// What a job wrote may steer a terminal; into a file or a pipe it goes as it is.
    private static func shown(_ text: String) -> String {
        guard isatty(STDOUT_FILENO) == 1 else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let value = scalar.value
            let steers =
                (value < 0x20 && value != 9) || (0x7f...0x9f).contains(value)
                || (0x202a...0x202e).contains(value) || (0x2066...0x2069).contains(value)
            if steers {
                result += "\\x\(String(value, radix: 16))".unicodeScalars
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }
}
