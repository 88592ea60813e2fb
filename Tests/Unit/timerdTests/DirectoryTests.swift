// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import HostFiles
import Logging
import Synchronization
import Systemd
import Testing
import TimerCore
import TimerStore

@testable import TimerRecording

@Suite struct DirectoryTests {
    private let folder = "/tmp/timerd-directory-\(UUID().uuidString)"

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    private func failure(_ body: () throws(Directory.Failure) -> Void) -> String {
        do throws(Directory.Failure) {
            try body()
            return "done"
        } catch {
            return error.description
        }
    }

    @Test func isMadeForItsOwnerAlone() throws {
        defer { clean() }
        let directory = try Directory.open("\(folder)/a/b")
        var status = stat()
        fstat(directory.descriptor, &status)
        #expect(status.st_mode & 0o7777 == 0o700)
        _ = try directory.subdirectory("runs")
    }

    @Test func isRefused_whereOthersMayWrite_whereItIsALink_whereItIsNone() throws {
        defer { clean() }
        _ = try Directory.open(folder)
        mkdir("\(folder)/open", 0o700)
        chmod("\(folder)/open", 0o777)
        #expect(
            failure { () throws(Directory.Failure) in _ = try Directory.open("\(folder)/open") }
                .contains("others may write to it; chmod go-w"))
        symlink("open", "\(folder)/link")
        #expect(
            failure { () throws(Directory.Failure) in _ = try Directory.open("\(folder)/link") }
                .contains("not a directory"))
        _ = FileManager.default.createFile(atPath: "\(folder)/file", contents: nil)
        #expect(
            failure { () throws(Directory.Failure) in _ = try Directory.open("\(folder)/file") }
                .contains("not a directory"))
    }

    @Test func aFileInItIsOpenedNeverThroughALink() throws {
        defer { clean() }
        let directory = try Directory.open(folder)
        symlink("/etc/passwd", "\(folder)/heartbeat")
        #expect(
            failure { () throws(Directory.Failure) in _ = try HeartbeatFile(in: directory) }
                .contains("heartbeat: not a regular file with a single name"))
        unlink("\(folder)/heartbeat")
        _ = FileManager.default.createFile(atPath: "\(folder)/other", contents: nil)
        link("\(folder)/other", "\(folder)/heartbeat")
        #expect(
            failure { () throws(Directory.Failure) in _ = try HeartbeatFile(in: directory) }
                .contains("not a regular file with a single name"))
    }

    /// Objects that can be in the place of a file: how each is created, and the error for it.
    static let planted: [(make: @Sendable (String) -> Void, fault: String)] = [
        ({ symlink("other", $0) }, "not a regular file with a single name"),
        ({ link(sibling($0), $0) }, "not a regular file with a single name"),
        ({ mkfifo($0, 0o600) }, "not a regular file with a single name"),
        ({ mkdir($0, 0o700) }, "not a regular file with a single name"),
        ({ make($0, 0o620) }, "others may write to it"),
        ({ make($0, 0o602) }, "others may write to it"),
    ]

    private static func sibling(_ path: String) -> String {
        (path as NSString).deletingLastPathComponent + "/other"
    }

    private static func make(_ path: String, _ mode: mode_t) {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        chmod(path, mode)
    }

    @Test(arguments: planted.indices)
    func anObjectInThePlaceOfAFileIsRefused_andNotChanged(which: Int) throws {
        defer { clean() }
        let directory = try Directory.open(folder)
        _ = FileManager.default.createFile(atPath: "\(folder)/other", contents: Data("x".utf8))
        let path = "\(folder)/timerd.db-wal"
        #expect(
            failure { () throws(Directory.Failure) in try directory.check("timerd.db-wal") }
                == "done")
        Self.planted[which].make(path)
        #expect(
            failure { () throws(Directory.Failure) in try directory.check("timerd.db-wal") }
                .hasPrefix("\(path): \(Self.planted[which].fault)"))
        // Opening it by a descriptor gives the same error, or is not possible.
        let opened = failure { () throws(Directory.Failure) in
            close(try directory.open("timerd.db-wal", flags: O_RDWR | O_CREAT))
        }
        #expect(opened.hasPrefix("\(path): "))
        #expect(FileManager.default.contents(atPath: "\(folder)/other") == Data("x".utf8))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func aFileOfAStrangerIsRefused() throws {
        defer { clean() }
        let directory = try Directory.open(folder)
        let path = "\(folder)/heartbeat"
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        chown(path, 65_534, 65_534)
        #expect(
            failure { () throws(Directory.Failure) in _ = try HeartbeatFile(in: directory) }
                .contains("belongs to uid 65534"))
    }

    @Test func aStaleSocketIsReplaced_andNothingElseIs() throws {
        defer { clean() }
        let path = "\(folder)/control.sock"
        let first = try UnixSocket.bind(at: path, allowing: .group("nobody-has-this"))
        #expect(Glibc.listen(first, 1) == 0)
        #expect(
            failure { () throws(Directory.Failure) in
                _ = try UnixSocket.bind(at: path, allowing: .group("x"))
            }.contains("another daemon listens there"))
        close(first)
        let second = try UnixSocket.bind(at: path, allowing: .group("x"))
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK)
        close(second)
        unlink(path)
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        #expect(
            failure { () throws(Directory.Failure) in
                _ = try UnixSocket.bind(at: path, allowing: .group("x"))
            }.contains("exists and is not a socket"))
    }

    /// Such as a crontab, of which a part is changed.
    @Test func aReplacedFileHasTheModeOfTheOldOne_andALeftoverIsInNoWay() throws {
        defer { clean() }
        let directory = try Directory.open(folder)
        #expect(try directory.create("tab", with: [1], by: ".tab.1.new", mode: 0o604))
        let old = try #require(try directory.status(of: "tab"))
        // A process that was killed has left it.
        #expect(try directory.create(".tab.new", with: [9, 9, 9], by: ".x"))
        try directory.replace("tab", with: [2, 3], by: ".tab.new", like: old)
        let new = try #require(try directory.status(of: "tab"))
        #expect(new.st_mode == old.st_mode && new.st_uid == old.st_uid && new.st_gid == old.st_gid)
        #expect(try directory.read("tab", bytes: 9) == [2, 3] && new.st_ino != old.st_ino)
        #expect(try directory.status(of: ".tab.new") == nil && new.st_nlink == 1)
        mkdir("\(folder)/.tab.new", 0o700)
        #expect(
            failure { () throws(Directory.Failure) in
                try directory.replace("tab", with: [4], by: ".tab.new", like: old)
            }.contains(".tab.new: cannot be removed"))
        #expect(try directory.read("tab", bytes: 9) == [2, 3])
    }
}
