// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CLinux
import Glibc

/// The place of the output, and what it can show.
struct Screen {
    /// The number of columns and rows; nil if it is no terminal, and then nothing is shortened.
    var columns: Int?
    var rows: Int?
    var hasColor = false

    /// The values of `--color`.
    enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
        case auto, always, never
    }

    /// Standard output at this time. `auto` means colors on a terminal, unless NO_COLOR is set
    /// (no-color.org) or TERM is `dumb`.
    static func standardOutput(color: ColorChoice) -> Screen { on(STDOUT_FILENO, color) }

    /// Standard error as it is now. It has colors by the rule of `auto`.
    static var standardError: Screen { on(STDERR_FILENO, .auto) }

    private static func on(_ output: Int32, _ color: ColorChoice) -> Screen {
        var screen = Screen()
        var columns: Int32 = 0
        var rows: Int32 = 0
        let isTerminal = isatty(output) == 1
        if isTerminal, clinux_terminal_size(output, &columns, &rows) == 0 {
            screen.columns = Terminal.isFull ? nil : Int(columns)
            screen.rows = Int(rows)
        }
        screen.hasColor =
            switch color {
            case .always: true
            case .never: false
            case .auto: isTerminal && !isSet("NO_COLOR") && text("TERM") != "dumb"
            }
        return screen
    }

    /// A sentence in lines that fit, as `hanging`.
    func lines(_ text: String, after head: String = "", indent: Int? = nil) -> [String] {
        Self.hanging(text, after: head, indent: indent, columns: columns)
    }

    private static func text(_ variable: String) -> String? {
        getenv(variable).map { String(cString: $0) }
    }

    private static func isSet(_ variable: String) -> Bool { text(variable)?.isEmpty == false }

    /// The number of columns of a text on a terminal.
    /// - Complexity: O(*n*).
    static func width(of text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + width(of: $1) }
    }

    /// A character is as wide as its widest part: an emoji that joins several takes two columns.
    private static func width(of character: Character) -> Int {
        character.unicodeScalars.reduce(0) { max($0, Int(clinux_columns($1.value))) }
    }

    /// The text in rows with this number of columns; at least one row. A character that is wider
    /// than a row is left out.
    /// - Complexity: O(*n*).
    static func wrapped(_ text: String, to columns: Int) -> [String] {
        guard width(of: text) > columns else { return [text] }
        var rows: [String] = []
        var row = ""
        var used = 0
        for character in text {
            let width = width(of: character)
            guard width <= columns else { continue }
            if used + width > columns {
                rows.append(row)
                (row, used) = ("", 0)
            }
            row.append(character)
            used += width
        }
        return rows + [row]
    }

    /// The text in lines with at most this number of columns, each with as many words as fit. A word that
    /// is wider than a line continues in the next one. At least one line.
    ///
    /// - Parameter first: how many columns the first line has, if it has less.
    /// - Complexity: O(*n*).
    static func wrappedAtWords(_ text: String, to columns: Int, first: Int? = nil) -> [String] {
        var room = first ?? columns
        guard columns > 0, room > 0, width(of: text) > room else { return [text] }
        var lines: [String] = []
        // Nil before the first word of a line.
        var line: String?
        func end() {
            if let line { lines.append(line) }
            (line, room) = (nil, columns)
        }
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            let longer = line.map { "\($0) \(word)" } ?? String(word)
            if width(of: longer) <= room {
                // The spaces at which a line ends do not begin the next one.
                if line != nil || !word.isEmpty || lines.isEmpty { line = longer }
                continue
            }
            end()
            for part in wrapped(String(word), to: room) {
                end()
                line = part
            }
        }
        end()
        return lines.isEmpty ? [""] : lines
    }

    /// A text after a beginning of its first line. What does not fit continues in further lines.
    ///
    /// - Parameters:
    ///   - indent: how far these are indented; nil: as far as the text in the first line.
    ///   - columns: how wide the terminal is; nil: it is none, and nothing is wrapped.
    static func hanging(
        _ text: String, after head: String = "", indent: Int? = nil, columns: Int?
    ) -> [String] {
        guard let columns else { return [head + text] }
        let text = expanded(text)
        let begin = width(of: head)
        let indent = indent ?? begin
        // Beside a long beginning there is no room for a text.
        guard columns >= max(begin, indent) + 16 else {
            return wrappedAtWords(head + text, to: columns)
        }
        let lines = wrappedAtWords(text, to: columns - indent, first: columns - begin)
        return lines.enumerated().map { index, line in
            index == 0 ? head + line : String(repeating: " ", count: indent) + line
        }
    }

    /// The text with spaces instead of tabs, as a terminal shows them.
    static func expanded(_ text: String, tab: Int = 8) -> String {
        guard text.utf8.contains(UInt8(ascii: "\t")) else { return text }
        var result = ""
        var used = 0
        for character in text {
            guard character == "\t" else {
                result.append(character)
                used += width(of: character)
                continue
            }
            let spaces = tab - used % tab
            result += String(repeating: " ", count: spaces)
            used += spaces
        }
        return result
    }

    /// The start of a text that fits into these columns, with `…` at the end if it was cut.
    static func shortened(_ text: String, to columns: Int) -> String {
        guard width(of: text) > columns else { return text }
        guard columns > 0 else { return "" }
        var short = ""
        var left = columns - 1
        for character in text {
            left -= width(of: character)
            if left < 0 { break }
            short.append(character)
        }
        return short + "…"
    }
}
