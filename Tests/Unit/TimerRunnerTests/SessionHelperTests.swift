// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Dispatch
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// The program started directly.
@Suite struct SessionHelperTests {
    @Test(.enabled(if: Spawner.helpers.contains { access($0, X_OK) == 0 }, "not built"))
    func reportsThatOnlyTheRunnerCanStartIt() throws {
        let process = Process()
        process.executableURL = URL(
            fileURLWithPath: try #require(Spawner.helpers.first { access($0, X_OK) == 0 }))
        let problem = Pipe()
        process.standardError = problem
        try process.run()
        let text = String(
            decoding: problem.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 2)
        #expect(text.contains("only timerd-runner can start this program"))
    }

    /// Only root can open a session.
    @Test(.enabled(if: geteuid() != 0, "root can"))
    func aRunnerOfAUserRefuses() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let end = fixture.shell("echo it runs") { $0.pamService = "cron" }
        #expect(
            end.outcome.description.hasPrefix(
                "spawn-failed(EPERM, open a session with the PAM service cron"))
        #expect(end.lines == [])
    }
}
