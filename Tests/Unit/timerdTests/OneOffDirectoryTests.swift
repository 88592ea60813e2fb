// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import HostFiles
import Testing
import TimerConfig
import TimerControl
import TimerCore

@testable import timerctl

/// The files that `timerctl at` writes, and their place.
@Suite struct OneOffDirectoryTests {
    private final class Folder {
        let path: String
        var config: String { path + "/timerd.toml" }

        init() throws {
            path = NSTemporaryDirectory() + "timerd-one-off-\(UUID().uuidString)"
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o750])
            try "[job.backup]\nshell = \"true\"\nevery = \"1h\"\n".write(
                toFile: config, atomically: false, encoding: .utf8)
            chmod(config, 0o644)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        var files: [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: path + "/one-off.d"))?.sorted()
                ?? []
        }
    }

    private static func definition(_ command: [String]) -> OneOffDefinition {
        OneOffDefinition(
            command: command, at: WallInstant(rfc3339: "2026-12-24T17:00:00.25Z")!,
            note: "say \"hi\"\t\u{1}\u{7f} \\ ü", workingDirectory: "/srv/a b",
            startingDeadline: .seconds(5400), user: nil)
    }

    @Test func writtenValuesCanBeRead() throws {
        let folder = try Folder()
        let command = ["/usr/bin/restic", "", "a \"b\"", "c\\d", "\n\r\t\u{8}", "é💾", "#", "'"]
        let place = OneOffsReply(config: folder.config, name: nil)
        let name = Job.Name("a.b@c-1")!
        #expect(try Self.definition(command).write(as: name, place))
        let reading = try ConfigReader.load(path: folder.config, ownerUID: geteuid())
        #expect(reading.errors.isEmpty)
        let job = try #require(reading.jobSet.jobs.last)
        #expect(job.name == name && job.isOneOff)
        #expect(job.command == .arguments(command))
        #expect(job.schedule.at == WallInstant(rfc3339: "2026-12-24T17:00:00.25Z"))
        #expect(job.description == "say \"hi\"\t\u{1}\u{7f} \\ ü")
        #expect(job.workingDirectory == "/srv/a b")
        #expect(job.policy.startingDeadline == .seconds(5400))
    }

    @Test func aFileOfTheSameNameIsNotChanged_andNoOtherIsLeft() throws {
        let folder = try Folder()
        let directory = DefinitionDirectory(
            DefinitionDirectory.oneOffs, besideConfig: folder.config)
        #expect(try directory.add("x", Array("first".utf8)))
        #expect(try !directory.add("x", Array("second".utf8)))
        #expect(folder.files == ["x.toml"])
        #expect(
            try String(contentsOfFile: folder.path + "/one-off.d/x.toml", encoding: .utf8)
                == "first")
        try directory.remove(["x", "not-there"])
        #expect(folder.files.isEmpty)
    }

    @Test func withoutTheDirectoryNothingIsToBeRemoved() throws {
        let folder = try Folder()
        try DefinitionDirectory(DefinitionDirectory.oneOffs, besideConfig: folder.config).remove([
            "x"
        ])
        #expect(access(folder.path + "/one-off.d", F_OK) != 0)
    }

    /// What processes left that were killed while they wrote a definition, or made the directory.
    @Test func whatKilledProcessesLeftIsNoHindrance_andIsRemovedLater() throws {
        let folder = try Folder()
        let path = folder.path + "/one-off.d"
        mkdir(folder.path + "/.one-off.d.\(getpid()).new", 0o700)
        #expect(
            try DefinitionDirectory(DefinitionDirectory.oneOffs, besideConfig: folder.config).add(
                "x", []))
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o750)
        for name in [".x.1.new", ".y.2.new", ".z.\(getpid()).new"] {
            try Data().write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        }
        var old = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
        utimes("\(path)/.x.1.new", &old)
        #expect(
            try DefinitionDirectory(DefinitionDirectory.oneOffs, besideConfig: folder.config).add(
                "z", []))
        #expect(folder.files == [".y.2.new", "x.toml", "z.toml"])
        let above = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(above.sorted() == ["one-off.d", "timerd.toml"])
    }

    @Test(.enabled(if: geteuid() == 0, "needs root"))
    func aReadOnlyFileSystemIsNamed() throws {
        let folder = try Folder()
        let path = folder.path + "/one-off.d"
        mkdir(path, 0o755)
        try #require(mount("tmpfs", path, "tmpfs", UInt(MS_RDONLY), "size=4k,mode=755") == 0)
        defer { umount2(path, 0) }
        let directory = DefinitionDirectory(
            DefinitionDirectory.oneOffs, besideConfig: folder.config)
        let error = #expect(throws: Directory.Failure.self) { try directory.add("x", [35]) }
        #expect(
            error?.description
                == "\(path)/.x.\(getpid()).new: cannot be opened: Read-only file system")
        // There is nothing to remove.
        try? directory.remove(["x"])
    }

    @Test func theCopyIsAsPrivateAsTheConfiguration() throws {
        let folder = try Folder()
        #expect(
            try DefinitionDirectory(DefinitionDirectory.oneOffs, besideConfig: folder.config).add(
                "x", []))
        var status = stat()
        stat(folder.path + "/one-off.d", &status)
        #expect(status.st_mode & 0o777 == 0o750)
        stat(folder.path + "/one-off.d/x.toml", &status)
        #expect(status.st_mode & 0o777 == 0o644 && status.st_nlink == 1)
    }

    /// The daemon tells the client the place of its configuration, and must not be trusted.
    @Test func nothingIsWrittenElsewhere() throws {
        let folder = try Folder()
        let other = try Folder()
        func refuses(_ config: String, _ place: SourceLocation = #_sourceLocation) {
            #expect(throws: Directory.Failure.self, sourceLocation: place) {
                try DefinitionDirectory(DefinitionDirectory.oneOffs, besideConfig: config).add(
                    "x", [])
            }
        }
        refuses(folder.path + "/other.toml")
        refuses("/nonexistent/timerd.toml")
        // A link instead of the directory.
        symlink(other.path, folder.path + "/one-off.d")
        refuses(folder.config)
        unlink(folder.path + "/one-off.d")
        // Others may write to it.
        chmod(folder.path, 0o777)
        refuses(folder.config)
        chmod(folder.path, 0o755)
        mkdir(folder.path + "/one-off.d", 0o755)
        chmod(folder.path + "/one-off.d", 0o777)
        refuses(folder.config)
        #expect(other.files.isEmpty && folder.files.isEmpty)
    }

    @Test(.enabled(if: geteuid() == 0, "needs root"))
    func rootWritesNothingForAnother() throws {
        let folder = try Folder()
        chown(folder.path, 65_534, 65_534)
        let error = #expect(throws: Directory.Failure.self) {
            try DefinitionDirectory(DefinitionDirectory.oneOffs, besideConfig: folder.config).add(
                "x", [])
        }
        #expect(error?.description.contains("do this as that user") == true)
    }

    @Test(.enabled(if: access("/dev/full", W_OK) == 0 && geteuid() == 0, "needs root"))
    func aFullDiskLeavesNothing() throws {
        let folder = try Folder()
        mkdir(folder.path + "/one-off.d", 0o755)
        // As small as possible: the first file uses all of its pages.
        try #require(
            mount("tmpfs", folder.path + "/one-off.d", "tmpfs", 0, "size=4k,mode=755") == 0)
        defer { umount2(folder.path + "/one-off.d", 0) }
        let directory = DefinitionDirectory(
            DefinitionDirectory.oneOffs, besideConfig: folder.config)
        let error = #expect(throws: Directory.Failure.self) {
            try directory.add("x", [UInt8](repeating: 35, count: 100_000))
        }
        #expect(error?.description.contains("No space left") == true)
        #expect(folder.files.isEmpty)
    }

    @Test(arguments: [
        ("restic", "restic"), ("/usr/bin/restic", "restic"), ("./a b.sh", "a-b.sh"), ("-x", "x"),
        ("...", "job"), ("é", "job"), ("/", "job"), ("a\u{e9}b", "a--b"),
        (String(repeating: "x", count: 100), String(repeating: "x", count: 40)),
    ])
    func aNameIsMadeFromTheCommand(program: String, base: String) {
        #expect(OneOffDefinition.base(of: program) == base)
        #expect(Job.Name("\(base)-1") != nil)
    }
}
