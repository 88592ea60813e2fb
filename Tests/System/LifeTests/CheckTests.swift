// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

/// `timerd check`, and which of its warnings a reload repeats.
@Suite(.ownThreads) struct CheckTests {
    private let good = "[job.a]\nevery = \"1h\"\nshell = \"true\"\n"
    private let doubtful = "[job.a]\nevery = \"1h\"\ncommand = [\"no-such-program-1\"]\n"

    private func check(
        _ arguments: [String], input: String = "", zone: String? = nil
    ) throws -> ProgramResult {
        try ProgramResult(
            of: "timerd", ["check"] + arguments, environment: zone.map { ["TZ": $0] }, input: input)
    }

    @Test func readsStandardInput() throws {
        let found = try check(["-"], input: good)
        #expect(
            found.status == 0 && found.output == "-: 1 job, no errors\n" && found.errors.isEmpty)
        let bad = try check(["-"], input: "[!]\n")
        #expect(bad.status == 1 && bad.errors.hasPrefix("-:1:2: ") && bad.output.isEmpty)
        #expect(bad.errors.hasSuffix("\n1 error\n"))
        let empty = try check(["--config", "-"])
        #expect(empty.status == 0 && empty.output == "-: no jobs, no errors\n")
    }

    @Test func takesTheFileEitherWay() throws {
        let path = "/tmp/timerd-check-\(UUID().uuidString).toml"
        try Data(good.utf8).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o644)
        defer { unlink(path) }
        for arguments in [[path], ["--config", path], ["--config=\(path)"]] {
            #expect(try check(arguments).output == "\(path): 1 job, no errors\n")
        }
        #expect(
            try check([path, path]).output
                == "\(path): 1 job, no errors\n\(path): 1 job, no errors\n")
    }

    /// A file can be checked before it is in its place, and when it is there.
    @Test func aFileIsCheckedBesideItsMainFile() throws {
        let folder = "/tmp/timerd-check-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: "\(folder)/jobs.d", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for path in [folder, "\(folder)/jobs.d"] { chmod(path, 0o755) }
        func write(_ name: String, _ text: String) throws -> String {
            let path = "\(folder)/\(name)"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            chmod(path, 0o644)
            return path
        }
        let main = try write(
            "timerd.toml", "[daemon]\nmax-concurrent = 2\n[notify.ops]\nmail = \"root\"\n")
        let told = good + "notify = [\"ops\"]\n"
        let there = try write("jobs.d/a.toml", told)
        let new = try write("new.toml", told)
        let with = " (with the settings, defaults and notifiers of \(main))"
        #expect(try check([there]).output == "\(there): 1 job, no errors\(with)\n")
        #expect(try check([new, "--config", main]).output == "\(new): 1 job, no errors\(with)\n")
        #expect(
            try check(["-", "--config", main], input: told).output
                == "-: 1 job, no errors\(with)\n")
        // Without it, it says what it lacks; a name that is wrong is wrong beside the main file too.
        let alone = try check(["-"], input: told)
        #expect(alone.status == 1 && alone.errors.contains("there is no table [notify.ops]"))
        let wrong = try check(
            ["-", "--config", main],
            input: good
                + "notify = [\"opps\"]\nconcurrency = \"allow\"\nconcurrency-max = 3\n")
        #expect(wrong.errors.contains("[notify.opps] (did you mean \"ops\"?)"))
        #expect(wrong.errors.contains("max-concurrent of [daemon], which is 2"))
    }

    @Test func whereTheValuesOfAJobComeFromIsShown() throws {
        let folder = "/tmp/timerd-check-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: "\(folder)/jobs.d", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for path in [folder, "\(folder)/jobs.d"] { chmod(path, 0o755) }
        for (name, text) in [
            ("timerd.toml", "[defaults]\nnice = 3\nenvironment = { TOKEN = \"TOPSECRET\" }\n"),
            ("jobs.d/a.toml", good),
        ] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            chmod("\(folder)/\(name)", 0o644)
        }
        let main = "\(folder)/timerd.toml"
        let found = try check(["--origin", "a", "--config", main])
        #expect(found.status == 0 && found.errors == "")
        let lines = found.output.split(separator: "\n").map {
            $0.split(separator: " ", maxSplits: 1).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
        let origins = Dictionary(lines.map { ($0[0], $0[1]) }) { first, _ in first }
        #expect(origins["nice"] == "\(main):2, [defaults]")
        #expect(origins["environment.TOKEN"] == "\(main):3, [defaults]")
        #expect(origins["paused"] == "built in: false" && origins["user"] == "built in")
        #expect(origins.values.contains { $0.hasPrefix("\(folder)/jobs.d/a.toml:") })
        #expect(!found.output.contains("TOPSECRET"))
        let none = try check(["--origin", "other", "--config", main])
        #expect(none.status == 1 && none.errors == "no file of \(main) has a job \"other\"\n")
        #expect(try check(["--origin", "a", main]).status == 2)
    }

    /// Only the runner of the system's daemon is root, so a user's own jobs run as the user.
    @Test func aUsersOwnJobsAreNotRoots() throws {
        let folder = "/tmp/timerd-check-\(UUID().uuidString)"
        let own = "\(folder)/.config/timerd"
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data(good.utf8).write(to: URL(fileURLWithPath: "\(own)/timerd.toml"))
        let process = Process()
        let (output, timerd) = (Pipe(), "\(LiveDaemon.programs)/timerd")
        (process.standardOutput, process.standardError) = (output, output)
        process.environment = ["HOME": folder, "PATH": "/usr/bin:/bin"]
        if geteuid() == 0 {
            // The user nobody, who may not be able to look into the folder of the programs.
            try FileManager.default.copyItem(atPath: timerd, toPath: "\(folder)/timerd")
            for path in [folder, "\(folder)/.config", own, "\(own)/timerd.toml"] {
                chmod(path, 0o755)
                chown(path, 65_534, 65_534)
            }
            process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
            process.arguments = [
                "--reuid=65534", "--regid=65534", "--clear-groups", "\(folder)/timerd", "check",
            ]
        } else {
            process.executableURL = URL(fileURLWithPath: timerd)
            process.arguments = ["check"]
        }
        try process.run()
        let said = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(said == "\(own)/timerd.toml: 1 job, no errors\n")
    }

    /// An error hides no other error of the same table.
    @Test func allErrorsOfATableAreSaid() throws {
        let found = try check(
            ["-"],
            input: """
                [job.a]
                calendar = ["Mom..Fri 08:30", "Mon 25:00"]
                timezone = "Berln"
                user = "no-such-user-1"
                notify = ["nope"]
                concurrency = "allow"
                concurrency-max = 500
                environment = { "1A" = "", "B C" = "" }
                credentials = { a = "/no/such/file" }
                shell = "true"

                """)
        for part in [
            "2:14: job \"a\": calendar: ", "2:32: job \"a\": calendar: ",
            "\"Berln\" is not a time zone",
            "there is no user \"no-such-user-1\"", "there is no table [notify.nope]",
            "concurrency-max: is more than max-concurrent", "\"1A\" is not a valid variable name",
            "\"B C\" is not a valid variable name", "there is no file \"/no/such/file\"",
        ] { #expect(found.errors.contains(part), "\(part): \(found.errors)") }
        #expect(found.errors.contains("\n7 errors, 2 warnings\n"), "\(found.errors)")
        let notifier = try check(
            ["-"], input: "[notify.n]\nping = \"ftp://x\"\nmail = \"a b\"\nafter = 0\n")
        #expect(notifier.errors.contains("\n4 errors\n"), "\(notifier.errors)")
    }

    @Test func laterFailuresAreWarnings_andTheStatusIsZero() throws {
        let found = try check(["-"], input: doubtful)
        #expect(found.status == 0 && found.output == "-: 1 job, no errors, 1 warning\n")
        #expect(found.errors.contains("there is no program \"no-such-program-1\""))
        let noted = try check(
            ["-"], input: "[job.a]\nshell = \"x\"\ncron = \"H 4 * * *\"\n")
        #expect(noted.status == 0 && noted.output == "-: 1 job, no errors, 1 note\n")
    }

    /// As in a container with a wrong value: the machine's own zone is used, and the output says
    /// so.
    @Test func anUnknownZoneIsReported() throws {
        let found = try check(["-"], input: good, zone: "Middle/Earth")
        #expect(found.status == 0)
        #expect(found.errors.hasPrefix("warning: the environment variable TZ is \"Middle/Earth\""))
    }

    @Test func aReloadRepeatsTheWarnings() throws {
        let daemon = try LiveDaemon(good)
        try daemon.start()
        try daemon.write(doubtful)
        let reply = try ControlJSON.decode(
            ReloadReply.self, from: Array(try daemon.ask(.reload()).text.utf8))
        #expect(reply.redefined.map(\.job) == ["a"] && reply.warnings.count == 1)
        #expect(reply.warnings.first?.contains("[missing-program]") == true)
        #expect(daemon.waitForLog("there is no program \"no-such-program-1\""))
        let preview = try daemon.timerctl("reload", "--dry-run")
        #expect(preview.status == 0 && preview.text.contains("[missing-program]"))
        #expect(daemon.stop() == 0)
    }
}
