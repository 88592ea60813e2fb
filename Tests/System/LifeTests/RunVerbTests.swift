// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// `timerctl run`, `retry`, `log` and `show RUN` with the real programs.
@Suite(.ownThreads) struct RunVerbTests {
    /// The output of a program on each stream, and its exit status.
    struct Spoken {
        var status: Int32
        var out: String
        var err: String
    }

    /// A program that runs against a daemon.
    final class Client {
        private let process = Process()
        private let out = Pipe()
        private let err = Pipe()

        convenience init(_ daemon: LiveDaemon, _ arguments: [String]) throws {
            try self.init(arguments + ["--socket", daemon.socket])
        }

        /// - Parameter arguments: all of them.
        init(_ arguments: [String]) throws {
            process.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/timerctl")
            process.arguments = arguments
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

    func run(_ daemon: LiveDaemon, _ arguments: String...) throws -> Spoken {
        try Client(daemon, arguments).finish()
    }

    func run(
        _ daemon: LiveDaemon, _ verb: String, _ arguments: [String]
    ) throws -> Spoken { try Client(daemon, [verb] + arguments).finish() }

    static let jobs = """
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
                "could not start: no such program /nonexistent/program"))
        let several = try run(daemon, "run", "none", "bad")
        #expect(several.status == 1 && several.out.hasPrefix("bad: run bad:"))

        let good = try run(daemon, "run", "good", "--wait")
        #expect(good.status == 0 && good.out == "out\n" && good.err.contains("err\n"))
        let bad = try run(daemon, "run", "bad", "--wait")
        #expect(bad.status == 7 && bad.out == "trying\n" && bad.err.contains("exit 7"))
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
        #expect(end.err.contains("exit 5"))
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
            run-environment-any = ["A"]
            """)
        try daemon.start()
        let set = try run(daemon, "run", "say", "--env", "A=other-0815", "--wait")
        #expect(set.out.isEmpty && set.err.contains("exit 1"))
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

    /// Words get from the command line to the process if the job allows them, and are told everywhere.
    @Test func wordsAreAppendedToTheCommandOfOneRun() throws {
        let daemon = try LiveDaemon(
            """
            [job.say]
            every = "1h"
            command = ["echo", "all"]
            run-arguments = ["--full", "a  b"]
            [job.line]
            every = "1h"
            shell = 'echo "$0 $# $2"'
            run-arguments = ["1", "$(2)"]
            """)
        try daemon.start()
        #expect(try run(daemon, "run", "say", "--wait").out == "all\n")
        #expect(try run(daemon, "run", "line", "--wait").out == "/bin/sh 0 \n")
        let client = try Client(
            ["--socket", daemon.socket, "run", "--wait", "say", "--", "a  b", "--full"])
        #expect(client.finish().out == "all a  b --full\n")
        let line = try Client(
            ["--socket", daemon.socket, "run", "--wait", "line", "--", "1", "$(2)"])
        #expect(line.finish().out == "/bin/sh 2 $(2)\n")
        let refused = try Client(["--socket", daemon.socket, "run", "say", "--", "--ful"]).finish()
        #expect(
            refused.status == 1
                && refused.err.contains("does not allow \"--ful\" (did you mean \"--full\"?)"),
            "\(refused.err)")
        let history = try run(daemon, "history", "say")
        #expect(history.out.contains(", with \"a  b\" --full"), "\(history.out)")
        #expect(daemon.log.contains("requested by") && daemon.log.contains(", with 1 \"$(2)\""))
        #expect(daemon.stop() == 0)
    }
}
