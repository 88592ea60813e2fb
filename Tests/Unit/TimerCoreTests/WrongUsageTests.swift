// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

/// The error messages for a wrong command line.
@Suite struct WrongUsageTests {
    private static let usage =
        "\nUsage: timerctl list [<options>]\n  See 'timerctl list --help' for more information."

    @Test(arguments: [
        ("Unknown option '--wait'. Did you mean '--all'?", "unknown option --wait"),
        ("Unknown option '--wait'. Did you mean '--sort'?", "unknown option --wait"),
        (
            "Unknown option '--jsno'. Did you mean '--json'?",
            "unknown option --jsno (did you mean --json?)"
        ),
        (
            "Unknown option '--scoket=/x'. Did you mean '--socket'?",
            "unknown option --scoket=/x (did you mean --socket?)"
        ),
        ("Unknown option '--nope'", "unknown option --nope"),
        ("name a job, or say --all", "name a job, or say --all"),
        (
            "The value 'abc' is invalid for '--limit <count>'",
            "the value 'abc' is invalid for --limit <count>"
        ),
        (
            "The value 'nme' is invalid for '--sort <key>'. Please provide one of 'name' or 'next'.",
            "the value 'nme' is invalid for --sort <key>; it is one of 'name' or 'next'."
        ),
    ])
    func itIsSaidAsOtherErrorsAre(message: String, said: String) {
        #expect(
            WrongUsage.text("Error: \(message)\(Self.usage)")
                == "timerctl: \(said); see `timerctl list --help`")
        #expect(WrongUsage.text("Error: \(message)") == said)
    }

    @Test func whatTheOptionIsIsBelow() {
        #expect(
            WrongUsage.text(
                "Error: Missing value for '--until <time>'\nHelp:  --until <time>  Until when\(Self.usage)"
            )
                == "timerctl: missing value for --until <time>; see `timerctl list --help`\n  --until <time>  Until when"
        )
    }

    @Test(arguments: ["no. Did you mean '--all'?", ". Did you mean '", "", "\n\n", "Usage: x"])
    func otherTextsAreNotChanged(text: String) { #expect(WrongUsage.text(text) == text) }

    @Test(arguments: [
        "Error: ", "Error: \n", "Error: '", "Error: See '", "Error: x\nUsage:\nSee '",
    ])
    func brokenTextsAreSaid(text: String) {
        #expect(WrongUsage.text(text).utf8.count <= text.utf8.count)
    }
}
