// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import timerctl

/// The table of `timerctl slots`.
@Suite struct SlotsTextTests {
    private func reply(_ json: String) throws -> SlotsReply {
        try ControlJSON.decode(SlotsReply.self, from: Array(json.utf8))
    }

    @Test func holdersAndWaitingRunsAreNamed() throws {
        let run = { (job: String) in "\"\(job):20261118T110640.000000Z:1\"" }
        let waiting = ["b", "c", "d", "e", "f"].map(run).joined(separator: ",")
        let reply = try reply(
            """
            {"slots":[{"slot":"disk","max":2,"taken":2,"holders":[{"job":"a","run":\(run("a")),"weight":2}],\
            "waiting":[\(waiting)]},{"slot":"net","max":1,"taken":0,"holders":[],"waiting":[]}]}
            """)
        #expect(
            Text.slots(reply) == """
                SLOT  TAKEN   HELD BY  WAITING
                disk  2 of 2  a (2)    b, c, d, and 2 more
                net   0 of 1  -        -
                """)
    }

    @Test(arguments: [
        (["slot"], "waiting"), (["capacity"], "waiting"), (["slot", nil], "running"),
        (["previous-run"], "armed"), ([], "armed"), (["condition"], "waiting"),
        (["check"], "waiting"),
    ])
    func aJobWhoseRunWaitsForASlotIsNotRunning(waits: [String?], word: String) throws {
        let runs = try waits.map { waits in
            let wait = waits.map { #","waits":"\#($0)""# } ?? ""
            return try ControlJSON.decode(
                RunStatus.self,
                from: Array(
                    #"{"id":"a:1:1","job":"a","scheduled":"2026-11-18T07:31:00Z"\#(wait)}"#.utf8))
        }
        #expect(Text.state("armed", runs) == word)
        #expect(Text.state("paused", runs) == "paused")
    }

    @Test func withoutSlotsItSaysHowToMakeOne() throws {
        let text = Text.slots(try reply(#"{"slots":[]}"#))
        #expect(text.hasPrefix("no slots; a table such as [slot.disk]"))
    }
}
