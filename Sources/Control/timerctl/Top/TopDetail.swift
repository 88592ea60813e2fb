// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// What is known of one job, beside the table on a wide screen, or on a page of its own.
struct TopDetail: Hashable, Sendable {
    let job: String
    /// Why it has not run, and when it will.
    var why: [String]
    /// Its last runs, the latest first.
    var runs: [RunStatus]
    /// The end of the output of its active run, or of the last one.
    var output: [String]

    /// How many runs are requested.
    static let runsMax = 30
    /// How many lines of output are kept.
    static let linesMax = 200
    /// From which width on the screen has room for it beside the table.
    static let columnsMin = 132

    /// How many columns it takes beside the table; nil if there is no room.
    static func width(_ size: TopSize) -> Int? {
        size.columns >= columnsMin && size.rows >= 12 ? size.columns * 2 / 5 : nil
    }

    /// The lines beside the table: why, the last runs, and what is printed.
    func lines(columns: Int, rows: Int, now: WallInstant) -> [TopPage.Line] {
        var lines = [TopPage.Line(text: job, style: .heading)]
        lines += whyLines(columns).prefix(max(3, rows / 3))
        lines.append(.init(text: ""))
        lines += runLines(columns, now).prefix(max(2, rows / 4) + 1)
        let room = rows - lines.count - 2
        let text = output.suffix(max(0, room)).map {
            TopPage.Line(text: Screen.shortened($0, to: columns))
        }
        if !text.isEmpty {
            lines += [.init(text: ""), .init(text: "OUTPUT", style: .heading)] + text
        }
        return Array(lines.prefix(rows))
    }

    func whyLines(_ columns: Int) -> [TopPage.Line] {
        why.flatMap { Screen.hanging(Printable.text($0), indent: 2, columns: columns) }
            .map { TopPage.Line(text: $0) }
    }

    func runLines(_ columns: Int, _ now: WallInstant) -> [TopPage.Line] {
        guard !runs.isEmpty else { return [.init(text: "no runs")] }
        let table = TextTable(
            [
                .init("ENDED"), .init("RESULT", .cut, least: 12),
                .init("TOOK", importance: 10, isNumber: true),
            ],
            runs.map { run in
                [
                    .init(Text.when(run.ended, now: now)), .init(RunWords.end(of: run) ?? "-"),
                    .init(run.began == nil ? "-" : Text.span(run.elapsedUsec)),
                ]
            }
        ).fitted(to: columns)
        return table.lines().enumerated().map { index, line in
            let failed = index > 0 && runs[index - 1].failed == true
            return TopPage.Line(text: line, style: index == 0 ? .heading : failed ? .bad : .plain)
        }
    }
}

extension Connection {
    /// All that `top` shows of one job.
    func detail(of job: Job.Name) throws(Failure) -> TopDetail {
        let why = try value(WhyReply.self, of: .why(job))
        let history = try value(
            HistoryReply.self, of: .history(HistoryQuery(job: job, limit: TopDetail.runsMax)))
        let log = try value(LogReply.self, of: .log(job, LogQuery(after: nil)))
        let recent = log.lines.suffix(TopDetail.linesMax).map(\.text)
        let kept = Text.lines(of: log.past?.output ?? "").suffix(TopDetail.linesMax)
        return TopDetail(
            job: job.description, why: Explanation(why) { Text.instant($0) }.sentences,
            runs: history.runs,
            output: (recent.isEmpty ? Array(kept) : recent).map {
                Screen.expanded(Printable.text($0))
            })
    }
}
