// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

@Suite(.ownThreads) struct LifecycleTests {
    private func name(_ text: String) -> Job.Name { Job.Name(text)! }

    @Test func isReadyOnlyWhenItAnswers_andSaysWhatIsNext() throws {
        let daemon = try LiveDaemon(
            "[job.a]\nevery = \"1h\"\nFIRE\n[job.b]\nevery=\"1h\"\nFIRE\npaused=true\n")
        try daemon.start()
        let status = daemon.waitForManager("STATUS=2 jobs, 1 paused; next is a at ")
        #expect(status != nil)
        #expect(daemon.stop() == 0)
        #expect(daemon.waitForManager("STOPPING=1", seconds: 1) != nil)
        #expect(daemon.log.contains("Stopping on SIGTERM"))
    }

    @Test func aCleanStopLosesNoTime() throws {
        let daemon = try LiveDaemon("[job.a]\nevery = \"1h\"\nFIRE\n")
        try daemon.start()
        _ = try daemon.ask(.command(.pause, name("a"), CommandBody(note: "window")))
        let before = try daemon.show("a").elapsedUsec
        #expect(daemon.stop() == 0)
        try daemon.start()
        #expect(daemon.waitForLog("the previous instance stopped cleanly"))
        let after = try daemon.show("a")
        #expect(after.elapsedUsec == before && after.state == "paused")
        #expect(after.paused?.note == "window")
        _ = daemon.stop()
    }

    /// The queue was blocked for 5 s, with a job of 2 s: one late firing with a count, and then the
    /// old phase.
    @Test func aFrozenDaemonFiresOnceForWhatItMissed_andKeepsThePhase() throws {
        let daemon = try LiveDaemon("[job.a]\nevery = \"2s\"\nFIRE\n")
        try daemon.start()
        let first = try #require(daemon.nextFiring(until: daemon.ready + 10))
        #expect(first.text == "a 0")
        daemon.signal(SIGSTOP)
        LiveDaemon.pass(until: first.at + 5)
        daemon.signal(SIGCONT)
        let late = try #require(daemon.nextFiring(until: first.at + 10))
        #expect(late.text == "a 1", "\(late.at - first.at): \(daemon.log)")
        #expect(late.at - first.at >= 5)
        let next = try #require(daemon.nextFiring(until: first.at + 10))
        #expect(next.text == "a 0")
        let phase = next.at - first.at
        #expect(abs(phase - 6) < 0.5, "out of phase: \(phase)")
        _ = daemon.stop()
    }

    @Test func sighupTakesAGoodConfiguration_andABadOneChangesNothing() throws {
        let daemon = try LiveDaemon(
            "[job.kept]\nevery = \"1h\"\nFIRE\n[job.gone]\nevery=\"1h\"\nFIRE\n")
        try daemon.start()
        let next = try daemon.show("kept").next
        try daemon.write("[job.kept]\nevery = \"1h\"\nFIRE\n[job.new]\nevery=\"1h\"\nFIRE\n")
        daemon.signal(SIGHUP)
        #expect(daemon.waitForManager("RELOADING=1") != nil)
        #expect(daemon.waitForManager("READY=1") != nil)
        #expect(try daemon.ask(.show(name("gone"))).status == 404)
        #expect(try daemon.show("new").state == "armed")
        try daemon.write("[job.kept]\nevry = \"1h\"\nFIRE\n")
        let refused = try daemon.ask(.reload())
        #expect(refused.status == 422 && refused.text.contains(#"unknown key \"evry\""#))
        #expect(try daemon.show("new").state == "armed")
        let shift =
            WallInstant(rfc3339: try #require(try daemon.show("kept").next))!
            - WallInstant(rfc3339: try #require(next))!
        #expect(shift < .milliseconds(1) && shift > .milliseconds(-1), "its timer moved")
        // The status reports it until another configuration is used, whatever else happens.
        _ = try daemon.ask(.command(.pause, name("new"), CommandBody()))
        let words = "STATUS=2 jobs, 1 paused; reload refused, 1 error in "
        #expect(daemon.waitForManager(words) != nil)
        try daemon.write("[job.new]\nevery = \"2h\"\nFIRE\n")
        #expect(try daemon.ask(.reload()).status == 200)
        #expect(daemon.waitForManager("STATUS=1 job, 1 paused; nothing due") != nil)
        _ = daemon.stop()
    }

    /// A new `max-concurrent` is used after the next start, and no job gets a share of it before.
    @Test func aReloadKeepsTheShareOfAJob() throws {
        let jobs = "[job.a]\nevery = \"1h\"\nconcurrency = \"allow\"\nFIRE\n"
        let daemon = try LiveDaemon("[daemon]\nmax-concurrent = 8\n" + jobs)
        try daemon.start()
        let line = try #require(try daemon.show("a").line)
        #expect(try daemon.show("a").policy?.concurrencyMax == 6)
        try daemon.write("[daemon]\nmax-concurrent = 100\n\n" + jobs)
        #expect(try daemon.ask(.reload()).status == 200)
        // Where it is defined follows the file, although nothing of it has changed.
        let shown = try daemon.show("a")
        #expect(
            shown.line == line + 1
                && shown.settings == ["concurrency": "allow", "concurrency-max": "6"])
        #expect(shown.file?.hasSuffix("/timerd.toml") == true)
        #expect(try daemon.show("a").policy?.concurrencyMax == 6)
        #expect(daemon.stop() == 0)
        try daemon.start()
        #expect(try daemon.show("a").policy?.concurrencyMax == 75)
        _ = daemon.stop()
    }

    @Test func aJobInErrorIsLeftOut_andTheOthersRun() throws {
        let daemon = try LiveDaemon(
            "[job.bad]\nevery = \"never\"\nFIRE\n[job.good]\nevery=\"1s\"\nFIRE\n")
        try daemon.start()
        #expect(daemon.nextFiring(until: daemon.ready + 10)?.text == "good 0")
        #expect(daemon.waitForLog(#"timerd.toml:2:10: job "bad": every: time span "never""#))
        let list = try daemon.ask(.list).text
        #expect(list.contains(#""rejected":["bad"]"#))
        _ = daemon.stop()
    }

    @Test func aRunThatLivesAtTheStopIsEndedAndRecorded() throws {
        let daemon = try LiveDaemon(
            "[job.a]\nevery = \"1h\"\nfirst = \"0s\"\nshell = \"echo up 0 > FOLDER/fired; sleep 600\"\n"
        )
        try daemon.write(
            try String(contentsOfFile: daemon.config, encoding: .utf8)
                .replacing("FOLDER", with: daemon.folder))
        try daemon.start()
        #expect(daemon.nextFiring(until: daemon.ready + 10)?.text == "up 0")
        #expect(daemon.stop() == 0)
        try daemon.start()
        #expect(try daemon.show("a").last?.outcome == "stopped")
        _ = daemon.stop()
    }

    @Test func twoDaemonsDoNotKeepOneAccount() throws {
        let daemon = try LiveDaemon("[job.a]\nevery = \"1h\"\nFIRE\n")
        try daemon.start()
        let second = try ProgramResult(
            of: "timerd",
            [
                "run", "--config", daemon.config, "--state", "\(daemon.folder)/state", "--runtime",
                "\(daemon.folder)/run2", "--log", "stderr",
            ])
        #expect(second.status == 1)
        #expect(second.errors.contains("another timerd is using it"))
        #expect(try daemon.show("a").state == "armed")
        _ = daemon.stop()
    }
}
