// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// `timerctl at` and `in` with a real daemon and its runner.
@Suite(.ownThreads) struct OneOffTests {
    /// Its standard output and standard error. The socket comes first, because arguments after `--`
    /// belong to the command.
    private func timerctl(
        _ daemon: LiveDaemon, _ arguments: String...
    ) throws -> (status: Int32, text: String) {
        let result = try ProgramResult(of: "timerctl", ["--socket", daemon.socket] + arguments)
        return (result.status, result.output + result.errors)
    }

    private func waitForFile(_ path: String) -> Bool {
        let deadline = LiveDaemon.now() + 60
        while access(path, F_OK) != 0 {
            guard LiveDaemon.now() < deadline else { return false }
            usleep(20_000)
        }
        return true
    }

    @Test func aCommandRunsOnce_andIsAJobLikeAnyOther() throws {
        let daemon = try LiveDaemon("[job.backup]\nevery = \"1d\"\nFIRE\n")
        try daemon.start()
        let ran = "\(daemon.folder)/ran"
        let made = try timerctl(daemon, "in", "1s", "--note", "why not", "--", "touch", ran)
        #expect(made.status == 0 && made.text.hasPrefix("touch-1: runs at "), "\(made.text)")
        #expect(waitForFile(ran))
        #expect(daemon.waitForLog("touch-1: succeeded"))
        let status = try daemon.show("touch-1")
        #expect(status.oneOff == true && status.state == "finished")
        #expect(status.description == "why not" && status.firings == 1)
        #expect(try timerctl(daemon, "history", "touch-1").text.contains("succeeded"))
        // The name of a configured job, and of another one-off job.
        for name in ["backup", "touch-1"] {
            let again = try timerctl(daemon, "in", "1h", "--name", name, "--", "true")
            #expect(again.status == 1 && again.text.contains("there is already"), "\(again.text)")
        }
        let other = try timerctl(daemon, "at", "tomorrow 03:00", "--", "touch", ran)
        #expect(other.text.hasPrefix("touch-2: runs at "), "\(other.text)")
        #expect(try timerctl(daemon, "reload").status == 0)
        #expect(try timerctl(daemon, "cancel", "touch-2").status == 0)
        #expect(try timerctl(daemon, "show", "touch-2").status == 4)
        #expect(try timerctl(daemon, "cancel", "backup").status == 1)
        let wrong = try timerctl(daemon, "at", "yesterday", "--", "true")
        #expect(wrong.status == 2 && wrong.text.contains("must be in the future"), "\(wrong.text)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: daemon.folder + "/one-off.d")
                == ["touch-1.toml"])
        #expect(daemon.stop() == 0)
    }

    @Test func aKillOverItsTimeLosesNothing_andItRunsOnce() throws {
        let daemon = try LiveDaemon("[job.backup]\nevery = \"1d\"\nFIRE\n")
        try daemon.start()
        let ran = "\(daemon.folder)/ran"
        let line = "echo $TIMERD_JOB >> \(ran)"
        #expect(
            try timerctl(daemon, "in", "2s", "--name", "late", "--", "sh", "-c", line).status == 0)
        #expect(
            try timerctl(
                daemon, "in", "2s", "--name", "never", "--starting-deadline", "1s", "--", "sh",
                "-c", line
            ).status == 0)
        // Two seconds late.
        let due = LiveDaemon.now() + 4
        _ = daemon.kill()
        LiveDaemon.pass(until: due)
        try daemon.start()
        #expect(daemon.waitForLog("late: succeeded"))
        #expect(try daemon.show("never").skipped?.reason == "deadline")
        _ = daemon.kill()
        try daemon.start()
        #expect(try daemon.show("late").state == "finished")
        #expect(try String(contentsOfFile: ran, encoding: .utf8) == "late\n")
        #expect(daemon.stop() == 0)
    }

    /// It continues, as for any job that is removed, and it can be seen and stopped by its identity.
    @Test func aRunGoesOnWhenItsJobIsCancelled_andCanBeStopped() throws {
        let daemon = try LiveDaemon("[job.backup]\nevery = \"1d\"\nFIRE\n")
        try daemon.start()
        let line = "echo begun; sleep 1000"
        #expect(
            try timerctl(daemon, "in", "10ms", "--name", "long", "--", "sh", "-c", line).status
                == 0)
        #expect(daemon.waitForLog("long| begun"))
        let run = try #require(try daemon.show("long").running.first?.id)
        let cancelled = try timerctl(daemon, "cancel", "long")
        #expect(
            cancelled.text
                == "long: cancelled; run \(run) continues, and `timerctl kill \(run)` stops it\n")
        #expect(try timerctl(daemon, "show", "long").status == 4)
        for target in [run, "long"] {
            let log = try timerctl(daemon, "log", target)
            #expect(log.status == 0 && log.text.contains("| begun"), "\(log.text)")
        }
        let killed = try timerctl(daemon, "kill", run)
        #expect(killed.text == "\(run): is being stopped\n", "\(killed.text)")
        #expect(try daemon.wait { try timerctl(daemon, "history", "long").status == 0 })
        #expect(try timerctl(daemon, "history", "long").text.contains("stopped"))
        #expect(try timerctl(daemon, "kill", run).status == 4)
        #expect(daemon.stop() == 0)
    }

    @Test func severalAreCancelledOrNone() throws {
        let daemon = try LiveDaemon("[job.backup]\nevery = \"1d\"\nFIRE\n")
        try daemon.start()
        for name in ["a", "b"] {
            #expect(try timerctl(daemon, "in", "1h", "--name", name, "--", "true").status == 0)
        }
        #expect(try timerctl(daemon, "cancel", "a", "nosuch", "b").status == 4)
        #expect(try timerctl(daemon, "cancel", "a", "backup", "b").status == 1)
        #expect(try daemon.show("a").oneOff == true && daemon.show("b").oneOff == true)
        // Another program has removed the directory with the definitions.
        try FileManager.default.removeItem(atPath: daemon.folder + "/one-off.d")
        let cancelled = try timerctl(daemon, "cancel", "a", "b", "a")
        #expect(cancelled.text == "a: cancelled\nb: cancelled\n", "\(cancelled.text)")
        #expect(daemon.stop() == 0)
    }

    /// The parser of the command line would print its help and exit with 0.
    @Test(arguments: [
        (["in", "-1h"], "in \"-1h\": a time span cannot be negative"),
        (["at", "-2h"], "must be in the future"),
        (["at", "-0h"], "runs at "), (["in", "-30min"], "cannot be negative"),
    ])
    func aNegativeTimeIsRefused(command: [String], said: String) throws {
        let daemon = try LiveDaemon("[job.backup]\nevery = \"1d\"\nFIRE\n")
        try daemon.start()
        let answer = try timerctl(daemon, command[0], command[1], "--", "true")
        #expect(answer.status == (said == "runs at " ? 0 : 2), "\(answer.text)")
        #expect(answer.text.contains(said), "\(answer.text)")
        #expect(daemon.stop() == 0)
    }
}
