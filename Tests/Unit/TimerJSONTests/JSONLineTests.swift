// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerJSON

@Suite struct JSONLineTests {
    @Test func aLineIsAnObjectThatMeansWhatWasWritten() throws {
        let texts = [
            "", "plain", "\"quoted\" \\ and\nlines\r\n\ttabs", "\u{0}\u{1b}[31m\u{7f}\u{9b}",
            "日本 é 🎈",
            "\u{202e}turned\u{2066}\u{2028}",
        ]
        var line = JSONLine()
        for (index, text) in texts.enumerated() { line.add("t\(index)", text) }
        line.add("number", -42)
        #expect(line.line.hasSuffix("}\n") && line.line.dropLast().allSatisfy { $0 != "\n" })
        let steering = line.line.unicodeScalars.contains {
            $0.value < 0x20 && $0 != "\n" || (0x7f...0x9f).contains($0.value) || $0 == "\u{202e}"
        }
        #expect(!steering)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(line.line.utf8)) as? [String: Any])
        for (index, text) in texts.enumerated() { #expect(object["t\(index)"] as? String == text) }
        #expect(object["number"] as? Int == -42)
        #expect(JSONLine().line == "{}\n")
    }

    @Test func whatATerminalCouldInterpretIsEscaped() {
        var line = JSONLine()
        line.add("a\"b", "\"\\/\n\t\r\u{8}\u{c}\u{0}\u{1b}\u{7f}\u{9b}é\u{2028}\u{2069}日🎈")
        line.add("n", -1)
        #expect(
            line.line
                == #"{"a\"b":"\"\\/\n\t\u000d\u0008\u000c\u0000\u001b\u007f\u009bé\u2028\u2069日🎈","#
                + "\"n\":-1}\n")
    }
}
