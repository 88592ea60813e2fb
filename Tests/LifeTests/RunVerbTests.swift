// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// `timerctl run`, `retry`, `log` and `show RUN` with the real programs.
@Suite struct RunVerbTests {
    /// The output of a program on each stream, and its exit status.
    private struct Spoken {
        var status: Int32
        var out: String
        var err: String
    }

    /// A program that runs against a daemon.
    private final class Client {
        private let process = Process()
        private let out = Pipe()
        private let err = Pipe()

        init(_ daemon: LiveDaemon, _ arguments: [String]) throws {
            process.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/timerctl")
            process.arguments = arguments + ["--socket", daemon.socket]
            process.standardOutput = out
            process.standardError = err
            try process.run()
        }

        func signal(_ number: Int32) { Glibc.kill(process.processIdentifier, number) }

        /// Waits until the next bytes of standard output.
        func read() -> String {
            String(decoding: out.fileHandleForReading.availableData, as: UTF8.self)
        }

        func finish() -> Spoken {
            // The output of these commands fits into the pipes.
            let (text, errors) = (
                out.fileHandleForReading.readDataToEndOfFile(),
                err.fileHandleForReading.readDataToEndOfFile()
            )
            process.waitUntilExit()
            return Spoken(
                status: process.terminationStatus, out: String(decoding: text, as: UTF8.self),
                err: String(decoding: errors, as: UTF8.self))
        }
    }

    private func run(_ daemon: LiveDaemon, _ arguments: String...) throws -> Spoken {
        try Client(daemon, arguments).finish()
    }

    private func run(
        _ daemon: LiveDaemon, _ verb: String, _ arguments: [String]
    ) throws -> Spoken { try Client(daemon, [verb] + arguments).finish() }

    private static let jobs = """
        [job.good]
        every = "1h"
        shell = "echo out; echo err >&2"
        [job.bad]
        every = "1h"
        shell = "echo trying; exit 7"
        [job.shot]
        every = "1h"
        shell = "kill -KILL $$"
        [job.none]
        every = "1h"
        command = ["/nonexistent/program"]
        [job.quiet]
        every = "1h"
        command = ["true"]
        """

    @Test func runSaysWhatBecameOfIt_andWaitExitsAsTheRunDid() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        let started = try run(daemon, "run", "quiet")
        #expect(started.status == 0 && started.out.contains("quiet: run quiet:"))
        #expect(started.out.contains(" started; next run in "))
        let none = try run(daemon, "run", "none")
        #expect(none.status == 1 && none.out.isEmpty)
        #expect(
            none.err.contains(
                "failed to start: no such file or directory (exec /nonexistent/program)"))
        let several = try run(daemon, "run", "none", "bad")
        #expect(several.status == 1 && several.out.hasPrefix("bad: run bad:"))

        let good = try run(daemon, "run", "good", "--wait")
        #expect(good.status == 0 && good.out == "out\n" && good.err.contains("err\n"))
        let bad = try run(daemon, "run", "bad", "--wait")
        #expect(bad.status == 7 && bad.out == "trying\n" && bad.err.contains("exit status 7"))
        #expect(try run(daemon, "run", "shot", "--wait").status == 137)
        #expect(try run(daemon, "run", "none", "--wait").status == 1)

        // Failed runs are run again, and no others.
        let again = try run(daemon, "retry", "--failed")
        #expect(again.out.contains("bad: run bad:") && !again.out.contains("good"))
        #expect(again.status == 1 && again.err.contains("none: run none:"))
        let well = try run(daemon, "retry", "good")
        #expect(
            well.status == 0 && well.out == "good: nothing to do: its last run succeeded\n")
        #expect(daemon.stop() == 0)
    }

    @Test func aRunIsShownWithWhyAndHow() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        #expect(try run(daemon, "log", "good").out.contains("good has never run; it runs next at "))
        let json = try run(daemon, "run", "bad", "--wait", "--json")
        let reply = try ControlJSON.decode(RunReply.self, from: Array(json.out.utf8))
        #expect(json.status == 7 && reply.state == "ended" && reply.runStatus.output == "trying\n")
        #expect(reply.runStatus.cause == "requested" && reply.runStatus.requestedBy != nil)
        let name = reply.runStatus.id
        let shown = try run(daemon, "show", name).out
        #expect(shown.contains("Result: exit status 7") && shown.contains("    | trying"))
        #expect(shown.contains("Cause: requested by ") && shown.contains("Verdict: failed"))
        let log = try run(daemon, "log", name).out
        #expect(log.hasPrefix("── run \(name) began ") && log.contains(" | trying\n"))
        #expect(log.contains("exit status 7, after "))
        #expect(try run(daemon, "log", "bad", "-o", "cat").out == "trying\n")
        _ = try run(daemon, "run", "quiet", "--wait")
        #expect(try run(daemon, "log", "quiet").out.contains("(it printed nothing)"))
        _ = try run(daemon, "run", "none")
        #expect(try run(daemon, "log", "none").out.contains("failed to start: no such file"))
        #expect(try run(daemon, "log", "bad", "-n", "1").out.contains("| trying"))
        let unknown = try run(daemon, "show", "bad:20200101T000000.000000Z:1")
        #expect(unknown.status == 4 && unknown.err.contains("nothing is known of run"))
        // The next instance knows them only from the history.
        #expect(daemon.stop() == 0)
        try daemon.start()
        #expect(try run(daemon, "log", name).out.contains("         : trying\n"))
        #expect(try run(daemon, "show", name).out.contains("Cause: requested by "))
        #expect(daemon.stop() == 0)
    }

    @Test func aRunIsNamedWithItsJobOrWithout_butNotWithAnother() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        let json = try run(daemon, "run", "bad", "--wait", "--json")
        let name = try ControlJSON.decode(RunReply.self, from: Array(json.out.utf8)).runStatus.id
        for arguments in [["bad", "--run", name], ["--run", name], [name]] {
            let log = try run(daemon, "log", arguments)
            #expect(log.status == 0 && log.out.contains(" | trying\n"), "\(arguments)")
        }
        let other = try run(daemon, "log", "good", "--run", name)
        #expect(other.status == 2 && other.out.isEmpty)
        #expect(other.err.contains("\(name) is a run of job \"bad\", not of \"good\""))
        #expect(try run(daemon, "log").err.contains("name a job or a run"))
        #expect(daemon.stop() == 0)
    }

    @Test func runsAreShownThatEndedInAPeriod() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        let json = try run(daemon, "run", "bad", "--wait", "--json")
        let status = try ControlJSON.decode(RunReply.self, from: Array(json.out.utf8)).runStatus
        let end = try #require(status.ended.flatMap { WallInstant(rfc3339: $0) })
        let after = (end + .microseconds(1)).rfc3339Micros
        let before = (end - .microseconds(1)).rfc3339Micros
        let at = end.rfc3339Micros
        for (period, isIn) in [
            (["--since", at], true), (["--since", after], false), (["--until", after], true),
            (["--until", at], false), (["--since", before, "--until", after], true),
        ] {
            let log = try run(daemon, "log", ["bad"] + period)
            #expect(log.out.contains("| trying") == isIn, "\(log.out) \(period)")
            #expect(log.out.contains("no run of bad ended ") == !isIn, "\(log.out)")
            #expect(try run(daemon, "history", period).out.contains(status.id) == isIn)
            let failures = try run(daemon, "failures", period).out
            #expect(failures.contains("bad: exit status 7") == isIn, "\(failures)")
            #expect(failures.contains("No job's last run failed ") == !isIn, "\(failures)")
        }
        let reversed = try run(daemon, "history", "--since", after, "--until", at)
        #expect(reversed.status == 2 && reversed.err.contains("--until must not be before"))
        #expect(try run(daemon, "log", "bad", "-f", "--until", at).status == 2)
        #expect(try run(daemon, "log", status.id, "--until", at).status == 2)
        #expect(daemon.stop() == 0)
    }

    /// It would be replaced, and something else be done than was meant.
    @Test(arguments: [
        "FOO=$(printf '\\377') timerctl run good --env FOO", "timerctl pause \"$(printf '\\377')\"",
        "timerctl run good --env FOO=\"$(printf '\\377')\"",
        "timerctl in 1h -- echo \"$(printf '\\377')\"",
    ])
    func textThatIsNotUTF8IsRefused(line: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", line]
        process.environment = ["PATH": "\(LiveDaemon.programs):/usr/bin:/bin"]
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        let said = String(
            decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 2 && said.contains("is not UTF-8"), "\(said)")
    }

    /// A script must not take half of a list for the list.
    @Test(.enabled(if: access("/dev/full", W_OK) == 0))
    func outputThatCannotBeWrittenIsAFailure() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        for line in ["list", "list -o names", "list --json", "run good --wait", "log good"] {
            for (target, fault) in [
                (">/dev/full", "No space left on device"), (">&-", "Bad file descriptor"),
            ] {
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/bin/sh")
                process.arguments = [
                    "-c",
                    "exec \(LiveDaemon.programs)/timerctl \(line) --socket \(daemon.socket) \(target)",
                ]
                let errors = Pipe()
                process.standardError = errors
                try process.run()
                let said = String(
                    decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                process.waitUntilExit()
                #expect(process.terminationStatus == 1, "\(line) \(target): \(said)")
                #expect(said.contains("standard output cannot be written: \(fault)"), "\(said)")
            }
        }
        #expect(daemon.stop() == 0)
    }

    /// The run continues while the daemon is killed and restarted, and so does the command that
    /// waits for it.
    @Test func aRestartOfTheDaemonDoesNotEndTheWaiting() throws {
        let daemon = try LiveDaemon(
            """
            [job.long]
            every = "1h"
            shell = "echo begun; until [ -e FOLDER/go ]; do sleep 0.05; done; echo done; exit 5"
            """)
        let text = try String(contentsOfFile: daemon.config, encoding: .utf8)
        try daemon.write(text.replacing("FOLDER", with: daemon.folder))
        try daemon.start()
        let client = try Client(daemon, ["run", "long", "--wait"])
        #expect(client.read() == "begun\n")
        _ = daemon.kill()
        try daemon.start()
        _ = FileManager.default.createFile(atPath: "\(daemon.folder)/go", contents: nil)
        let end = client.finish()
        #expect(end.status == 5 && end.out.contains("done\n"), "\(end.out) \(end.err)")
        #expect(end.err.contains("exit status 5"))
        #expect(daemon.stop() == 0)
    }

    @Test func ctrlCEndsTheWaiting_andNotTheRun() throws {
        let daemon = try LiveDaemon(
            """
            [job.long]
            every = "1h"
            shell = "echo begun; exec sleep 600"
            """)
        try daemon.start()
        let client = try Client(daemon, ["run", "long", "--wait"])
        #expect(client.read() == "begun\n")
        client.signal(SIGINT)
        let end = client.finish()
        #expect(end.status == 130 && end.err.contains("stopped waiting"), "\(end.err)")
        let name = try #require(try daemon.show("long").running.first?.id)
        #expect(end.err.contains("`timerctl kill \(name)` ends it"))
        #expect(try run(daemon, "kill", name).status == 0)
        #expect(daemon.stop() == 0)
    }

    /// A variable reaches only its run, and its value is not stored anywhere.
    @Test func aVariableIsForOneRun() throws {
        let daemon = try LiveDaemon(
            """
            [job.say]
            every = "1h"
            shell = 'test -n "$A" || echo nothing; test "$A" = "$WANTED" && echo same'
            environment = { WANTED = "hush-4711" }
            run-environment = ["A"]
            """)
        try daemon.start()
        let set = try run(daemon, "run", "say", "--env", "A=other-0815", "--wait")
        #expect(set.out.isEmpty && set.err.contains("exit status 1"))
        let same = try run(daemon, "run", "say", "--env", "A=hush-4711", "--wait")
        #expect(same.out == "same\n" && same.status == 0)
        #expect(try run(daemon, "run", "say", "--wait").out == "nothing\n")
        let refused = try run(daemon, "run", "say", "--env", "B=1")
        #expect(refused.status == 1 && refused.err.contains("does not allow \"B\""))
        #expect(try run(daemon, "run", "say", "--env", "1=1").status == 2)
        #expect(daemon.stop() == 0)
        let files = FileManager.default.enumerator(atPath: "\(daemon.folder)/state")
        for case let name as String in files?.allObjects ?? [] {
            let bytes = FileManager.default.contents(atPath: "\(daemon.folder)/state/\(name)")
            #expect(bytes?.range(of: Data("other-0815".utf8)) == nil, "\(name)")
        }
        #expect(!daemon.log.contains("other-0815"))
    }
}
