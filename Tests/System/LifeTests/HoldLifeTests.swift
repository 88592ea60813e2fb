// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl
import TimerCore

/// A hold of the machine, with the real programs.
@Suite(.ownThreads) struct HoldLifeTests {
    private static let config = """
        [job.beat]
        every = "200ms"
        command = ["true"]
        [job.idle]
        every = "1h"
        command = ["sleep", "600"]

        """

    @Test func nothingStartsUntilTheRelease_alsoAfterAKillAndAReload() throws {
        let daemon = try LiveDaemon(Self.config)
        try daemon.start()
        #expect(try daemon.wait { try daemon.show("beat").last != nil })
        let held = try daemon.timerctl("hold", "--note", "new disks")
        #expect(held.status == 0 && held.text.contains("held"), "\(held)")
        func firings() throws -> Int { try daemon.show("beat").firings }
        let before = try firings()

        _ = daemon.kill()
        try daemon.start()
        try daemon.write(
            Self.config + "[job.new]\nevery = \"100ms\"\ncommand = [\"true\"]\n")
        #expect(try daemon.timerctl("reload").status == 0)
        let list = try daemon.timerctl("list")
        #expect(
            list.text.contains(": new disks; no run starts, and `timerctl release` ends that"),
            "\(list)")
        let why = try daemon.timerctl("why", "beat")
        #expect(why.text.contains("hold of this machine"), "\(why)")
        let refused = try daemon.say("run", "idle")
        #expect(refused.status == 1 && refused.text.contains("new disks"), "\(refused)")
        #expect(try daemon.timerctl("run", "--force", "idle").status == 0)
        let resumed = try daemon.say("resume", "beat")
        #expect(resumed.status == 0 && resumed.text.contains("`timerctl release`"), "\(resumed)")
        #expect(try firings() == before && daemon.show("new").firings == 0)

        let released = try daemon.timerctl("release")
        #expect(released.status == 0 && released.text.contains("released"), "\(released)")
        #expect(try daemon.wait { try firings() > before && daemon.show("new").firings > 0 })
        #expect(try !daemon.timerctl("list").text.contains("new disks"))
        #expect(try daemon.timerctl("release").text.contains("not held"))
        _ = daemon.stop()
    }
}

extension LiveDaemon {
    /// What the command line says, with its errors.
    fileprivate func say(_ arguments: String...) throws -> (status: Int32, text: String) {
        let said = try ProgramResult(of: "timerctl", arguments + ["--socket", socket])
        return (said.status, said.output + said.errors)
    }
}
