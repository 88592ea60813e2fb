// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import TimerRecording

@Suite struct StateCopiesTests {
    /// Of 256 KiB, and of what a file leaves of them.
    @Test(.enabled(if: geteuid() == 0, "mounts a file system"))
    func aCopyIsNotToTakeMostOfTheRoom() throws {
        let folder = "/tmp/timerd-copies-\(UUID().uuidString)"
        mkdir(folder, 0o700)
        defer { rmdir(folder) }
        try #require(mount("tmpfs", folder, "tmpfs", 0, "size=256k,mode=0700") == 0)
        defer { umount2(folder, 2) }
        #expect(StateCopies.leavesRoom(120 << 10, in: folder))
        #expect(!StateCopies.leavesRoom(140 << 10, in: folder))
        try Data(count: 128 << 10).write(to: URL(fileURLWithPath: "\(folder)/file"))
        #expect(StateCopies.leavesRoom(60 << 10, in: folder))
        #expect(!StateCopies.leavesRoom(70 << 10, in: folder))
        #expect(StateCopies.leavesRoom(0, in: folder))
    }
}
