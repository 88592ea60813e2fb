// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerConfig

/// What jobs name and the machine does not have.
@Suite struct MachineCheckTests {
    private let folder = "/tmp/timerd-look-\(UUID().uuidString)"

    private func warnings(_ table: String) throws -> [ConfigWarning] {
        let now = try #require(WallInstant(rfc3339: "2026-11-21T08:00:00Z"))
        let text = "[job.j]\nevery = \"1h\"\n\(table.replacing("FOLDER", with: folder))\n"
        let reading = try ConfigReader.read(
            Array(text.utf8), file: "t.toml", checks: ConfigChecks(at: now, asking: Machine()))
        #expect(reading.errors.isEmpty, "\(reading.errors)")
        return reading.warnings
    }

    private func withFolder(_ body: () throws -> Void) throws {
        mkdir(folder, 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (name, mode) in [("good", 0o755), ("plain", 0o644), ("open", 0o666)]
            as [(String, mode_t)]
        {
            try Data("#!/bin/sh\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            chmod("\(folder)/\(name)", mode)
        }
        mkdir("\(folder)/bin", 0o755)
        symlink("../good", "\(folder)/bin/linked")
        symlink("nowhere", "\(folder)/bin/dangling")
        try body()
    }

    /// Counts what it is asked.
    private final class Counting: MachineQueries {
        private let machine = Machine()
        private let state = Mutex(0)

        var asked: Int { state.withLock { $0 } }

        func findings(for question: MachineCheck.Question) -> [MachineCheck.Finding] {
            state.withLock { $0 += 1 }
            return machine.findings(for: question)
        }

        func isMember(_ name: String, of groups: [String]) -> Bool? {
            machine.isMember(name, of: groups)
        }
    }

    @Test func jobsThatNeedTheSameAreLookedUpOnceAndWarnedOfEach() throws {
        let counting = Counting()
        let now = try #require(WallInstant(rfc3339: "2026-11-21T08:00:00Z"))
        let jobs = (1...100).map { number in
            """
            [job.j\(number)]
            every = "\(number)h"
            command = ["/absent/\(number % 2)", "\(number)"]

            """
        }
        let reading = try ConfigReader.read(
            Array(jobs.joined().utf8), file: "t.toml",
            checks: ConfigChecks(at: now, asking: counting))
        #expect(counting.asked == 2)
        #expect(reading.warningCount == 100)
    }

    @Test func saysWhatFailsLater() throws {
        let cases: [(String, [String])] = [
            ("shell = \"no-such-program\"", []), ("command = [\"ls\"]", []),
            ("command = [\"/bin/ls\"]", []), ("command = [\"FOLDER/good\"]", []),
            ("command = [\"FOLDER/plain\"]", ["missing-program"]),
            ("command = [\"FOLDER/absent\"]", ["missing-program"]),
            ("command = [\"FOLDER/bin\"]", ["missing-program"]),
            ("command = [\"FOLDER/good/x\"]", ["missing-program"]),
            ("command = [\"FOLDER/bin/linked\"]", []),
            ("command = [\"FOLDER/bin/dangling\"]", ["missing-program"]),
            ("command = [\"no-such-program-at-all\"]", ["missing-program"]),
            ("command = [\"good\"]\nenvironment = { PATH = \"/nowhere:FOLDER\" }", []),
            ("command = [\"plain\"]\nenvironment = { PATH = \"FOLDER\" }", ["missing-program"]),
            ("command = [\"ls\"]\nenvironment = { PATH = \"/nowhere\" }", ["missing-program"]),
            ("command = [\"./good\"]\nworking-directory = \"FOLDER\"", []),
            ("command = [\"./absent\"]\nworking-directory = \"FOLDER\"", ["missing-program"]),
            (
                "command = [\"good\"]\nenvironment = { PATH = \":/nowhere\" }\nworking-directory = \"FOLDER\"",
                ["relative-path"]
            ),
            ("shell = \"x\"\nenvironment = { PATH = \"/bin:\" }", ["relative-path"]),
            ("shell = \"x\"\nenvironment = { PATH = \"/bin::/sbin\" }", ["relative-path"]),
            ("shell = \"x\"\nenvironment = { PATH = \"/bin:bin\" }", ["relative-path"]),
            ("shell = \"x\"\nenvironment = { PATH = \"\" }", ["relative-path"]),
            ("shell = \"x\"\nenvironment = { PATH = \"/bin:/sbin\", MANPATH = \":\" }", []),
            ("shell = \"x\"\ncondition = { command = [\"FOLDER/good\"] }", []),
            (
                "shell = \"x\"\ncondition = { command = [\"FOLDER/absent\", \"x\"] }",
                ["missing-program"]
            ),
            (
                "command = [\"absent-1\"]\ncondition = { command = [\"absent-2\"] }",
                ["missing-program", "missing-program"]
            ),
            // The home it is looked for in is not known, and what a file of variables says neither.
            ("command = [\"./anything\"]", []),
            ("command = [\"anything\"]\nenvironment-file = \"-/etc/x\"", []),
            // Files that the runner reads: with a hyphen it need not be there.
            ("shell = \"x\"\nenvironment-file = \"/etc/no-such-file\"", ["missing-file"]),
            ("shell = \"x\"\nenvironment-file = \"FOLDER/plain\"", []),
            ("shell = \"x\"\ncredentials = { a = \"FOLDER/plain\" }", []),
            (
                "shell = \"x\"\ncredentials = { a = \"FOLDER/absent\", b = \"FOLDER/none\" }",
                ["missing-file", "missing-file"]
            ),
            ("shell = \"x\"\ncredentials = { a = \"FOLDER/bin\" }", ["missing-file"]),
            ("shell = \"x\"\ncredentials = { a = \"FOLDER/bin/linked\" }", ["missing-file"]),
            ("shell = \"x\"\ncredentials = { a = \"FOLDER/open\" }", ["missing-file"]),
            ("shell = \"x\"\nworking-directory = \"FOLDER/absent\"", ["missing-directory"]),
            ("shell = \"x\"\nworking-directory = \"FOLDER/good\"", ["missing-directory"]),
            ("shell = \"x\"\nuser = \"root\"\ngroup = \"root\"", []),
            ("shell = \"x\"\nuser = \"no-such-user-1\"", ["unknown-user"]),
            ("shell = \"x\"\ngroup = \"no-such-group-1\"", ["unknown-group"]),
            ("shell = \"x\"\npam-service = \"no-such-service-1\"", ["unknown-pam-service"]),
            ("shell = \"x\"\npam-service = \"none\"", []),
        ]
        try withFolder {
            for (table, expected) in cases {
                let found = try warnings(table)
                #expect(found.map(\.code.rawValue) == expected, "\(table): \(found)")
                #expect(found.allSatisfy { !$0.isNote })
            }
        }
    }

    @Test func aWarningStandsAtItsKey_orAtTheJobThatTookItFromDefaults() throws {
        let found = try warnings("user = \"no-such-user-1\"\nshell = \"x\"")
        let expected = """
            t.toml:3:8: warning: job "j": user: there is no user "no-such-user-1" on this machine; its runs will \
            fail [unknown-user]
              user = "no-such-user-1"
                     ^
            """
        #expect(found.map(\.quotingLine) == [expected])
        let now = try #require(WallInstant(rfc3339: "2026-11-21T08:00:00Z"))
        let text = "[defaults]\nuser = \"no-such-user-1\"\n[job.a]\nevery = \"1h\"\nshell = \"x\"\n"
        let checks = ConfigChecks(at: now, asking: Machine())
        let reading = try ConfigReader.read(Array(text.utf8), file: "t.toml", checks: checks)
        #expect(reading.warnings.map(\.mark) == [SourceMark(line: 3, column: 6)])
        let unasked = try ConfigReader.read(
            Array(text.utf8), file: "t.toml", checks: ConfigChecks(at: now))
        #expect(unasked.warnings.isEmpty)
    }

    @Test func aJobWithoutAUserIsRoots_whereRootRunsIt() throws {
        let now = try #require(WallInstant(rfc3339: "2026-11-21T08:00:00Z"))
        let text = """
            [job.a]
            every = "1h"
            shell = "x"
            [job.b]
            every = "1h"
            shell = "x"
            user = "root"
            """
        for runsAsRoot in [true, false] {
            let checks = ConfigChecks(at: now, runsAsRoot: runsAsRoot)
            let found = try ConfigReader.read(Array(text.utf8), file: "t.toml", checks: checks)
                .warnings
            let expected = """
                t.toml:1:6: warning: job "a": user: none is named, so its runs are root's; name the one who owns \
                what it needs, or root [runs-as-root]
                  [job.a]
                       ^
                """
            #expect(found.map(\.quotingLine) == (runsAsRoot ? [expected] : []))
        }
    }

    // MARK: - With the rights of the job's user

    /// As root alone is there another user whose rights can be told from one's own.
    @Test(
        .enabled(if: geteuid() == 0 && getpwnam("nobody") != nil, "needs root and the user nobody"))
    func aDirectoryThatTheUserOfTheJobMayNotEnterIsReported() throws {
        let cases: [(String, String?)] = [
            ("command = [\"FOLDER/good\"]", nil),
            ("command = [\"FOLDER/own\"]", "user \"nobody\" may not execute \"FOLDER/own\""),
            (
                "command = [\"FOLDER/closed/in/x\"]",
                "user \"nobody\" may not enter FOLDER/closed, and so cannot reach \"FOLDER/closed/in/x\""
            ),
            (
                "shell = \"x\"\nworking-directory = \"FOLDER/closed\"",
                "user \"nobody\" may not enter \"FOLDER/closed\""
            ),
            (
                "shell = \"x\"\nworking-directory = \"FOLDER/closed/in\"",
                "may not enter FOLDER/closed,"
            ),
            ("shell = \"x\"\nworking-directory = \"FOLDER/bin\"", nil),
            // A link is in an open directory, and leads through a closed one.
            ("command = [\"FOLDER/bin/through\"]", "may not enter FOLDER/closed,"),
            // The first that can be executed counts.
            ("command = [\"own\"]\nenvironment = { PATH = \"FOLDER:/bin\" }", "may not execute"),
            ("command = [\"ls\"]\nenvironment = { PATH = \"FOLDER/closed:/bin:/usr/bin\" }", nil),
            ("command = [\"FOLDER/group\"]", "may not execute"),
            ("command = [\"FOLDER/group\"]\ngroup = \"root\"", nil),
            // With these the mode does not count.
            ("command = [\"FOLDER/own\"]\ncapabilities = [\"CAP_DAC_OVERRIDE\"]", nil),
        ]
        try withFolder {
            mkdir("\(folder)/closed", 0o700)
            mkdir("\(folder)/closed/in", 0o755)
            for (name, mode) in [("own", 0o744), ("group", 0o750), ("closed/in/x", 0o755)]
                as [(String, mode_t)]
            {
                try Data("#!/bin/sh\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
                chmod("\(folder)/\(name)", mode)
            }
            symlink("../closed/in/x", "\(folder)/bin/through")
            for (table, expected) in cases {
                let found = try warnings(table + "\nuser = \"nobody\"")
                guard let expected = expected?.replacing("FOLDER", with: folder) else {
                    #expect(found.isEmpty, "\(table): \(found)")
                    continue
                }
                #expect(found.count == 1, "\(table): \(found)")
                #expect(found.first?.message.contains(expected) == true, "\(table): \(found)")
            }
            // Root may enter everything.
            #expect(try warnings("command = [\"FOLDER/closed/in/x\"]\nuser = \"root\"").isEmpty)
        }
    }

    @Test func rightsAreThoseOfTheOwner_thenOfTheGroups_thenOfTheOthers() throws {
        mkdir(folder, 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var status = stat()
        func may(_ mode: mode_t, uid: uid_t, groups: Set<gid_t>, isDirectory: Bool = false) -> Bool?
        {
            status.st_mode = mode | (isDirectory ? S_IFDIR : S_IFREG)
            status.st_uid = 10
            status.st_gid = 20
            return FileRights(uid: uid, groups: groups).mayExecute(status, folder)
        }
        #expect(
            may(0o100, uid: 10, groups: []) == true && may(0o011, uid: 10, groups: [20]) == false)
        #expect(
            may(0o010, uid: 11, groups: [20]) == true && may(0o101, uid: 11, groups: [20]) == false)
        #expect(
            may(0o001, uid: 11, groups: [21]) == true && may(0o110, uid: 11, groups: []) == false)
        #expect(may(0o001, uid: 0, groups: []) == true && may(0, uid: 0, groups: []) == false)
        #expect(may(0, uid: 0, groups: [], isDirectory: true) == true)
    }

    @Test func hiddenDirectoriesAreNotReportedAsMissing() throws {
        for look in [
            FileCheck(program: "/tmp/no/such", with: nil, hidden: ["/tmp"]),
            FileCheck(directory: "/tmp/no", with: nil, hidden: ["/tmp"]),
        ] {
            #expect(look == .good)
        }
        #expect(FileCheck(directory: "/tmpx", with: nil, hidden: ["/tmp"]) != .good)
    }
}
