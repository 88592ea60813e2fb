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
        let both = try check([path, "--config", path])
        #expect(both.status == 2 && both.errors.contains("exclude each other"))
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
            ReloadReply.self, from: Array(try daemon.ask(.reload).text.utf8))
        #expect(reply.redefined.map(\.job) == ["a"] && reply.warnings.count == 1)
        #expect(reply.warnings.first?.contains("[missing-program]") == true)
        #expect(daemon.waitForLog("there is no program \"no-such-program-1\""))
        let preview = try daemon.timerctl("reload", "--dry-run")
        #expect(preview.status == 0 && preview.text.contains("[missing-program]"))
        #expect(daemon.stop() == 0)
    }
}
