// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import timerctl

/// What `timerctl fleet adopt` says before it gives something up.
@Suite struct AdoptionTests {
    private static func lines(
        _ paused: [String], held: Bool = false, _ memory: FleetReply.Loss.Memory
    ) -> [String] {
        AdoptionConfirmation(FleetReply.Loss(held: held, paused: paused, memory: memory)).text
            .split(separator: "\n").map(String.init)
    }

    @Test func itNamesWhatWasPaused() {
        #expect(Self.lines([], .noMachine).count == 2)
        #expect(Self.lines(["a", "b"], .noMachine)[2] == "These were paused, and will run: a, b")
        #expect(
            Self.lines(["a"], held: true, .noMachine)[3] == "The fleet was held, and will not be.")
        #expect(
            Self.lines((1...25).map { "j\($0)" }, .noMachine)[2].hasSuffix(", j19, j20 and 5 more"))
        #expect(Self.lines(["a\u{1b}"], .noMachine)[2].hasSuffix(" a\\x1b"))
    }

    @Test func itSaysWhatComesBack() {
        let own = Self.lines(["a", "b"], held: true, .own)
        #expect(own[1].contains("bring back pauses") && own[2] == "These stay paused: a, b")
        #expect(own[3] == "The fleet stays held.")
        let others = Self.lines([], .others)
        #expect(others.count == 2 && others[1].contains("`timerctl fleet release`"))
    }
}
