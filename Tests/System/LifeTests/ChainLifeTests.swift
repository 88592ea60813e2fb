// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// Jobs that follow others, under the real programs.
@Suite(.ownThreads) struct ChainLifeTests {
    private static let config = """
        [job.backup]
        every = "1h"
        shell = "exit $(cat code)"
        working-directory = "FOLDER"
        [job.upload]
        shell = "echo $TIMERD_CAUSE_JOB $TIMERD_CAUSE_RUN $TIMERD_CAUSE_RESULT >> uploads"
        working-directory = "FOLDER"
        follows = { job = "backup" }
        [job.repair]
        shell = "echo $TIMERD_CAUSE_RESULT >> repairs"
        working-directory = "FOLDER"
        follows = { job = "backup", on = "failure" }
        [job.last]
        command = ["true"]
        follows = [{ job = "upload" }, { job = "repair" }]

        """

    private func name(_ text: String) -> Job.Name { Job.Name(text)! }

    private func lines(_ path: String) -> [String] {
        (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n").map(
            String.init) ?? []
    }

    @Test func jobsRunAfterTheEndsThatTheyFollow() throws {
        let folder = NSTemporaryDirectory() + "chain-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try "0".write(toFile: folder + "/code", atomically: true, encoding: .utf8)
        let daemon = try LiveDaemon(Self.config.replacing("FOLDER", with: folder))
        try daemon.start()

        #expect(try daemon.ask(.command(.run, name("backup"))).status == 200)
        #expect(try daemon.wait { try daemon.show("upload").last?.succeeded == true })
        let first = try #require(try daemon.show("backup").last)
        #expect(lines(folder + "/uploads") == ["backup \(first.id) success"])
        let upload = try #require(try daemon.show("upload").last)
        let shown = try daemon.timerctl("show", first.id)
        #expect(shown.text.contains("Caused: \(upload.id)"), "\(shown)")
        let caused = try daemon.timerctl("show", upload.id)
        #expect(caused.text.contains("after \(first.id) (success)"), "\(caused)")
        let why = try daemon.timerctl("why", "last")
        #expect(why.text.contains("It waits for a run of repair."), "\(why)")

        // What waits is not lost by a kill.
        _ = daemon.kill()
        try "1".write(toFile: folder + "/code", atomically: true, encoding: .utf8)
        try daemon.start()
        #expect(try daemon.ask(.command(.run, name("backup"))).status == 200)
        #expect(try daemon.wait { try daemon.show("last").last?.succeeded == true })
        #expect(lines(folder + "/repairs") == ["failed"])
        #expect(lines(folder + "/uploads").count == 1)
        #expect(try daemon.show("last").firings == 0)

        #expect(try daemon.timerctl("run", "--alone", "backup").status == 0)
        #expect(try daemon.wait { try daemon.show("backup").last?.id != first.id })
        let table = try daemon.timerctl("list")
        #expect(table.text.contains("after backup"), "\(table)")
        #expect(try daemon.timerctl("show", "backup").text.contains("Followers: upload, repair"))
        _ = daemon.stop()
        #expect(lines(folder + "/repairs").count == 1)
    }
}
