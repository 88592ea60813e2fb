// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// The disk of the saved state becomes full while a job fails, and while a message is being sent.
@Suite(.ownThreads, .serialized, .enabled(if: geteuid() == 0, "mounts a file system"))
struct MessageDiskTests {
    private static let config = """
        [job.loud]
        every = "100h"
        shell = '''
        touch FOLDER/started
        while [ ! -e FOLDER/go ]; do sleep 0.02; done
        head -c 200000 /dev/zero | tr '\\0' x
        echo
        test -e FOLDER/well
        '''
        output-tail = "256KiB"
        notify = ["mail"]
        [notify.mail]
        mail = "root@example.org"
        sendmail = "FOLDER/sendmail"
        batch = "0s"
        """

    private static let sendmail = """
        #!/bin/sh
        sed -n 's/^Subject: //p' >>FOLDER/mails
        while [ -e FOLDER/hold ]; do sleep 0.02; done
        """

    private static let isFull = "writing is tried again every second"

    @Test func onAFullDiskNoMessageIsLost_andNoneIsSentTwice() throws {
        let fixture = try NotificationFixture(Self.config, files: ["sendmail": Self.sendmail])
        let folder = fixture.daemon.folder
        let state = "\(folder)/state"
        mkdir(state, 0o700)
        try #require(mount("tmpfs", state, "tmpfs", 0, "size=2m,mode=0700") == 0)
        defer { umount2(state, 2) }
        try fixture.start()
        defer { try? fixture.kill(SIGKILL) }

        // A run fails, and neither its end nor the notification can be written.
        try fixture.run("run", "loud")
        #expect(fixture.daemon.wait { access("\(folder)/started", F_OK) == 0 })
        try fill(state)
        touch("\(folder)/go")
        #expect(fixture.daemon.waitForLog(Self.isFull))
        #expect(mails(folder).isEmpty)
        unlink("\(state)/filling")
        #expect(fixture.daemon.wait { !mails(folder).isEmpty })
        try fixture.waitUntilSent()
        #expect(fixture.daemon.log.components(separatedBy: Self.isFull).count == 2)

        // A message is sent while the disk is full, and the daemon is killed. Whether the log has room
        // for the result depends on what was written before.
        touch("\(folder)/well")
        touch("\(folder)/hold")
        try fixture.run("run", "loud")
        #expect(fixture.daemon.wait { mails(folder).count == 2 })
        try fill(state)
        unlink("\(folder)/hold")
        try fixture.kill(SIGKILL)
        unlink("\(state)/filling")
        try fixture.start()
        try fixture.waitUntilSent()
        let host = try #require(mails(folder).first?.split(separator: " ").dropFirst(3).first)
        #expect(
            mails(folder) == [
                "loud failed on \(host) exit 1",
                "loud recovered on \(host.dropLast()) after 1 failure",
            ])
        #expect(try fixture.column("SELECT id FROM message").count == 2)
    }

    private func mails(_ folder: String) -> [Substring] {
        let text = try? String(contentsOfFile: "\(folder)/mails", encoding: .utf8)
        return (text ?? "").split(separator: "\n")
    }

    private func touch(_ path: String) {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
    }

    /// Writes a file until the file system is full.
    private func fill(_ folder: String) throws {
        let file = open("\(folder)/filling", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        let page = [UInt8](repeating: 0, count: 4096)
        while write(file, page, page.count) > 0 {}
        #expect(errno == ENOSPC)
    }
}
