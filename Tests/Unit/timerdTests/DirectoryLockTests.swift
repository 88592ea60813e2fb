// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HostFiles
import Testing

@Suite struct DirectoryLockTests {
    private static func makeFolder() throws -> String {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("timerd-lock-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        return path
    }

    /// Like a child that a killed daemon has forked, until its exec.
    @Test func aLockThatIsReleasedSoonIsWaitedFor() throws {
        let path = try Self.makeFolder()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let other = open("\(path)/timerd.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(flock(other, LOCK_EX) == 0)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100)) { close(other) }
        let directory = try Directory.open(path)
        #expect(throws: Never.self) { try directory.lock() }
    }

    @Test func aLockThatStaysIsRefused() throws {
        let path = try Self.makeFolder()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let other = open("\(path)/timerd.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(other) }
        #expect(flock(other, LOCK_EX) == 0)
        let directory = try Directory.open(path)
        #expect(throws: Directory.Failure.self) { try directory.lock() }
    }
}
