// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// Changes of the configuration that the daemon notices without a request, and files of `jobs.d`
/// with errors.
@Suite(.ownThreads) struct AutoReloadTests {
    private func job(_ name: String, every span: String = "1h") -> String {
        "[job.\(name)]\nevery = \"\(span)\"\nshell = \"true\"\n"
    }

    private func make(_ jobs: String) throws -> LiveDaemon {
        let daemon = try LiveDaemon("")
        daemon.autoReload = true
        try daemon.write(jobs)
        return daemon
    }

    /// Writes like an editor: into another file, which is then renamed.
    private func write(_ text: String, to name: String, of daemon: LiveDaemon) throws {
        let path = "\(daemon.folder)/\(name)"
        mkdir("\(daemon.folder)/jobs.d", 0o755)
        try text.write(toFile: path + "~", atomically: false, encoding: .utf8)
        chmod(path + "~", 0o644)
        #expect(rename(path + "~", path) == 0)
    }

    private func count(_ text: String, in daemon: LiveDaemon) -> Int {
        daemon.log.components(separatedBy: text).count - 1
    }

    private func reply(_ request: ControlRequest, of daemon: LiveDaemon) throws -> ReloadReply {
        try ControlJSON.decode(ReloadReply.self, from: Array(try daemon.ask(request).text.utf8))
    }

    /// The log entries for one change come after all entries for earlier changes.
    @Test func aChangeIsUsed_aBadOneIsReportedOnceAndChangesNothing_andTheSameContentIsNoChange()
        throws
    {
        let daemon = try make(job("a"))
        try daemon.start()
        try daemon.write(job("a", every: "2h"))
        #expect(daemon.waitForLog("Configuration reloaded: 1 changed (a)"))
        #expect(try daemon.show("a").everyUsec == 7_200_000_000)

        try daemon.write(job("a", every: "3h") + job("b") + "evry = 1\n")
        let refused = "error in \(daemon.config); the current configuration is kept"
        #expect(daemon.waitForManager("STATUS=1 job; reload refused, ") != nil)
        #expect(daemon.waitForLog("the current configuration is kept (its files were changed)"))
        #expect(daemon.log.contains("unknown key \"evry\" (did you mean \"every\"?)"))
        #expect(try daemon.timerctl("list").text.contains(refused))
        #expect(try daemon.show("a").everyUsec == 7_200_000_000)

        // The same content is no change, and neither is a new time of the file. A test cannot wait
        // for nothing to happen, so it waits for the next change.
        try daemon.write(job("a", every: "3h") + job("b") + "evry = 1\n")
        utimes(daemon.config, nil)
        LiveDaemon.pass(until: LiveDaemon.now() + 2.5)
        // A directory that is created later is noticed, and so are the files in it.
        mkdir("\(daemon.folder)/jobs.d", 0o755)
        try daemon.write(job("a", every: "3h"))
        #expect(
            daemon.waitForLog("Configuration reloaded: 1 changed (a)", times: 2), "\(daemon.log)")
        #expect(count("unknown key \"evry\"", in: daemon) == 1)
        #expect(try !daemon.timerctl("list").text.contains("refused"))
        try write(job("late"), to: "jobs.d/late.toml", of: daemon)
        #expect(daemon.waitForLog("Configuration reloaded: 1 added (late)"))
        #expect(daemon.stop() == 0)
    }

    @Test func itIsSwitchedOffAndOnByTheConfiguration_andAReloadByHandWorksEitherWay() throws {
        let off = "[daemon]\nauto-reload = false\n"
        let daemon = try make(job("a"))
        try daemon.start()
        try daemon.write(off + job("b"))
        #expect(daemon.waitForLog("Configuration reloaded: 1 added (b), 1 removed (a)"))
        try daemon.write(job("c"))
        // The reload is requested, and turns the watch on again.
        let reply = try reply(.reload(), of: daemon)
        #expect(reply.added.map(\.job) == ["c"] && reply.removed.map(\.job) == ["b"])
        try daemon.write(job("d"))
        #expect(daemon.waitForLog("Configuration reloaded: 1 added (d), 1 removed (c)"))
        #expect(daemon.stop() == 0)
    }

    /// A test cannot wait for nothing to happen, so everything below is requested.
    @Test func aFileWithAnErrorIsRefused_itsJobsStay_andSoDoesTheirTimeAtARestart() throws {
        let daemon = try LiveDaemon(job("main"))
        try write(job("a") + job("b"), to: "jobs.d/1.toml", of: daemon)
        try write(job("c"), to: "jobs.d/2.toml", of: daemon)
        try daemon.start()
        // The runner reads the files at its leisure, and has read them once it has run a job.
        _ = try daemon.ask(.command(.run, Job.Name("main")!))
        #expect(try daemon.wait { try daemon.show("main").last?.outcome == "exited(0)" })
        let before = try daemon.show("a").elapsedUsec
        try write(job("a") + "evry = 1\n", to: "jobs.d/1.toml", of: daemon)
        try write(job("c", every: "2h") + job("d"), to: "jobs.d/2.toml", of: daemon)

        let preview = try daemon.timerctl("reload", "--dry-run")
        #expect(preview.status == 1 && preview.text.contains("changed: c,"))
        #expect(preview.text.contains("unchanged: 3"), "\(preview.text)")
        let strict = try daemon.ask(.reload(ReloadQuery(isStrict: true)))
        #expect(strict.status == 422 && strict.text.contains("the current configuration is kept"))
        #expect(try daemon.show("c").everyUsec == 3_600_000_000)
        #expect(try daemon.timerctl("reload", "--strict").status == 1)

        let found = try reply(.reload(), of: daemon)
        #expect(found.added.map(\.job) == ["d"] && found.redefined.map(\.job) == ["c"])
        #expect(found.removed.isEmpty)
        #expect(found.kept == 3 && found.refusedFiles == ["\(daemon.folder)/jobs.d/1.toml"])
        #expect(found.errors.count == 1 && found.errors[0].contains("unknown key \"evry\""))
        let told = "1 file of jobs.d was refused: 1.toml; its jobs stay as they are"
        #expect(daemon.waitForLog(told))
        #expect(daemon.waitForManager("STATUS=5 jobs; \(told)") != nil)
        let list = try daemon.timerctl("list")
        #expect(list.status == 0 && list.text.contains(told) && !list.text.contains("not loaded"))
        let why = try daemon.timerctl("why", "a").text
        #expect(why.contains("the job keeps its earlier definition:") && why.contains("evry"))
        #expect(try daemon.timerctl("reload").status == 1)

        // The job runs with its old definition, although the runner has read the new file too.
        for name in ["a", "b", "c"] {
            _ = try daemon.ask(.command(.run, Job.Name(name)!))
            #expect(
                try daemon.wait { try daemon.show(name).last?.outcome == "exited(0)" },
                "\(daemon.log)")
        }

        // A start does not load the job, and its elapsed time is kept under its name.
        #expect(daemon.stop() == 0)
        try daemon.start()
        #expect(try daemon.ask(.show(Job.Name("a")!)).status == 404)
        try write(job("a") + job("b"), to: "jobs.d/1.toml", of: daemon)
        #expect(try reply(.reload(), of: daemon).added.map(\.job) == ["a", "b"])
        #expect(try daemon.show("a").elapsedUsec >= before)
        #expect(try daemon.show("a").last?.outcome == "exited(0)")
        #expect(daemon.stop() == 0)
    }

    /// Each change of any file is a reload of all of them.
    @Test func errorsAreLoggedOnce_andAgainIfAReloadIsRequested() throws {
        let doubtful = "every = \"1h\"\ncommand = [\"no-such-program-1\"]\n"
        let daemon = try make(job("n0") + "[job.a]\n\(doubtful)")
        try daemon.start()
        try daemon.write(job("n1") + "[job.a]\n\(doubtful)")
        #expect(daemon.waitForLog("Configuration reloaded: 1 added (n1)"))
        let before = count("[missing-program]", in: daemon)
        #expect(before <= 1)
        // In another line, beside a file with an error and another warning.
        try write(job("b") + "evry = 1\n", to: "jobs.d/b.toml", of: daemon)
        try daemon.write("# A comment.\n" + job("n2") + "[job.a]\n\(doubtful)")
        #expect(daemon.waitForLog("Configuration reloaded: 1 added (n2)"))
        try daemon.write(job("n3") + "[job.a]\n\(doubtful)" + "[job.c]\n\(doubtful)")
        #expect(daemon.waitForLog("Configuration reloaded: 2 added (n3, c)"))
        #expect(count("[missing-program]", in: daemon) == before + 1)
        #expect(count("unknown key \"evry\"", in: daemon) == 1)
        #expect(count("1 file of jobs.d was refused", in: daemon) == 1)
        let told = try reply(.reload(), of: daemon)
        #expect(told.warnings.count == 2 && told.errors.count == 1)
        #expect(daemon.waitForLog("1 file of jobs.d was refused", times: 2))
        #expect(count("[missing-program]", in: daemon) == before + 3)
        // Corrected, and wrong again.
        try write(job("b"), to: "jobs.d/b.toml", of: daemon)
        #expect(daemon.waitForLog("Configuration reloaded: 1 added (b)"))
        try write(job("b") + "evry = 1\n", to: "jobs.d/b.toml", of: daemon)
        #expect(daemon.waitForLog("unknown key \"evry\"", times: 3))
        #expect(daemon.stop() == 0)
    }

    /// Two ways at once: one reload comes after the other, and each gets an answer.
    @Test func reloadsThatAreRequestedWhileChangesAreNoticedAreDoneOneAfterTheOther() throws {
        let daemon = try make(job("j0"))
        try daemon.start()
        for number in 1...20 {
            try daemon.write(job("j\(number)"))
            #expect(try daemon.ask(.reload()).status == 200)
            #expect(try daemon.show("j\(number)").state == "armed")
        }
        try daemon.write(job("last"))
        #expect(daemon.waitForLog("Configuration reloaded: 1 added (last), 1 removed (j20)"))
        #expect(daemon.stop() == 0)
    }
}
