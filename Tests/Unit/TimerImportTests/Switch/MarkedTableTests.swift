// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerImport

/// Lines of crontabs are switched off and on, and all else stays as it is.
@Suite struct MarkedTableTests {
    private static let marker = MarkedTable.marker + "\n"

    private func off(_ text: String, _ lines: String...) -> String {
        let keys = Set(lines.map { MarkedTable.key($0) })
        return String(
            decoding: MarkedTable(Array(text.utf8)).switchedOff(keys), as: UTF8.self)
    }

    private func on(_ text: String) -> String {
        String(decoding: MarkedTable(Array(text.utf8)).switchedOn, as: UTF8.self)
    }

    @Test(
        arguments: [
            ("* * * * * a\n", "* * * * * a", "#timerd# * * * * * a\n"),
            // Only whole lines count.
            (
                "* * * * * a b\n* * * * * a\n", "* * * * * a",
                "* * * * * a b\n#timerd# * * * * * a\n"
            ),
            (
                "A=b\n\n# c\n  5 4 * * *\ta % \\% '\"`$(x)\n", "  5 4 * * *\ta % \\% '\"`$(x)",
                "A=b\n\n# c\n#timerd#   5 4 * * *\ta % \\% '\"`$(x)\n"
            ),
            // The same line twice is two jobs.
            (
                "1 * * * * a\n1 * * * * a", "1 * * * * a",
                "#timerd# 1 * * * * a\n#timerd# 1 * * * * a"
            ),
            ("1 * * * * größe\r\n", "1 * * * * größe\r", "#timerd# 1 * * * * größe\r\n"),
            ("1 * * * * \u{1b}[2J\n", "1 * * * * \u{1b}[2J", "#timerd# 1 * * * * \u{1b}[2J\n"),
            ("", "1 * * * * a", ""), ("# 1 * * * * a\n", "1 * * * * a", "# 1 * * * * a\n"),
        ])
    func linesAreSwitchedOffAndOn(text: String, line: String, marked: String) {
        #expect(off(text, line) == Self.marker + marked)
        #expect(on(off(text, line)) == text)
        #expect(!MarkedTable(Array(text.utf8)).isSwitched)
        let table = MarkedTable(Array(off(text, line).utf8))
        #expect(table.isSwitched && table.on(of: [MarkedTable.key(line)]).isEmpty)
    }

    @Test func bytesThatAreNoTextStay() {
        let bytes: [UInt8] = Array("1 * * * * a\n".utf8) + [0xff, 0x00, 10, 10, 0xfe]
        let marked = MarkedTable(bytes).switchedOff(["1 * * * * a"])
        #expect(Array(marked.suffix(5)) == [0xff, 0x00, 10, 10, 0xfe])
        #expect(MarkedTable(marked).switchedOn == bytes)
    }

    /// What a user changes in the meantime is not touched.
    @Test func changesOfAUserSurvive() {
        let edited = "# mine\n" + off("1 * * * * a\n2 * * * * b\n", "1 * * * * a") + "3 * * * * c\n"
        #expect(on(edited) == "# mine\n1 * * * * a\n2 * * * * b\n3 * * * * c\n")
    }

    /// Someone has switched on one of the lines by hand.
    @Test func theRestIsSwitchedOffAgain() {
        let mixed = Self.marker + "1 * * * * a\n#timerd# 2 * * * * b\n"
        let table = MarkedTable(Array(mixed.utf8))
        #expect(
            table.isSwitched && table.on(of: ["1 * * * * a", "2 * * * * b"]) == ["1 * * * * a"])
        #expect(
            off(mixed, "1 * * * * a", "2 * * * * b")
                == Self.marker + "#timerd# 1 * * * * a\n#timerd# 2 * * * * b\n")
    }

    /// A marked line, and the line that tells, are comments for cron and for the import.
    @Test func aSwitchedTableHasNoJobs() throws {
        let imported = try Imported(off("1 * * * * a\n", "1 * * * * a"))
        #expect(imported.result.jobs.isEmpty && imported.result.report.refused.isEmpty)
    }
}
