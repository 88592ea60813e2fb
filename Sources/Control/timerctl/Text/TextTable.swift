// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// A table with a heading, for people: its columns are as wide as their longest cell.
struct TextTable {
    /// The style of a cell if there are colors.
    enum Style: String {
        case plain = ""
        case heading = "1"
        case good = "32"
        case bad = "31"
        case waiting = "33"

        /// The text in this style, for a terminal.
        func applied(to text: String) -> String { "\u{1b}[\(rawValue)m\(text)\u{1b}[0m" }
    }

    struct Cell: Hashable {
        var text: String
        var style = Style.plain

        /// - Parameter text: control characters are shown as `\x1b`, so that none reaches a
        ///   terminal, and a tab as a space.
        init(_ text: String, _ style: Style = .plain) {
            self.text = Screen.expanded(Printable.text(text), tab: 1)
            self.style = style
        }
    }

    private var rows: [[Cell]]
    private var widths: [Int]

    /// - Parameter rows: each has as many cells as there are headings.
    /// - Complexity: O(*n*) in the length of all texts.
    init(_ headings: [String], _ rows: [[Cell]]) {
        let all = [headings.map { Cell($0, .heading) }] + rows
        self.rows = all
        widths = headings.indices.map { column in
            all.reduce(0) { max($0, Screen.width(of: $1[column].text)) }
        }
    }

    /// How many columns of a terminal the table takes.
    var width: Int { widths.reduce(0, +) + 2 * max(0, widths.count - 1) }

    /// The same table with some columns shortened, so that it takes at most `limit` columns of the
    /// terminal; wider if that is not possible.
    ///
    /// - Parameters:
    ///   - flexible: the columns that may be shortened; the widest is shortened first.
    ///   - least: the width that each of them keeps.
    func fitted(to limit: Int, shortening flexible: [Int], least: Int = 8) -> TextTable {
        var table = self
        while table.width > limit {
            guard let widest = flexible.max(by: { table.widths[$0] < table.widths[$1] }),
                table.widths[widest] > least
            else { break }
            table.widths[widest] = max(least, table.widths[widest] - (table.width - limit))
            for row in table.rows.indices {
                table.rows[row][widest].text = Screen.shortened(
                    table.rows[row][widest].text, to: table.widths[widest])
            }
        }
        return table
    }

    /// Its lines, without spaces at their ends.
    func lines(color: Bool = false) -> [String] {
        rows.indices.map { line($0, color: color) }
    }

    /// One of its lines; the first is the heading.
    ///
    /// - Parameter limit: the most columns of the terminal; the rest is left out.
    func line(_ row: Int, color: Bool = false, limit: Int = .max) -> String {
        var line = ""
        // Spaces are written only when something follows them.
        var spaces = 0
        var used = 0
        for (cell, width) in zip(rows[row], widths) {
            let wide = Screen.width(of: cell.text)
            defer { spaces += width - wide + 2 }
            guard !cell.text.isEmpty else { continue }
            let room = limit - used - spaces
            guard room > 0 else { break }
            let text = wide > room ? Screen.shortened(cell.text, to: room) : cell.text
            line += String(repeating: " ", count: spaces)
            line += color && cell.style != .plain ? cell.style.applied(to: text) : text
            used += spaces + Screen.width(of: text)
            spaces = 0
            guard wide <= room else { break }
        }
        return line
    }
}
