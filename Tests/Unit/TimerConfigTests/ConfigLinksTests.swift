// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerConfig

/// Configurations with symbolic links.
@Suite struct ConfigLinksTests {
    private let folder = "/tmp/timerd-links-\(UUID().uuidString)"
    private let good = "[job.a]\nshell = \"true\"\nevery = \"1h\"\n"

    private func load(_ path: String = "timerd.toml") -> String {
        do throws(ConfigError) {
            let reading = try ConfigReader.load(path: "\(folder)/\(path)", ownerUID: geteuid())
            return (reading.jobSet.jobs.map(\.name.description) + reading.errors.map(\.description))
                .joined(separator: "|").replacing(folder, with: "")
        } catch {
            return error.description.replacing(folder, with: "")
        }
    }

    private func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        chmod("\(folder)/\(name)", 0o644)
    }

    private func make(_ name: String, _ mode: mode_t = 0o755) {
        mkdir("\(folder)/\(name)", mode)
        chmod("\(folder)/\(name)", mode)
    }

    private func link(_ target: String, _ name: String) {
        #expect(symlink(target, "\(folder)/\(name)") == 0)
    }

    /// The files of a ConfigMap as the kubelet creates them, and one more for `jobs.d`.
    private func withConfigMap(_ body: () throws -> Void) throws {
        for name in ["", "..2024_11_22", "jobs.d", "jobs.d/..2024"] { make(name) }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try write(good, to: "..2024_11_22/timerd.toml")
        link("..2024_11_22", "..data")
        link("..data/timerd.toml", "timerd.toml")
        try write(good.replacing("job.a", with: "job.b"), to: "jobs.d/..2024/b.toml")
        link("..2024", "jobs.d/..data")
        link("..data/b.toml", "jobs.d/b.toml")
        try body()
    }

    @Test func aConfigMapIsRead() throws {
        try withConfigMap { #expect(load() == "a|b") }
    }

    @Test func aFarmOfLinksIsRead() throws {
        try withConfigMap {
            make("stow")
            make("etc")
            try write(good, to: "stow/timerd.toml")
            link("\(folder)/stow/timerd.toml", "etc/timerd.toml")
            link("../jobs.d", "etc/jobs.d")
            #expect(load("etc/timerd.toml") == "a|b")
            link("etc/./..//etc", "again")
            #expect(load("again/timerd.toml") == "a|b")
        }
    }

    @Test func aDirectoryOthersMayWriteToIsNoWay() throws {
        try withConfigMap {
            chmod("\(folder)/..2024_11_22", 0o777)
            #expect(
                load()
                    == "/timerd.toml: is a symbolic link that leads through /..2024_11_22, which may be "
                    + "written to by others than its owner; chmod go-w it")
            // With the sticky bit, users cannot replace the files of others.
            chmod("\(folder)/..2024_11_22", 0o1777)
            #expect(load() == "a|b")
            chmod("\(folder)/..2024_11_22", 0o775)
            #expect(load().contains("may be written to by others"))
        }
    }

    @Test func theDirectoryOfTheLinkIsExaminedAsWell() throws {
        try withConfigMap {
            chmod(folder, 0o777)
            #expect(load() == ": may be written to by others than its owner; chmod go-w it")
            chmod(folder, 0o755)
            chmod("\(folder)/jobs.d", 0o777)
            #expect(
                load() == "a|/jobs.d: may be written to by others than its owner; chmod go-w it")
        }
    }

    @Test func theTargetOfALinkIsCheckedLikeAFile() throws {
        try withConfigMap {
            chmod("\(folder)/..2024_11_22/timerd.toml", 0o666)
            #expect(
                load() == "/timerd.toml: may be written to by others than its owner; chmod go-w it")
            unlink("\(folder)/..2024_11_22/timerd.toml")
            #expect(load().hasPrefix("/timerd.toml: there is no such file"))
            mkfifo("\(folder)/..2024_11_22/timerd.toml", 0o644)
            #expect(load() == "/timerd.toml: is not a regular file")
            unlink("\(folder)/timerd.toml")
            link("..data", "timerd.toml")
            #expect(load() == "/timerd.toml: is a directory; name the file in it")
        }
    }

    @Test func aCircleOfLinksEnds() throws {
        try withConfigMap {
            unlink("\(folder)/timerd.toml")
            link("b", "timerd.toml")
            link("timerd.toml", "b")
            #expect(load() == "/timerd.toml: leads over more than 40 symbolic links")
            unlink("\(folder)/b")
            link("/nonexistent/x", "b")
            #expect(load().hasPrefix("/timerd.toml: there is no such file"))
        }
    }

    @Test func aLinkOfJobsDThatLeadsToNothingIsReported() throws {
        try withConfigMap {
            make("etc")
            try write(good, to: "etc/timerd.toml")
            link("nowhere", "etc/jobs.d")
            #expect(load("etc/timerd.toml") == "a|/etc/jobs.d: is a symbolic link to nothing")
            unlink("\(folder)/etc/jobs.d")
            link("timerd.toml", "etc/jobs.d")
            #expect(load("etc/timerd.toml") == "a|/etc/jobs.d: is not a directory")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a link away"))
    func aLinkOfAStrangerIsNotFollowed() throws {
        try withConfigMap {
            #expect(lchown("\(folder)/..data", 12_345, 0) == 0)
            #expect(
                load()
                    == "/timerd.toml: leads over the symbolic link /..data, which belongs to uid 12345, who "
                    + "is neither root nor the daemon's user; chown -h it|b"
                    || load().contains(
                        "belongs to uid 12345, who is neither root nor the daemon's user")
            )
            #expect(
                lchown("\(folder)/..data", 0, 0) == 0
                    && chown("\(folder)/..2024_11_22", 12_345, 0) == 0)
            #expect(load().contains("leads through /..2024_11_22, which belongs to uid 12345"))
        }
    }

    @Test func leavesNoDescriptorOpen() throws {
        try withConfigMap {
            _ = load()
            chmod("\(folder)/..2024_11_22", 0o777)
            _ = load()
            let links = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            let open = links.compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
            }
            #expect(open.filter { $0.hasPrefix(folder) }.isEmpty)
        }
    }
}
