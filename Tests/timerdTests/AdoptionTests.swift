// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import timerctl

/// What `timerctl fleet adopt` says before it gives something up.
@Suite struct AdoptionTests {
    private static func lines(_ paused: [String], held: Bool = false) -> [String] {
        AdoptionConfirmation(FleetReply.Loss(held: held, paused: paused)).text
            .split(separator: "\n").map(String.init)
    }

    @Test func itNamesWhatWasPaused() {
        #expect(Self.lines([]).count == 1)
        #expect(Self.lines(["a", "b"])[1] == "These were paused, and will run: a, b")
        #expect(Self.lines(["a"], held: true)[2] == "The fleet was held, and will not be.")
        #expect(Self.lines((1...25).map { "j\($0)" })[1].hasSuffix(", j19, j20 and 5 more"))
        #expect(Self.lines(["a\u{1b}"])[1].hasSuffix(" a\\x1b"))
    }
}
