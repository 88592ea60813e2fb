// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HostFiles
import Testing

/// The times are nanoseconds of a clock that the tests choose.
@Suite struct KeptFilesTests {
    private let folder = "/tmp/timerd-kept-\(UUID().uuidString)"
    private let second: Int64 = 1_000_000_000

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    /// Two files in a directory of their own, made as a daemon makes them.
    private func keep() throws -> KeptFiles {
        let parts = ["one", "two"].map { name in
            let path = "\(folder)/run"
            return KeptFiles.Part(path: "\(path)/\(name)") { () throws(Directory.Failure) in
                close(try Directory.remake(path).open(name, flags: O_RDWR | O_CREAT))
            }
        }
        mkdir(folder, 0o700)
        for part in parts { try part.make() }
        return KeptFiles(parts, at: 0)
    }

    private func isReadable(_ descriptor: Int32) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, 0) > 0
    }

    private func names() -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/run")) ?? []).sorted()
    }

    @Test func nothingIsMade_whileNothingIsGone() throws {
        defer { clean() }
        let files = try keep()
        let finding = try #require(files.look(at: 0))
        #expect(finding.made.isEmpty && finding.failure == nil)
        #expect(files.look(at: 0) == nil)
        #expect(files.lookAt == nil)
        #expect(!isReadable(files.descriptor))
    }

    @Test(arguments: ["one", "two", "both", "directory", "moved"])
    func whatIsGoneIsMadeAgain_howeverOften(_ what: String) throws {
        defer { clean() }
        let files = try keep()
        _ = files.look(at: 0)
        for round in 1...3 {
            let now = Int64(round) * 10 * second
            switch what {
            case "one", "two": unlink("\(folder)/run/\(what)")
            case "both": for name in ["one", "two"] { unlink("\(folder)/run/\(name)") }
            case "moved": rename("\(folder)/run", "\(folder)/run-\(round)")
            default: try FileManager.default.removeItem(atPath: "\(folder)/run")
            }
            #expect(isReadable(files.descriptor))
            files.noteChange(at: now)
            #expect(!isReadable(files.descriptor))
            let due = try #require(files.lookAt)
            #expect(files.look(at: due - 1) == nil)
            let finding = try #require(files.look(at: due))
            let expected = ["one", "two"].contains(what) ? [what] : ["one", "two"]
            #expect(finding.made == expected.map { "\(folder)/run/\($0)" })
            #expect(finding.failure == nil)
            #expect(names() == ["one", "two"])
        }
    }

    /// A file of the same name is not the same file.
    @Test func whatIsReplacedIsMadeAgain() throws {
        defer { clean() }
        let files = try keep()
        _ = files.look(at: 0)
        let other = "\(folder)/other"
        _ = FileManager.default.createFile(atPath: other, contents: nil)
        rename(other, "\(folder)/run/two")
        files.noteChange(at: second)
        #expect(files.look(at: 2 * second)?.made == ["\(folder)/run/two"])
    }

    @Test func whoDeletesAllTheTimeIsAnsweredOnceASecond() throws {
        defer { clean() }
        let files = try keep()
        _ = files.look(at: 0)
        for round in 1...5 {
            unlink("\(folder)/run/one")
            files.noteChange(at: Int64(round) * second - second / 2)
            #expect(files.lookAt == Int64(round) * second)
            #expect(files.look(at: Int64(round) * second)?.made.count == 1)
        }
    }

    @Test func whatCannotBeMadeIsSaidOnce_andTriedAgain_andItsParentIsNotMade() throws {
        defer { clean() }
        let files = try keep()
        _ = files.look(at: 0)
        try FileManager.default.removeItem(atPath: folder)
        files.noteChange(at: second)
        let first = try #require(files.look(at: 2 * second))
        #expect(first.made.isEmpty)
        #expect(first.failure?.description.contains("\(folder)/run: cannot be opened") == true)
        #expect(files.lookAt == 12 * second)
        #expect(try #require(files.look(at: 12 * second)).failure == nil)
        #expect(!FileManager.default.fileExists(atPath: folder))
        mkdir(folder, 0o700)
        let last = try #require(files.look(at: 22 * second))
        #expect(last.made.count == 2 && last.failure == nil)
        #expect(files.lookAt == nil)
        // It is watched again.
        unlink("\(folder)/run/one")
        #expect(isReadable(files.descriptor))
    }
}
