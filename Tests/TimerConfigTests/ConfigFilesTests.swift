// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerConfig

/// Files as an attacker, or an accident, would leave them.
@Suite struct ConfigFilesTests {
    private let folder: URL
    private let main: String
    private let good = "[job.a]\nshell = \"true\"\nevery = \"1h\"\n"

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("timerd-config-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        main = folder.appendingPathComponent("timerd.toml").path
    }

    private func write(_ text: String, to name: String, mode: mode_t = 0o644) throws {
        let path = folder.appendingPathComponent(name).path
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        #expect(chmod(path, mode) == 0)
    }

    private func load() -> String {
        do throws(ConfigError) {
            let reading = try ConfigReader.load(path: main, ownerUID: geteuid())
            return (reading.roster.jobs.map(\.name.description) + reading.errors.map(\.description))
                .joined(separator: "|")
        } catch {
            return error.description
        }
    }

    private func clean() { try? FileManager.default.removeItem(at: folder) }

    @Test func readsTheFilesOfJobsD_inTheOrderOfTheirNames() throws {
        defer { clean() }
        try write(good, to: "timerd.toml")
        mkdir(folder.appendingPathComponent("jobs.d").path, 0o755)
        try write(good.replacing("job.a", with: "job.z"), to: "jobs.d/10-z.toml")
        try write(good.replacing("job.a", with: "job.b"), to: "jobs.d/20-b.toml")
        try write("not toml at all", to: "jobs.d/README")
        try write("broken", to: "jobs.d/30-broken.toml")
        try write(good, to: "jobs.d/40-twice.toml")
        let found = load().replacing(folder.path, with: "")
        #expect(found.hasPrefix("a|z|b|/jobs.d/30-broken.toml:1:"), "\(found)")
        #expect(found.contains(#"job "a": is in /timerd.toml already; give one another name"#))
    }

    @Test func refusesAFileOthersMayWrite() throws {
        defer { clean() }
        try write(good, to: "timerd.toml", mode: 0o664)
        #expect(load() == "\(main): may be written to by others than its owner; chmod go-w it")
    }

    @Test func refusesALink() throws {
        defer { clean() }
        try write(good, to: "real.toml")
        #expect(symlink("real.toml", main) == 0)
        #expect(load() == "\(main): is a symbolic link; name the file itself")
    }

    @Test func refusesAFIFO_withoutWaitingForItsWriter() {
        defer { clean() }
        #expect(mkfifo(main, 0o644) == 0)
        #expect(load() == "\(main): is not a regular file")
    }

    @Test func refusesADirectory() {
        defer { clean() }
        mkdir(main, 0o755)
        #expect(load() == "\(main): is not a regular file")
    }

    @Test func refusesAFileOf100MB_beforeReadingIt() throws {
        defer { clean() }
        try write("", to: "timerd.toml")
        #expect(truncate(main, 100 << 20) == 0)
        #expect(load().hasPrefix("\(main): is larger than 8 MiB; is it the right file?"))
    }

    @Test func refusesTheFileOfAStranger() throws {
        defer { clean() }
        try write(good, to: "timerd.toml")
        guard geteuid() == 0 else { return }
        #expect(chown(main, 12_345, 0) == 0)
        #expect(load().hasPrefix("\(main): belongs to uid 12345, who is neither root"))
    }

    @Test func saysThatAFileIsMissing() {
        defer { clean() }
        #expect(
            load() == "\(main): there is no such file; write one, or name another with --config")
    }
}
