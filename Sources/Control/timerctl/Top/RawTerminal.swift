// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The terminal in the mode for programs that use the whole screen: it sends each key at once and
/// echoes nothing. A separate screen keeps the old contents unchanged.
struct RawTerminal {
    /// The modes of the terminal before, to restore them.
    private let before: termios

    /// Nil if standard input or standard output is no terminal, or if the terminal cannot move its
    /// cursor.
    init?() {
        var before = termios()
        guard isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &before) == 0,
            let type = getenv("TERM"), !["", "dumb"].contains(String(cString: type))
        else { return nil }
        self.before = before
    }

    /// The present number of rows and columns; 24 and 80 if the terminal does not know.
    var size: TopSize {
        var (columns, rows): (Int32, Int32) = (0, 0)
        guard clinux_terminal_size(STDOUT_FILENO, &columns, &rows) == 0, columns > 0, rows > 0
        else { return TopSize(rows: 24, columns: 80) }
        return TopSize(rows: Int(rows), columns: Int(columns))
    }

    /// Switches to this mode, at the start or after a stop.
    ///
    /// Lines are not wrapped: if the terminal computes another width for a line, only its end is
    /// wrong. Pasted text is marked, so that it is not taken for commands, and the wheel of a mouse is the
    /// same as the arrow keys, while text can still be selected with it.
    func enter() {
        var raw = before
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
        // Ctrl-S does not stop the output, and Enter differs from Ctrl-J.
        raw.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | ISTRIP)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
        Terminal.put("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[?2004h\u{1b}[?1007h\u{1b}[2J")
    }

    /// Restores the modes and the contents of the screen.
    func leave() {
        Terminal.put("\u{1b}[0m\u{1b}[?1007l\u{1b}[?2004l\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l")
        var before = before
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before)
    }

    /// The bytes that change the screen from the old lines to the new ones; only lines that differ
    /// are written.
    ///
    /// - Parameter old: nil if the contents of the screen are not known.
    static func changes(from old: [String]?, to new: [String]) -> String {
        var text = old == nil ? "\u{1b}[0m\u{1b}[2J" : ""
        let old = old ?? []
        for (row, line) in new.enumerated() where row >= old.count || old[row] != line {
            // Erased first: erasing after a line of the full width would delete its last character.
            text += "\u{1b}[\(row + 1);1H\u{1b}[K\(line)"
        }
        for row in new.count..<max(new.count, old.count) { text += "\u{1b}[\(row + 1);1H\u{1b}[K" }
        return text
    }
}

/// The number of rows and columns of a terminal.
struct TopSize: Hashable {
    var rows: Int
    var columns: Int
}
