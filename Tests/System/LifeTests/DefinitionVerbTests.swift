// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

/// `timerctl add`, `cat`, `remove` and `status`, and `timerd init`, with a real daemon.
@Suite(.ownThreads) struct DefinitionVerbTests {
    private static let main = "[job.first]\nevery = \"1d\"\nFIRE\n"

    /// Its standard output and standard error.
    private func timerctl(
        _ daemon: LiveDaemon, _ arguments: String...
    ) throws -> (status: Int32, text: String) {
        // The socket comes first, because arguments after `--` belong to the command.
        let result = try ProgramResult(of: "timerctl", ["--socket", daemon.socket] + arguments)
        return (result.status, result.output + result.errors)
    }

    private func files(_ daemon: LiveDaemon) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: daemon.folder + "/jobs.d")
        return (names ?? []).sorted()
    }

    @Test func aJobIsAdded_shown_andRemoved() throws {
        let daemon = try LiveDaemon(Self.main)
        try daemon.start()
        let added = try timerctl(
            daemon, "add", "backup", "--every", "6h", "--description", "a \"quoted\" word", "--",
            "echo", "a\\b")
        #expect(added.status == 0 && added.text.hasSuffix("\nbackup: added\n"), "\(added.text)")
        #expect(files(daemon) == ["backup.toml"])
        let status = try daemon.show("backup")
        #expect(status.everyUsec == 6 * 3_600_000_000 && status.command == ["echo", "a\\b"])
        #expect(status.description == "a \"quoted\" word")
        let shown = try timerctl(daemon, "cat", "backup")
        #expect(
            shown.status == 0 && shown.text.hasPrefix("# \(daemon.folder)/jobs.d/backup.toml:2\n"))
        #expect(shown.text.contains("\nevery = \"6h\"\n"), "\(shown.text)")
        let first = try timerctl(daemon, "cat", "first")
        #expect(first.text.contains("\n[job.first]\nevery = \"1d\"\n"), "\(first.text)")
        #expect(try timerctl(daemon, "cat", "missing").status != 0)

        let again = try timerctl(daemon, "add", "backup", "--every", "1h", "--", "true")
        #expect(again.status == 1 && again.text.contains("already"), "\(again.text)")
        // What the daemon refuses is not kept.
        let wrong = try timerctl(daemon, "add", "wrong", "--every", "6 parsecs", "--", "true")
        #expect(wrong.status == 1 && wrong.text.contains("every"), "\(wrong.text)")
        for arguments in [
            ["--", "true"], ["--every", "1h", "--on-demand", "--", "true"], ["--every", "1h"],
        ] {
            let usage = try ProgramResult(
                of: "timerctl", ["--socket", daemon.socket, "add", "wrong"] + arguments)
            #expect(usage.status == 2, "\(arguments)")
        }
        #expect(files(daemon) == ["backup.toml"])

        let removed = try timerctl(daemon, "remove", "backup")
        #expect(
            removed.status == 0 && removed.text.contains("\nevery = \"6h\"\n"), "\(removed.text)")
        #expect(removed.text.hasSuffix("\nbackup: removed\n") && files(daemon) == [])
        #expect(try timerctl(daemon, "show", "backup").status == 4)
        #expect(daemon.stop() == 0)
    }

    /// A file that has more than the job is never removed, however that is written.
    @Test(arguments: [
        "job.other.every = \"1d\"\njob.other.command = [\"true\"]\n[job.kept]\n",
        "  [job.other]\n  every = \"1d\"\n  command = [\"true\"]\n[job.kept]\n",
        "slots.disk = 1\n[job.kept]\n",
        "[job.other]\nevery = \"1d\"\ncommand = [\"true\"]\n[job.\"kept\"]\n",
    ])
    func whatHasMoreThanTheJobStays(begin: String) throws {
        let daemon = try LiveDaemon(Self.main)
        let text = begin + "every = \"1d\"\ncommand = [\"true\"]\n"
        try FileManager.default.createDirectory(
            atPath: daemon.folder + "/jobs.d", withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755])
        let file = daemon.folder + "/jobs.d/kept.toml"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        chmod(file, 0o644)
        try daemon.start()
        #expect(try timerctl(daemon, "show", "kept").status == 0)
        for job in ["kept", "first"] {
            let refused = try timerctl(daemon, "remove", "--yes", job)
            #expect(
                refused.status == 1 && refused.text.contains("has more than this job"),
                "\(refused.text)")
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
        #expect(try timerctl(daemon, "show", "kept").status == 0)
        #expect(daemon.stop() == 0)
    }

    /// A job with tables of its own has its file alone.
    @Test func aJobWithTablesIsRemoved() throws {
        let daemon = try LiveDaemon(Self.main)
        #expect(mkdir(daemon.folder + "/jobs.d", 0o755) == 0)
        let file = daemon.folder + "/jobs.d/own.toml"
        let text =
            "# Why it is here\n  [job.own]\non-demand = true\ncommand = [\n  \"true\",\n]\n[job.own.environment]\nA = \"1\"\n"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        chmod(file, 0o644)
        try daemon.start()
        let removed = try timerctl(daemon, "remove", "own")
        #expect(removed.status == 0 && removed.text == text + "\nown: removed\n", "\(removed.text)")
        #expect(access(file, F_OK) != 0)
        #expect(daemon.stop() == 0)
    }

    @Test func theStatusOfAJobHasItsOutput_andItsExitStatusSaysWhetherItFailed() throws {
        let daemon = try LiveDaemon(
            """
            [job.bad]
            on-demand = true
            shell = "echo no disk; exit 3"
            [job.good]
            on-demand = true
            shell = "echo all well"
            """)
        try daemon.start()
        for (job, status, result, output) in [
            ("bad", 1, "exit 3", "no disk"), ("good", 0, "succeeded", "all well"),
        ] as [(String, Int32, String, String)] {
            #expect(try timerctl(daemon, "status", job).status == 0, "it has never run")
            _ = try timerctl(daemon, "run", "--wait", job)
            let shown = try timerctl(daemon, "status", job)
            #expect(shown.status == status, "\(shown.text)")
            #expect(shown.text.contains(result) && shown.text.contains("| \(output)\n"))
            #expect(try !timerctl(daemon, "status", "-n", "0", job).text.contains("| \(output)"))
            #expect(try timerctl(daemon, "status", "--json", job).status == status)
        }
        let all = try timerctl(daemon, "status")
        #expect(all.status == 0 && all.text.contains("bad") && all.text.contains("good"))
        #expect(try timerctl(daemon, "status", "missing").status == 4)
        #expect(daemon.stop() == 0)
    }

    @Test func aFirstConfigurationWorks_andIsNeverReplaced() throws {
        let daemon = try LiveDaemon(Self.main)
        let path = daemon.folder + "/new/etc/timerd.toml"
        let made = try ProgramResult(of: "timerd", ["init", "--config", path])
        #expect(made.status == 0 && made.output.contains("timerd run --config \(path)"))
        #expect(try ProgramResult(of: "timerd", ["check", "--config", path]).status == 0)
        #expect(access(daemon.folder + "/new/etc/jobs.d", X_OK) == 0)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let again = try ProgramResult(of: "timerd", ["init", "--config", path])
        #expect(again.status == 1 && again.errors.contains("is there already"))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }
}
