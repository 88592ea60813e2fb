// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore

/// The error messages for a wrong command line, and a log as JSON.
@Suite struct WrongUsageTests {
    @Test(arguments: [
        (
            "Error: Unknown option '--wait'. Did you mean '--all'?\nUsage: x",
            "Error: Unknown option '--wait'\nUsage: x"
        ),
        (
            "Error: Unknown option '--wait'. Did you mean '--sort'?",
            "Error: Unknown option '--wait'"
        ),
        (
            "Error: Unknown option '--jsno'. Did you mean '--json'?\nUsage: x",
            "Error: Unknown option '--jsno'. Did you mean '--json'?\nUsage: x"
        ),
        (
            "Error: Unknown option '--scoket=/x'. Did you mean '--socket'?",
            "Error: Unknown option '--scoket=/x'. Did you mean '--socket'?"
        ),
        ("Error: Unknown option '-x'. Did you mean '-n'?", "Error: Unknown option '-x'"),
        ("Error: Unknown option '--nope'", "Error: Unknown option '--nope'"),
        ("no. Did you mean '--all'?", "no. Did you mean '--all'?"),
        (". Did you mean '", ". Did you mean '"), ("'. Did you mean ''?", "'. Did you mean ''?"),
        ("", ""), ("\n\n", "\n\n"),
    ])
    func onlySimilarNamesAreSuggested(message: String, said: String) {
        #expect(WrongUsage.text(message) == said)
    }

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
}
