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
            return (reading.jobSet.jobs.map(\.name.description) + reading.errors.map(\.description))
                .joined(separator: "|")
        } catch {
            return error.description
        }
    }

    private func clean() { try? FileManager.default.removeItem(at: folder) }

    @Test func theCallerCanPauseAfterEachJob() throws {
        defer { clean() }
        try write(good + "[job.b]\nevery = 1\n", to: "timerd.toml")
        var jobs = 0
        let reading = try ConfigReader.load(path: main, ownerUID: geteuid()) { jobs += 1 }
        #expect(jobs == 2 && reading.jobSet.jobs.count == 1)
    }

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
        #expect(found.contains(#"job "a": is in /timerd.toml:1 already; give one another name"#))
        let reading = try ConfigReader.load(path: main, ownerUID: geteuid())
        #expect(
            reading.shares.map { "\($0.file.replacing(folder.path, with: "")) \($0.jobs)" } == [
                "/timerd.toml 1", "/jobs.d/10-z.toml 1", "/jobs.d/20-b.toml 1",
                "/jobs.d/40-twice.toml 0",
            ])
    }

    @Test func refusesAFileOthersMayWrite() throws {
        defer { clean() }
        try write(good, to: "timerd.toml", mode: 0o664)
        #expect(load() == "\(main): may be written to by others than its owner; chmod go-w it")
    }

    /// They could replace it with another file.
    @Test func refusesADirectoryOthersMayWrite() throws {
        defer { clean() }
        try write(good, to: "timerd.toml")
        chmod(folder.path, 0o775)
        #expect(
            load() == "\(folder.path): may be written to by others than its owner; chmod go-w it")
        // With the sticky bit, as /tmp has it, users can replace only their own files.
        chmod(folder.path, 0o1777)
        #expect(load() == "a")
        chmod(folder.path, 0o711)
        #expect(load() == "a")
    }

    @Test func refusesAFIFO_withoutWaitingForItsWriter() {
        defer { clean() }
        #expect(mkfifo(main, 0o644) == 0)
        #expect(load() == "\(main): is not a regular file")
    }

    @Test func refusesADirectory() {
        defer { clean() }
        mkdir(main, 0o755)
        #expect(load() == "\(main): is a directory; name the file in it")
    }

    @Test func refusesAFileItMayNotRead() throws {
        defer { clean() }
        try write(good, to: "timerd.toml", mode: 0o000)
        // Root may read every file, so the thread takes another user for access to files
        // (setfsuid(2)).
        let handle = try #require(dlsym(nil, "setfsuid"))
        let setfsuid = unsafeBitCast(handle, to: (@convention(c) (uid_t) -> Int32).self)
        if geteuid() == 0 { _ = setfsuid(65_534) }
        let found = load()
        _ = setfsuid(geteuid())
        #expect(
            found == "\(main): cannot be read: Permission denied; "
                + "let the daemon's user read it, with chown or chmod")
    }

    @Test func saysWhatIsWrongWithJobsD_andRunsTheJobsOfTheMainFile() throws {
        defer { clean() }
        try write(good, to: "timerd.toml")
        let others = folder.appendingPathComponent("jobs.d").path
        try write("", to: "jobs.d")
        #expect(
            load() == "a|\(others): is not a directory")
        #expect(unlink(others) == 0 && mkdir(others, 0o755) == 0 && chmod(others, 0o777) == 0)
        #expect(load() == "a|\(others): may be written to by others than its owner; chmod go-w it")
        #expect(chmod(others, 0o755) == 0 && mkfifo(others + "/x.toml", 0o644) == 0)
        #expect(load() == "a|\(others)/x.toml: is not a regular file")
    }

    @Test func refusesTooManyFiles() throws {
        defer { clean() }
        try write(good, to: "timerd.toml")
        mkdir(folder.appendingPathComponent("jobs.d").path, 0o755)
        for number in 0...ConfigFiles.filesMax { try write("", to: "jobs.d/\(number).toml") }
        #expect(load().hasSuffix("/jobs.d: has 1001 files; 1000 at most, so none is read"))
    }

    @Test func leavesNoDescriptorOpen() throws {
        defer { clean() }
        try write(good, to: "timerd.toml")
        mkdir(folder.appendingPathComponent("jobs.d").path, 0o755)
        try write("", to: "jobs.d/a.toml")
        _ = load()
        // Only descriptors of this folder: other tests open theirs at the same time.
        let links = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let open = links.compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        #expect(open.filter { $0.hasPrefix(folder.path) }.isEmpty)
    }

    @Test func aJobNamedTwiceIsOne_evenWhereTheFirstIsInError() throws {
        defer { clean() }
        try write("[job.a]\nshel = \"x\"\n", to: "timerd.toml")
        mkdir(folder.appendingPathComponent("jobs.d").path, 0o755)
        try write(good, to: "jobs.d/a.toml")
        #expect(load().contains("job \"a\": is in \(main):1 already; give one another name"))
    }

    @Test func refusesAFileOf100MB_beforeReadingIt() throws {
        defer { clean() }
        try write("", to: "timerd.toml")
        #expect(truncate(main, 100 << 20) == 0)
        #expect(load().hasPrefix("\(main): is larger than 8 MiB; is it the right file?"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func refusesTheFileOfAStranger() throws {
        defer { clean() }
        try write(good, to: "timerd.toml")
        #expect(chown(main, 12_345, 0) == 0)
        #expect(load().hasPrefix("\(main): belongs to uid 12345, who is neither root"))
    }

    @Test func saysThatAFileIsMissing() {
        defer { clean() }
        #expect(
            load() == "\(main): there is no such file; write one, or name another with --config")
    }
}
