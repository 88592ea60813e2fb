// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@Suite struct VariableNameTests {
    @Test(arguments: ["A", "a", "_", "LANG", "z9", "_0", "TIMERDX", "LISTEN", "NOTIFY_SOCKETS"])
    func itIsAName(name: String) {
        #expect(VariableName.isValid(name) && !VariableName.isReserved(name))
    }

    /// The last ones are beside the ranges of letters and digits, or not ASCII.
    @Test(arguments: [
        "", "0", "9A", "A B", "A=", "A\0", "é", "A\u{301}", "@", "[", "`", "{", "/", ":",
        "\u{212a}",
    ])
    func itIsNoName(name: String) { #expect(!VariableName.isValid(name)) }

    @Test(arguments: [
        "TIMERD_", "TIMERD_JOB", "LISTEN_FDS", "WATCHDOG_USEC", "NOTIFY_SOCKET",
        "CREDENTIALS_DIRECTORY",
    ])
    func itIsReserved(name: String) {
        #expect(VariableName.isValid(name) && VariableName.isReserved(name))
    }
}
