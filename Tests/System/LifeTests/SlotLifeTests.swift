// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// Slots under the real programs.
@Suite(.ownThreads) struct SlotLifeTests {
    private static let config = """
        [slot.disk]
        max = 1
        [job.a]
        every = "1h"
        command = ["sleep", "60"]
        slots = ["disk"]
        [job.b]
        every = "1h"
        command = ["sleep", "61"]
        slots = ["disk"]
        [job.c]
        every = "1h"
        command = ["true"]
        slots = ["disk"]
        on-busy-slot = "skip"

        """

    private func name(_ text: String) -> Job.Name { Job.Name(text)! }

    private func slot(_ daemon: LiveDaemon) throws -> SlotStatus {
        let reply = try ControlJSON.decode(
            SlotsReply.self, from: Array(try daemon.ask(ControlRequest.slots).text.utf8))
        return try #require(reply.slots.first)
    }

    /// The run that waits is not lost by a kill of the daemon, and starts once the one that holds the
    /// slot, which outlives the daemon, has ended.
    @Test func theWaitAndTheSlotOutliveAKilledDaemon() throws {
        let daemon = try LiveDaemon(Self.config)
        try daemon.start()
        #expect(try daemon.ask(.command(.run, name("a"))).status == 200)
        #expect(try daemon.wait { try daemon.show("a").running.first?.began != nil })
        #expect(try daemon.ask(.command(.run, name("b"))).status == 200)
        #expect(try daemon.show("b").running.map(\.waits) == ["slot"])
        let refused = try daemon.ask(.command(.run, name("c")))
        #expect(refused.status == 409 && refused.text.contains("the slot disk is taken"))
        #expect(try slot(daemon).waiting.count == 1)

        _ = daemon.kill()
        try daemon.start()
        let after = try slot(daemon)
        #expect(after.taken == 1 && after.holders.map(\.job) == ["a"])
        #expect(after.waiting.count == 1)
        let why = try daemon.timerctl("why", "b")
        #expect(
            why.text.contains("waits for the slot disk (1), which is held by a since"), "\(why)")
        let table = try daemon.timerctl("slots")
        #expect(table.status == 0 && table.text.contains("1 of 1"), "\(table)")

        #expect(try daemon.timerctl("kill", "a").status == 0)
        #expect(try daemon.wait { try daemon.show("b").running.first?.began != nil })
        #expect(try slot(daemon).holders.map(\.job) == ["b"])
        _ = daemon.stop()
    }
}
