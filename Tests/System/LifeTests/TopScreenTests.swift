// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// `timerctl top` in a real terminal, with a real daemon.
@Suite(.ownThreads, .enabled(if: Tmux.isInstalled, "no tmux")) struct TopScreenTests {
    private func open(_ daemon: LiveDaemon, columns: Int = 80, rows: Int = 24) throws -> Tmux {
        let tmux = try Tmux(
            in: daemon.folder, columns: columns, rows: rows, ["TIMERD_SOCKET": daemon.socket])
        try tmux.enter("stty -g > \(daemon.folder)/before; echo kept")
        _ = tmux.waitFor("what the shell wrote") { $0.contains("kept") }
        try tmux.enter("timerctl top --interval 200ms")
        _ = tmux.waitFor("the table") { $0.contains { $0.hasPrefix("JOB ") } }
        #expect(tmux.modes == "1 0 0")
        return tmux
    }

    /// The terminal is restored, with its old contents.
    private func expectRestored(_ tmux: Tmux, _ daemon: LiveDaemon, _ mark: String) throws {
        // Keys that are sent too early would go to top.
        _ = tmux.waitFor("the shell") { _ in tmux.modes == "0 1 1" }
        try tmux.enter("stty -g | cmp -s - \(daemon.folder)/before && echo same-\(mark)")
        let screen = tmux.waitFor("a terminal as before") { $0.contains("same-\(mark)") }
        #expect(screen.contains("kept"))
    }

    private static func row(_ job: String, _ screen: [String]) -> String {
        screen.first { $0.hasPrefix("\(job) ") } ?? ""
    }

    private static let jobs = """
        [job.alpha]
        every = "1h"
        shell = "echo one; printf 'two\\\\033[2J\\\\n'"
        [job.beta]
        every = "1h"
        shell = "n=0; while :; do n=$((n+1)); echo tick $n; sleep 1; done"
        [job.gamma]
        every = "1h"
        shell = "exit 3"

        """

    @Test func jobsAreSeenAndControlled() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        let tmux = try open(daemon)
        _ = tmux.waitFor("the figures") { $0[1].hasPrefix("3 jobs; next is ") }
        try tmux.press("Down")
        _ = tmux.waitFor("the second job") { $0[0].contains("  2/3  ") }
        try tmux.press("p")
        _ = tmux.waitFor("the pause") {
            Self.row("beta", $0).contains("paused")
                && $0[23].hasPrefix("beta: paused; next run ")
        }
        #expect(try daemon.show("beta").paused != nil)
        try tmux.press("r")
        _ = tmux.waitFor("the end of the pause") {
            Self.row("beta", $0).contains("armed") && $0[23].hasPrefix("beta: resumed")
        }
        try tmux.press("R")
        _ = tmux.waitFor("the run") { Self.row("beta", $0).contains("running") }
        try tmux.press("l")
        _ = tmux.waitFor("its output") { screen in
            screen[0].hasPrefix("Output of beta") && screen.contains("tick 1")
        }
        _ = tmux.waitFor("more output") { $0.contains("tick 3") }
        try tmux.press("q", "K")
        _ = tmux.waitFor("the question") { $0[23] == "Stop the runs of beta? (y/n)" }
        #expect(try daemon.show("beta").running.count == 1)
        try tmux.press("y")
        _ = tmux.waitFor("the end of the run") { Self.row("beta", $0).contains("stopped") }
        // The failure is shown, and the output of a job does not clear the screen.
        try tmux.press("End", "R")
        _ = tmux.waitFor("the failure") { Self.row("gamma", $0).contains("exit 3") }
        try tmux.press("Home", "R")
        _ = tmux.waitFor("the success") { Self.row("alpha", $0).contains("succeeded") }
        try tmux.press("Enter")
        _ = tmux.waitFor("its output") {
            $0[0].hasPrefix("Output of alpha") && $0[2] == "two\\x1b[2J"
        }
        try tmux.press("q", "f")
        _ = tmux.waitFor("only the failed job") { screen in
            screen[1].hasPrefix("1 of 3 jobs: 1 failed") && Self.row("beta", screen).isEmpty
        }
        try tmux.press("q")
        try expectRestored(tmux, daemon, "q")
        #expect(daemon.stop() == 0)
    }

    @Test func theTerminalIsGivenBack_whateverHappens() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        let tmux = try open(daemon)
        // Suspended and continued, like every program of a shell.
        try tmux.press("C-z")
        try expectRestored(tmux, daemon, "stopped")
        try tmux.enter("fg")
        _ = tmux.waitFor("the table") { $0[3].hasPrefix("JOB ") }
        // Smaller and larger.
        try tmux.resize(columns: 20, rows: 5)
        _ = tmux.waitFor("a small table") {
            $0.count >= 5 && $0[1].hasPrefix("JOB ") && $0[4].hasPrefix("?:help")
        }
        try tmux.resize(columns: 100, rows: 30)
        _ = tmux.waitFor("a large table") {
            $0.count >= 30 && $0[3].hasSuffix("RESULT") && $0[29].hasPrefix("?:help")
        }
        // If the daemon is killed, top waits for it.
        _ = daemon.kill()
        let away = tmux.waitFor("that the daemon is away") {
            $0[0].hasPrefix("timerd is not running, trying again")
        }
        #expect(!Self.row("beta", away).isEmpty)
        try tmux.press("p")
        _ = tmux.waitFor("the error") { $0[29].hasPrefix("no daemon listens at ") }
        try daemon.start()
        _ = tmux.waitFor("the daemon again") { $0[0].hasPrefix("timerd 0.1.0, started ") }
        try tmux.press("C-c")
        try expectRestored(tmux, daemon, "interrupted")
        try tmux.enter("timerctl top")
        _ = tmux.waitFor("the table") { $0[3].hasPrefix("JOB ") }
        let shell = try #require(tmux.shell)
        let children = try String(
            contentsOfFile: "/proc/\(shell)/task/\(shell)/children", encoding: .utf8)
        kill(try #require(children.split(separator: " ").last.flatMap { Int32($0) }), SIGTERM)
        try expectRestored(tmux, daemon, "terminated")
        #expect(daemon.stop() == 0)
    }

    @Test func aThousandJobsAreScrolled() throws {
        let jobs = (0..<1000).map { "[job.job-\($0)]\nevery = \"1h\"\ncommand = [\"true\"]\n" }
        let daemon = try LiveDaemon(jobs.joined())
        try daemon.start()
        let tmux = try open(daemon)
        _ = tmux.waitFor("the figures") {
            $0[1].hasPrefix("1000 jobs; ") && $0[0].contains("  1/1000  ")
        }
        try tmux.press("End", "p")
        _ = tmux.waitFor("the last job") { screen in
            screen[0].contains("  1000/1000  ") && screen[22].hasPrefix("job-999 ")
                && screen[22].contains("paused")
        }
        try tmux.press("PageUp", "PageUp", "k")
        _ = tmux.waitFor("other jobs") { $0[0].contains("  963/1000  ") }
        try tmux.press("/")
        try tmux.press("9", "9", "Enter")
        let found = tmux.waitFor("the matches") { $0[1].hasPrefix("19 of 1000 jobs: 1 paused") }
        #expect(!Self.row("job-99", found).isEmpty && Self.row("job-98", found).isEmpty)
        try tmux.press("q")
        try expectRestored(tmux, daemon, "q")
        #expect(daemon.stop() == 0)
    }

    @Test func withoutATerminalItSaysWhatToUse() throws {
        let result = try ProgramResult(of: "timerctl", ["top", "--socket", "/nonexistent"])
        #expect(result.status == 1 && result.errors.contains("`timerctl list --watch`"))
    }
}
