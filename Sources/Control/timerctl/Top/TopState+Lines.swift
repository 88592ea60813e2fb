// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// Draws the state on the screen.
extension TopState {
    /// The whole screen, one line for each row. None is wider than the screen or contains anything
    /// that moves the cursor.
    ///
    /// - Parameter now: the time of the wall clock.
    /// - Complexity: O(*n*) in the number of shown jobs.
    func lines(_ size: TopSize, hasColor: Bool, now: WallInstant) -> [String] {
        let drawing = Drawing(columns: size.columns, hasColor: hasColor)
        var lines: [String]
        switch mode {
        case .log(let log):
            let about = log.about.map { " (\($0))" } ?? ""
            let title = problem ?? "Output of \(log.job)\(about)"
            lines =
                [drawing.line(title, problem == nil ? .heading : .bad)]
                + (log.emptiness.map { [drawing.line($0)] }
                    ?? log.page.rows(pageSize(size)).map { drawing.line($0.text, $0.style) })
        case .help(let page):
            lines =
                [drawing.line("Keys of timerctl top", .heading)]
                + page.rows(pageSize(size)).map { drawing.line($0.text, $0.style) }
        case .page(let page, let kind):
            let what = kind == .why ? "Why" : "Last runs"
            lines =
                [drawing.line(problem ?? "\(what): \(selected ?? "-")", .heading)]
                + page.rows(pageSize(size)).map { drawing.line($0.text, $0.style) }
        case .table, .filter, .question, .note: lines = tableLines(size, drawing, now)
        }
        lines = Array(lines.prefix(max(0, size.rows - 1)))
        lines += Array(repeating: "", count: max(0, size.rows - 1 - lines.count))
        return lines + [lastLine(drawing)]
    }

    /// Fits texts into the width of the screen.
    private struct Drawing {
        var columns: Int
        var hasColor: Bool

        func line(_ text: String, _ style: TextTable.Style = .plain) -> String {
            let short = Screen.shortened(
                Screen.expanded(Printable.text(text), tab: 1), to: columns)
            return hasColor && style != .plain ? style.applied(to: short) : short
        }
    }

    private func tableLines(_ size: TopSize, _ drawing: Drawing, _ now: WallInstant) -> [String] {
        let header = header(size, now).map { drawing.line($0.text, $0.style) }
        guard table != nil else { return header }
        guard !shown.isEmpty else {
            return header
                + [drawing.line(isFiltered ? "no job matches; f, F and / change that" : "no jobs")]
        }
        let width = TopDetail.width(size)
        let columns = size.columns - (width.map { $0 + Self.border.count } ?? 0)
        let table = Text.fitting(shown, nil, Screen(columns: columns), now)
        /// A row as wide as the table, if something is beside it.
        func row(_ index: Int) -> String {
            let plain = table.line(index + 1, limit: columns)
            let space = String(repeating: " ", count: columns - Screen.width(of: plain))
            guard index != place else {
                // Inverse video is no color, and every terminal has it.
                return "\u{1b}[7m\(plain)\(space)\u{1b}[0m"
            }
            let text = table.line(index + 1, color: drawing.hasColor, limit: columns)
            return width == nil ? text : text + space
        }
        let heading = row(-1)
        let rows = [heading] + shown.indices[top...].prefix(jobRows(size)).map(row)
        guard let width else { return header + rows }
        return header + beside(rows, width, columns, size, drawing, now)
    }

    private static let border = " │ "

    /// The rows of the table, with what is known of the selected job at their right.
    private func beside(
        _ rows: [String], _ width: Int, _ columns: Int, _ size: TopSize, _ drawing: Drawing,
        _ now: WallInstant
    ) -> [String] {
        let count = jobRows(size) + 1
        let known = detail.flatMap { $0.job == selected ? $0 : nil }
        let lines =
            known?.lines(columns: width, rows: count, now: now)
            ?? [.init(text: "waiting for timerd")]
        let pane = Drawing(columns: width, hasColor: drawing.hasColor)
        let empty = String(repeating: " ", count: columns)
        return (0..<count).map { index in
            let left = index < rows.count ? rows[index] : empty
            let right = index < lines.count ? pane.line(lines[index].text, lines[index].style) : ""
            return left + Self.border + right
        }
    }

    /// The lines above the table; fewer on a small screen.
    private func header(_ size: TopSize, _ now: WallInstant) -> [TopPage.Line] {
        let title = TopPage.Line(
            text: title(size, now), style: problem == nil ? .heading : .bad)
        let figures = table.map { Text.summary($0, shown: shown, now: now) } ?? ""
        let summary = figures.split(separator: "\n").map { TopPage.Line(text: String($0)) }
        let room = headerRows(size)
        let all =
            room == 1 && problem == nil && !summary.isEmpty
            ? summary : [title] + summary + [.init(text: "")]
        return Array(all.prefix(room))
    }

    private func headerRows(_ size: TopSize) -> Int {
        let all = table.map { Text.faults(of: $0).isEmpty ? 3 : 4 } ?? 3
        return min(all, max(0, size.rows - 4))
    }

    /// How many rows the screen has for jobs.
    func jobRows(_ size: TopSize) -> Int { max(0, size.rows - headerRows(size) - 2) }

    /// The size of a page, between the title and the last line.
    func pageSize(_ size: TopSize) -> TopSize {
        TopSize(rows: max(1, size.rows - 2), columns: size.columns)
    }

    private func title(_ size: TopSize, _ now: WallInstant) -> String {
        var left = problem ?? "timerd"
        if problem == nil, let table {
            left += table.version.map { " \($0)" } ?? ""
            left += table.since.map { ", started \(Text.instant($0, now: now))" } ?? ""
        }
        if let command = filter.sort { left += "; sorted by \(command.rawValue)" }
        if !filter.states.isEmpty {
            let states = filter.states.sorted { $0.rank < $1.rank }.map(\.rawValue)
            left += "; only \(states.joined(separator: ", "))"
        }
        if filter.failed { left += "; only failed" }
        if !text.isEmpty { left += "; names: \(text)" }
        let place = shown.isEmpty ? "" : "\(place + 1)/\(shown.count)  "
        let right = place + Text.local(now, as: "%H:%M:%S")
        guard size.columns >= 40 else { return left }
        let room = size.columns - right.count - 2
        let text = Screen.shortened(Screen.expanded(Printable.text(left), tab: 1), to: room)
        return text + String(repeating: " ", count: room - Screen.width(of: text) + 2) + right
    }

    private static let hints =
        "?:help q:quit p:pause r:resume R:run t:retry K:kill l:log w:why H:runs /:find"

    private func lastLine(_ drawing: Drawing) -> String {
        switch mode {
        case .question(let command): return drawing.line(command.question ?? "", .waiting)
        case .filter: return filterLine(drawing)
        case .note(let text, let job):
            return drawing.line("Pause \(job), because: \(Printable.text(text))_", .waiting)
        case .table, .log, .help, .page: break
        }
        if let message {
            return drawing.line(message.text, message.isError ? .bad : .plain)
        }
        if pending > 0 { return drawing.line("waiting for timerd", .waiting) }
        switch mode {
        case .log, .page: return drawing.line("q:back up down PgUp PgDn Home End:scroll")
        case .help: return drawing.line("q:back")
        case .table, .filter, .question, .note: return drawing.line(Self.hints)
        }
    }

    /// The end of the typed text is always visible.
    private func filterLine(_ drawing: Drawing) -> String {
        var end = Printable.text(text)
        while Screen.width(of: end) > max(1, drawing.columns - 9) { end.removeFirst() }
        return drawing.line("Filter: \(end)_", .waiting)
    }
}
