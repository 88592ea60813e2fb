// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

/// The work of an administrator over ssh, on a terminal of 80 columns and 24 rows, without a
/// manual.
@Suite(.ownThreads, .enabled(if: Tmux.isInstalled, "no tmux")) struct OperatorPathTests {
    /// Twelve jobs. One fails while a file is missing, and another one runs in the next hour.
    private static func jobs(_ folder: String) -> String {
        """
        [job.nightly-copy]
        shell = "echo 'copying /srv'; test -e \(folder)/mended || { echo 'error: /srv is read-only' >&2; exit 1; }"
        every = "50min"
        first = "100ms"
        [job.report]
        command = ["true"]
        every = "40min"

        """
            + (0..<10).map {
                "[job.other-\($0)]\ncommand = [\"true\"]\nevery = \"\(45 + $0)min\"\n"
            }.joined()
    }

    /// Find the failed job and the reason, run it again, pause another job until tomorrow, and list
    /// the runs in the next hour: at most five commands, each of whose output fits on one screen.
    @Test func fiveCommandsAreEnough() throws {
        let daemon = try LiveDaemon("")
        try daemon.write(Self.jobs(daemon.folder))
        try daemon.start()
        #expect(daemon.waitForLog(" failed: exit 1"))
        let tmux = try Tmux(in: daemon.folder, ["TIMERD_SOCKET": daemon.socket])
        var commands = 0
        /// Enters a command and waits for its output, which is on the screen together with the
        /// command.
        func enter(_ command: String, _ expected: [String]) throws -> [String] {
            commands += 1
            try tmux.enterOnEmptyScreen(command)
            return tmux.waitFor("\(command): \(expected)") { screen in
                screen[0] == "$ \(command)" && screen.contains("$")
                    && expected.allSatisfy { text in screen.contains { $0.contains(text) } }
            }
        }
        _ = try enter(
            "timerctl failures", ["nightly-copy: exit", "error: /srv is read-only"])
        #expect(FileManager.default.createFile(atPath: "\(daemon.folder)/mended", contents: nil))
        _ = try enter("timerctl run nightly-copy", ["nightly-copy: run "])
        #expect(daemon.waitForLog("nightly-copy: succeeded"))
        _ = try enter(
            "timerctl pause report --until tomorrow --note 'waits for Ann'", ["report: paused"])
        let upcoming = try enter("timerctl upcoming --for 1h", ["nightly-copy", "other-9"])
        #expect(!upcoming.contains { $0.contains("report") })
        let list = try enter("timerctl list", ["12 jobs: 1 paused; next is ", "report "])
        func row(_ job: String) -> String { list.first { $0.hasPrefix("\(job) ") } ?? "" }
        #expect(row("nightly-copy").contains("succeeded") && row("report").contains("paused"))
        #expect(list.allSatisfy { $0.count <= 80 })
        #expect(try daemon.show("report").paused?.note == "waits for Ann")
        #expect(commands <= 5)
        #expect(daemon.stop() == 0)
    }

    /// On a terminal, a user who is about to end pauses of others has to confirm that.
    @Test func pausesOfOthersAreShownBeforeTheyEnd() throws {
        let daemon = try LiveDaemon(
            (0..<3).map { "[job.j\($0)]\ncommand = [\"true\"]\nevery = \"1h\"\n" }.joined()
                + "[job.held]\ncommand = [\"true\"]\nevery = \"1h\"\npaused = true\n")
        try daemon.start()
        #expect(try daemon.timerctl("pause", "--match", "j*", "--note", "disk swap").status == 0)
        // Without a terminal it refuses, and changes nothing.
        #expect(try daemon.timerctl("resume", "--all").status == 1)
        #expect(try paused(daemon) == 4)
        let tmux = try Tmux(in: daemon.folder, ["TIMERD_SOCKET": daemon.socket])
        for (answer, left) in [("n", 4), ("", 4), ("y", 0)] {
            try tmux.enterOnEmptyScreen("timerctl resume --all")
            let asked = tmux.waitFor("the question") {
                $0.contains { $0.hasPrefix("End them? (y/N)") }
            }
            #expect(asked.contains { $0.hasPrefix("This ends 4 pauses: 3 by ") })
            #expect(asked.contains { $0.hasPrefix("held  the configuration  ") })
            try tmux.enter(answer)
            _ = tmux.waitFor("the answer") {
                $0.contains(
                    left == 0 ? "held: resumed; next run in 1 h" : "timerctl: nothing was changed")
                    || left == 0 && $0.contains { $0.hasPrefix("held: resumed; next run in ") }
            }
            #expect(try paused(daemon) == left)
        }
        #expect(daemon.stop() == 0)
    }

    @Test func pausesAreChosenByWhoMadeThemAndTheirNotes() throws {
        let daemon = try LiveDaemon(
            (0..<3).map { "[job.j\($0)]\ncommand = [\"true\"]\nevery = \"1h\"\n" }.joined()
                + "[job.held]\ncommand = [\"true\"]\nevery = \"1h\"\npaused = true\n")
        try daemon.start()
        #expect(try daemon.timerctl("pause", "--match", "x*").status == 4)
        #expect(try daemon.timerctl("pause", "j0", "--note", "disk swap").status == 0)
        #expect(try daemon.timerctl("pause", "--match", "j[12]").status == 0)
        #expect(try daemon.timerctl("resume", "--note", "disk").text.hasPrefix("j0: resumed"))
        #expect(try paused(daemon) == 3)
        #expect(
            try daemon.timerctl("resume", "--by", "nobody-else").text
                == "nothing to do: no paused job matches\n")
        #expect(
            try daemon.timerctl("resume", "--by", "the configuration").text.hasPrefix(
                "held: resumed"))
        // A user's own pauses end without a question, in scripts too.
        let own = try daemon.timerctl("resume", "--all", "--json")
        let reply = try ControlJSON.decode(CommandsReply.self, from: Array(own.text.utf8))
        #expect(own.status == 0 && reply.results.map(\.job) == ["j1", "j2"])
        #expect(try daemon.timerctl("resume", "--all").text == "nothing to do: no job is paused\n")
        #expect(try daemon.timerctl("resume", "--all", "--yes").status == 0)
        #expect(try paused(daemon) == 0)
        #expect(daemon.stop() == 0)
    }

    private func paused(_ daemon: LiveDaemon) throws -> Int {
        let table = try ControlJSON.decode(
            JobTable.self, from: Array(try daemon.ask(.list).text.utf8))
        return table.jobs.count { $0.state == "paused" }
    }
}
