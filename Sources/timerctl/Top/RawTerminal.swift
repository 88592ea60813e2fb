// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The terminal of this process as a program for the whole screen uses it: each key at once, nothing echoed, and a
/// screen of its own that leaves what was there as it was.
struct RawTerminal {
    /// The modes that the terminal had before.
    private let before: termios

    /// Nil if standard input or standard output is no terminal, or one without a cursor that can be moved.
    init?() {
        var before = termios()
        guard isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &before) == 0,
            let type = getenv("TERM"), !["", "dumb"].contains(String(cString: type))
        else { return nil }
        self.before = before
    }

    /// How many rows and columns it has now; 24 and 80 if it does not know.
    var size: TopSize {
        var (columns, rows): (Int32, Int32) = (0, 0)
        guard clinux_terminal_size(STDOUT_FILENO, &columns, &rows) == 0, columns > 0, rows > 0
        else { return TopSize(rows: 24, columns: 80) }
        return TopSize(rows: Int(rows), columns: Int(columns))
    }

    /// Takes the terminal, from the shell or again after a stop.
    ///
    /// Lines are not wrapped: of one whose width the terminal counts differently, only the end is wrong. Pasted text is
    /// marked, so that it is not taken for commands.
    func enter() {
        var raw = before
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
        // Ctrl-S does not stop the output, and Enter is told from Ctrl-J.
        raw.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | ISTRIP)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
        Terminal.put("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[?2004h\u{1b}[2J")
    }

    /// Gives it back as it was.
    func leave() {
        Terminal.put("\u{1b}[0m\u{1b}[?2004l\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l")
        var before = before
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before)
    }

    /// What has to be written so that the screen shows the new lines, where it shows the old ones; only lines that
    /// differ are written.
    ///
    /// - Parameter old: nil: nothing is known of the screen.
    static func changes(from old: [String]?, to new: [String]) -> String {
        var text = old == nil ? "\u{1b}[0m\u{1b}[2J" : ""
        let old = old ?? []
        for (row, line) in new.enumerated() where row >= old.count || old[row] != line {
            // Erased before it is written: behind a line of the full width, its last character would be erased.
            text += "\u{1b}[\(row + 1);1H\u{1b}[K\(line)"
        }
        for row in new.count..<max(new.count, old.count) { text += "\u{1b}[\(row + 1);1H\u{1b}[K" }
        return text
    }
}

/// How many rows and columns a terminal has.
struct TopSize: Hashable {
    var rows: Int
    var columns: Int
}
