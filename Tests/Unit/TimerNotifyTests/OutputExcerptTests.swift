// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore

@testable import TimerNotify

@Suite struct OutputExcerptTests {
    @Test(arguments: [
        ("a\n", "a"), ("a\n\n\n", "a"), ("", ""), ("a\r\nb\r\n", "a\nb"), ("10%\r99%\n", "99%"),
        ("\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7}x\u{1b}]8;;y\u{1b}\\z\u{1b}c", "red xz"),
        ("\u{1b}[31", "\\x1b[31"), ("\u{1b}", "\\x1b"), ("\u{7}\u{202e}", "\\x07\\x202e"),
    ])
    func textMovesNoTerminal(output: String, text: String) {
        #expect(OutputExcerpt.text(Array(output.utf8)) == text)
    }

    @Test func aTailBeginsWithALine() {
        #expect(OutputExcerpt.tail(of: Array("a\nbc\nd\n".utf8), bytes: 6) == Array("bc\nd\n".utf8))
        #expect(OutputExcerpt.tail(of: Array("€€".utf8), bytes: 4) == Array("€".utf8))
        #expect(OutputExcerpt.tail(of: Array("abc".utf8), bytes: 0).isEmpty)
        #expect(OutputExcerpt.beginning(of: Array("€€€".utf8), bytes: 7) == Array("€…".utf8))
        #expect(OutputExcerpt.beginning(of: Array("€€€".utf8), bytes: 8) == Array("€…".utf8))
    }
}
