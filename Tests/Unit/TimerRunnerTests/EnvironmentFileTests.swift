// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Dispatch
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

@Suite struct EnvironmentFileTests {
    private func parse(_ text: String) -> [String: String] {
        (try? EnvironmentFile.parse(Array(text.utf8))) ?? ["fault": "it"]
    }

    @Test(
        arguments: [
            ("", [:]), ("# A=1\n; B=2\n\n  \t\nC=3", ["C": "3"]), ("A=1\nA=2", ["A": "2"]),
            ("A = b c \t\nD=", ["A": "b c", "D": ""]), ("A='b \" $c' d\n", ["A": "b \" $c d"]),
            ("A=\"b\\\"c\\$d\\n\"", ["A": "b\"c$d\\n"]), ("A=b\\ c\\\\", ["A": "b c\\"]),
            ("A=one\\\ntwo\nB=3", ["A": "onetwo", "B": "3"]),
            ("A='x\ny'\nB=z\r\n", ["A": "x\ny", "B": "z"]),
            ("A=ä#x ;y", ["A": "ä#x ;y"]), ("A=b=c", ["A": "b=c"]), ("A=\" x \"  ", ["A": " x "]),
        ] as [(String, [String: String])])
    func aFileIsReadAsBySystemd(text: String, variables: [String: String]) {
        #expect(parse(text) == variables)
    }

    @Test(arguments: [
        ("A=1\nB", 2, "not of the form NAME=value"),
        ("1A=x", 1, "the text before the = is not a valid variable name"),
        ("A='x\n\n", 1, "a quote is not closed"),
        ("NOTIFY_SOCKET=/x", 1, "NOTIFY_SOCKET is reserved for timerd and systemd"),
        ("\nTIMERD_JOB=x", 2, "TIMERD_JOB is reserved for timerd and systemd"),
        ("A=\0", 1, "a NUL character"),
        ("export A=1", 1, "the text before the = is not a valid variable name"),
    ])
    func anInvalidLineIsAnError(text: String, line: Int, what: String) {
        #expect(throws: EnvironmentFile.Fault(line: line, what: what)) {
            try EnvironmentFile.parse(Array(text.utf8))
        }
    }

    /// A variable of this process that a run does not have anyway.
    private static let own = ProcessInfo.processInfo.environment.first { name, value in
        !["PATH", "HOME", "SHELL", "USER", "LOGNAME", "PWD", "SHLVL", "_"].contains(name)
            && !value.isEmpty && name.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "_") }
            && value.allSatisfy { $0.isASCII && $0 != "\n" }
    }

    @Test(.enabled(if: own != nil, "the tests have nothing in their environment"))
    func aRunGetsTheNamedVariablesOfTheRunner_andDeclaredOnesOverrideThem() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let (name, value) = try #require(Self.own)
        func run(_ names: Set<String>, _ environment: [String: String] = [:]) -> [String] {
            fixture.run(
                fixture.request(
                    .arguments(["/usr/bin/env"]), environment: environment, in: "/"
                ) { $0.passEnvironment = names }
            ).lines.filter { $0.hasPrefix("\(name)=") || $0.hasPrefix("NO_SUCH_VARIABLE") }
        }
        #expect(run([]).isEmpty)
        #expect(run([name, "NO_SUCH_VARIABLE"]) == ["\(name)=\(value)"])
        #expect(run([name], [name: "declared"]) == ["\(name)=declared"])
    }

    @Test func aFileAddsToTheEnvironment_andMayBeMissingOnlyAfterADash() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let path = "\(fixture.registry)-environment"
        defer { unlink(path) }
        try "A=file\nB='two words'\n".write(toFile: path, atomically: true, encoding: .utf8)
        func run(_ file: String) -> RunnerFixture.End {
            fixture.run(
                fixture.request(
                    .shell("echo $A-$B-$C"), environment: ["A": "declared", "C": "c"],
                    in: "/"
                ) { $0.environmentFile = file })
        }
        #expect(run(path).lines == ["file-two words-c"])
        #expect(run("-/no/such").lines == ["declared--c"])
        #expect(
            run("/no/such").outcome.description
                == "spawn-failed(ENOENT, read the environment file /no/such)")
        #expect(
            run("/").outcome.description
                == "spawn-failed(EINVAL, read the environment file /, which is not a regular file)")
        try "A\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(
            run(path).outcome.description
                == "spawn-failed(EINVAL, read the environment file \(path), line 1: not of the form NAME=value)"
        )
    }

    @Test func aFileIsNotRead_ifOthersMayWriteToIt_orItIsALink() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let path = "\(fixture.registry)-planted"
        defer {
            unlink(path)
            unlink("\(path)-link")
        }
        func outcome(_ file: String) -> String {
            fixture.run(fixture.request(.shell("exit 3")) { $0.environmentFile = file })
                .outcome.description
        }
        try "A=1\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(outcome(path) == "exited(3)")
        for mode: mode_t in [0o620, 0o602] {
            chmod(path, mode)
            #expect(
                outcome(path) == "spawn-failed(EPERM, read the environment file \(path), "
                    + "which others may write to: chmod go-w it)")
        }
        chmod(path, 0o600)
        symlink(path, "\(path)-link")
        #expect(
            outcome("\(path)-link") == "spawn-failed(ELOOP, read the environment file "
                + "\(path)-link, whose path has a symbolic link in it: name the file itself)")
        #expect(outcome("-\(path)-link").hasPrefix("spawn-failed(ELOOP"))
        guard geteuid() == 0 else { return }
        chown(path, 65_534, 65_534)
        #expect(
            outcome(path) == "spawn-failed(EPERM, read the environment file \(path), "
                + "which belongs to uid 65534: give it to the run's user)")
    }

    /// A directory of the path may belong to the user, who could replace its entries.
    @Test func aFileIsNotRead_ifItsPathContainsALink() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let folder = "\(fixture.registry)-folder"
        let link = "\(fixture.registry)-way"
        defer {
            try? FileManager.default.removeItem(atPath: folder)
            unlink(link)
        }
        mkdir(folder, 0o755)
        try "A=1\n".write(toFile: "\(folder)/file", atomically: true, encoding: .utf8)
        symlink(folder, link)
        func outcome(_ file: String) -> String {
            fixture.run(fixture.request(.shell("exit 3")) { $0.environmentFile = file })
                .outcome.description
        }
        #expect(outcome("\(folder)/file") == "exited(3)")
        #expect(
            outcome("\(folder)/../\(folder.split(separator: "/").last!)//./file") == "exited(3)")
        for path in ["\(link)/file", "\(link)/../\(link)/file"] {
            #expect(outcome(path).hasPrefix("spawn-failed(ELOOP, read the environment file"))
        }
        #expect(outcome("/proc/self/cwd/etc/hostname").hasPrefix("spawn-failed(ELOOP"))
        #expect(outcome("\(folder)/file/more").hasPrefix("spawn-failed(ENOTDIR"))
        #expect(outcome("\(folder)").hasPrefix("spawn-failed(EINVAL"))
        mkfifo("\(folder)/fifo", 0o600)
        #expect(outcome("\(folder)/fifo").hasPrefix("spawn-failed(EINVAL"))
    }

    /// Without openat2(2), the path is opened in several steps.
    @Test func aPathIsOpenedPartByPart_withTheSameResult() throws {
        let folder = "/tmp/timerd-parts-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        mkdir(folder, 0o755)
        mkdir("\(folder)/d", 0o755)
        symlink("d", "\(folder)/way")
        symlink("file", "\(folder)/d/link")
        try "A=1\n".write(toFile: "\(folder)/d/file", atomically: true, encoding: .utf8)
        let long = String(repeating: "a", count: 300)
        for path in [
            "\(folder)/d/file", "\(folder)//d/./../d/file", "\(folder)/way/file",
            "\(folder)/d/link",
            "\(folder)/d/file/", "\(folder)/none/file", "\(folder)/d/none", "/", "/..", "",
            "\(folder)/d/file/more", "/\(long)", String(repeating: "/\(long)", count: 20),
            "/proc/self/cwd/etc/hostname",
        ] {
            let whole = cspawn_open_file(path, nil)
            let wholeError = whole < 0 ? errno : 0
            let parts = cspawn_open_by_parts(path)
            let partsError = parts < 0 ? errno : 0
            if whole >= 0 { close(whole) }
            if parts >= 0 { close(parts) }
            // It may open a directory, which is refused later because it is not a regular file.
            let isDirectory = ["/", "/.."].contains(path)
            #expect(wholeError == partsError || isDirectory, "\(path)")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func aFileIsReadWithThePermissionsOfTheRunsUser() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let folder = "\(fixture.registry)-rights"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        mkdir(folder, 0o755)
        let path = "\(folder)/file"
        try "SECRET=yes\n".write(toFile: path, atomically: true, encoding: .utf8)
        func outcome(_ user: String?) -> String {
            let request = fixture.request(.shell("[ \"$SECRET\" = yes ] && exit 3"), in: "/") {
                $0.environmentFile = path
                $0.user = user
            }
            return fixture.run(request).outcome.description
        }
        chmod(path, 0o600)
        #expect(outcome(nil) == "exited(3)")
        #expect(
            outcome("nobody") == "spawn-failed(EACCES, read the environment file \(path), "
                + "which the run's user, uid 65534, may not read: let that user read it)")
        // It may read it by its group, but not in a directory that it may not enter.
        chmod(path, 0o640)
        chown(path, 0, 65_534)
        #expect(outcome("nobody") == "exited(3)")
        chmod(folder, 0o700)
        #expect(outcome("nobody").hasPrefix("spawn-failed(EACCES"))
        // The permissions of the runner itself have not changed.
        chmod(path, 0o600)
        #expect(outcome(nil) == "exited(3)")
        chmod(folder, 0o755)
        chown(path, 65_534, 65_534)
        #expect(outcome("nobody") == "exited(3)")
    }
}
