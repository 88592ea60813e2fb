// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

/// The error messages for a wrong command line.
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
}
