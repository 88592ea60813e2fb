// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// A table with a heading, for people. All commands print their tables by it.
///
/// Its columns are as wide as their longest cell. On a terminal that is too narrow for that, `fitted` leaves
/// out the least important columns and shortens or wraps the others, so that no line is wider.
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

    struct Column {
        /// What becomes of a cell that is wider than its column.
        enum Overflow {
            /// Its end is replaced by `…`.
            case cut
            /// It continues in the next line, after a space between two words if there is one.
            case wrap
            /// It has a line of its own, above the others of its row: a name is never cut.
            case ownLine
        }

        var heading: String
        var overflow: Overflow
        /// To how many columns of the terminal it may be narrowed; nil: it is as wide as its longest cell.
        var least: Int?
        /// Those with the lowest number are left out first; nil: it is always there.
        var importance: Int?
        /// Whether the cells end at the same column, as numbers do.
        var isNumber: Bool

        init(
            _ heading: String, _ overflow: Overflow = .cut, least: Int? = nil,
            importance: Int? = nil, isNumber: Bool = false
        ) {
            self.heading = heading
            self.overflow = overflow
            self.least = least
            self.importance = importance
            self.isNumber = isNumber
        }
    }

    private var columns: [Column]
    private var rows: [[Cell]]
    private var widths: [Int]

    /// - Parameter rows: each has as many cells as there are columns.
    /// - Complexity: O(*n*) in the length of all texts.
    init(_ columns: [Column], _ rows: [[Cell]]) {
        let all = [columns.map { Cell($0.heading, .heading) }] + rows
        self.columns = columns
        self.rows = all
        widths = columns.indices.map { column in
            all.reduce(0) { max($0, Screen.width(of: $1[column].text)) }
        }
    }

    /// How many columns of a terminal the table takes.
    var width: Int { widths.reduce(0, +) + Self.gap * max(0, widths.count - 1) }

    private static let gap = 2

    /// The same table for a terminal that is this wide; nil: it is no terminal, and nothing is left out.
    ///
    /// The least important columns are left out until the others fit; of these, the widest is narrowed
    /// first. It is wider only if the columns that are always there need more.
    ///
    /// - Complexity: O(*c*²) for *c* columns, and O(*n*) in the number of cells.
    func fitted(to limit: Int?) -> TextTable {
        guard let limit, width > limit else { return self }
        var table = self
        while table.leastWidth > limit, let place = table.leastImportant { table.remove(place) }
        while table.width > limit, let widest = table.widestToNarrow {
            let least = min(table.columns[widest].least ?? 0, table.widths[widest])
            let others = table.narrowable.filter { $0 != widest }.map { table.widths[$0] }.max()
            // Down to the next one at once, and from there together with it.
            let next = max(least, min(others ?? least, table.widths[widest] - 1))
            table.widths[widest] = max(next, table.widths[widest] - (table.width - limit))
        }
        return table
    }

    private var leastWidth: Int {
        zip(columns, widths).reduce(Self.gap * max(0, columns.count - 1)) { sum, column in
            sum + min(column.0.least ?? column.1, column.1)
        }
    }

    private var leastImportant: Int? {
        columns.indices.filter { columns[$0].importance != nil }
            .min { columns[$0].importance ?? 0 < columns[$1].importance ?? 0 }
    }

    private var narrowable: [Int] {
        columns.indices.filter { place in
            columns[place].least.map { $0 < widths[place] } ?? false
        }
    }

    private var widestToNarrow: Int? { narrowable.max { widths[$0] < widths[$1] } }

    private mutating func remove(_ place: Int) {
        columns.remove(at: place)
        widths.remove(at: place)
        for row in rows.indices { rows[row].remove(at: place) }
    }

    /// Its lines, without spaces at their ends. A row takes several if a cell continues.
    func lines(color: Bool = false) -> [String] { rowLines(color: color).flatMap(\.self) }

    /// The lines of each row; the first row is the heading.
    func rowLines(color: Bool = false) -> [[String]] {
        rows.map { row in
            let hangs = zip(row, zip(columns, widths)).map { cell, column in
                column.0.overflow == .ownLine && Screen.width(of: cell.text) > column.1
            }
            var own: [String] = []
            var parts: [[Cell]] = []
            for (place, cell) in row.enumerated() {
                if hangs[place] {
                    own.append(styled(cell, color))
                    parts.append([])
                } else {
                    parts.append(self.parts(of: cell, place))
                }
            }
            let count = parts.map(\.count).max() ?? 0
            return own
                + (0..<count).map { index in
                    line(parts.map { index < $0.count ? $0[index] : Cell("") }, color: color)
                }
        }
    }

    private func parts(of cell: Cell, _ place: Int) -> [Cell] {
        let width = widths[place]
        guard Screen.width(of: cell.text) > width else { return [cell] }
        guard columns[place].overflow == .wrap else {
            return [Cell(Screen.shortened(cell.text, to: width), cell.style)]
        }
        return Screen.wrappedAtWords(cell.text, to: width).map { Cell($0, cell.style) }
    }

    private func styled(_ cell: Cell, _ color: Bool) -> String {
        color && cell.style != .plain ? cell.style.applied(to: cell.text) : cell.text
    }

    private func line(_ cells: [Cell], color: Bool, limit: Int = .max) -> String {
        var line = ""
        // Spaces are written only when something follows them.
        var spaces = 0
        var used = 0
        for (place, cell) in cells.enumerated() {
            let wide = Screen.width(of: cell.text)
            let pad = max(0, widths[place] - wide)
            let (before, behind) = columns[place].isNumber ? (pad, 0) : (0, pad)
            spaces += before
            defer { spaces += behind + Self.gap }
            guard !cell.text.isEmpty else { continue }
            let room = limit - used - spaces
            guard room > 0 else { break }
            let text = wide > room ? Screen.shortened(cell.text, to: room) : cell.text
            line += String(repeating: " ", count: spaces)
            line += styled(Cell(text, cell.style), color)
            used += spaces + Screen.width(of: text)
            spaces = 0
            guard wide <= room else { break }
        }
        return line
    }

    /// One of its rows in a single line, for a screen that is drawn again and again; the first is the
    /// heading.
    ///
    /// - Parameter limit: the most columns of the terminal; the rest is left out.
    func line(_ row: Int, color: Bool = false, limit: Int = .max) -> String {
        let cells = rows[row].enumerated().map { place, cell in
            Cell(Screen.shortened(cell.text, to: widths[place]), cell.style)
        }
        return line(cells, color: color, limit: limit)
    }
}

/// Names with values, one below the other, as `timerctl show` prints them: the values begin at the same
/// column, and long ones continue there.
struct TextPairs {
    private var pairs: [(name: String, value: String)] = []

    /// - Parameter value: nothing is added if it is nil. Control characters are shown as `\x1b`.
    mutating func add(_ name: String, _ value: String?) {
        guard let value else { return }
        pairs.append((name, Printable.text(value)))
    }

    init(_ pairs: [(String, String?)] = []) {
        for (name, value) in pairs { add(name, value) }
    }

    /// - Parameter columns: how wide the terminal is; nil: it is none.
    func lines(columns: Int?) -> [String] {
        let width = pairs.map { Screen.width(of: $0.name) }.max() ?? 0
        return pairs.flatMap { name, value -> [String] in
            let head =
                String(repeating: " ", count: width - Screen.width(of: name)) + name
                + (name.isEmpty ? "  " : ": ")
            return Screen.hanging(value, after: head, columns: columns)
        }
    }
}
