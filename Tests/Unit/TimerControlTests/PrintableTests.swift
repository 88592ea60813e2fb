// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import Testing

@Suite struct PrintableTests {
    @Test(arguments: [
        ("plain\ttext", "plain\ttext"), ("a\u{1b}[2Jb", "a\\x1b[2Jb"), ("a\nb", "a\\x0ab"),
        ("\u{202e}evil", "\\x202eevil"), ("ä€😀", "ä€😀"), ("\u{9b}x", "\\x9bx"),
        ("a\r\nb", "a\\x0d\\x0ab"), ("\u{7f}\u{2028}\u{2066}", "\\x7f\\x2028\\x2066"), ("", ""),
    ])
    func textMovesNoTerminal(text: String, shown: String) {
        #expect(Printable.text(text) == shown)
        // Printable text is not changed.
        #expect(Printable.text(shown) == shown)
    }

    @Test(arguments: [
        ("a\nb\u{1b}\n", "a\nb\\x1b\n"), ("\n\n", "\n\n"), ("a\rb", "a\\x0db"),
        ("a\r\nb", "a\\x0d\nb"),
    ])
    func ofLinesTheEndsStay(text: String, shown: String) {
        #expect(Printable.lines(text) == shown)
    }

    @Test func jsonMeansWhatItDid() throws {
        let note = "a\u{9b}2J\u{202e}b\u{2028}\u{1b}\n\"\\"
        let written = String(
            decoding: try ControlJSON.encode(CommandBody(note: note)), as: UTF8.self)
        let shown = Printable.json(written)
        #expect(shown.contains(#"a\u009b2J\u202eb\u2028"#))
        #expect(shown.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 })
        #expect(try ControlJSON.decode(CommandBody.self, from: Array(shown.utf8)).note == note)
    }
}
