// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Shows what is longer than the screen as git does: with $PAGER, or less, which ends by itself for a text
/// that fits.
enum Pager {
    /// Prints a text and a line end.
    ///
    /// - Parameter isAllowed: false prints it directly (--no-pager).
    static func print(_ text: String, isAllowed: Bool) {
        guard isAllowed, let program, isLong(text), show(text + "\n", in: program) else {
            return Swift.print(text)
        }
    }

    /// Whether the end of a text would scroll its beginning away, with the line of the prompt.
    private static func isLong(_ text: String) -> Bool {
        let screen = Screen.standardOutput(color: .never)
        guard isatty(STDIN_FILENO) == 1, let rows = screen.rows else { return false }
        return text.utf8.count { $0 == UInt8(ascii: "\n") } + 2 > rows
    }

    /// What to start by the shell; nil if nothing can show a text.
    private static var program: String? {
        func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        guard value("TERM") != "dumb" else { return nil }
        if let wanted = value("PAGER") { return ["", "cat"].contains(wanted) ? nil : wanted }
        let folders = (value("PATH") ?? "/usr/bin:/bin").split(separator: ":")
        return folders.contains { access("\($0)/less", X_OK) == 0 } ? "less" : nil
    }

    /// - Returns: false if the pager was not started.
    private static func show(_ text: String, in program: String) -> Bool {
        fflush(nil)
        // Colors, no wait for a short text, and the text stays on the screen.
        setenv("LESS", "FRX", 0)
        // Who quits the pager has read enough.
        signal(SIGPIPE, SIG_IGN)
        guard let pager = popen(program, "w") else { return false }
        fputs(text, pager)
        // The shell ends so if it does not find the program.
        return pclose(pager) >> 8 != 127
    }
}
