// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// The text of a message for people, without the markup of any receiver.
extension MessageSheet {
    /// The most lines of a table of several notifications, and how many of them have their output
    /// below it.
    private static let rowsMax = 500
    private static let outputsMax = 3

    /// How much of the output a mail has of a single notification, and of each of several.
    private static let single = (lines: 60, characters: 12_000)
    private static let oneOfSeveral = (lines: 8, characters: 1500)

    /// The whole text, whose first line says what happened.
    var text: String {
        var lines = [headline, ""]
        if let single {
            lines += factLines(of: single) + outputLines(of: single, limit: Self.single)
            lines += ["", "Look further:"] + commands(for: single).map { "    \($0)" }
        } else {
            lines += table
            for report in reports.filter({ $0.notification.kind.isTrouble && !$0.output.isEmpty })
                .prefix(Self.outputsMax)
            {
                lines += ["", headline(of: report)]
                lines += outputLines(of: report, limit: Self.oneOfSeveral)
            }
            lines += [
                "", "Look further:", "    timerctl failures", "    timerctl log RUN",
                "    timerctl why JOB",
            ]
        }
        lines += ["", signature]
        return lines.joined(separator: "\n") + "\n"
    }

    /// Which message it is, for the end of a text.
    var signature: String { "timerd on \(host), notifier \(notifier), message \(envelope.number)" }

    private func factLines(of report: Report) -> [String] {
        let facts = facts(of: report)
        if report.notification.kind == .test {
            return [
                "A user asked for it with `timerctl notify test`. Nothing has happened to a job."
            ]
        }
        let width = facts.reduce(0) { max($0, $1.name.utf8.count) }
        return facts.map { name, value in
            "\(name)\(String(repeating: " ", count: width - name.utf8.count))  \(value)"
        }
    }

    /// The end of the output with a heading; nothing if there is no output.
    func outputLines(
        of report: Report, limit: (lines: Int, characters: Int)
    ) -> [String] {
        let text = OutputExcerpt.text(report.output)
        let (lines, isCut) = OutputExcerpt.lastLines(
            of: text, lines: limit.lines, characters: limit.characters)
        guard !lines.isEmpty else { return [] }
        let heading = isCut || report.outputIsCut ? "The end of its output:" : "Its output:"
        return ["", heading, ""] + lines.map { $0.isEmpty ? "    |" : "    | \($0)" }
    }

    private var table: [String] {
        let rows = reports.prefix(Self.rowsMax).map { report in
            let notification = report.notification
            return [
                time(notification.at), notification.jobText, summary(of: notification),
                notification.run.map { "\($0)" } ?? "-",
            ]
        }
        let all = [["TIME", "JOB", "WHAT", "RUN"]] + rows
        let widths = (0..<4).map { column in all.reduce(0) { max($0, $1[column].count) } }
        var lines = all.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                line += cell
                guard column < 3 else { continue }
                line += String(repeating: " ", count: widths[column] - cell.count + 2)
            }
            return line
        }
        if reports.count > rows.count {
            lines.append("and \(reports.count - rows.count) more")
        }
        return lines
    }

    private func summary(of notification: JobNotification) -> String {
        let count = notification.failedInARow
        let often = count > 1 ? ", \(count) in a row" : ""
        return switch notification.kind {
        case .failure, .lost: "\(OutputExcerpt.shortened(outcome(notification), to: 50))\(often)"
        case .recovery: "recovered" + (count > 0 ? " after \(plural(count, "failure"))" : "")
        case .late: "late"
        case .long: "still running"
        case .stale: "no success"
        case .start: "started"
        case .success: "succeeded"
        case .skipped:
            "skipped" + (notification.skipReason.map { " (\(Printable.text($0)))" } ?? "")
        case .pausedLong: "paused"
        case .output: "output"
        case .test: "test"
        }
    }
}
