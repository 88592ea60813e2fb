// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore

@testable import TimerConfig

/// The directory one-off.d beside the configuration.
@Suite struct OneOffFilesTests {
    private final class Folder {
        let path: String

        init() throws {
            path = NSTemporaryDirectory() + "timerd-one-off-\(UUID().uuidString)"
            try FileManager.default.createDirectory(
                atPath: path + "/one-off.d", withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o755])
            try write("timerd.toml", "[job.backup]\nshell = \"true\"\nevery = \"1h\"\n")
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ name: String, _ text: String) throws {
            try text.write(toFile: "\(path)/\(name)", atomically: false, encoding: .utf8)
            chmod("\(path)/\(name)", 0o644)
        }

        func load() throws -> ConfigReading {
            try ConfigReader.load(path: path + "/timerd.toml", ownerUID: geteuid())
        }

        func loadOneOff(_ name: String) throws -> Job {
            try ConfigReader.loadOneOff(
                name, path: path + "/timerd.toml", ownerUID: geteuid(), settings: DaemonSettings())
        }
    }

    private static let good =
        "[job.\"restic-1\"]\ncommand = [\"restic\", \"prune\"]\nat = \"2026-12-24T18:00:00Z\"\n"

    @Test func areRead_andMarked() throws {
        let folder = try Folder()
        try folder.write("one-off.d/restic-1.toml", Self.good)
        // A file that is half written, and a file of another program.
        try folder.write("one-off.d/.restic-2.7.new", "[job.")
        let reading = try folder.load()
        #expect(reading.errors.isEmpty)
        #expect(reading.jobSet.jobs.map(\.name.description) == ["backup", "restic-1"])
        #expect(reading.jobSet.jobs.map(\.isOneOff) == [false, true])
        #expect(try folder.loadOneOff("restic-1") == reading.jobSet.jobs[1])
    }

    @Test func aDirectoryThatIsNotThereIsFine() throws {
        let folder = try Folder()
        try FileManager.default.removeItem(atPath: folder.path + "/one-off.d")
        #expect(try folder.load().errors.isEmpty)
        #expect(throws: ConfigError.self) { try folder.loadOneOff("restic-1") }
    }

    @Test(
        arguments: [
            good.replacingOccurrences(of: "restic-1", with: "other"),
            good + "[job.second]\nshell = \"true\"\nat = \"2026-12-24T18:00:00Z\"\n",
            good + "[daemon]\nmax-concurrent = 1\n", good + "[defaults]\npaused = true\n",
            "[job.\"restic-1\"]\nshell = \"true\"\nevery = \"1s\"\n", "", "job = 1\n",
            "[job]\nrestic-1 = 3\n", good + "evry = 1\n",
            good.replacingOccurrences(of: "18:00", with: "25:00"),
        ])
    func anythingElseIsAnErrorOfThatFileAlone(text: String) throws {
        let folder = try Folder()
        try folder.write("one-off.d/restic-1.toml", text)
        let reading = try folder.load()
        #expect(reading.errorCount == 1)
        #expect(reading.errors.first?.file.hasSuffix("/one-off.d/restic-1.toml") == true)
        #expect(reading.jobSet.jobs.map(\.name.description) == ["backup"])
        #expect(throws: ConfigError.self) { try folder.loadOneOff("restic-1") }
    }

    @Test func aFileThatOthersMayWriteToIsRefused() throws {
        let folder = try Folder()
        try folder.write("one-off.d/restic-1.toml", Self.good)
        chmod(folder.path + "/one-off.d/restic-1.toml", 0o666)
        #expect(try folder.load().errorCount == 1)
        #expect(throws: ConfigError.self) { try folder.loadOneOff("restic-1") }
    }

    @Test func theNameOfAConfiguredJobIsTaken() throws {
        let folder = try Folder()
        try folder.write(
            "one-off.d/backup.toml",
            Self.good.replacingOccurrences(of: "restic-1", with: "backup"))
        let reading = try folder.load()
        #expect(reading.errors.first?.message.contains("is in") == true)
        #expect(reading.jobSet.jobs.map(\.isOneOff) == [false])
    }

    @Test func theUsersThatAreAllowedCount() throws {
        let folder = try Folder()
        try folder.write("one-off.d/restic-1.toml", Self.good)
        var settings = DaemonSettings()
        settings.allowedUsers = try ConfigReader.read(
            Array("[daemon]\nallowed-users = [\"nobody\"]\n".utf8), file: "x"
        ).settings.allowedUsers
        let error = #expect(throws: ConfigError.self) {
            try ConfigReader.loadOneOff(
                "restic-1", path: folder.path + "/timerd.toml", ownerUID: geteuid(),
                settings: settings)
        }
        #expect(error?.message.contains("user") == true)
    }
}
